import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from '@jest/globals';
import { random } from '../../random.js';
import { seed } from '../../seed.js';
import { startLab } from '../lab.js';
import { idOf } from '../server.js';

/*
 * Words without a field against `grep` over the lines of the bundled ClinVar file (examples/SOURCES.md): a word is what letters and
 * digits on neither side continue.
 */

const path = 'examples/clinvar_grch38_2026_69k.vcf.gz';
const { ann, vaultId, runImport } = await startLab();
let datasetId: number;
let lines: readonly string[];
beforeAll(async () => {
  const bytes = readFileSync(path);
  lines = gunzipSync(bytes).toString().split('\n').filter((line) => line !== '' && !line.startsWith('#')); // prettier-ignore
  const file = {
    vault_id: vaultId,
    object_type: 'file',
    filename: 'clinvar.vcf.gz',
    size: bytes.length,
  };
  const object = await ann.post('/v2/objects', file);
  await fetch(object.json['upload_url'] as string, { method: 'PUT', body: bytes });
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'clinvar' }));
  await runImport({ dataset_id: datasetId, object_id: idOf(object) });
});

/** The number of lines with words, given as a regular expression. */
function grep(pattern: string): number {
  const expression = new RegExp(`(?<![a-z0-9])(?:${pattern})(?![a-z0-9])`, 'i');
  return lines.filter((line) => expression.test(line)).length;
}

async function total(query: string): Promise<unknown> {
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
  expect(await total(query)).toBe(grep(pattern));
});

test('both words, and neither, are found as by grep', async () => {
  const bothCount = lines.filter((line) => /breast/i.test(line) && /cancer/i.test(line)).length;
  expect(await total('breast AND cancer')).toBe(bothCount);
  expect(await total('+breast -cancer')).toBe(grep('breast') - bothCount);
});

test(`words of the file are found wherever they stand (STRANDLAKE_SEED=${seed})`, async () => {
  const next = random(seed);
  for (let i = 0; i < 25; i++) {
    const line = lines[Math.floor(next() * lines.length)]!;
    const names = /CLNDN=([^;]*)/.exec(line)?.[1]?.split(/[^A-Za-z]+/).filter((word) => word.length > 4); // prettier-ignore
    const word = names?.[Math.floor(next() * names.length)];
    if (word === undefined) continue;
    expect([word, await total(word)]).toEqual([word, grep(word)]);
  }
});

test('records with both words come before records with one, on every page', async () => {
  const isBoth = (record: unknown): boolean => {
    const text = JSON.stringify(record);
    return /breast/i.test(text) && /cancer/i.test(text);
  };
  const ask = async (offset: number): Promise<boolean[]> => {
    const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { query: 'breast cancer', offset, limit: 100 }); // prettier-ignore
    return (json['results'] as unknown[]).map(isBoth);
  };
  const bothTotal = (await total('breast AND cancer')) as number;
  expect(new Set(await ask(0))).toEqual(new Set([true]));
  expect(await ask(bothTotal - 50)).toEqual(Array.from({ length: 100 }, (_, i) => i < 50));
});
