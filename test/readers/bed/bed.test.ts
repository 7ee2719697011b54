import { describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readerForFile, readerNamed, readers } from '../../../readers/index.js';
import { seededRandom, type Random } from '../../random.js';
import { lenientParams } from '../import-pieces.js';
import { importSource } from '../import-source.js';
import { readWholeFile, type WholeFileRead } from '../read-all.js';
import { seed } from '../../seed.js';

async function readBed(
  text: string | Uint8Array,
  options: { targetBytes?: number; params?: Record<string, unknown>; name?: string } = {},
): Promise<WholeFileRead> {
  const folder = mkdtempSync(join(tmpdir(), 'bed-'));
  try {
    const path = join(folder, options.name ?? 'x.bed');
    writeFileSync(path, text);
    return await readWholeFile(path, 'bed', options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the rows without their coordinates and without null values. */
const fieldsOfRecords = ({ rows }: WholeFileRead) =>
  rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).filter(
        ([name, value]) => name !== 'genomic_coordinates' && value !== null,
      ),
    ),
  );

const trackLines = `browser position chr7:127471196-127495720
track name="ItemRGBDemo" description="Item RGB demonstration" itemRgb="On" db=hg38
#chrom chromStart chromEnd
`;
const geneLines = `chr22 1000 5000 cloneA 960 + 1000 5000 0 2 567,488, 0,3512
chr22 2000 6000 cloneB 900 - 2000 6000 255,0,0 2 433,399, 0,3601
`;

test('reads the fields of BED12 (example of the UCSC format page)', async () => {
  const { rows, notes, genomeBuild } = await readBed(trackLines + geneLines);
  expect(notes).toEqual([]);
  expect(genomeBuild).toBe('GRCh38');
  expect(rows[0]).toEqual({
    genomic_coordinates: { build: 'GRCh38', chromosome: '22', start: 1001, stop: 5000 },
    chrom: 'chr22',
    chromStart: 1000,
    chromEnd: 5000,
    name: 'cloneA',
    score: 960,
    strand: '+',
    thickStart: 1000,
    thickEnd: 5000,
    itemRgb: '0',
    blockCount: 2,
    blockSizes: [567, 488],
    blockStarts: [0, 3512],
  });
  expect(rows[1]).toMatchObject({ strand: '-', itemRgb: '255,0,0', blockStarts: [0, 3601] });
});

test('has no coordinates without a build, and those of the parameter before those of the file', async () => {
  const { rows, genomeBuild } = await readBed(geneLines);
  expect(genomeBuild).toBeNull();
  expect(rows[0]).not.toHaveProperty('genomic_coordinates');
  const readWithBuild = await readBed(trackLines + geneLines, {
    params: { genome_build: 'GRCh37' },
  });
  expect(readWithBuild.rows[0]).toMatchObject({
    genomic_coordinates: { build: 'GRCh37', start: 1001 },
  });
});

test('a feature without bases has the coordinates of the base before it', async () => {
  const { rows } = await readBed('1\t7\t7\n1\t0\t0\n1\t0\t1\n', {
    params: { genome_build: 'GRCh38' },
  });
  expect(rows.map(({ genomic_coordinates: place }) => place)).toEqual([
    { build: 'GRCh38', chromosome: '1', start: 7, stop: 7 },
    { build: 'GRCh38', chromosome: '1', start: 1, stop: 1 },
    { build: 'GRCh38', chromosome: '1', start: 1, stop: 1 },
  ]);
});

test('names the columns after the twelfth, and creates only columns that a line has', async () => {
  const twelveFields = geneLines.split('\n')[0]!.replaceAll(' ', '\t');
  const { rows, columns } = await readBed(`${twelveFields}\tgene one\t2\n`);
  expect(rows[0]).toMatchObject({ name: 'cloneA', field_13: 'gene one', field_14: '2' });
  expect((await readBed('chr1\t1\t2\n')).columns[0]!.map(({ name }) => name)).toEqual([
    'chrom',
    'chromStart',
    'chromEnd',
  ]);
  expect(columns[0]!.find(({ name }) => name === 'blockSizes')).toMatchObject({
    type: 'long',
    isList: true,
  });
});

test('fields are separated by tabs if the line has one, else by blanks; a dot and an empty field are null', async () => {
  const text = 'chr1\t1\t2\ttwo words\t.\t.\nchr1  1   2  name 5\r\n\r\n \nchr1\t3\t4\t\t7\n';
  const result = await readBed(text);
  expect(result.notes).toEqual([]);
  expect(fieldsOfRecords(result)).toEqual([
    { chrom: 'chr1', chromStart: 1, chromEnd: 2, name: 'two words' },
    { chrom: 'chr1', chromStart: 1, chromEnd: 2, name: 'name', score: 5 },
    { chrom: 'chr1', chromStart: 3, chromEnd: 4, score: 7 },
  ]);
  expect(result.lines).toBe(5);
});

test.each([
  ['chr1\t5', null, '2 fields separated by tabs or blanks, a BED line has at least 3'],
  ['chr1\tx\t9', 'chromStart', '"x" is not a whole number from 0 on'],
  ['chr1\t-1\t9', 'chromStart', '"-1" is not a whole number from 0 on'],
  ['chr1\t9\t5', 'chromEnd', 'the feature ends at 5, before its start 9'],
  ['.\t1\t5', 'chrom', 'the chromosome is missing'],
  ['chr1\t1\t5\tn\thigh', 'score', '"high" is not a number'],
  ['chr1\t1\t5\tn\t1\tx', 'strand', '"x" is none of "+", "-" and "."'],
  ['chr1\t1\t5\tn\t1\t+\t1\tz', 'thickEnd', '"z" is not a whole number from 0 on'],
  ['chr1\t1\t5\tn\t1\t+\t1\t5\t1,2', 'itemRgb', 'is not a colour'],
  ['chr1\t1\t5\tn\t1\t+\t1\t5\t0,0,256', 'itemRgb', 'is not a colour'],
  ['chr1\t1\t5\tn\t1\t+\t1\t5\t0\t2\t3,\t0,1', 'blockSizes', '1 items, blockCount is 2'],
  ['chr1\t1\t5\tn\t1\t+\t1\t5\t0\t1\ta\t0', 'blockSizes', '"a" is not a list of whole numbers'],
])('rejects %j with its line and the reason', async (line, field, message) => {
  const result = await readBed(`chr1\t1\t2\n${line}\nchr1\t3\t4\n`);
  expect(result.notes).toMatchObject([{ level: 'reject', line: 2, field }]);
  expect(result.notes[0]!.message).toContain(message);
  expect(result.rows.map(({ chromStart }) => chromStart)).toEqual([1, 3]);
});

test('a score that is NaN or infinite is null with a counted warning, and an error if it is declared or validation strict', async () => {
  const text = ['1', 'NaN', 'inf', '-nan', '1e999'].map((score) => `chr1\t1\t2\tn\t${score}\n`).join('');
  for (const targetBytes of [1, 1000]) {
    const { rows, findings, error } = await importSource(text, 'bed', { targetBytes });
    expect([error, rows.map(({ score }) => score)]).toEqual([null, [1, null, null, null, null]]);
    expect([findings.counts, findings.warnings, findings.errors]).toEqual([{ 304: 2, 305: 2 }, 4, 0]);
  }
  const strictParams = { ...lenientParams, strict: true };
  expect((await importSource(text, 'bed', { validation: strictParams })).findings).toMatchObject({ counts: { 304: 2, 305: 2 }, errors: 4 });
  const declaredColumn = { name: 'score', physical: 'score', type: 'double', isList: false, isDeclared: true } as const;
  const { error, findings } = await importSource(text, 'bed', { known: [declaredColumn] });
  expect([error, findings.counts]).toEqual(['file, line 2: field score: the value is NaN (code 304, NaN Value for Field); 3 more errors', { 304: 2, 305: 2 }]);
  const uncheckedImport = await importSource(text, 'bed', { known: [declaredColumn], validation: { ...lenientParams, disable: true } });
  expect([uncheckedImport.error, uncheckedImport.findings.counts, uncheckedImport.rows.length]).toEqual([null, {}, 5]);
}); // prettier-ignore

test('bytes that are not UTF-8 become U+FFFD, with a warning', async () => {
  const text = Buffer.concat([Buffer.from('chr1\t1\t2\ta'), Buffer.of(0xff), Buffer.from('b\n')]);
  const { rows, notes } = await readBed(text);
  expect(rows[0]).toMatchObject({ name: 'a\ufffdb' });
  expect(notes).toMatchObject([{ level: 'warn', line: 1 }]);
});

test('reads a compressed file, an empty one, and one of comments alone', async () => {
  const packedRead = await readBed(gzipSync(trackLines + geneLines), { name: 'x.bed.gz' });
  expect(packedRead.rows).toHaveLength(2);
  expect(await readBed('')).toMatchObject({ rows: [], warnings: ['the file is empty'] });
  expect(await readBed('# nothing\n')).toMatchObject({ rows: [], notes: [] });
});

test('is chosen by the extension, and by a BED track line in files of other names', () => {
  expect(readerForFile('peaks.BED.gz').name).toBe('bed');
  const otherReaders = readers.filter(({ name }) => name !== 'bed');
  for (const start of [trackLines + geneLines, geneLines])
    expect(otherReaders.filter((reader) => reader.recognizes?.(start))).toEqual([]);
  const { recognizes } = readerNamed('bed');
  expect(recognizes!(trackLines + geneLines)).toBe(true);
  expect(recognizes!('track type=bedGraph\nchr1 1 2 3\n')).toBe(true);
  expect(recognizes!('track name="a" type=narrowPeak\nchr1 1 2 3\n')).toBe(true);
  expect(recognizes!('track type=wiggle_0\nchr1 1 2 3\n')).toBe(false);
  expect(recognizes!('chr1\t1\t2\n')).toBe(false);
});

describe('bedGraph, narrowPeak, broadPeak and gappedPeak', () => {
  const graphLines = 'chr19\t49302000\t49302300\t-1.0\nchr19\t49302300\t49302600\t-0.75\n';
  const peakLine = 'chr1\t9356548\t9356648\tpeak 1\t182\t.\t5.0945\t-1\t2.5e-3\t50\n';
  const numberLines = 'chr1\t1\t2\t5\nchr1\t3\t4\t6\n';

  test('have the fields of UCSC (examples of its format pages), and coordinates', async () => {
    const params = { genome_build: 'GRCh38' };
    const readFirstRow = async (text: string, name: string) => (await readBed(text, { name, params })).rows[0];
    expect(await readFirstRow(graphLines, 'x.bedGraph')).toEqual({
      genomic_coordinates: { build: 'GRCh38', chromosome: '19', start: 49302001, stop: 49302300 },
      chrom: 'chr19', chromStart: 49302000, chromEnd: 49302300, dataValue: -1,
    });
    const coreFields = {
      genomic_coordinates: { build: 'GRCh38', chromosome: '1', start: 9356549, stop: 9356648 },
      chrom: 'chr1', chromStart: 9356548, chromEnd: 9356648, name: 'peak 1', score: 182,
    };
    const signal = { signalValue: 5.0945, pValue: -1, qValue: 0.0025 };
    expect(await readFirstRow(peakLine, 'x.narrowPeak')).toEqual({ ...coreFields, ...signal, peak: 50 });
    expect(await readFirstRow(peakLine.replace('\t50\n', '\n'), 'x.broadPeak')).toEqual({ ...coreFields, ...signal });
    const gappedLine = 'chr1\t9356548\t9356648\tpeak 1\t182\t.\t9356548\t9356648\t0\t2\t10,20\t0,80\t5.0945\t-1\t2.5e-3\n';
    expect(await readFirstRow(gappedLine, 'x.gappedPeak')).toMatchObject({ ...coreFields, ...signal, blockCount: 2, blockSizes: [10, 20] });
  });

  test.each<[string, string, string, string | undefined]>([
    ['the track line', 'track type=bedGraph db=hg19\n' + numberLines, 'x.bed', 'dataValue'],
    ['the track line before the extension', 'track type=bedGraph\n' + numberLines, 'x.narrowPeak', 'dataValue'],
    ['a track line of BED', 'track type=bed\n' + graphLines, 'x.bed', 'name'],
    ['the extension', numberLines, 'x.BDG.gz', 'dataValue'],
    ['a fraction in the last of four fields', graphLines, 'x.bed', 'dataValue'],
    ['four fields with whole numbers: names', numberLines, 'x.bed', 'name'],
    ['four fields of which one is none', graphLines + 'chr1\t1\t2\tx\n', 'x.bed', 'name'],
    ['lines of several lengths', graphLines + 'chr1\t1\t2\n', 'x.bed', 'name'],
    ['ten fields with four numbers', peakLine, 'x.bed', 'peak'],
    ['ten fields with an empty last one', peakLine.replace('\t50\n', '\t\n'), 'x.bed', 'blockCount'],
    ['nine fields with three numbers', peakLine.replace('\t50\n', '\n'), 'x.bed', 'qValue'],
    ['nine fields of BED', 'chr1\t1\t2\tn\t0\t+\t1\t2\t0\nchr1\t1\t2\tn\t0\t+\t1\t2\t0\n', 'x.bed', 'itemRgb'],
  ])('are told by %s', async (_, text, name, lastColumn) => {
    const packedText = name.endsWith('.gz') ? gzipSync(text) : text;
    const { columns, warnings } = await readBed(packedText, { name });
    expect([columns[0]!.at(-1)?.name, warnings]).toEqual([lastColumn, []]);
    expect(readerForFile(name).name).toBe('bed');
  });

  test('a value that is NaN is null with a warning, text is an error', async () => {
    const { rows, findings, error } = await importSource(`${graphLines}chr1\t5\t6\tNaN\n`, 'bed', { name: 'x.bg' });
    expect([error, rows.map(({ dataValue }) => dataValue), findings.counts]).toEqual([null, [-1, -0.75, null], { 304: 1 }]);
    const badRead = await importSource(`${graphLines}chr1\t5\t6\thigh\n`, 'bed', { name: 'x.bg' });
    expect(badRead.error).toContain('line 3: field dataValue: "high" is not a number');
    const oddRead = await importSource(peakLine.replace('\t50\n', '\t5.5\n'), 'bed', { name: 'x.narrowPeak' });
    expect(oddRead.error).toContain('line 1: field peak: "5.5" is not a whole number');
  });

  test('are the same for any split', async () => {
    const text = 'track type=bedGraph db=hg38\n' + graphLines.repeat(50);
    const wholeRead = await importSource(text, 'bed');
    expect(wholeRead.rows).toHaveLength(100);
    for (const targetBytes of [1, 100, 5000]) {
      const { rows, columns } = await importSource(text, 'bed', { targetBytes });
      expect([rows, columns]).toEqual([wholeRead.rows, wholeRead.columns]);
    }
  });
}); // prettier-ignore

/** Returns a random line of a BED file with `width` fields. */
function randomBedLine(next: Random, width: number): string {
  const from = Math.floor(next() * 1e8);
  const to = from + Math.floor(next() * 1e4);
  const blocks = 1 + Math.floor(next() * 4);
  const randomListText = () =>
    Array.from({ length: blocks }, () => Math.floor(next() * 99)).join(',');
  const fields = [
    `chr${1 + Math.floor(next() * 22)}`,
    from,
    to,
    next() < 0.1 ? '.' : `n${Math.floor(next() * 99)}`,
    next() < 0.2 ? (next() * 1000).toFixed(2) : Math.floor(next() * 1000),
    '+-.'[Math.floor(next() * 3)],
    from,
    to,
    next() < 0.5 ? '0' : '0,128,255',
    blocks,
    randomListText() + (next() < 0.5 ? ',' : ''),
    randomListText(),
    'extra',
  ];
  return fields.slice(0, width).join(next() < 0.5 ? '\t' : ' ');
}

/** Returns the fields of a line, parsed in the simplest way. */
function naiveRecord(line: string): Record<string, unknown> {
  const names = 'chrom chromStart chromEnd name score strand thickStart thickEnd itemRgb blockCount blockSizes blockStarts'.split(' '); // prettier-ignore
  const record: Record<string, unknown> = {};
  for (const [i, text] of line.split(/[\t ]/).entries()) {
    const name = names[i] ?? `field_${i + 1}`;
    if (text === '.') continue;
    if (/^(?:chromStart|chromEnd|score|thickStart|thickEnd|blockCount)$/.test(name))
      record[name] = Number(text);
    else if (name.startsWith('block')) record[name] = text.replace(/,$/, '').split(',').map(Number);
    else record[name] = text;
  }
  return record;
}

test(`reads the records that a naive parser reads, however the file is split (seed ${seed})`, async () => {
  const next = seededRandom(seed);
  const lines = Array.from({ length: 3000 }, () =>
    randomBedLine(next, 3 + Math.floor(next() * 11)),
  );
  const result = await readBed(lines.join('\n'), {
    targetBytes: 500 + Math.floor(next() * 20_000),
    params: { genome_build: 'GRCh38' },
  });
  expect(result.notes).toEqual([]);
  expect(result.chunks).toBeGreaterThan(3);
  const expectedRecords = lines.map(naiveRecord);
  expect(fieldsOfRecords(result)).toEqual(expectedRecords);
  for (const [i, { genomic_coordinates: place }] of result.rows.entries()) {
    const { chromStart, chromEnd } = expectedRecords[i] as { chromStart: number; chromEnd: number };
    const start = chromStart === chromEnd ? Math.max(1, chromStart) : chromStart + 1;
    expect(place).toMatchObject({ start, stop: Math.max(start, chromEnd) });
  }
});
