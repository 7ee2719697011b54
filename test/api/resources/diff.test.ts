import { beforeAll, describe, expect, test } from '@jest/globals';
import { withChangedBudgets } from '../../with-budgets.js';
import { startServerFixture } from '../server-fixture.js';
import { grantPermission, listOf, type Answer } from '../server.js';

const { server, ann, vaultId, newDataset, runImport } = await startServerFixture();

let datasetId: number;
/** The ids of the commits of the dataset, which added ten records, added 1,200, deleted the first four, and added ten again. */
let commitIds: readonly number[];

beforeAll(async () => {
  datasetId = await newDataset();
  await addRecords(datasetId, 0, 10);
  await addRecords(datasetId, 10, 1_200);
  const firstPage = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 4 });
  const records = (firstPage.json['results'] as { _id: string }[]).map(({ _id }) => ({ _id }));
  await runImport({ dataset_id: datasetId, records, commit_mode: 'delete' });
  await server.scheduler.compacted();
  await addRecords(datasetId, 2_000, 10, { note: { text: 'late' } });
  const listedCommits = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
  commitIds = listedCommits.map(({ id }) => Number(id)).toReversed();
});

async function addRecords(
  id: number,
  from: number,
  count: number,
  more: object = {},
): Promise<void> {
  const records = Array.from({ length: count }, (_, i) => ({ n: from + i, ...more }));
  await runImport({ dataset_id: id, records });
}

function askDiff(query: Record<string, unknown> = {}, id = datasetId): Promise<Answer> {
  const parameters = new URLSearchParams(
    Object.entries(query).map(([key, value]) => [key, String(value)]),
  );
  return ann.get(`/v2/datasets/${id}/diff?${parameters}`);
}

interface ChangedRecord {
  readonly change: string;
  readonly record: Readonly<Record<string, unknown>>;
}

const changedNumbersOf = ({ json }: Answer): unknown[] =>
  (json['results'] as ChangedRecord[]).map(({ change, record }) => [change, record['n']]);
const expectedChanges = (what: string, from: number, count: number): unknown[] =>
  Array.from({ length: count }, (_, i) => [what, from + i]);

describe('the difference of two versions', () => {
  test('is, without parameters, what the newest commit did', async () => {
    const answer = await askDiff();
    const [, , deletionId, lastCommitId] = commitIds;
    const { json } = answer;
    expect(json).toMatchObject({
      from: { commit_id: deletionId },
      to: { commit_id: lastCommitId },
      counts: { added: 10, changed: 0, removed: 0 },
      cursor: null,
    });
    expect(Object.keys(json)).toEqual(['from', 'to', 'counts', 'results', 'cursor']);
    expect((json['results'] as ChangedRecord[])[0]).toEqual({
      change: 'added',
      record: {
        _id: expect.any(String),
        _commit: String(lastCommitId),
        n: 2_000,
        note: { text: 'late' },
      },
      before: null,
      fields: [],
    });
    expect(changedNumbersOf(answer)).toEqual(expectedChanges('added', 2_000, 10));
  });

  test('is what a commit did, with the records that it removed as they were', async () => {
    const [firstCommitId, secondCommitId, deletionId] = commitIds;
    const answer = await askDiff({ to: deletionId });
    expect(answer.json).toMatchObject({
      from: { commit_id: secondCommitId, version: 1 },
      to: { commit_id: deletionId, version: 2 },
      counts: { added: 0, changed: 0, removed: 4 },
    });
    expect(changedNumbersOf(answer)).toEqual(expectedChanges('removed', 0, 4));
    const [{ record }] = answer.json['results'] as [ChangedRecord];
    expect(record).toEqual({
      _id: expect.any(String),
      _commit: String(firstCommitId),
      n: 0,
      note: null,
    });

    const firstDiff = await askDiff({ to: firstCommitId });
    expect(firstDiff.json['from']).toEqual({ commit_id: null, version: -1 });
    expect(changedNumbersOf(firstDiff)).toEqual(expectedChanges('added', 0, 10));
  });

  test('goes in both directions, by ids and by times', async () => {
    const [firstCommitId, , , lastCommitId] = commitIds;
    const forwardDiff = await askDiff({ from: firstCommitId, to: lastCommitId, limit: 10_000 });
    expect(forwardDiff.json['counts']).toEqual({ added: 1_210, changed: 0, removed: 4 });
    expect(changedNumbersOf(forwardDiff)).toEqual([
      ...expectedChanges('removed', 0, 4),
      ...expectedChanges('added', 10, 1_200),
      ...expectedChanges('added', 2_000, 10),
    ]);
    const backwardDiff = await askDiff({ from: '2999-01-01', to: firstCommitId, limit: 10_000 });
    expect(backwardDiff.json).toMatchObject({
      from: { commit_id: lastCommitId },
      to: { commit_id: firstCommitId },
    });
    expect(changedNumbersOf(backwardDiff)).toEqual([
      ...expectedChanges('removed', 10, 1_200),
      ...expectedChanges('removed', 2_000, 10),
      ...expectedChanges('added', 0, 4),
    ]);
    const wholeDiff = await askDiff({ from: '2001-01-01', limit: 1 });
    expect(wholeDiff.json).toMatchObject({ from: { commit_id: null, version: -1 }, counts: { added: 1_216, removed: 0 } }); // prettier-ignore
    for (const query of [{ from: lastCommitId, to: lastCommitId }, { to: '2001-01-01' }])
      expect((await askDiff(query)).json).toMatchObject({ results: [], counts: { added: 0, changed: 0, removed: 0 }, cursor: null }); // prettier-ignore
  });

  test('is right for each of several requests at the same time', async () => {
    const id = await newDataset();
    await addRecords(id, 0, 1_500);
    const { json } = await ann.post(`/v2/datasets/${id}/data`, { limit: 1_200 });
    const records = (json['results'] as { _id: string; n: number }[]).map(({ _id, n }) => ({ _id, n: n + 10_000 })); // prettier-ignore
    await runImport({ dataset_id: id, records, commit_mode: 'upsert' });
    const limits = [10_000, 700, 10_000];
    const answers = await Promise.all(limits.map((limit) => askDiff({ limit }, id)));
    for (const [i, answer] of answers.entries()) {
      expect(answer.json['counts']).toEqual({ added: 0, changed: 1_200, removed: 0 });
      expect(changedNumbersOf(answer)).toEqual(expectedChanges('changed', 10_000, Math.min(limits[i]!, 1_200))); // prettier-ignore
    }
  });

  test('of a dataset without a commit is empty', async () => {
    const emptyVersion = { commit_id: null, version: -1 };
    const counts = { added: 0, changed: 0, removed: 0 };
    const { json } = await askDiff({}, await newDataset());
    expect(json).toEqual({
      from: emptyVersion,
      to: emptyVersion,
      counts,
      results: [],
      cursor: null,
    });
  });
});

describe('a cursor of a difference', () => {
  test('stays on its versions while others come, with any limit', async () => {
    const id = await newDataset();
    await addRecords(id, 0, 30);
    const pagedChanges: unknown[] = [];
    let cursor: unknown = '';
    let limit = 4;
    while (cursor !== null) {
      const answer = await askDiff({ cursor, limit: limit++ }, id);
      expect(answer.json).toMatchObject({ to: { version: 0 }, counts: { added: 30 } });
      pagedChanges.push(...changedNumbersOf(answer));
      cursor = answer.json['cursor'];
      await addRecords(id, 100, 1);
    }
    expect(pagedChanges).toEqual(expectedChanges('added', 0, 30));
  });

  test('is refused if it is altered, of another dataset or query, or sent with other versions', async () => {
    const [firstCommitId, secondCommitId] = commitIds;
    const { json } = await askDiff({ from: firstCommitId, to: secondCommitId, limit: 5 });
    const cursor = String(json['cursor']);
    const queryPage = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1, cursor: true });
    const otherDatasetId = await newDataset();
    const page = await askDiff({ cursor, from: ` ${firstCommitId}`, limit: 5 });
    expect(changedNumbersOf(page)).toEqual(expectedChanges('added', 15, 5));
    for (const wrongCursor of ['x', `${cursor.slice(0, 5)}!${cursor.slice(6)}`, cursor.slice(0, -1), queryPage.json['cursor']]) // prettier-ignore
      expect(statusAndJsonOf(await askDiff({ cursor: wrongCursor }))).toEqual([400, { cursor: [expect.stringContaining('Not a cursor of a diff')] }]); // prettier-ignore
    expect(statusAndJsonOf(await askDiff({ cursor }, otherDatasetId))).toEqual(
      [400, { cursor: ['This cursor belongs to another dataset.'] }],
    ); // prettier-ignore
    expect(statusAndJsonOf(await askDiff({ cursor, to: firstCommitId }))).toEqual(
      [400, { to: [expect.stringContaining('A cursor stays on')] }],
    ); // prettier-ignore
    const queryAnswer = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1, cursor });
    expect(statusAndJsonOf(queryAnswer)).toEqual([
      400,
      { cursor: [expect.stringContaining('Not a cursor')] },
    ]);
  });
});

const statusAndJsonOf = ({ status, json }: Answer): unknown => [status, json];

describe('changed records', () => {
  const idsOf = async (id: number): Promise<readonly string[]> => {
    const { json } = await ann.post(`/v2/datasets/${id}/data`, { limit: 100 });
    return (json['results'] as { _id: string }[]).map(({ _id }) => _id);
  };
  const upsert = (id: number, records: readonly object[]) =>
    runImport({ dataset_id: id, records, commit_mode: 'upsert' });
  const newestCommitIdOf = async (id: number): Promise<number> =>
    Number(listOf(await ann.get(`/v2/datasets/${id}/commits`))[0]!['id']);

  test('come in insertion order, whatever the order in which they were written', async () => {
    const id = await newDataset();
    await addRecords(id, 0, 12);
    const firstCommitId = await newestCommitIdOf(id);
    const ids = await idsOf(id);
    for (const n of [10, 5, 7]) await upsert(id, [{ _id: ids[n], n: n + 100 }]);
    await upsert(id, [{ _id: ids[2], n: 102 }, { n: 12 }, { _id: ids[1], n: 101 }]);
    const forwardDiff = await askDiff({ from: firstCommitId }, id);
    expect(changedNumbersOf(forwardDiff)).toEqual(
      [...[101, 102, 105, 107, 110].map((n) => ['changed', n]), ['added', 12]],
    ); // prettier-ignore
    const backwardDiff = await askDiff({ from: '2999-01-01', to: firstCommitId, limit: 2 }, id);
    expect(changedNumbersOf(backwardDiff)).toEqual([
      ['removed', 12],
      ['changed', 1],
    ]);
    const { cursor } = backwardDiff.json;
    expect(changedNumbersOf(await askDiff({ cursor, limit: 9 }, id))).toEqual([2, 5, 7, 10].map((n) => ['changed', n])); // prettier-ignore
  });

  test('are not records whose rows have the numbers of others that were rolled back', async () => {
    const id = await newDataset();
    await addRecords(id, 0, 3);
    await addRecords(id, 10, 4);
    const appendCommitId = await newestCommitIdOf(id);
    expect((await ann.post(`/v2/dataset_commits/${appendCommitId}/rollback`, {})).status).toBe(201);
    await addRecords(id, 20, 4);
    const answer = await askDiff({ from: appendCommitId }, id);
    expect(changedNumbersOf(answer)).toEqual([
      ...expectedChanges('removed', 10, 4),
      ...expectedChanges('added', 20, 4),
    ]);
  });

  test('are right while a merge is in the log and not yet in the catalogue', async () => {
    const id = await newDataset();
    for (let n = 0; n < 15; n++) await addRecords(id, n, 1);
    const { rewritten } = server.catalog.datasets;
    const [mergeLogged, mayPublish] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    Object.assign(server.catalog.datasets, {
      rewritten: async (...parameters: Parameters<typeof rewritten>) => {
        mergeLogged.resolve();
        await mayPublish.promise;
        return rewritten(...parameters);
      },
    });
    const expectedDiff = { counts: { added: 1, changed: 0, removed: 0 }, results: [{ record: { n: 15 } }] }; // prettier-ignore
    try {
      await addRecords(id, 15, 1);
      await mergeLogged.promise;
      const to = await newestCommitIdOf(id);
      expect((await askDiff({ to }, id)).json).toMatchObject(expectedDiff);
      mayPublish.resolve();
      await server.scheduler.compacted();
      expect((await askDiff({ to }, id)).json).toMatchObject(expectedDiff);
    } finally {
      mayPublish.resolve();
      Object.assign(server.catalog.datasets, { rewritten });
    }
  });

  test('are found once for requests that come at the same time', async () => {
    const id = await newDataset();
    await addRecords(id, 0, 3);
    const [a, b] = await Promise.all([0, 1].map(() => server.store.difference(id, -1, 0)));
    expect(a).toBe(b);
  });

  // The first run compares at most two `_id`s at a time, the second all at once.
  test.each([2, 1 << 20])('T0: are found by _id where they were deleted and added again (comparedIds: %d)', (comparedIds) =>
    withChangedBudgets({ comparedIds }, async () => {
      const id = await newDataset();
      await addRecords(id, 0, 9);
      const firstCommitId = await newestCommitIdOf(id);
      const ids = await idsOf(id);
      await runImport({ dataset_id: id, records: ids.slice(1, 7).map((_id) => ({ _id })), commit_mode: 'delete' });
      await addRecords(id, 50, 2);
      await upsert(id, [5, 3, 4, 2].map((n) => ({ _id: ids[n], n: 100 + n })));
      const { json } = await askDiff({ from: firstCommitId }, id);
      expect(json['counts']).toEqual({ added: 2, changed: 4, removed: 2 });
      const changeRows = (json['results'] as { change: string; before: { n: number } | null; record: { n: number } }[]).map(({ change, before, record }) => [change, before?.n, record.n]);
      expect(changeRows).toEqual([
        ['removed', undefined, 1], ['removed', undefined, 6],
        ['changed', 5, 105], ['changed', 3, 103], ['changed', 4, 104], ['changed', 2, 102],
        ['added', undefined, 50], ['added', undefined, 51],
      ]);
    }),
  ); // prettier-ignore
});

test('what is no version of the dataset, and no limit, is a 400 that names the parameter', async () => {
  const otherDatasetId = await newDataset();
  await addRecords(otherDatasetId, 0, 1);
  const [foreignCommit] = listOf(await ann.get(`/v2/datasets/${otherDatasetId}/commits`));
  for (const key of ['from', 'to']) {
    for (const id of [String(foreignCommit!['id']), '1', String(datasetId)])
      expect(statusAndJsonOf(await askDiff({ [key]: id }))).toEqual([400, { [key]: [`This dataset has no commit ${id}: GET /v2/datasets/${datasetId}/commits lists its commits.`] }]); // prettier-ignore
    for (const text of ['yesterday', '0', '-1', '1.5', '2026-13-01', '{}'])
      expect(statusAndJsonOf(await askDiff({ [key]: text }))).toEqual([400, { [key]: [expect.stringMatching(/^Expected the id of a commit, or a time/)] }]); // prettier-ignore
  }
  for (const limit of ['0', '10001', '-1', 'x'])
    expect(statusAndJsonOf(await askDiff({ limit }))).toEqual([
      400,
      { limit: [expect.any(String)] },
    ]);
});

test('is for those who may read the dataset', async () => {
  const bob = await server.user('bob');
  const path = `/v2/datasets/${datasetId}/diff`;
  expect((await bob.get(path)).status).toBe(404);
  await grantPermission(server, vaultId, bob, 'read');
  expect((await bob.get(path)).status).toBe(200);
});

test('a changed record has its values before, and the names of the fields that differ', async () => {
  const datasetId = await newDataset();
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ n: 1, word: 'a', more: { x: 1, y: 2 } }, { n: 2 }] });
  const upsertBody = { commit_mode: 'upsert', id_fields: ['n'], records: [{ n: 1, word: 'b', more: { y: 3 } }] };
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, ...upsertBody });
  const { json } = await ann.get(`/v2/datasets/${datasetId}/diff`);
  expect(json['counts']).toEqual({ added: 0, changed: 1, removed: 0 });
  const id = expect.any(String);
  expect(json['results']).toEqual([
    {
      change: 'changed',
      record: { _id: id, _commit: id, n: 1, word: 'b', more: { x: 1, y: 3 } },
      before: { _id: id, _commit: id, n: 1, word: 'a', more: { x: 1, y: 2 } },
      fields: ['word', 'more.y'],
    },
  ]);
}); // prettier-ignore
