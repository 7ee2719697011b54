import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { compressBgzf } from '../source/bgzf.js';
import type { Columns, Row } from '../../../engine/core/types.js';
import { byTier } from '../../tier.js';
import { lenientParams } from '../import-pieces.js';
import { importSource } from '../import-source.js';
import { readWholeFile } from '../read-all.js';
import { seed } from '../../seed.js';

const fixtureFolder = 'test/fixtures/vcf';
const folder = mkdtempSync(join(tmpdir(), 'strandlake-vcf-'));
afterAll(() => rmSync(folder, { recursive: true }));

function writeVcfFile(name: string, bytes: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

function readFixtureText(name: string): string {
  const bytes = readFileSync(`${fixtureFolder}/${name}`);
  return (bytes[0] === 31 ? gunzipSync(bytes) : bytes).toString('utf8');
}

const metaLines = `##fileformat=VCFv4.3
##INFO=<ID=AC,Number=A,Type=Integer,Description="x">
##INFO=<ID=AF,Number=A,Type=Float,Description="x">
##INFO=<ID=DP,Number=1,Type=Integer,Description="x">
##INFO=<ID=MQ,Number=1,Type=Float,Description="x">
##INFO=<ID=DB,Number=0,Type=Flag,Description="x">
##INFO=<ID=NOTE,Number=1,Type=String,Description="x">
##INFO=<ID=END,Number=1,Type=Integer,Description="x">
##FORMAT=<ID=GT,Number=1,Type=String,Description="x">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="x">
##FORMAT=<ID=AD,Number=R,Type=Integer,Description="x">
`;
const headerOfSites = `${metaLines}#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n`;
const headerWithSamples = `${metaLines}#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1\t__proto__\n`;

/** Lines of a VCF file, each with the expected values of its first record or with the finding that rejects it. */
const lineCases: readonly (readonly [
  string,
  string,
  Record<string, unknown> | [number, string | null],
])[] = [
  [
    'chr prefix',
    'chr1\t5\t.\tA\tT\t.\t.\t.',
    {
      variant: 'GRCH37-1-5-5-T',
      genomic_coordinates: { build: 'GRCh37', chromosome: '1', start: 5, stop: 5 },
    },
  ],
  ['CHR prefix', 'CHRX\t5\t.\tA\tT\t.\t.\t.', { variant: 'GRCH37-X-5-5-T' }],
  [
    'contig name kept',
    'chrUn_KI270302v1\t5\t.\tA\tT\t.\t.\t.',
    { variant: 'GRCH37-UN_KI270302V1-5-5-T' },
  ],
  ['contig in brackets', '<ctg1>\t5\t.\tA\tT\t.\t.\t.', { variant: 'GRCH37-<CTG1>-5-5-T' }],
  ['open bracket', '<1\t5\t.\tA\tT\t.\t.\t.', [301, 'CHROM']],
  ['empty CHROM', '\t5\t.\tA\tT\t.\t.\t.', [301, 'CHROM']],
  ['blank in CHROM', '1 2\t5\t.\tA\tT\t.\t.\t.', [301, 'CHROM']],
  [
    'deletion',
    '1\t5\trs1\tACG\tA\t30\tPASS\t.',
    { row_id: 'rs1', variant: 'GRCH37-1-5-7-A', qual: 30, filter: [] },
  ],
  [
    'lower case',
    '1\t5\t.\tacg\tat\t.\t.\t.',
    { variant: 'GRCH37-1-5-7-AT', allele: 'at', reference_allele: 'acg' },
  ],
  ['POS 0', '1\t0\t.\tA\tT\t.\t.\t.', { variant: 'GRCH37-1-0-0-T' }],
  [
    'POS beyond 2^31',
    '1\t3000000000\t.\tA\tT\t.\t.\t.',
    { variant: 'GRCH37-1-3000000000-3000000000-T' },
  ],
  ['POS beyond 2^32', '1\t5000000000\t.\tA\tT\t.\t.\t.', [301, 'POS']],
  ['POS text', '1\tx\t.\tA\tT\t.\t.\t.', [301, 'POS']],
  ['POS empty', '1\t\t.\tA\tT\t.\t.\t.', [301, 'POS']],
  ['POS missing', '1\t.\t.\tA\tT\t.\t.\t.', [301, 'POS']],
  ['POS negative', '1\t-5\t.\tA\tT\t.\t.\t.', [301, 'POS']],
  ['POS fraction', '1\t5.5\t.\tA\tT\t.\t.\t.', [301, 'POS']],
  ['REF list', '1\t5\t.\tA,C\tT\t.\t.\t.', [301, 'REF']],
  ['REF empty', '1\t5\t.\t\tT\t.\t.\t.', [301, 'REF']],
  ['REF missing', '1\t5\t.\t.\tT\t.\t.\t.', [301, 'REF']],
  ['REF ambiguity code', '1\t5\t.\tR\tT\t.\t.\t.', { reference_allele: 'R' }],
  ['ALT ambiguity code', '1\t5\t.\tA\tR\t.\t.\t.', [301, 'ALT']],
  ['ALT empty', '1\t5\t.\tA\t\t.\t.\t.', [301, 'ALT']],
  ['ALT empty item', '1\t5\t.\tA\tT,\t.\t.\t.', [301, 'ALT']],
  [
    'no ALT',
    '1\t5\t.\tA\t.\t.\t.\t.',
    { allele: 'A', alternate_alleles: [], variant: 'GRCH37-1-5-5-A' },
  ],
  ['star', '1\t5\t.\tAC\t*\t.\t.\t.', { allele: '*', variant: 'GRCH37-1-5-6-*' }],
  [
    'symbolic with END',
    '1\t5\t.\tA\t<DEL>\t.\t.\tEND=900',
    { allele: '<DEL>', variant: 'GRCH37-1-5-900-<DEL>', info: { END: 900 } },
  ],
  ['END before POS', '1\t5\t.\tA\t<DEL>\t.\t.\tEND=2', { variant: 'GRCH37-1-5-5-<DEL>' }],
  ['END of a base change', '1\t5\t.\tA\tT\t.\t.\tEND=900', { variant: 'GRCH37-1-5-5-T' }],
  ['breakend', '1\t5\t.\tA\tA[2:33[\t.\t.\t.', { allele: 'A[2:33[' }],
  ['breakend before', '1\t5\t.\tA\t]13:33]T\t.\t.\t.', { allele: ']13:33]T' }],
  ['single breakend', '1\t5\t.\tA\t.TC\t.\t.\t.', { allele: '.TC' }],
  ['single breakend after', '1\t5\t.\tA\tTC.\t.\t.\t.', { allele: 'TC.' }],
  ['open symbol', '1\t5\t.\tA\t<DEL\t.\t.\t.', [301, 'ALT']],
  ['open breakend', '1\t5\t.\tA\tA[2:33\t.\t.\t.', [301, 'ALT']],
  ['QUAL text', '1\t5\t.\tA\tT\tgood\t.\t.', [301, 'QUAL']],
  ['QUAL nan', '1\t5\t.\tA\tT\tnan\t.\t.', { qual: undefined }],
  ['QUAL inf', '1\t5\t.\tA\tT\tinf\t.\t.', { qual: undefined }],
  ['QUAL exponent', '1\t5\t.\tA\tT\t1e-5\t.\t.', { qual: 0.00001 }],
  ['FILTER list', '1\t5\t.\tA\tT\t.\tq10;s50\t.', { filter: ['q10', 's50'] }],
  ['FILTER missing', '1\t5\t.\tA\tT\t.\t.\t.', { filter: undefined }],
  ['FILTER missing item', '1\t5\t.\tA\tT\t.\tq10;.\t.', [301, 'FILTER']],
  ['FILTER empty', '1\t5\t.\tA\tT\t.\t\t.', [301, 'FILTER']],
  [
    'empty list item is null',
    '1\t5\t.\tA\tT\t.\t.\tAF=0.1,,0.2',
    { info: { AF: [0.1, null, 0.2] } },
  ],
  ['missing list item is null', '1\t5\t.\tA\tT\t.\t.\tAF=0.1,.', { info: { AF: [0.1, null] } }],
  ['missing list', '1\t5\t.\tA\tT\t.\t.\tAF=.', { info: {} }],
  ['missing number', '1\t5\t.\tA\tT\t.\t.\tDP=.;DB', { info: { DB: true } }],
  ['key without value', '1\t5\t.\tA\tT\t.\t.\tDP;DB', { info: { DB: true } }],
  ['flag with 1', '1\t5\t.\tA\tT\t.\t.\tDB=1', { info: { DB: true } }],
  ['flag with text', '1\t5\t.\tA\tT\t.\t.\tDB=yes', [301, 'info.DB']],
  ['hexadecimal', '1\t5\t.\tA\tT\t.\t.\tDP=0x10', [301, 'info.DP']],
  ['integer text', '1\t5\t.\tA\tT\t.\t.\tDP=many', [301, 'info.DP']],
  ['integer overflow', '1\t5\t.\tA\tT\t.\t.\tDP=2147483648', [301, 'info.DP']],
  ['largest integer', '1\t5\t.\tA\tT\t.\t.\tDP=2147483647', { info: { DP: 2147483647 } }],
  ['smallest integer', '1\t5\t.\tA\tT\t.\t.\tDP=-2147483648', { info: { DP: -2147483648 } }],
  ['plus sign', '1\t5\t.\tA\tT\t.\t.\tDP=+7', { info: { DP: 7 } }],
  ['integer with a fraction', '1\t5\t.\tA\tT\t.\t.\tDP=2.5', { info: { DP: 2.5 } }],
  ['float text', '1\t5\t.\tA\tT\t.\t.\tMQ=high', [301, 'info.MQ']],
  ['float underflow', '1\t5\t.\tA\tT\t.\t.\tMQ=1e-400', { info: { MQ: 0 } }],
  ['float nan', '1\t5\t.\tA\tT\t.\t.\tMQ=NaN', { info: {} }],
  ['float inf', '1\t5\t.\tA\tT\t.\t.\tMQ=-inf', { info: {} }],
  ['integer nan', '1\t5\t.\tA\tT\t.\t.\tDP=NaN', { info: {} }],
  ['empty list', '1\t5\t.\tA\tT\t.\t.\tAF=;DB', { info: { DB: true } }],
  [
    'float of 17 digits',
    '1\t5\t.\tA\tT\t.\t.\tMQ=0.12345678901234567',
    { info: { MQ: Number('0.12345678901234567') } },
  ],
  [
    'float of 100 digits',
    `1\t5\t.\tA\tT\t.\t.\tMQ=${'1234567890'.repeat(10)}e-99`,
    { info: { MQ: Number(`${'1234567890'.repeat(10)}e-99`) } },
  ],
  ['float point first', '1\t5\t.\tA\tT\t.\t.\tMQ=.5', { info: { MQ: 0.5 } }],
  ['float point last', '1\t5\t.\tA\tT\t.\t.\tMQ=5.', { info: { MQ: 5 } }],
  ['two points', '1\t5\t.\tA\tT\t.\t.\tMQ=1.2.3', [301, 'info.MQ']],
  ['equals sign in a value', '1\t5\t.\tA\tT\t.\t.\tNOTE=a=b', { info: { NOTE: 'a=b' } }],
  ['blanks in a value', '1\t5\t.\tA\tT\t.\t.\tNOTE=a b', { info: { NOTE: 'a b' } }],
  ['escapes', '1\t5\t.\tA\tT\t.\t.\tNOTE=a%3Bb%2Cc%25%zz%3', { info: { NOTE: 'a;b,c%%zz%3' } }],
  ['trailing semicolon', '1\t5\t.\tA\tT\t.\t.\tDB;', { info: { DB: true } }],
  ['double semicolon', '1\t5\t.\tA\tT\t.\t.\tDP=1;;DB', { info: { DP: 1, DB: true } }],
  ['value without a key', '1\t5\t.\tA\tT\t.\t.\t=1', [0, null]],
  ['undeclared key', '1\t5\t.\tA\tT\t.\t.\tNEW=5,6', { info: { NEW: '5,6' } }],
  ['undeclared flag', '1\t5\t.\tA\tT\t.\t.\tNEW', { info: { NEW: true } }],
  [
    'keys named like object members',
    '1\t5\t.\tA\tT\t.\t.\tconstructor=1;toString',
    { info: { constructor: '1', toString: true } },
  ],
  ['seven columns', '1\t5\t.\tA\tT\t.\t.', [0, null]],
  ['nine columns', '1\t5\t.\tA\tT\t.\t.\t.\tGT', [0, null]],
  ['a header line', '#CHROM\tPOS', [0, null]],
  ['a word', 'hello', [0, null]],
];

describe('lines (F9)', () => {
  test.each(lineCases)('%s', async (_name, line, want) => {
    const path = writeVcfFile(
      'line.vcf',
      `${headerOfSites}1\t1\t.\tA\tT\t.\t.\t.\n${line}\n1\t9\t.\tA\tT\t.\t.\t.\n`,
    );
    const { rows, notes } = await readWholeFile(path, 'vcf');
    if (Array.isArray(want)) {
      expect(notes).toMatchObject([{ level: 'reject', line: 14, code: want[0], field: want[1] }]);
      expect(rows).toHaveLength(2);
    } else {
      expect(notes.filter((note) => note.level === 'reject')).toEqual([]);
      const { info, ...rest } = want;
      expect(rows[1]).toMatchObject(
        Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
      );
      for (const [key, value] of Object.entries(rest))
        if (value === undefined) expect(rows[1]).not.toHaveProperty([key]);
      if (info !== undefined) expect(rows[1]!.info).toEqual(info);
    }
    // The records of the lines before and after are complete, whatever the tested line was.
    expect(rows[0]).toMatchObject({ variant: 'GRCH37-1-1-1-T' });
    expect(rows.at(-1)).toMatchObject({ variant: 'GRCH37-1-9-9-T' });
  });

  const sampleCases: readonly (readonly [string, string, unknown])[] = [
    [
      'typed',
      'GT:DP:AD\t0/1:7:3,4\t./.:.:.',
      [
        { name: 'S1', GT: '0/1', DP: 7, AD: [3, 4] },
        { name: '__proto__', GT: './.' },
      ],
    ],
    [
      'trailing values left out',
      'GT:DP:AD\t0|1\t1',
      [
        { name: 'S1', GT: '0|1' },
        { name: '__proto__', GT: '1' },
      ],
    ],
    [
      'mixed ploidy',
      'GT\t0/1/1\t0',
      [
        { name: 'S1', GT: '0/1/1' },
        { name: '__proto__', GT: '0' },
      ],
    ],
    [
      'undeclared key',
      'GT:XX\t0/1:a\t0/0:b',
      [
        { name: 'S1', GT: '0/1', XX: 'a' },
        { name: '__proto__', GT: '0/0', XX: 'b' },
      ],
    ],
    ['FORMAT and samples missing', '.\t.\t.', [{ name: 'S1' }, { name: '__proto__' }]],
    ['a value without FORMAT', '.\t.\t1', [0, null]],
    ['depth with leading zeros', 'DP\t000000000000000000007\t1', [{ name: 'S1', DP: 7 }, { name: '__proto__', DP: 1 }]], // prettier-ignore
    ['bad genotype', 'GT\t0/C\t0', [301, 'sample.GT']],
    ['bad depth', 'GT:DP\t0/1:x\t0', [301, 'sample.DP']],
    ['empty FORMAT key', 'GT::DP\t0/1\t0', [301, 'FORMAT']],
    ['FORMAT key twice', 'GT:GT\t0/1:1\t0', [301, 'FORMAT']],
    ['too many values', 'GT\t0/1:7\t0', [0, null]],
    ['a sample too few', 'GT\t0/1', [0, null]],
    ['a sample too many', 'GT\t0/1\t0\t0', [0, null]],
  ];
  test.each(sampleCases)('samples: %s', async (_name, text, want) => {
    const path = writeVcfFile(
      'samples.vcf',
      `${headerWithSamples}1\t5\t.\tA\tT\t.\t.\tDB\t${text}\n1\t9\t.\tA\tT\t.\t.\t.\tGT\t0\t1\n`,
    );
    const { rows, notes } = await readWholeFile(path, 'vcf');
    if (Array.isArray(want) && typeof want[0] === 'number') {
      expect(notes).toMatchObject([{ level: 'reject', line: 13, code: want[0], field: want[1] }]);
      expect(rows).toHaveLength(1);
    } else expect(rows[0]!.sample).toEqual(want);
    expect(rows.at(-1)!.sample).toEqual([
      { name: 'S1', GT: '0' },
      { name: '__proto__', GT: '1' },
    ]);
  });

  const nonFiniteCases = [
    ['QUAL', 'nan', 304, (value: string) => `1\t5\t.\tA\tT\t${value}\t.\t.\tGT\t0\t1`],
    ['QUAL', '-Infinity', 305, (value: string) => `1\t5\t.\tA\tT\t${value}\t.\t.\tGT\t0\t1`],
    ['info.MQ', '-nan', 304, (value: string) => `1\t5\t.\tA\tT\t.\t.\tMQ=${value}\tGT\t0\t1`],
    ['info.MQ', '1e999', 305, (value: string) => `1\t5\t.\tA\tT\t.\t.\tMQ=${value}\tGT\t0\t1`],
    ['info.DP', 'NaN', 304, (value: string) => `1\t5\t.\tA\tT\t.\t.\tDP=${value}\tGT\t0\t1`],
    ['info.DP', 'inf', 305, (value: string) => `1\t5\t.\tA\tT\t.\t.\tDP=${value}\tGT\t0\t1`],
    ['sample.DP', 'nan', 304, (value: string) => `1\t5\t.\tA\tT\t.\t.\t.\tGT:DP\t0:${value}\t1:4`],
    ['sample.AD', 'inf', 305, (value: string) => `1\t5\t.\tA\tT\t.\t.\t.\tGT:AD\t0:3,${value}\t1:4`],
  ] as const; // prettier-ignore
  test.each(nonFiniteCases)('%s %s is null and warning %i, and an error where somebody asked for it', async (field, value, code, line) => {
    const goodLine = '1\t9\t.\tA\tT\t3\t.\tMQ=1.5;DP=7\tGT:DP:AD\t0:1:2,3\t1:1:2\n';
    const text = `${headerWithSamples}${line(value)}\n${line(value)}\n${goodLine}`;
    const { rows, error, findings, columns } = await importSource(text, 'vcf');
    expect(error).toBeNull();
    expect(findings).toMatchObject({ errors: 0, warnings: 2, counts: { [code]: 2 } });
    expect(findings.examples).toMatchObject([{ level: 'warning', code, line: 13, field, count: 2 }]);
    const [root, leaf] = field.toLowerCase() === 'qual' ? ['qual'] : field.split('.');
    const storedValueOf = (row: Row) =>
      leaf === undefined ? row[root!] : ([row[root!]].flat()[0] as Row | null)?.[leaf];
    const expectedLeaf = leaf === 'AD' ? [3, null] : undefined;
    expect(storedValueOf(rows[0]!) ?? undefined).toEqual(expectedLeaf);
    expect(storedValueOf(rows[2]!)).toEqual({ qual: 3, MQ: 1.5, DP: root === 'info' ? 7 : 1, AD: [2, 3] }[leaf ?? 'qual']);

    const strictRead = await importSource(text, 'vcf', { validation: { ...lenientParams, strict: true } });
    expect(strictRead.findings).toMatchObject({ errors: 2, records: 2, warnings: 0, counts: { [code]: 2 } });
    const declaredColumns = (columns: Columns): Columns =>
      columns.map((one) => ({ ...one, ...(one.children ? { children: declaredColumns(one.children) } : { isDeclared: true }) }));
    const declaredRead = await importSource(text, 'vcf', { known: declaredColumns(columns) });
    expect(declaredRead.findings).toMatchObject({ errors: 2, records: 2, counts: { [code]: 2 } });
    // In stored fields whose types nobody declared, numbers that are not finite still cause only warnings.
    const laterRead = await importSource(text, 'vcf', { known: columns });
    expect(laterRead.findings).toMatchObject({ errors: 0, counts: { [code]: 2 } });
    const uncheckedRead = await importSource(text, 'vcf', { validation: { ...lenientParams, disable: true } });
    expect(uncheckedRead.rows).toEqual(rows);
    expect(uncheckedRead.findings.counts).toEqual({});
  }); // prettier-ignore

  test('an empty sample value is missing: of a key, of a list, of a sample', async () => {
    const values = 'GT:AD:DP\t0/0::30\t\n1\t9\t.\tA\tT\t.\t.\t.\tAD\t\t2,3';
    const { rows, notes } = await readWholeFile(
      writeVcfFile('empty-values.vcf', `${headerWithSamples}1\t5\t.\tA\tT\t.\t.\t.\t${values}\n`),
      'vcf',
    );
    expect(rows.map((row) => row.sample)).toEqual([
      [{ name: 'S1', GT: '0/0', DP: 30 }, { name: '__proto__' }],
      [{ name: 'S1' }, { name: '__proto__', AD: [2, 3] }],
    ]);
    const warning = { level: 'warn', code: 0, field: 'sample' };
    expect(notes).toMatchObject([
      { ...warning, line: 13 },
      { ...warning, line: 14 },
    ]);
  });

  test('a line with a thousand alleles becomes a thousand records', async () => {
    const alleles = Array.from(
      { length: 1000 },
      (_, i) => 'ACGT'[i % 4]! + 'A'.repeat(i % 30),
    ).join(',');
    const { rows } = await readWholeFile(
      writeVcfFile('many.vcf', `${headerOfSites}1\t5\t.\tC\t${alleles}\t.\t.\tDP=3\n`),
      'vcf',
    );
    expect(rows.map((row) => row.allele)).toEqual(alleles.split(','));
    expect(rows.every((row) => (row.info as { DP: number }).DP === 3)).toBe(true);
  });

  test('a duplicate key keeps the first value, and several values for one are a warning', async () => {
    const { rows, notes } = await readWholeFile(
      writeVcfFile('twice.vcf', `${headerOfSites}1\t5\t.\tA\tT\t.\t.\tDP=1;DP=2;MQ=3,4\n`),
      'vcf',
    );
    expect(rows[0]!.info).toEqual({ DP: 1, MQ: 3 });
    expect(notes).toMatchObject([
      { level: 'warn', line: 13, code: 303, field: 'info.DP' },
      { level: 'warn', line: 13, code: 303, field: 'info.MQ' },
    ]);
  });

  test('a key named __proto__ is a column like any other', async () => {
    const path = writeVcfFile(
      'proto.vcf',
      `${headerOfSites}1\t5\t.\tA\tT\t.\t.\t__proto__=1;DP=2\n`,
    );
    const { columns } = await readWholeFile(path, 'vcf');
    const info = columns[0]!.find((one) => one.name === 'info')!.children!;
    expect(info.at(-1)).toMatchObject({ name: '__proto__', type: 'string' });
    expect(({} as Record<string, unknown>).DP).toBeUndefined();
  });

  test('keys that differ by letter case alone stay apart', async () => {
    const text = headerOfSites.replace(
      '##INFO=<ID=DP,',
      '##INFO=<ID=dp,Number=1,Type=Integer,Description="x">\n##INFO=<ID=DP,',
    );
    const { columns } = await readWholeFile(
      writeVcfFile('case.vcf', `${text}1\t5\t.\tA\tT\t.\t.\tdp=1;DP=2\n`),
      'vcf',
    );
    const info = columns[0]!.find((one) => one.name === 'info')!.children!;
    const physicalNames = info.map((one) => one.physical.toLowerCase());
    expect(new Set(physicalNames).size).toBe(physicalNames.length);
    expect(info.map((one) => one.name)).toEqual(expect.arrayContaining(['dp', 'DP']));
  });
});

describe('headers (F9)', () => {
  const badLines: readonly (readonly [string, string, RegExp])[] = [
    ['no header at all', '1\t5\t.\tA\tT\t.\t.\t.\n', /line 1: .*#CHROM/],
    ['only a line end', '\n', /line 1: .*#CHROM/],
    ['meta lines only', '##fileformat=VCFv4.2\n', /line 1: .*end of the file/],
    ['empty file format', `##fileformat=\n${headerOfSites}`, /line 1: unknown file format/],
    [
      'unknown version',
      `##fileformat=VCFv5.0\n${headerOfSites}`,
      /line 1: VCF 5\.0 is not supported/,
    ],
    [
      'spaces for tabs',
      '##fileformat=VCFv4.2\n#CHROM POS ID REF ALT QUAL FILTER INFO\n',
      /line 2: .*tabs/,
    ],
    [
      'wrong column',
      '#CHROM\tPOSITION\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n',
      /line 1: column 2 .* POS/,
    ],
    [
      'bad Number',
      `##INFO=<ID=A,Number=N,Type=Integer,Description="">\n${headerOfSites}`,
      /line 1: ##INFO A has Number=N/,
    ],
    [
      'bad Type',
      `##INFO=<ID=A,Number=1,Type=Int,Description="">\n${headerOfSites}`,
      /line 1: ##INFO A has Type=Int/,
    ],
    ['no ID', `##INFO=<Number=1,Type=Integer>\n${headerOfSites}`, /line 1: .*no ID/],
    [
      'two samples of one name',
      '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tA\tA\n',
      /line 1: two samples/,
    ],
  ];
  test.each(badLines)('%s', async (_name, text, message) => {
    await expect(readWholeFile(writeVcfFile('head.vcf', text), 'vcf')).rejects.toThrow(message);
  });

  test('comments stand anywhere in a header, before and after the #CHROM line', async () => {
    const [meta, chrom] = [metaLines, headerOfSites.slice(metaLines.length)];
    const record = '1\t5\t.\tA\tT\t.\t.\tDP=bad\n';
    const comments = '#annotated by a tool\n\n# \n#\n';
    for (const text of [`${meta}${comments}${chrom}`, `${meta}${chrom}${comments}##more=1\n`]) {
      const { rows, notes } = await readWholeFile(
        writeVcfFile('comments.vcf', `${text}${record}`),
        'vcf',
      );
      expect(rows).toEqual([]);
      const line = text.split('\n').length;
      expect(notes).toMatchObject([{ level: 'reject', line, code: 301, field: 'info.DP' }]);
    }
    const joinedFile = `${headerOfSites}${headerOfSites}${record}`;
    const { notes } = await readWholeFile(writeVcfFile('joined.vcf', joinedFile), 'vcf');
    expect(notes[0]).toMatchObject({ level: 'reject', line: 13, code: 0 });
    expect(notes[0]!.message).toMatch(/joined/);
  });

  test('an empty file holds no records', async () => {
    expect((await readWholeFile(writeVcfFile('empty.vcf', ''), 'vcf')).rows).toEqual([]);
  });

  test('errors about parameters name the parameter', async () => {
    const path = `${fixtureFolder}/spec_simple_4.3.vcf`;
    await expect(readWholeFile(path, 'vcf', { params: { genome_build: 'hg18' } })).rejects.toThrow(
      /genome_build/,
    );
    await expect(readWholeFile(path, 'vcf', { params: { sample_key: 7 } })).rejects.toThrow(
      /sample_key/,
    );
    const { rows } = await readWholeFile(path, 'vcf', { params: { sample_key: 'calls' } });
    expect(rows[0]).toHaveProperty('calls');
  });
});

describe('malformed real files (F9)', () => {
  test.each([
    ['vcf_spaces_in_header_row.vcf', /vcf_spaces_in_header_row\.vcf, line 48: .*tabs/],
    ['vcf_truncated_bgzf.vcf.gz', /vcf_truncated_bgzf\.vcf\.gz: the compressed file ends early/],
  ])('%s is refused with its cause', async (name, message) => {
    await expect(readWholeFile(`${fixtureFolder}/${name}`, 'vcf')).rejects.toThrow(message);
  });

  test('an empty POS is rejected with its line, the other lines are read', async () => {
    const { rows, notes } = await readWholeFile(`${fixtureFolder}/vcf40_pos_empty.vcf`, 'vcf');
    expect(notes).toMatchObject([{ level: 'reject', line: 19, code: 301, field: 'POS' }]);
    expect(rows).toHaveLength(6);
  });

  test('a sample without a name is an error, a sample column without values a warning', async () => {
    await expect(readWholeFile(`${fixtureFolder}/vcf_invalid_header.vcf`, 'vcf')).rejects.toThrow(
      'vcf_invalid_header.vcf, line 2: sample 2 has no name',
    );
    const { rows, notes } = await readWholeFile(
      `${fixtureFolder}/vcf_missing_sample_column.vcf`,
      'vcf',
    );
    expect(rows).toHaveLength(3);
    expect(notes[0]).toMatchObject({ level: 'warn', line: 55, code: 0 });
    expect(notes[0]!.message).toMatch(/NORMAL\.variant2" is empty/);
  });

  test('uncompressed text in a file named .gz is read, with a warning (F4)', async () => {
    const { rows, notes, warnings } = await readWholeFile(
      `${fixtureFolder}/vcf_not_gzip.vcf.gz`,
      'vcf',
    );
    expect(notes).toEqual([]);
    expect(rows).toHaveLength(169);
    expect(warnings).toEqual([expect.stringContaining('read as plain text')]);
  });
});

describe('any split gives the same records', () => {
  let state = seed;
  const randomBelow = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % limit;
  };

  test(`for random chunk sizes, compression and line ends (seed ${seed}) (F6)`, async () => {
    for (const name of ['freebayes_7_samples.vcf', 'clinvar_grch38.vcf.gz', 'trio_sv_csq.vcf.gz']) {
      const text = readFixtureText(name);
      const expectedRows = (
        await readWholeFile(writeVcfFile('whole.vcf', text), 'vcf', { targetBytes: 1 << 30 })
      ).rows;
      for (let round = 0; round < byTier(2, 12); round++) {
        const hasCr = randomBelow(2) === 1;
        const endedText = randomBelow(2) === 1 ? text : text.replace(/\n$/, '');
        const bytes = Buffer.from(hasCr ? endedText.replaceAll('\n', '\r\n') : endedText);
        const layers = [
          bytes,
          gzipSync(bytes),
          compressBgzf(bytes, 500 + randomBelow(60_000)),
          Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
        ];
        const path = writeVcfFile('cut.vcf', layers[randomBelow(4)]!);
        const importedFile = await readWholeFile(path, 'vcf', {
          targetBytes: 1 + randomBelow(bytes.length),
        });
        expect(importedFile.rows).toEqual(expectedRows);
      }
    }
  });

  test('a bgzip file equals its plain text, with one chunk and with many (F3)', async () => {
    const readInManyChunks = await readWholeFile(
      `${fixtureFolder}/trio_ann_and_csq.vcf.gz`,
      'vcf',
      {
        targetBytes: 100_000,
      },
    );
    const plainRead = await readWholeFile(
      writeVcfFile('trio.vcf', readFixtureText('trio_ann_and_csq.vcf.gz')),
      'vcf',
      {
        targetBytes: 1 << 30,
      },
    );
    expect(readInManyChunks.chunks).toBeGreaterThan(10);
    expect(readInManyChunks.rows).toEqual(plainRead.rows);
  });
});
