import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { evaluated } from './evaluated.js';

/** What CPython 3.11 answers and the language does not have; see README.md of the room. */
const known = /\*\* 0\.5|\*\* -/;

test('gives the values and errors of CPython 3.11 for 5000 random expressions (recorded with seed 7)', () => {
  const bytes = readFileSync('test/engine/expression/random-cases.txt.gz');
  const lines = gunzipSync(bytes).toString('utf8').trimEnd().split('\n');
  const records = lines.filter((line) => line.startsWith('@')).map((line) => line.slice(1));
  const cases = lines.filter((line) => !line.startsWith('@'));
  expect(cases.length).toBe(5000);
  const different = cases.flatMap((line) => {
    const [record, source, expected] = line.split('\t');
    const text = JSON.parse(source!) as string;
    const wanted = (JSON.parse(expected!) as string).replace(/^(?!=)/, '! ').replace(/^=/, '');
    const got = evaluated(text, records[Number(record)]);
    return got === wanted || known.test(text) ? [] : [{ text, wanted, got }];
  });
  expect(different).toEqual([]);
});
