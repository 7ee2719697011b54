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
  let engineFixture: EngineFixture;
  beforeAll(async () => {
    engineFixture = await openEngineFixture(threads);
  });
  afterAll(() => engineFixture.close());

  test('pairs the states of a record that was written anew', async () => {
    const recordCount = 1_300;
    const rowOf = (i: number, commit: number, b: number) => ({ _id: `id${i}\t"`, _commit: String(commit), n: i, info: { a: 'x', b } }); // prettier-ignore
    // Of the old records, those with even numbers were replaced, in reverse order; every fifth of the others was deleted, and new records
    // were added.
    const oldRows = Array.from({ length: recordCount }, (_, i) => rowOf(i, 1, i));
    const rewrittenRows = oldRows.filter((_, i) => i % 2 === 0).map(({ n }) => rowOf(n, 2, -n)).toReversed(); // prettier-ignore
    const freshRows = Array.from({ length: 7 }, (_, i) => rowOf(recordCount + i, 2, 0));
    const keptRows = oldRows.filter(({ n }) => n % 2 === 1 && n % 5 !== 0);
    const earlierDataset = await engineFixture.newDataset(columns, [
      oldRows.slice(0, 600),
      oldRows.slice(600),
    ]);
    const laterDataset = await engineFixture.newDataset(columns, [
      [...rewrittenRows, ...freshRows],
      keptRows,
    ]);
    const [firstPath, secondPath] = earlierDataset.snapshot.segments.map(({ path }) => path);
    const [newPath] = laterDataset.snapshot.segments.map(({ path }) => path);
    const goneIndices = (of: readonly { n: number }[]): Int32Array =>
      Int32Array.from(of.keys()).filter((i) => !keptRows.some(({ n }) => n === of[i]!.n));
    const versions: ComparedVersions = {
      from: earlierDataset.snapshot,
      to: laterDataset.snapshot,
      fields: earlierDataset.fields,
      difference: {
        removed: new Map([[firstPath!, goneIndices(oldRows.slice(0, 600))], [secondPath!, goneIndices(oldRows.slice(600))]]), // prettier-ignore
        added: new Map([[newPath!, 'all' as const]]),
      },
    };
    const [changes, sameChanges] = await Promise.all([
      computeRecordChanges(engineFixture.engine, versions, {}),
      computeRecordChanges(engineFixture.engine, versions, {}),
    ]);
    expect(sameChanges).toBe(changes);
    const removedRows = oldRows.filter(({ n }) => n % 2 === 1 && n % 5 === 0);
    expect([changes.removed.length, changes.after.length, changes.added.length]).toEqual([removedRows.length, rewrittenRows.length, 7]); // prettier-ignore
    const expected = [
      ...removedRows.map(({ n }) => ['removed', n, n, null, []]),
      // 0 and -0 are equal as longs.
      ...rewrittenRows.map(({ n }) => [
        'changed',
        n,
        n === 0 ? 0 : -n,
        n,
        n === 0 ? [] : ['info.b'],
      ]),
      ...freshRows.map(({ n }) => ['added', n, 0, null, []]),
    ];
    for (const limit of [97, 650, 10_000]) {
      const foundChanges: unknown[] = [];
      for (let at = 0; at < expected.length; at += limit) {
        let text = '';
        for await (const piece of readDifferencePage(
          engineFixture.engine,
          versions,
          changes,
          at,
          limit,
          {},
        ))
          text += piece;
        const page = JSON.parse(`[${text}]`) as DifferenceRecord[];
        expect(page).toHaveLength(Math.min(limit, expected.length - at));
        foundChanges.push(
          ...page.map(({ change, record, before, fields }) => {
            const ids = [record, before ?? record].map(({ _id: id }) => id);
            expect(ids).toEqual(Array.from(ids, () => `id${record.n}\t"`));
            return [change, record.n, record.info.b, before?.info.b ?? null, fields];
          }),
        );
      }
      expect(foundChanges).toEqual(expected);
    }
    // The pairs of records are cached together with the difference.
    expect(await computeRecordChanges(engineFixture.engine, versions, {})).toBe(changes);
  });

  test('is computed once for requests at the same time, of which one may leave', async () => {
    const rowsOf = (commit: string) =>
      [0, 1, 2].map((n) => ({ _id: `id${n}`, _commit: commit, n }));
    const [a, b] = [
      await engineFixture.newDataset(columns, [rowsOf('1')]),
      await engineFixture.newDataset(columns, [rowsOf('2').slice(1)]),
    ];
    const allRowsOf = ({ snapshot }: typeof a) => new Map([[snapshot.segments[0]!.path, 'all' as const]]); // prettier-ignore
    const difference = { removed: allRowsOf(a), added: allRowsOf(b) };
    const versions = { from: a.snapshot, to: b.snapshot, fields: a.fields, difference };
    const request = (controller: AbortController) =>
      computeRecordChanges(engineFixture.engine, versions, { signal: controller.signal });
    // All requests leave: the next one computes the changes.
    const leavingControllers = [new AbortController(), new AbortController()];
    const abandonedRequests = leavingControllers.map(request);
    for (const one of leavingControllers) one.abort();
    for (const one of abandonedRequests)
      await expect(one).rejects.toMatchObject({ code: 'canceled' });
    // The request that has started the computation leaves, and the two others get the same result.
    const firstController = new AbortController();
    const firstRequest = request(firstController);
    const otherRequests = [request(new AbortController()), request(new AbortController())];
    firstController.abort();
    await expect(firstRequest).rejects.toMatchObject({ code: 'canceled' });
    const [changes, sameChanges] = await Promise.all(otherRequests);
    expect(sameChanges).toBe(changes);
    expect([changes!.removed.length, changes!.after.length, changes!.added.length]).toEqual([1, 2, 0]); // prettier-ignore
  });

  test('has no changed record where both have the same commit', async () => {
    const rows = [{ _id: 'a', _commit: '1', n: 1 }];
    const [a, b] = [
      await engineFixture.newDataset(columns, [rows]),
      await engineFixture.newDataset(columns, [rows]),
    ];
    const wholeFile = (path: string) => new Map([[path, 'all' as const]]);
    const changes = await computeRecordChanges(
      engineFixture.engine,
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
  const engineFixture = await openEngineFixture();
  try {
    const { snapshot, fields } = await engineFixture.newDataset(columns, [
      [{ _id: 'a', _commit: '1', n: 1 }],
    ]);
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
    const compare = (index: number) =>
      computeRecordChanges(engineFixture.engine, versions[index]!, {});
    const [firstResult, secondResult] = [await compare(0), await compare(1)];
    expect(await compare(0)).toBe(firstResult);
    expect(await compare(1)).toBe(secondResult);
    expect(await compare(0)).toBe(firstResult);
    await compare(2);
    expect(await compare(0)).toBe(firstResult);
    expect(await compare(1)).not.toBe(secondResult);
  } finally {
    await engineFixture.close();
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
