import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Columns } from '../../../engine/core/types.js';
import { prune } from '../../../engine/query/predicate/prune.js';
import { parseQuery } from '../../../engine/query/request/request.js';
import { runQuery } from '../../../engine/query/plan/query.js';
import { column, engines, listOf, openBench, type Bench, type Dataset, type TestRow } from './dataset.js'; // prettier-ignore
import { confirm, explained } from './explained.js';

/* Conditions on one element of a list of objects: `any` in filters, braces in query strings. */

const transcripts = listOf(
  column('transcripts', 'object', [
    column('gene', 'string'),
    listOf(column('consequence', 'string')),
    column('note', 'text'),
    listOf(column('exons', 'object', [column('number', 'integer'), column('start', 'long')])),
  ]),
);
const sample = listOf(column('sample', 'object', [column('name', 'string'), column('GT', 'string'), column('DP', 'integer')])); // prettier-ignore
const columns: Columns = [column('gene', 'string'), sample, transcripts];
const call = (name: string, GT: string | null, DP: number | null = null) => ({ name, GT, DP });

const first: readonly TestRow[] = [
  {
    _id: 'a',
    gene: 'G1',
    sample: [call('HG02024', '0/1', 30), call('HG02025', '1/1', 9)],
    transcripts: [
      { gene: 'BRCA2', consequence: ['missense', 'splice'], note: 'breast cancer', exons: [{ number: 1, start: 10n }, { number: 2, start: 20n }] },
      { gene: 'TTN', consequence: ['stop'], note: 'muscle', exons: [{ number: 1, start: 20n }] },
    ],
  },
  {
    _id: 'b',
    gene: 'G2',
    sample: [call('HG02024', '1/1', 12), null, call('HG02025', null)],
    transcripts: [{ gene: 'BRCA2', consequence: ['stop'], note: 'cancer of the breast', exons: [] }, { gene: 'TTN', consequence: [] }],
  },
  { _id: 'c', gene: 'G3', sample: [], transcripts: null },
  { _id: 'd', gene: 'G4' },
] as unknown as readonly TestRow[]; // prettier-ignore
/** Of a time before transcripts. */
const second: readonly TestRow[] = [
  { _id: 'e', gene: 'G5', sample: [call('HG02026', '1/1', 40), call('HG02024', '1/1')] },
  { _id: 'f', gene: 'G6', sample: [null] },
] as unknown as readonly TestRow[];

const inSample = (...filters: readonly unknown[]) => ({ any: { path: 'sample', filters } });
const inTranscripts = (...filters: readonly unknown[]) => ({ any: { path: 'transcripts', filters } }); // prettier-ignore
const many = Array.from({ length: 200 }, (_, i) => `X${i}`);

const found = async (bench: Bench, { snapshot, fields }: Dataset, body: object): Promise<string> => {
  const { results } = await runQuery(bench.engine, snapshot, fields, parseQuery(body, fields));
  return (JSON.parse(results) as readonly { _id: string }[]).map(({ _id }) => _id).join('');
}; // prettier-ignore

describe.each(engines)('by %s', (_, threads) => {
  let bench: Bench;
  let made: Dataset;
  beforeAll(async () => {
    bench = await openBench(threads);
    made = await bench.dataset(columns, [first, second], { stored: [columns, columns.slice(0, 2)] });
  }); // prettier-ignore
  afterAll(() => bench.close());

  test.each<readonly [unknown, string]>([
    // Two conditions by themselves may hold for different elements.
    [[['sample.name', 'HG02024'], ['sample.GT', '1/1']], 'abe'],
    [[inSample(['name', 'HG02024'], ['GT', '1/1'])], 'be'],
    [[inSample(['name', 'HG02025'], ['GT', '1/1'])], 'a'],
    [inSample(['name', 'HG02024'], ['GT', '1/1'], ['DP__gte', 12]), 'b'],
    [[inSample(['name', 'hg02024'], { or: [['GT', '0/1'], ['DP', null]] })], 'ae'],
    // A negation inside is one of the element, a negation outside one of the record.
    [[inSample(['name', 'HG02025'], { not: ['GT', '1/1'] })], 'b'],
    [[{ not: inSample(['GT', '1/1']) }], 'cdf'],
    [[inSample({ not: ['GT', '1/1'] })], 'ab'],
    [[{ not: inSample({ not: ['GT', '1/1'] }) }], 'cdef'],
    [[inSample(['GT', null])], 'b'],
    // Nulls are no elements.
    [[inSample()], 'abe'],
    [[{ not: inSample() }], 'cdf'],
    [[inSample({ or: [] })], ''],
    [[['gene__in', ['G1', 'G5']], inSample(['DP__range', [10, 30]])], 'a'],
    [[{ ANY: { path: 'sample', filters: ['DP__lt', 10] } }], 'a'],
    // Lists inside the elements.
    [[inTranscripts(['gene', 'BRCA2'], ['consequence', 'stop'])], 'b'],
    [[inTranscripts(['gene', 'BRCA2'], ['consequence__length', 2], ['consequence', 'splice'])], 'a'],
    [[inTranscripts(['gene', 'TTN'], ['consequence', null])], 'b'],
    [[inTranscripts(['exons.number', 1], ['exons.start', 20])], 'a'],
    [[inTranscripts(['gene', 'BRCA2'], { any: { path: 'exons', filters: [['number', 1], ['start', 20]] } })], ''],
    [[inTranscripts(['gene', 'TTN'], { any: { path: 'exons', filters: [['number', 1], ['start', 20]] } })], 'a'],
    [[{ any: { path: 'transcripts.exons', filters: [['number', 2], ['start', 20]] } }], 'a'],
    [[inTranscripts({ not: { any: { path: 'exons', filters: [] } } })], 'b'],
    // Words of texts, and lists of values that are longer than a statement names one by one.
    [[inTranscripts(['gene', 'TTN'], ['note__contains', 'breast'])], ''],
    [[inTranscripts(['gene', 'BRCA2'], ['note__contains', 'breast'])], 'ab'],
    [[inSample(['name__in', [...many, 'hg02024']], ['GT__in', [...many, '0/1']])], 'a'],
    [[inTranscripts(['consequence__in', [...many, 'STOP']], ['gene__in', ['TTN']])], 'a'],
    [[inTranscripts({ any: { path: 'exons', filters: [['number__in', [...many.keys()].slice(2)]] } })], 'a'],
  ])('%j', async (filters, expected) => {
    expect(await found(bench, made, { filters })).toBe(expected);
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
    expect(await found(bench, made, { query })).toBe(expected);
  });

  test('explain leads from conditions on any elements to those on one', async () => {
    const filters = [['gene__prefix', 'G'], ['sample.name', 'HG02024'], ['sample.GT__in', ['1/1', '1|1']]]; // prettier-ignore
    const { explain } = await explained(bench, made, { filters });
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
    expect(await found(bench, made, { filters: instead })).toBe('be');
    const query =
      'transcripts.gene:TTN AND (transcripts.exons.number:2 AND transcripts.exons.start:20)';
    const asked = await explained(bench, made, { query });
    expect(asked.explain.hints).toMatchObject([
      { paths: ['query.and[1].and[0]', 'query.and[1].and[1]'], instead: 'transcripts.exons:{number:2 AND start:20}', apart: 1, matches: 1, left: 1 },
    ]); // prettier-ignore
    const one = inSample(['name', 'HG02024'], ['GT', '1/1']);
    for (const other of [[filters[1]], [{ or: filters }], [one], [filters[0], one]])
      expect((await explained(bench, made, { filters: other })).explain).not.toHaveProperty(
        'hints',
      );
  });

  test('explain tells that no single element satisfies the conditions where different ones do', async () => {
    const filters = [inSample(['name', 'HG02026'], ['DP__lt', 30])];
    const wide = [inSample(['name', 'HG02025'], ['GT', '0/1'])];
    const { explain } = await explained(bench, made, { filters: wide });
    expect(explain.causes).toMatchObject([{ path: 'filters[0]', cause: 'different_elements', matches: 1, left: 1 }]); // prettier-ignore
    expect(explain.nodes).toMatchObject([{ condition: expect.stringMatching(/"any"/), matches: 0 }]); // prettier-ignore
    const none = await explained(bench, made, { filters });
    expect(none.explain.causes?.map(({ cause }) => cause)).not.toContain('different_elements');
    await confirm(bench, made, none.explain);
  });

  test('a segment without the list, or without a field that is needed, is left out', () => {
    const touched = (filters: unknown): number => {
      const { predicate } = parseQuery({ filters }, made.fields);
      return prune(made.snapshot, predicate, new Map()).segments.length;
    };
    expect(touched([inSample(['GT', '1/1'])])).toBe(2);
    expect(touched([inTranscripts(['gene', 'TTN'])])).toBe(1);
    expect(touched([inTranscripts({ not: ['gene', 'TTN'] })])).toBe(1);
    expect(touched([{ not: inTranscripts(['gene', 'TTN']) }])).toBe(2);
  });
});
