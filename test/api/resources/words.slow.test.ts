import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from '@jest/globals';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf } from '../server.js';

/*
 * Compares searches for words in any field with regular expressions over the lines of the bundled ClinVar file (examples/SOURCES.md). A
 * word has no letter or digit immediately before or after it.
 */

const vcfPath = 'examples/clinvar_grch38_2026_69k.vcf.gz';
const { ann, vaultId, runImport } = await startServerFixture();
let datasetId: number;
let vcfLines: readonly string[];
beforeAll(async () => {
  const bytes = readFileSync(vcfPath);
  vcfLines = gunzipSync(bytes).toString().split('\n').filter((line) => line !== '' && !line.startsWith('#')); // prettier-ignore
  const file = {
    vault_id: vaultId,
    object_type: 'file',
    filename: 'clinvar.vcf.gz',
    size: bytes.length,
  };
  const createdObject = await ann.post('/v2/objects', file);
  await fetch(createdObject.json['upload_url'] as string, { method: 'PUT', body: bytes });
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'clinvar' }));
  await runImport({ dataset_id: datasetId, object_id: idOf(createdObject) });
});

/** Returns the number of lines of ClinVar with a word or several successive words that match a regular expression, in any letter case. */
function countLinesWith(pattern: string): number {
  const expression = new RegExp(`(?<![a-z0-9])(?:${pattern})(?![a-z0-9])`, 'i');
  return vcfLines.filter((line) => expression.test(line)).length;
}

async function queryTotal(query: string): Promise<unknown> {
  const { status, json } = await ann.post(`/v2/datasets/${datasetId}/data`, { query, limit: 0 });
  return status === 200 ? json['total'] : json;
}

const wordSeparator = '[^a-z0-9]+';

test.each([
  ['breast cancer', 'breast|cancer'],
  ['"ovarian cancer"', `ovarian${wordSeparator}cancer`],
  ['BRCA2', 'brca2'],
  ['likely_pathogenic', `likely${wordSeparator}pathogenic`],
  ['missense*', 'missense[a-z0-9]*'],
  ['nucleot?de', 'nucleot[a-z0-9]de'],
])('%s finds the lines that grep finds', async (query, pattern) => {
  expect(await queryTotal(query)).toBe(countLinesWith(pattern));
});

test('both words, and neither, are found as by grep', async () => {
  const bothCount = vcfLines.filter((line) => /breast/i.test(line) && /cancer/i.test(line)).length;
  expect(await queryTotal('breast AND cancer')).toBe(bothCount);
  expect(await queryTotal('+breast -cancer')).toBe(countLinesWith('breast') - bothCount);
});

test(`words of the file are found wherever they stand (STRANDLAKE_SEED=${seed})`, async () => {
  const random = seededRandom(seed);
  for (let i = 0; i < 25; i++) {
    const line = vcfLines[Math.floor(random() * vcfLines.length)]!;
    const words = /CLNDN=([^;]*)/.exec(line)?.[1]?.split(/[^A-Za-z]+/).filter((word) => word.length > 4); // prettier-ignore
    const word = words?.[Math.floor(random() * words.length)];
    if (word === undefined) continue;
    expect([word, await queryTotal(word)]).toEqual([word, countLinesWith(word)]);
  }
});

test('records with both words come before records with one, on every page', async () => {
  const hasBothWords = (record: unknown): boolean => {
    const text = JSON.stringify(record);
    return /breast/i.test(text) && /cancer/i.test(text);
  };
  const queryPage = async (offset: number): Promise<boolean[]> => {
    const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { query: 'breast cancer', offset, limit: 100 }); // prettier-ignore
    return (json['results'] as unknown[]).map(hasBothWords);
  };
  const bothTotal = (await queryTotal('breast AND cancer')) as number;
  expect(new Set(await queryPage(0))).toEqual(new Set([true]));
  expect(await queryPage(bothTotal - 50)).toEqual(Array.from({ length: 100 }, (_, i) => i < 50));
});
