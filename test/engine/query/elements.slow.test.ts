import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Columns } from '../../../engine/core/types.js';
import { pruneSegments } from '../../../engine/query/predicate/kinds/prune.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { column, enginesUnderTest, listColumn, openEngineFixture, type EngineFixture, type TestDataset, type TestRow } from './dataset.js'; // prettier-ignore
import { importSource } from '../../readers/import-source.js';
import { confirmCauses, explainQuery } from './explained.js';

/* Tests conditions on one element of a list of objects: `any` in filters, braces in query strings. */

const transcriptsColumn = listColumn(
  column('transcripts', 'object', [
    column('gene', 'string'),
    listColumn(column('consequence', 'string')),
    column('note', 'text'),
    listColumn(column('exons', 'object', [column('number', 'integer'), column('start', 'long')])),
  ]),
);
const sampleColumn = listColumn(column('sample', 'object', [column('name', 'string'), column('GT', 'string'), column('DP', 'integer')])); // prettier-ignore
const columns: Columns = [column('gene', 'string'), sampleColumn, transcriptsColumn];
const genotypeCall = (name: string, GT: string | null, DP: number | null = null) => ({
  name,
  GT,
  DP,
});

const firstRecords: readonly TestRow[] = [
  {
    _id: 'a',
    gene: 'G1',
    sample: [genotypeCall('HG02024', '0/1', 30), genotypeCall('HG02025', '1/1', 9)],
    transcripts: [
      { gene: 'BRCA2', consequence: ['missense', 'splice'], note: 'breast cancer', exons: [{ number: 1, start: 10n }, { number: 2, start: 20n }] },
      { gene: 'TTN', consequence: ['stop'], note: 'muscle', exons: [{ number: 1, start: 20n }] },
    ],
  },
  {
    _id: 'b',
    gene: 'G2',
    sample: [genotypeCall('HG02024', '1/1', 12), null, genotypeCall('HG02025', null)],
    transcripts: [{ gene: 'BRCA2', consequence: ['stop'], note: 'cancer of the breast', exons: [] }, { gene: 'TTN', consequence: [] }],
  },
  { _id: 'c', gene: 'G3', sample: [], transcripts: null },
  { _id: 'd', gene: 'G4' },
] as unknown as readonly TestRow[]; // prettier-ignore
/** Records that were stored before the dataset had the column `transcripts`. */
const secondRecords: readonly TestRow[] = [
  {
    _id: 'e',
    gene: 'G5',
    sample: [genotypeCall('HG02026', '1/1', 40), genotypeCall('HG02024', '1/1')],
  },
  { _id: 'f', gene: 'G6', sample: [null] },
] as unknown as readonly TestRow[];

const sampleElementFilter = (...filters: readonly unknown[]) => ({
  any: { path: 'sample', filters },
});
const transcriptElementFilter = (...filters: readonly unknown[]) => ({ any: { path: 'transcripts', filters } }); // prettier-ignore
const manyAlleles = Array.from({ length: 200 }, (_, i) => `X${i}`);

const queryIds = async (engineFixture: EngineFixture, { snapshot, fields }: TestDataset, body: object): Promise<string> => {
  const { results } = await runQuery(engineFixture.engine, snapshot, fields, parseQuery(body, fields));
  return (JSON.parse(results) as readonly { _id: string }[]).map(({ _id }) => _id).join('');
}; // prettier-ignore

describe.each(enginesUnderTest)('by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  let madeDataset: TestDataset;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
    madeDataset = await engineFixture.newDataset(columns, [firstRecords, secondRecords], { stored: [columns, columns.slice(0, 2)] });
  }); // prettier-ignore
  afterAll(() => engineFixture.close());

  test.each<readonly [unknown, string]>([
    // Two separate conditions on a list may hold for different elements.
    [[['sample.name', 'HG02024'], ['sample.GT', '1/1']], 'abe'],
    [[sampleElementFilter(['name', 'HG02024'], ['GT', '1/1'])], 'be'],
    [[sampleElementFilter(['name', 'HG02025'], ['GT', '1/1'])], 'a'],
    [sampleElementFilter(['name', 'HG02024'], ['GT', '1/1'], ['DP__gte', 12]), 'b'],
    [[sampleElementFilter(['name', 'hg02024'], { or: [['GT', '0/1'], ['DP', null]] })], 'ae'],
    // A negation inside `any` applies to the element, a negation outside to the record.
    [[sampleElementFilter(['name', 'HG02025'], { not: ['GT', '1/1'] })], 'b'],
    [[{ not: sampleElementFilter(['GT', '1/1']) }], 'cdf'],
    [[sampleElementFilter({ not: ['GT', '1/1'] })], 'ab'],
    [[{ not: sampleElementFilter({ not: ['GT', '1/1'] }) }], 'cdef'],
    [[sampleElementFilter(['GT', null])], 'b'],
    // A null is not an element.
    [[sampleElementFilter()], 'abe'],
    [[{ not: sampleElementFilter() }], 'cdf'],
    [[sampleElementFilter({ or: [] })], ''],
    [[['gene__in', ['G1', 'G5']], sampleElementFilter(['DP__range', [10, 30]])], 'a'],
    [[{ ANY: { path: 'sample', filters: ['DP__lt', 10] } }], 'a'],
    // The elements of the list contain lists themselves, on which conditions are possible.
    [[transcriptElementFilter(['gene', 'BRCA2'], ['consequence', 'stop'])], 'b'],
    [[transcriptElementFilter(['gene', 'BRCA2'], ['consequence__length', 2], ['consequence', 'splice'])], 'a'],
    [[transcriptElementFilter(['gene', 'TTN'], ['consequence', null])], 'b'],
    [[transcriptElementFilter(['exons.number', 1], ['exons.start', 20])], 'a'],
    [[transcriptElementFilter(['gene', 'BRCA2'], { any: { path: 'exons', filters: [['number', 1], ['start', 20]] } })], ''],
    [[transcriptElementFilter(['gene', 'TTN'], { any: { path: 'exons', filters: [['number', 1], ['start', 20]] } })], 'a'],
    [[{ any: { path: 'transcripts.exons', filters: [['number', 2], ['start', 20]] } }], 'a'],
    [[transcriptElementFilter({ not: { any: { path: 'exons', filters: [] } } })], 'b'],
    // Conditions on words of texts, and on lists of values too long for a statement to name each value.
    [[transcriptElementFilter(['gene', 'TTN'], ['note__contains', 'breast'])], ''],
    [[transcriptElementFilter(['gene', 'BRCA2'], ['note__contains', 'breast'])], 'ab'],
    [[sampleElementFilter(['name__in', [...manyAlleles, 'hg02024']], ['GT__in', [...manyAlleles, '0/1']])], 'a'],
    [[transcriptElementFilter(['consequence__in', [...manyAlleles, 'STOP']], ['gene__in', ['TTN']])], 'a'],
    [[transcriptElementFilter({ any: { path: 'exons', filters: [['number__in', [...manyAlleles.keys()].slice(2)]] } })], 'a'],
  ])('%j', async (filters, expected) => {
    expect(await queryIds(engineFixture, madeDataset, { filters })).toBe(expected);
  }); // prettier-ignore

  test.each([
    ['sample.name:HG02024 AND sample.GT:"1/1"', 'abe'],
    ['sample:{name:HG02024 AND GT:"1/1"}', 'be'],
    ['sample:{+name:HG02024 +GT:"1/1" -DP:12}', 'e'],
    ['gene:G1 OR sample:{ (name:HG02024 OR name:HG02025) AND NOT GT:"1/1" }', 'ab'],
    ['NOT sample:{GT:"1/1"}', 'cdf'],
    ['sample:{name:HG* AND DP:[10 TO 30}}', 'b'],
    ['sample:{DP:{9 TO 13}} AND gene:G2', 'b'],
    ['sample:{_missing_:GT}', 'b'],
    ['transcripts:{gene:TTN AND exons:{number:1 AND start:20}}', 'a'],
    ['transcripts:{gene:BRCA2 muscle}', 'ab'],
    ['transcripts:{gene:BRCA2 AND muscle}', ''],
    ['sample:{sample.name:HG02024}', ''],
    ['bogus:{name:HG02024}', ''],
    ['gene:{name:HG02024}', ''],
  ])('%s', async (query, expected) => {
    expect(await queryIds(engineFixture, madeDataset, { query })).toBe(expected);
  });

  test('explain leads from conditions on any elements to those on one', async () => {
    const filters = [['gene__prefix', 'G'], ['sample.name', 'HG02024'], ['sample.GT__in', ['1/1', '1|1']]]; // prettier-ignore
    const { explain } = await explainQuery(engineFixture, madeDataset, { filters });
    expect(explain.hints).toEqual([
      {
        paths: ['filters[1]', 'filters[2]'],
        hint: 'Different elements of sample may satisfy these conditions: 2 of the 3 records have one element that satisfies all of them.',
        instead: '{"any":{"path":"sample","filters":[["name","HG02024"],["GT__in",["1/1","1|1"]]]}}',
        apart: 3,
        matches: 2,
        left: 2,
      },
    ]); // prettier-ignore
    const instead = [filters[0], JSON.parse(explain.hints![0]!.instead) as object];
    expect(await queryIds(engineFixture, madeDataset, { filters: instead })).toBe('be');
    const query =
      'transcripts.gene:TTN AND (transcripts.exons.number:2 AND transcripts.exons.start:20)';
    const explanation = await explainQuery(engineFixture, madeDataset, { query });
    expect(explanation.explain.hints).toMatchObject([
      { paths: ['query.and[1].and[0]', 'query.and[1].and[1]'], instead: 'transcripts.exons:{number:2 AND start:20}', apart: 1, matches: 1, left: 1 },
    ]); // prettier-ignore
    const genotypeFilter = sampleElementFilter(['name', 'HG02024'], ['GT', '1/1']);
    for (const otherFilters of [
      [filters[1]],
      [{ or: filters }],
      [genotypeFilter],
      [filters[0], genotypeFilter],
    ])
      expect(
        (await explainQuery(engineFixture, madeDataset, { filters: otherFilters })).explain,
      ).not.toHaveProperty('hints');
  });

  test('explain tells that no single element satisfies the conditions where different ones do', async () => {
    const filters = [sampleElementFilter(['name', 'HG02026'], ['DP__lt', 30])];
    const widerFilter = [sampleElementFilter(['name', 'HG02025'], ['GT', '0/1'])];
    const { explain } = await explainQuery(engineFixture, madeDataset, { filters: widerFilter });
    expect(explain.causes).toMatchObject([{ path: 'filters[0]', cause: 'different_elements', matches: 1, left: 1 }]); // prettier-ignore
    expect(explain.nodes).toMatchObject([{ condition: expect.stringMatching(/"any"/), matches: 0 }]); // prettier-ignore
    const plainExplanation = await explainQuery(engineFixture, madeDataset, { filters });
    expect(plainExplanation.explain.causes?.map(({ cause }) => cause)).not.toContain(
      'different_elements',
    );
    await confirmCauses(engineFixture, madeDataset, plainExplanation.explain);
  });

  test('a segment without the list, or without a field that is needed, is left out', () => {
    const touchedSegmentCount = (filters: unknown): number => {
      const { predicate } = parseQuery({ filters }, madeDataset.fields);
      return pruneSegments(madeDataset.snapshot, predicate, new Map()).segments.length;
    };
    expect(touchedSegmentCount([sampleElementFilter(['GT', '1/1'])])).toBe(2);
    expect(touchedSegmentCount([transcriptElementFilter(['gene', 'TTN'])])).toBe(1);
    expect(touchedSegmentCount([transcriptElementFilter({ not: ['gene', 'TTN'] })])).toBe(1);
    expect(touchedSegmentCount([{ not: transcriptElementFilter(['gene', 'TTN']) }])).toBe(2);
  });
});

/** Returns a dataset with the records of a real file, in two segments. */
async function createDatasetFromFile(engineFixture: EngineFixture, path: string): Promise<TestDataset> {
  const { rows, columns: importedColumns } = await importSource(readFileSync(path), 'vcf', { name: path });
  const halfLength = Math.floor(rows.length / 2);
  return engineFixture.newDataset(importedColumns, [rows.slice(0, halfLength), rows.slice(halfLength)]);
} // prettier-ignore

describe.each(enginesUnderTest)('real files, by %s', (_, threads) => {
  let engineFixture: EngineFixture;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
  });
  afterAll(() => engineFixture.close());

  test('genotypes and depths of one sample, of some sample, and of different ones, as bcftools finds them', async () => {
    const callsDataset = await createDatasetFromFile(engineFixture, 'test/fixtures/vcf/hail_100_samples.vcf.gz');
    const header = gunzipSync(readFileSync('test/fixtures/vcf/hail_100_samples.vcf.gz')).toString();
    const sampleNames = /^#CHROM\t.*$/m.exec(header)![0].split('\t').slice(9);
    const sampleFilter = (i: number, ...more: readonly unknown[]) => sampleElementFilter(['name', sampleNames[i]], ...more);
    const inBraces = (i: number, rest: string) => `sample:{name:"${sampleNames[i]!}" AND ${rest}}`;
    const askedConditions: Readonly<Record<string, readonly [filters: unknown, query: string]>> = {
      'GT[0]="1/1"': [[sampleFilter(0, ['GT', '1/1'])], inBraces(0, 'GT:"1/1"')],
      'GT[49]="1/1"': [sampleFilter(49, ['GT', '1/1']), inBraces(49, 'GT:"1/1"')],
      'GT[99]="0/1"': [[sampleFilter(99, ['GT__in', ['0/1']])], inBraces(99, 'GT:"0/1"')],
      'GT[49]="1/1" & FMT/DP[49]>=40': [[sampleFilter(49, ['GT', '1/1'], ['DP__gte', 40])], inBraces(49, 'GT:"1/1" AND DP:>=40')],
      'GT[0]="0/1" && GT[1]="1/1"': [[sampleFilter(0, ['GT', '0/1']), sampleFilter(1, ['GT', '1/1'])], `${inBraces(0, 'GT:"0/1"')} AND ${inBraces(1, 'GT:"1/1"')}`],
      'GT[0]="1/1" && GT[1]="1/1"': [{ and: [sampleFilter(0, ['GT', '1/1']), sampleFilter(1, ['GT', '1/1'])] }, `+${inBraces(0, 'GT:"1/1"')} +${inBraces(1, 'GT:"1/1"')}`],
      'GT[0]="mis"': [[sampleFilter(0, ['GT', './.'])], inBraces(0, 'GT:"./."')],
      'GT="1/1" & FMT/DP>=60': [[sampleElementFilter(['GT', '1/1'], ['DP__gte', 60])], 'sample:{GT:"1/1" AND DP:[60 TO *]}'],
      'GT="1/1" && FMT/DP>=60': [[['sample.GT', '1/1'], ['sample.DP__gte', 60]], 'sample.GT:"1/1" AND sample.DP:>=60'],
      'GT="1/1" & FMT/GQ<30': [[sampleElementFilter({ and: [['GT', '1/1'], { not: ['GQ__gte', 30] }] })], 'sample:{GT:"1/1" AND NOT GQ:>=30}'],
      'N_PASS(GT="1/1" & FMT/DP>=60)=0': [[{ not: sampleElementFilter(['GT', '1/1'], ['DP__gte', 60]) }], 'NOT sample:{GT:"1/1" AND DP:>=60}'],
      'N_PASS(GT="1/1")=0': [[{ not: [sampleElementFilter(['GT', '1/1'])] }], '-sample:{GT:"1/1"}'],
      'GT[2]="0/1" & FMT/DP[2]<30 || GT[3]="1/1"': [[{ or: [sampleFilter(2, ['GT', '0/1'], ['DP__lt', 30]), sampleFilter(3, ['GT', '1/1'])] }], `${inBraces(2, 'GT:"0/1" AND DP:<30')} OR ${inBraces(3, 'GT:"1/1"')}`],
    };
    const bcftoolsLines = readFileSync('test/fixtures/vcf/genotypes.bcftools.tsv', 'utf8').trim().split('\n').map((line) => line.split('\t')); // prettier-ignore
    expect(bcftoolsLines.map(([expression]) => expression).sort()).toEqual(Object.keys(askedConditions).sort());
    const findPositions = async (body: object): Promise<string> => {
      const { results } = await runQuery(engineFixture.engine, callsDataset.snapshot, callsDataset.fields, parseQuery({ ...body, limit: 1000, ordering: ['genomic_coordinates.start'] }, callsDataset.fields));
      return (JSON.parse(results) as readonly { genomic_coordinates: { start: number } }[]).map((one) => one.genomic_coordinates.start).join(',');
    };
    for (const [expression = '', expectedPositions] of bcftoolsLines) {
      const [filters, query] = askedConditions[expression]!;
      expect([expression, await findPositions({ filters })]).toEqual([expression, expectedPositions]);
      expect([query, await findPositions({ query })]).toEqual([query, expectedPositions]);
    }
  }); // prettier-ignore

  test('the gene and the consequence of one transcript, with facets, and never those of different ones', async () => {
    const path = 'test/fixtures/vcf/vep_csq_split.vcf.gz';
    const madeDataset = await createDatasetFromFile(engineFixture, path);
    const text = gunzipSync(readFileSync(path)).toString();
    const csqColumns = /Format: ([^"]*)"/.exec(text)![1]!.split('|');
    const csqIndexOf = (name: string): number => csqColumns.indexOf(name);
    // Each alternate allele gives one record; each transcript has its own consequences, joined with &.
    const records = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).flatMap((line) => {
      const [, start, , , alternate = '', , , info = ''] = line.split('\t');
      const csq = /(?:^|;)CSQ=([^;]*)/.exec(info)?.[1]?.split(',').map((one) => one.split('|')) ?? [];
      const transcripts = csq.map((one) => ({ gene: one[csqIndexOf('SYMBOL')]!, consequences: one[csqIndexOf('Consequence')]!.split('&'), biotype: one[csqIndexOf('BIOTYPE')]! }));
      return alternate.split(',').map(() => ({ start: Number(start), transcripts }));
    });
    type Transcript = (typeof records)[number]['transcripts'][number];
    const csqElementFilter = (...filters: readonly unknown[]) => ({ any: { path: 'info.CSQ', filters } });
    const cases: readonly (readonly [unknown, string | null, (all: readonly Transcript[]) => boolean])[] = [
      [[csqElementFilter(['SYMBOL', 'WASH7P'], ['Consequence', 'downstream_gene_variant'])], 'info.CSQ:{SYMBOL:WASH7P AND Consequence:downstream_gene_variant}', (all) => all.some((one) => one.gene === 'WASH7P' && one.consequences.includes('downstream_gene_variant'))],
      [[['info.CSQ.SYMBOL', 'WASH7P'], ['info.CSQ.Consequence', 'downstream_gene_variant']], 'info.CSQ.SYMBOL:WASH7P AND info.CSQ.Consequence:downstream_gene_variant', (all) => all.some((one) => one.gene === 'WASH7P') && all.some((one) => one.consequences.includes('downstream_gene_variant'))],
      [[csqElementFilter(['Consequence', 'missense_variant'], { not: ['BIOTYPE', 'protein_coding'] })], 'info.CSQ:{Consequence:missense_variant AND NOT BIOTYPE:protein_coding}', (all) => all.some((one) => one.consequences.includes('missense_variant') && one.biotype !== 'protein_coding')],
      [[csqElementFilter(['Consequence', 'intron_variant'], ['Consequence', 'non_coding_transcript_variant'])], 'info.CSQ:{Consequence:intron_variant AND Consequence:non_coding_transcript_variant}', (all) => all.some((one) => one.consequences.includes('intron_variant') && one.consequences.includes('non_coding_transcript_variant'))],
      [[csqElementFilter(['Consequence__length__gte', 2], ['BIOTYPE', 'protein_coding'])], null, (all) => all.some((one) => one.consequences.length > 1 && one.biotype === 'protein_coding')],
      [[{ not: csqElementFilter({ not: ['BIOTYPE', 'protein_coding'] }) }], 'NOT info.CSQ:{NOT BIOTYPE:protein_coding}', (all) => all.every((one) => one.biotype === 'protein_coding')],
    ];
    for (const [filters, query, isWanted] of cases) {
      const expectedRecords = records.filter(({ transcripts }) => isWanted(transcripts));
      const counts = new Map<string, number>();
      for (const { transcripts } of expectedRecords)
        for (const gene of new Set(transcripts.map(({ gene }) => gene).filter((gene) => gene !== ''))) counts.set(gene, (counts.get(gene) ?? 0) + 1);
      for (const body of [{ filters }, ...(query === null ? [] : [{ query }])]) {
        const request = parseQuery({ ...body, limit: 0, facets: { 'info.CSQ.SYMBOL': { limit: 0 } } }, madeDataset.fields);
        const { total, facets } = await runQuery(engineFixture.engine, madeDataset.snapshot, madeDataset.fields, request);
        expect([body, total]).toEqual([body, expectedRecords.length]);
        expect(new Map((JSON.parse(facets!) as Record<string, [string, number][]>)['info.CSQ.SYMBOL'])).toEqual(counts);
      }
    }
    const countApart = records.filter(({ transcripts }) => cases[1]![2](transcripts)).length;
    expect(countApart).toBeGreaterThan(records.filter(({ transcripts }) => cases[0]![2](transcripts)).length);
  }); // prettier-ignore
});
