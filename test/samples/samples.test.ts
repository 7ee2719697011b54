import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readerForFile } from '../../readers/index.js';
import { expectations } from './expectations.js';
import { difference } from './difference.js';
import { importSource } from '../readers/import-source.js';

/*
 * Imports every file of a folder of samples and compares the records with the counts in the tables of that folder, and with the reading of
 * another tool: STRANDLAKE_SAMPLES=<folder> npm test -- samples
 * Without python3 or bcftools, only the counts are compared.
 */

const folder = process.env['STRANDLAKE_SAMPLES'];
const readers: Readonly<Record<string, string>> = {
  jsonl: 'json',
  gff3: 'gff3',
  maf: 'tsv',
  nirvana: 'nirvana',
};
const kinds = ['vcf', 'jsonl', 'csv', 'tsv', 'maf', 'xml', 'gtf', 'gff3', 'nirvana'];

/** A row of a table of samples. */
interface Sample {
  readonly path: string;
  readonly kind: string;
  /** The numbers of its count column. */
  readonly counts: readonly number[];
}

const samples = folder === undefined ? [] : kinds.flatMap(samplesOf);

function samplesOf(kind: string): Sample[] {
  return readFileSync(`${folder}/${kind}/SOURCES.md`, 'utf8')
    .split('\n')
    .map((line) => line.split(' | '))
    .filter(([name = '']) => existsSync(`${folder}/${kind}/${name.slice(2)}`) && name.length > 2)
    .map(([name, , counts = '']) => ({
      path: `${kind}/${name!.slice(2)}`,
      kind,
      counts: (counts.match(/\d+/g) ?? []).map(Number),
    }));
}

const eachSample =
  samples.length > 0
    ? test.each(samples)
    : test.skip.each([
        { path: 'STRANDLAKE_SAMPLES is not set', kind: '', counts: [] as readonly number[] },
      ]);

test('the tables list every file of the folders', () => {
  for (const kind of folder === undefined ? [] : kinds) {
    const listedPaths = samples.filter((sample) => sample.kind === kind).map(({ path }) => path);
    const filesPresent = readdirSync(`${folder}/${kind}`).filter((name) => name !== 'SOURCES.md');
    expect(listedPaths.sort()).toEqual(filesPresent.map((name) => `${kind}/${name}`).sort());
  }
});

eachSample('$path', async (sample) => {
  const { path } = sample;
  const {
    params = {},
    records = expectedRecords(sample),
    differs,
    ...expectation
  } = expectations[path] ?? {};
  const reader = expectation.reader ?? readers[sample.kind] ?? readerForFile(path).name;
  const bytes = readFileSync(`${folder}/${path}`);
  const read = await importSource(bytes, reader, { name: path, params, targetBytes: 300_000 });
  if (typeof records === 'string') return expect(read.error).toContain(records);
  expect([read.error, read.rows.length]).toEqual([null, records]);
  const second = secondReading(sample, params);
  if (differs !== undefined || second === undefined) return;
  const hasHeader = (params as { header?: unknown }).header !== null;
  expect(difference(sample.kind, read, second, hasHeader)).toBeNull();
});

/** The expected number of records of a file, from the counts of the table. */
function expectedRecords({ path, kind, counts }: Sample): number {
  const [count = 0, second = 0] = counts;
  switch (kind) {
    case 'csv':
    case 'tsv':
    case 'maf':
      return count - second - ((expectations[path]?.params ?? {})['header'] === null ? 0 : 1);
    case 'vcf':
      return allelesIn(path, count);
    default:
      return count;
  }
}

/** The number of alternate alleles, each of which is a record; the table counts lines. */
function allelesIn(path: string, lines: number): number {
  const rows = secondReading({ path, kind: 'vcf', counts: [] }, {}) as string[][] | undefined;
  if (rows === undefined) {
    const text = readFileSync(`${folder}/${path}`, 'utf8').split('\n');
    const plainLines = text.filter((line) => line !== '' && !line.startsWith('#'));
    expect(plainLines).toHaveLength(lines);
    return plainLines.reduce((sum, line) => sum + line.split('\t')[4]!.split(',').length, 0);
  }
  expect(rows).toHaveLength(lines);
  return rows.reduce((sum, [, , , , alternates]) => sum + alternates!.split(',').length, 0);
}

/** The records that the other tool reads; undefined if it rejects the file. */
function secondReading(
  { path, kind }: Sample,
  params: Readonly<Record<string, unknown>>,
): unknown[] | undefined {
  const delimiter = String(params['delimiter'] ?? (kind === 'csv' ? ',' : '\t'));
  const forms: Readonly<Record<string, readonly string[]>> = {
    csv: ['csv', delimiter],
    tsv: ['csv', delimiter],
    maf: ['csv', delimiter],
    jsonl: ['json'],
    gtf: ['gff'],
    gff3: ['gff'],
    vcf: ['vcf'],
    xml: ['xml', String(params['item_depth'] ?? 1)],
    nirvana: ['nirvana'],
  };
  const [form, ...more] = forms[kind]!;
  const args = ['test/samples/second-reading.py', form!, `${folder}/${path}`, ...more];
  const { stdout, status } = spawnSync('python3', args, { encoding: 'utf8', maxBuffer: 1 << 30 });
  if (status !== 0) return undefined;
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}
