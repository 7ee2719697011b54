import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  changedFields,
  readDifferencePage,
  computeRecordChanges,
  type ComparedVersions,
} from '../../../../engine/query/plan/difference-page.js';
import type { Column, Columns } from '../../../../engine/core/types.js';
import { enginesUnderTest, openEngineFixture, type EngineFixture } from '../dataset.js';

const columnOf = (name: string, type: Column['type'], more: Partial<Column> = {}): Column => ({ name, physical: name, type, isList: false, ...more }); // prettier-ignore
const columns: Columns = [
  columnOf('n', 'long'),
  columnOf('info', 'object', { children: [columnOf('a', 'string'), columnOf('b', 'long')] }),
  columnOf('tags', 'string', { isList: true }),
];

describe.each(enginesUnderTest)('a page of a difference, read by %s', (_, threads) => {
  let bench: EngineFixture;
  beforeAll(async () => {
    bench = await openEngineFixture(threads);
  });
  afterAll(() => bench.close());

  test('pairs the states of a record that was written anew', async () => {
    const count = 1_300;
    const row = (i: number, commit: number, b: number) => ({ _id: `id${i}\t"`, _commit: String(commit), n: i, info: { a: 'x', b } }); // prettier-ignore
    // Of the old records, those with even numbers were replaced, in reverse order; every fifth of the others was deleted, and new records
    // were added.
    const oldRows = Array.from({ length: count }, (_, i) => row(i, 1, i));
    const anew = oldRows.filter((_, i) => i % 2 === 0).map(({ n }) => row(n, 2, -n)).toReversed(); // prettier-ignore
    const freshRows = Array.from({ length: 7 }, (_, i) => row(count + i, 2, 0));
    const stay = oldRows.filter(({ n }) => n % 2 === 1 && n % 5 !== 0);
    const earlierDataset = await bench.dataset(columns, [
      oldRows.slice(0, 600),
      oldRows.slice(600),
    ]);
    const laterDataset = await bench.dataset(columns, [[...anew, ...freshRows], stay]);
    const [one, two] = earlierDataset.snapshot.segments.map(({ path }) => path);
    const [young] = laterDataset.snapshot.segments.map(({ path }) => path);
    const goneIndices = (of: readonly { n: number }[]): Int32Array =>
      Int32Array.from(of.keys()).filter((i) => !stay.some(({ n }) => n === of[i]!.n));
    const versions: ComparedVersions = {
      from: earlierDataset.snapshot,
      to: laterDataset.snapshot,
      fields: earlierDataset.fields,
      difference: {
        removed: new Map([[one!, goneIndices(oldRows.slice(0, 600))], [two!, goneIndices(oldRows.slice(600))]]), // prettier-ignore
        added: new Map([[young!, 'all' as const]]),
      },
    };
    const [changes, sameChanges] = await Promise.all([
      computeRecordChanges(bench.engine, versions, {}),
      computeRecordChanges(bench.engine, versions, {}),
    ]);
    expect(sameChanges).toBe(changes);
    const removedRows = oldRows.filter(({ n }) => n % 2 === 1 && n % 5 === 0);
    expect([changes.removed.length, changes.after.length, changes.added.length]).toEqual([removedRows.length, anew.length, 7]); // prettier-ignore
    const expected = [
      ...removedRows.map(({ n }) => ['removed', n, n, null, []]),
      // 0 and -0 are equal as longs.
      ...anew.map(({ n }) => ['changed', n, n === 0 ? 0 : -n, n, n === 0 ? [] : ['info.b']]),
      ...freshRows.map(({ n }) => ['added', n, 0, null, []]),
    ];
    for (const limit of [97, 650, 10_000]) {
      const found: unknown[] = [];
      for (let at = 0; at < expected.length; at += limit) {
        let text = '';
        for await (const piece of readDifferencePage(
          bench.engine,
          versions,
          changes,
          at,
          limit,
          {},
        ))
          text += piece;
        const page = JSON.parse(`[${text}]`) as DifferenceRecord[];
        expect(page).toHaveLength(Math.min(limit, expected.length - at));
        found.push(
          ...page.map(({ change, record, before, fields }) => {
            const ids = [record, before ?? record].map(({ _id: id }) => id);
            expect(ids).toEqual(Array.from(ids, () => `id${record.n}\t"`));
            return [change, record.n, record.info.b, before?.info.b ?? null, fields];
          }),
        );
      }
      expect(found).toEqual(expected);
    }
    // The pairs of records are cached together with the difference.
    expect(await computeRecordChanges(bench.engine, versions, {})).toBe(changes);
  });

  test('is computed once for requests at the same time, of which one may leave', async () => {
    const rowsOf = (commit: string) =>
      [0, 1, 2].map((n) => ({ _id: `id${n}`, _commit: commit, n }));
    const [a, b] = [
      await bench.dataset(columns, [rowsOf('1')]),
      await bench.dataset(columns, [rowsOf('2').slice(1)]),
    ];
    const allRowsOf = ({ snapshot }: typeof a) => new Map([[snapshot.segments[0]!.path, 'all' as const]]); // prettier-ignore
    const difference = { removed: allRowsOf(a), added: allRowsOf(b) };
    const versions = { from: a.snapshot, to: b.snapshot, fields: a.fields, difference };
    const request = (controller: AbortController) =>
      computeRecordChanges(bench.engine, versions, { signal: controller.signal });
    // All requests leave: the next one computes the changes.
    const leaving = [new AbortController(), new AbortController()];
    const left = leaving.map(request);
    for (const one of leaving) one.abort();
    for (const one of left) await expect(one).rejects.toMatchObject({ code: 'canceled' });
    // The request that has started the computation leaves, and the two others get the same result.
    const first = new AbortController();
    const started = request(first);
    const others = [request(new AbortController()), request(new AbortController())];
    first.abort();
    await expect(started).rejects.toMatchObject({ code: 'canceled' });
    const [changes, sameChanges] = await Promise.all(others);
    expect(sameChanges).toBe(changes);
    expect([changes!.removed.length, changes!.after.length, changes!.added.length]).toEqual([1, 2, 0]); // prettier-ignore
  });

  test('has no changed record where both have the same commit', async () => {
    const rows = [{ _id: 'a', _commit: '1', n: 1 }];
    const [a, b] = [await bench.dataset(columns, [rows]), await bench.dataset(columns, [rows])];
    const wholeFile = (path: string) => new Map([[path, 'all' as const]]);
    const changes = await computeRecordChanges(
      bench.engine,
      {
        from: a.snapshot,
        to: b.snapshot,
        fields: [],
        difference: {
          removed: wholeFile(a.snapshot.segments[0]!.path),
          added: wholeFile(b.snapshot.segments[0]!.path),
        },
      },
      {},
    );
    expect([changes.removed.length, changes.after.length, changes.added.length]).toEqual([1, 0, 1]);
  });
});

test('comparisons are kept up to 64 MiB of the numbers of their rows', async () => {
  const bench = await openEngineFixture();
  try {
    const { snapshot, fields } = await bench.dataset(columns, [[{ _id: 'a', _commit: '1', n: 1 }]]);
    const { path } = snapshot.segments[0]!;
    const from = { ...snapshot, isInterleaved: true };
    // The rows take 4 bytes each, and as they are not in the order of their row ids, the comparison takes 4 more: two comparisons fit, and
    // three do not.
    const removedRows = Int32Array.from({ length: 3_500_000 }, (_, i) => i ^ 1);
    const versions = [1, 2, 3].map((): ComparedVersions => ({
      from,
      to: snapshot,
      fields,
      difference: { removed: new Map([[path, removedRows]]), added: new Map() },
    }));
    const compare = (one: number) => computeRecordChanges(bench.engine, versions[one]!, {});
    const [first, second] = [await compare(0), await compare(1)];
    expect(await compare(0)).toBe(first);
    expect(await compare(1)).toBe(second);
    expect(await compare(0)).toBe(first);
    await compare(2);
    expect(await compare(0)).toBe(first);
    expect(await compare(1)).not.toBe(second);
  } finally {
    await bench.close();
  }
});

interface DifferenceRecord {
  readonly change: string;
  readonly record: { readonly _id: string; readonly n: number; readonly info: { readonly b: number } }; // prettier-ignore
  readonly before: null | DifferenceRecord['record'];
  readonly fields: readonly string[];
}

test.each([
  ['{}', '{}', []],
  ['{"_commit":"1","a":1}', '{"_commit":"2","a":1.0}', []],
  ['{"a":null}', '{"b":null}', []],
  ['{"a":1,"z":{"y":1}}', '{"b":1,"z":{"y":2,"x":{"w":1}}}', ['b', 'z.y', 'z.x.w', 'a']],
  ['{"a":{"b":1,"c":null}}', '{}', ['a.b']],
  ['{"a":[1,{"b":null}]}', '{"a":[1,{}]}', []],
  ['{"a":[1,2]}', '{"a":[2,1]}', ['a']],
  ['{"a":[1]}', '{"a":1}', ['a']],
  ['{"a":9007199254740993}', '{"a":9007199254740992}', ['a']],
  ['{"__proto__":1}', '{"__proto__":2}', ['__proto__']],
] as const)('the fields in which %s and %s differ', (before, after, fields) => {
  expect(changedFields(before, after)).toEqual(fields);
});
