import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { loadHumanGenes, type GeneTable } from '../../../engine/ingest/entities/genes.js';
import { AppError } from '../../../engine/core/errors.js';
import { findCausesOfNoMatch } from '../../../engine/query/explain/causes.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import { runQuery } from '../../../engine/query/plan/run-query.js';
import { SqlRecordInspector } from '../../../engine/query/sql/sql-record-inspector.js';
import type { Columns } from '../../../engine/core/types.js';
import { column, fieldRows, listColumn, openEngineFixture, type EngineFixture, type TestDataset, type TestRow } from './dataset.js'; // prettier-ignore
import { confirmCauses, explainQuery, type Cause } from './explained.js';
import { createSixRecordDataset } from './six-records.js';

let engineFixture: EngineFixture;
let genes: GeneTable;
let threeRecordDataset: TestDataset;
let sixRecordDataset: TestDataset;

const columns: Columns = [
  column('gene', 'string'),
  column('chrom', 'string'),
  column('contig', 'string'),
  column('build', 'string'),
  column('variant', 'string'),
  column('significance', 'string'),
  listColumn(column('tags', 'string')),
  column('code', 'string'),
  column('dose', 'string'),
  column('pos', 'long'),
  column('af', 'double'),
  listColumn(column('depths', 'integer')),
  column('seen', 'date'),
  column('note', 'text'),
  column('nothing', 'string'),
  column('genomic_coordinates', 'object', [
    column('build', 'string'),
    column('chromosome', 'string'),
    column('start', 'long'),
    column('stop', 'long'),
  ]),
];

const coordinatesAt = (chromosome: string, start: number, stop: number): TestRow => ({ build: 'GRCh37', chromosome, start, stop }) as TestRow; // prettier-ignore
const records: readonly TestRow[] = [
  { gene: 'ERBB2', chrom: '12', contig: 'chr12', build: 'GRCh37', variant: 'GRCH37-12-100-100-T', significance: 'Likely_pathogenic', tags: ['Red', 'dark blue'], code: ' A12', dose: '1.50', pos: 100, af: 0.1, depths: [10, 20], seen: '2016-05-01', note: 'Diabetes and muscle' },
  { gene: 'KMT2A', chrom: '12', contig: 'chr12', build: 'GRCh37', variant: 'GRCH37-12-205-210-A', significance: 'Benign', tags: ['green'], code: 'B7', dose: '1000', pos: 205, af: 0.2, depths: [40], seen: '2017-05-01', note: 'cystic fibrosis' },
  { gene: 'BRCA1', chrom: 'MT', contig: 'chrM', build: 'GRCh37', variant: 'GRCH37-MT-7-7-A', significance: 'Benign', tags: [], code: 'C9', dose: '7', pos: 7, af: 0.9, depths: [], seen: '2018-05-01', note: 'cystic fibrosis' },
].map((row, i) => ({ ...row, genomic_coordinates: [coordinatesAt('12', 100, 100), coordinatesAt('12', 205, 210), coordinatesAt('MT', 7, 7)][i]! }) as unknown as TestRow); // prettier-ignore

beforeAll(async () => {
  engineFixture = await openEngineFixture();
  genes = await loadHumanGenes();
  sixRecordDataset = await createSixRecordDataset(engineFixture);
  const { snapshot } = await engineFixture.newDataset(columns, [
    records.slice(0, 1),
    records.slice(1),
  ]);
  const entities = { gene: 'gene', variant: 'variant' } as const;
  threeRecordDataset = { snapshot, fields: fieldRows(columns, [], entities) };
});
afterAll(() => engineFixture.close());

async function explainCauses(
  body: object,
  dataset = threeRecordDataset,
): Promise<readonly Cause[]> {
  const { explain, total } = await explainQuery(engineFixture, dataset, body, genes);
  expect(total).toBe(0);
  await confirmCauses(engineFixture, dataset, explain, genes);
  return explain.causes!;
}

const filterRequest = (...pair: readonly [string, unknown]): object => ({ filters: [pair] });

test('the nearest doubles are numbers also beyond 2^53, and the nearest longs are texts', async () => {
  const types = [column('x', 'double'), column('n', 'long')];
  const rows: readonly TestRow[] = [{ x: 1e16, n: 10n ** 16n + 1n }, { x: 3e16, n: 3n * 10n ** 16n + 1n }]; // prettier-ignore
  const { snapshot } = await engineFixture.newDataset(types, [rows]);
  const dataset = { snapshot, fields: fieldRows(types, []) };
  const valuesNear = async (field: string): Promise<unknown> =>
    (await explainQuery(engineFixture, dataset, filterRequest(field, 2e16), genes)).explain.causes![0]!.values; // prettier-ignore
  expect(await valuesNear('x')).toEqual([1e16, 3e16]);
  expect(await valuesNear('n')).toEqual(['10000000000000001', '30000000000000001']);
});

describe('an empty answer has a cause that the records confirm:', () => {
  test.each<[string, object, Partial<Cause>]>([
    ['the build of the request', { genome_build: 'GRCh38', filters: [['pos__gt', 50]] }, { path: 'genome_build', cause: 'wrong_build', instead: 'GRCh37', matches: 3, left: 2, hint: 'The records are of another genome build: GRCh37 has 3 records.' }],
    ['the build in a filter', filterRequest('genomic_coordinates.build', 'GRCh38'), { cause: 'wrong_build', instead: '["genomic_coordinates.build","GRCh37"]', matches: 3 }],
    ['the build of a variant', { entities: [['variant', 'GRCh38-chr12-100-100-T']] }, { path: 'entities[0]', cause: 'wrong_build', instead: '["variant","GRCh37-chr12-100-100-T"]', matches: 1, left: 1 }],
    ['the build of a region', { entities: [['genomic_region', 'GRCH38-12-1-1000']] }, { cause: 'wrong_build', instead: '["genomic_region","GRCH37-12-1-1000"]', matches: 2 }],
    ['the build of a region as an object', { entities: [['genomic_region', { build: 'GRCh38', chromosome: '12', start: 1, stop: 1000 }]] }, { cause: 'wrong_build', matches: 2 }],
    ['the build before a colon', { entities: [['genomic_region', 'hg38:12:1-1000']] }, { cause: 'wrong_build', instead: '["genomic_region","hg19:12:1-1000"]', matches: 2 }],
    ['the newest build', { entities: [['variant', 'T2T-CHM13-12-100-A-T']] }, { cause: 'wrong_build', instead: '["variant","GRCH37-12-100-A-T"]', matches: 1 }],
    ['a place in a build that no record has', { entities: [['genomic_region', 'GRCh38:12:900000-900001']] }, { path: 'entities[0]', cause: 'wrong_build', hint: 'The records are of GRCh37, and this asks for GRCH38.', values: ['GRCh37'] }],
    ['a variant in a build that no record has', { entities: [['variant', 'T2T-CHM13-12-900000-A-G']] }, { path: 'entities[0]', cause: 'wrong_build', values: ['GRCh37'] }],
    ['the build in a query string', { query: 'variant:"GRCH38-12-100-100-T"' }, { path: 'query', cause: 'wrong_build', instead: 'variant:"GRCH37-12-100-100-T"', matches: 1 }],
    ['another name of the build', filterRequest('build', 'hg19'), { cause: 'build_name', instead: '["build","GRCh37"]', matches: 3 }],
    ['chr where there is none', filterRequest('chrom', 'chr12'), { cause: 'chr_prefix', instead: '["chrom","12"]', matches: 2, left: 2 }],
    ['chr missing where there is one', filterRequest('contig__in', ['12', 'X']), { cause: 'chr_prefix', instead: '["contig__in",["chr12","chrX"]]', matches: 2 }],
    ['chr missing in a number', filterRequest('contig', 12), { cause: 'chr_prefix', instead: '["contig","chr12"]', matches: 2 }],
    ['M and MT', filterRequest('chrom', 'chrM'), { cause: 'chr_prefix', instead: '["chrom","MT"]', matches: 1 }],
    ['MT and M', filterRequest('contig', 'MT'), { cause: 'chr_prefix', instead: '["contig","chrM"]', matches: 1 }],
    ['chr in a query string', { query: 'chrom:chr12' }, { cause: 'chr_prefix', instead: 'chrom:"12"', matches: 2 }],
    ['letter case of an exact value', filterRequest('significance__exact', 'benign'), { cause: 'letter_case', instead: '["significance__iexact","benign"]', matches: 2, values: ['Benign'] }],
    ['letter case of a part', filterRequest('significance__contains', 'PATHO'), { cause: 'letter_case', instead: '["significance__regexp","(?is).*PATHO.*"]', matches: 1, values: ['Likely_pathogenic'] }],
    ['letter case of a beginning', filterRequest('gene__prefix', 'erbb'), { cause: 'letter_case', matches: 1, values: ['ERBB2'] }],
    ['letter case of a pattern', filterRequest('gene__regexp', 'brca[12]'), { cause: 'letter_case', instead: '["gene__regexp","(?i)brca[12]"]', matches: 1 }],
    ['a pattern of a part', filterRequest('gene__regexp', 'RCA'), { cause: 'part_of_value', instead: '["gene__regexp","(?s).*(?:RCA).*"]', matches: 1, values: ['BRCA1'] }],
    ['spaces around the value', filterRequest('chrom', ' 12 '), { cause: 'spaces', instead: '["chrom","12"]', matches: 2 }],
    ['spaces around the stored value', filterRequest('code', 'a12'), { cause: 'spaces', matches: 1, values: [' A12'] }],
    ['quotation marks', filterRequest('chrom', '"12"'), { cause: 'quotes', instead: '["chrom","12"]', matches: 2 }],
    ['words joined by other characters', filterRequest('significance', 'likely pathogenic'), { cause: 'separators', matches: 1, values: ['Likely_pathogenic'] }],
    ['another form of a number', filterRequest('dose', '1.5'), { cause: 'number_format', matches: 1, values: ['1.50'] }],
    ['a number with commas', filterRequest('dose', '1,000'), { cause: 'number_format', instead: '["dose","1000"]', matches: 1 }],
    ['an alias of a gene', filterRequest('gene', 'her2'), { cause: 'gene_name', instead: '["gene","ERBB2"]', matches: 1 }],
    ['an alias of a gene in a query string', { query: 'gene:MLL' }, { cause: 'gene_name', instead: 'gene:"KMT2A"', matches: 1 }],
    ['a part of a value', filterRequest('gene', 'BRCA'), { cause: 'part_of_value', instead: '["gene__contains","BRCA"]', matches: 1, values: ['BRCA1'] }],
    ['something inside of values, not at their beginning', filterRequest('gene__prefix', 'RCA1'), { cause: 'part_of_value', instead: '["gene__contains","RCA1"]', matches: 1 }],
    ['the beginning of a word', filterRequest('note', 'diabet'), { cause: 'part_of_value', instead: '{"query":"note:diabet*"}', matches: 1 }],
    ['the beginning of a word in a query string', { query: 'diabet' }, { cause: 'part_of_value', instead: '*diabet*', matches: 1 }],
    ['the nearest numbers', filterRequest('pos', 150), { cause: 'nearest_values', values: [100, 205], hint: 'The nearest values of pos are 100 and 205.' }],
    ['the nearest numbers around a range', filterRequest('af__range', [0.3, 0.8]), { cause: 'nearest_values', values: [0.2, 0.9] }],
    ['the nearest numbers of lists', filterRequest('depths', 15), { cause: 'nearest_values', values: [10, 20] }],
    ['the nearest dates', filterRequest('seen', '2016-12-24'), { cause: 'nearest_values', values: ['2016-05-01', '2017-05-01'] }],
    ['a number out of range', filterRequest('pos__gte', 1000), { cause: 'out_of_range', values: [7, 205], hint: 'The values of pos range from 7 to 205.' }],
    ['a date out of range', filterRequest('seen__lt', '2010-01-01'), { cause: 'out_of_range', values: ['2016-05-01', '2018-05-01'] }],
    ['a misspelled value', filterRequest('gene', 'BCRA1'), { cause: 'similar_values', values: ['BRCA1'] }],
    ['a misspelled value in a list', filterRequest('tags', 'grean'), { cause: 'similar_values', values: ['green'] }],
    ['a value similar to none', filterRequest('code', 'completely different'), { cause: 'no_such_value', values: [' A12', 'B7', 'C9'] }],
    ['a term similar to none', filterRequest('note', 'tuberculosis'), { cause: 'no_such_value', hint: 'No value of note matches or is similar.' }],
    ['a term similar to none in any field', { query: 'tuberculosis' }, { cause: 'no_such_value', hint: 'No value of gene, chrom, contig, build, variant and 8 more fields matches or is similar.' }],
    ['a misspelled value in any field', { query: 'BCRA1' }, { cause: 'similar_values', hint: 'gene has similar values.', values: ['BRCA1'] }],
    ['a field without values', filterRequest('nothing', 'x'), { cause: 'no_values', hint: 'No record has a value of nothing.' }],
    ['an unknown field', { query: 'genes:BRCA1' }, { cause: 'unknown_field', values: ['gene'] }],
    ['a value that is impossible for the type of the field', { query: 'pos:many' }, { cause: 'impossible' }],
    ['a missing value that never is', filterRequest('gene', null), { cause: 'none_missing' }],
    ['a negation of everything', { filters: [{ not: ['pos__gte', 0] }] }, { path: 'filters[0]', cause: 'excludes_all' }],
    ['positions that count from 0', { filters: [['genomic_coordinates.start', 99], ['genomic_coordinates.stop', 100]] }, { cause: 'off_by_one', instead: '["genomic_coordinates.start",100]', matches: 1, left: 1 }],
    ['positions that count from 0, both', { filters: [['genomic_coordinates.start', 204], ['genomic_coordinates.stop', 209]] }, { cause: 'off_by_one', instead: '["genomic_coordinates.start",205], ["genomic_coordinates.stop",210]', left: 1 }],
    ['positions in a text that count from 0', { entities: [['variant', 'GRCH37-12-204-210-A']] }, { cause: 'off_by_one', instead: '["variant","GRCH37-12-205-210-A"]', matches: 1 }],
    ['a position query that counts from 0', { filters: [{ and: [['genomic_coordinates.start__lte', 211], ['genomic_coordinates.stop__gte', 211], ['genomic_coordinates.chromosome', '12']] }] }, { cause: 'off_by_one', left: 1 }],
    ['swapped ends', { filters: [['pos__gte', 150], ['pos__lte', 50]] }, { cause: 'swapped_ends', instead: '["pos__gte",50], ["pos__lte",150]', left: 1 }],
    ['swapped ends in a query string', { query: 'pos:[150 TO 50]' }, { cause: 'swapped_ends', instead: 'pos:[50 TO 150]', matches: 1 }],
    ['conditions that never hold together', { filters: [['chrom', '12'], ['gene', 'BRCA1'], ['pos__gt', 0]] }, { path: 'filters[1]', cause: 'never_together', hint: 'No record satisfies both this and ["chrom","12"] (filters[0]).', values: ['filters[0]'] }],
    ['the condition that excludes the last matches', { filters: [['chrom', '12'], ['pos__lt', 50]] }, { path: 'filters[1]', cause: 'removes_last', left: 2, values: [100, 205], hint: 'Without this condition, 2 records would match. Their values of pos range from 100 to 205.' }],
  ])('%s', async (_, body, expected) => {
    expect(await explainCauses(body)).toContainEqual(expect.objectContaining(expected));
  }); // prettier-ignore

  test('a corrected condition that is too long to show', async () => {
    const others = Array.from({ length: 100 }, (_, i) => 1_000_000 + 2 * i);
    const filters = [['genomic_coordinates.start__in', [99, ...others]]];
    const causes = await explainCauses({ filters });
    const offByOneCause = causes.find(({ cause }) => cause === 'off_by_one');
    expect(offByOneCause).toMatchObject({
      matches: 1,
      hint: expect.stringContaining('the other form'),
    });
    expect(offByOneCause).not.toHaveProperty('instead');
  });

  test('three conditions of which any two match together', async () => {
    const filters = [['stars__lte', 1], ['pmid', '200'], ['af__gt', 0.3]]; // prettier-ignore
    const causes = await explainCauses({ filters: [{ or: [{ and: filters }] }] }, sixRecordDataset);
    expect(causes.map(({ cause }) => cause)).toContain('never_together');
  });

  test('alternatives and nested conditions: only those that match nothing are causes', async () => {
    const causes = await explainCauses({
      filters: [{ or: [['chrom', 'chr12'], { and: [['pos__gt', 0], ['gene', 'BRCA']] }] }, ['pos__gt', 0]],
    }); // prettier-ignore
    expect(causes.map(({ path, cause }) => [path, cause])).toEqual([
      ['filters[0].or[0]', 'chr_prefix'],
      ['filters[0].or[1].and[1]', 'part_of_value'],
    ]);
  });

  test('a dataset without records', async () => {
    const emptyDataset = await engineFixture.newDataset(columns, []);
    expect(await explainCauses(filterRequest('gene', 'x'), emptyDataset)).toEqual([
      expect.objectContaining({ cause: 'no_records' }),
    ]);
  });

  test('a search that takes too long ends, and one whose client has left fails (Q9)', async () => {
    const request = parseQuery(
      { ...filterRequest('gene', 'x'), explain: true },
      threeRecordDataset.fields,
      genes,
    );
    const search = (code: 'budget' | 'canceled'): Promise<readonly object[]> =>
      findCausesOfNoMatch(
        {
          recordCount: 3,
          inspector: new SqlRecordInspector(threeRecordDataset.snapshot, () =>
            Promise.reject(new AppError(code, 'longer than 60 s')),
          ),
        },
        request.explain!,
        new Map(request.explain!.root.nodes.map((node) => [node, { matches: 0, left: 0 }])),
      );
    expect(await search('budget')).toEqual([
      {
        path: '',
        condition: '',
        cause: 'not_known',
        hint: 'The search for causes ended early: longer than 60 s',
      },
    ]);
    await expect(search('canceled')).rejects.toMatchObject({ code: 'canceled' });
    const options = { signal: AbortSignal.abort() };
    const canceledQuery = runQuery(
      engineFixture.engine,
      threeRecordDataset.snapshot,
      threeRecordDataset.fields,
      request,
      options,
    );
    await expect(canceledQuery).rejects.toMatchObject({ code: 'canceled' });
  });

  test('an answer that is not empty has no causes', async () => {
    const { explain } = await explainQuery(engineFixture, threeRecordDataset, {
      filters: [['chrom', '12']],
    });
    expect(explain).not.toHaveProperty('causes');
  });
});
