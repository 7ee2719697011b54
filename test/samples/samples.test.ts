import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readerForFile } from '../../readers/index.js';
import { expectations } from './expectations.js';
import { firstRecordDifference } from './difference.js';
import { importSource } from '../readers/import-source.js';

/*
 * Imports every file in a folder of samples, and compares the number of records with the counts in the tables of that folder, and the
 * records with those that another tool reads: STRANDLAKE_SAMPLES=<folder> npm test -- samples
 * Where python3 or, for VCF, bcftools is missing, only the counts are compared.
 */

const samplesFolder = process.env['STRANDLAKE_SAMPLES'];
const readerByKind: Readonly<Record<string, string>> = {
  jsonl: 'json',
  gff3: 'gff3',
  maf: 'tsv',
  nirvana: 'nirvana',
};
const sampleKinds = ['vcf', 'jsonl', 'csv', 'tsv', 'maf', 'xml', 'gtf', 'gff3', 'nirvana'];

/** A row of a table that lists samples. */
interface Sample {
  readonly path: string;
  readonly kind: string;
  /** The numbers in the row's column of counts. */
  readonly counts: readonly number[];
}

const samples = samplesFolder === undefined ? [] : sampleKinds.flatMap(samplesOf);

function samplesOf(kind: string): Sample[] {
  return readFileSync(`${samplesFolder}/${kind}/SOURCES.md`, 'utf8')
    .split('\n')
    .map((line) => line.split(' | '))
    .filter(
      ([name = '']) => existsSync(`${samplesFolder}/${kind}/${name.slice(2)}`) && name.length > 2,
    )
    .map(([name, , counts = '']) => ({
      path: `${kind}/${name!.slice(2)}`,
      kind,
      counts: (counts.match(/\d+/g) ?? []).map(Number),
    }));
}

const testEachSample =
  samples.length > 0
    ? test.each(samples)
    : test.skip.each([
        { path: 'STRANDLAKE_SAMPLES is not set', kind: '', counts: [] as readonly number[] },
      ]);

test('the tables list every file of the folders', () => {
  for (const kind of samplesFolder === undefined ? [] : sampleKinds) {
    const listedPaths = samples.filter((sample) => sample.kind === kind).map(({ path }) => path);
    const filesPresent = readdirSync(`${samplesFolder}/${kind}`).filter(
      (name) => name !== 'SOURCES.md',
    );
    expect(listedPaths.sort()).toEqual(filesPresent.map((name) => `${kind}/${name}`).sort());
  }
});

testEachSample('$path', async (sample) => {
  const { path } = sample;
  const {
    params = {},
    records = expectedRecordCount(sample),
    differs,
    ...expectation
  } = expectations[path] ?? {};
  const reader = expectation.reader ?? readerByKind[sample.kind] ?? readerForFile(path).name;
  const bytes = readFileSync(`${samplesFolder}/${path}`);
  const sourceImport = await importSource(bytes, reader, {
    name: path,
    params,
    targetBytes: 300_000,
  });
  if (typeof records === 'string') return expect(sourceImport.error).toContain(records);
  expect([sourceImport.error, sourceImport.rows.length]).toEqual([null, records]);
  const otherRecords = readByOtherTool(sample, params);
  if (differs !== undefined || otherRecords === undefined) return;
  const hasHeader = (params as { header?: unknown }).header !== null;
  expect(firstRecordDifference(sample.kind, sourceImport, otherRecords, hasHeader)).toBeNull();
});

/** Returns the expected number of records of a file, according to the counts in its row of the table of samples. */
function expectedRecordCount({ path, kind, counts }: Sample): number {
  const [count = 0, second = 0] = counts;
  switch (kind) {
    case 'csv':
    case 'tsv':
    case 'maf':
      return count - second - ((expectations[path]?.params ?? {})['header'] === null ? 0 : 1);
    case 'vcf':
      return countAlternateAlleles(path, count);
    default:
      return count;
  }
}

/** Returns the number of alternate alleles in a VCF file, each of which is a record; the table of samples counts lines. */
function countAlternateAlleles(path: string, lines: number): number {
  const rows = readByOtherTool({ path, kind: 'vcf', counts: [] }, {}) as string[][] | undefined;
  if (rows === undefined) {
    const fileLines = readFileSync(`${samplesFolder}/${path}`, 'utf8').split('\n');
    const dataLines = fileLines.filter((line) => line !== '' && !line.startsWith('#'));
    expect(dataLines).toHaveLength(lines);
    return dataLines.reduce((sum, line) => sum + line.split('\t')[4]!.split(',').length, 0);
  }
  expect(rows).toHaveLength(lines);
  return rows.reduce((sum, [, , , , alternates]) => sum + alternates!.split(',').length, 0);
}

/** Returns the records that test/samples/second-reading.py reads from a file; undefined if the program fails. */
function readByOtherTool(
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
  const [form, ...otherArgs] = forms[kind]!;
  const args = ['test/samples/second-reading.py', form!, `${samplesFolder}/${path}`, ...otherArgs];
  const { stdout, status } = spawnSync('python3', args, { encoding: 'utf8', maxBuffer: 1 << 30 });
  if (status !== 0) return undefined;
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}
