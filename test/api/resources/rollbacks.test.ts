import { afterEach, describe, expect, test } from '@jest/globals';
import { armFault } from '../../../engine/core/faultpoint.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { liveRowCount } from '../../../engine/store/store.js';
import { findReaddingCommits } from '../../../scheduler/jobs/rollback/added-again.js';
import { pollUntil } from '../../until.js';
import { withChangedBudgets } from '../../with-budgets.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob, type Answer } from '../server.js';

const { ann, newDataset, newFile, runImport, server } = await startServerFixture();

const reportedMessages: string[] = [];
/** A server whose disk a test makes fail. */
const failing = await startServerFixture({
  expectsErrors: true,
  scheduler: { retryMs: 5, report: (message) => reportedMessages.push(message) },
});
afterEach(() => armFault(undefined));

type Json = Readonly<Record<string, unknown>>;

/** Imports records; returns the commit of the import. */
async function commitRecords(dataset_id: number, records: object[], commit_mode = 'append'): Promise<Json> {
  const { dataset_commits } = await runImport({ dataset_id, records, commit_mode });
  return (dataset_commits as Json[])[0]!;
} // prettier-ignore

const commitId = async (...args: Parameters<typeof commitRecords>): Promise<number> =>
  Number((await commitRecords(...args))['id']);

/** Returns `_id`, `n` and `_commit` of each record, in the order of the dataset. */
async function recordsOf(datasetId: number, more: object = {}): Promise<readonly Json[]> {
  const answer = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1000, ...more });
  expect([answer.status, answer.json['detail']]).toEqual([200, undefined]);
  return (answer.json['results'] as Json[]).map(({ _id, n, _commit }) => ({ _id, n, _commit }));
}

const rollbackPath = (id: number, query = ''): string =>
  `/v2/dataset_commits/${id}/rollback${query}`;
const rollBack = (id: number, query = ''): Promise<Answer> => ann.post(rollbackPath(id, query), {});

async function deleteEntry(id: number): Promise<void> {
  expect((await ann.delete(`/v2/dataset_commits/${id}`)).status).toBe(200);
}

/** Expects that check and rollback refuse alike; returns the answer of the rollback. */
async function expectBlocked(id: number, query = ''): Promise<Json> {
  const check = await ann.get(rollbackPath(id, query));
  expect([check.status, check.json['is_blocked']]).toEqual([200, true]);
  const refused = await rollBack(id, query);
  expect([refused.status, refused.json]).toEqual([400, check.json]);
  return refused.json;
}

async function diffCounts(datasetId: number, query: string): Promise<unknown> {
  return (await ann.get(`/v2/datasets/${datasetId}/diff?${query}`)).json['counts'];
}

const threeRecords = [{ n: 1 }, { n: 2 }, { n: 3 }];
const idsOf = (records: readonly Json[]): string[] => records.map(({ _id }) => String(_id));

describe('C6: the counts of a rollback are those of the difference that it makes', () => {
  test('of an upsert that replaces and adds records', async () => {
    const datasetId = await newDataset();
    await commitRecords(datasetId, threeRecords);
    const before = await recordsOf(datasetId);
    const [first, , third] = idsOf(before);
    const records = [{ _id: first, n: 10 }, { _id: third, n: 30 }, { _id: 'mine', n: 40 }];
    const upsert = await commitId(datasetId, records, 'upsert');
    const { json: check } = await ann.get(rollbackPath(upsert));
    expect(check['detail']).toBe('Rolling the commit back removes 1 record, restores 0, and gives 2 their earlier values.'); // prettier-ignore
    const done = await rollBack(upsert);
    expect(done.json).toMatchObject({ records_total: 3, records_modified: 3, records_added: 0, records_changed: 2, records_removed: 1 }); // prettier-ignore
    expect(await diffCounts(datasetId, `to=${idOf(done)}`)).toEqual({ added: 0, changed: 2, removed: 1 }); // prettier-ignore
    expect(await recordsOf(datasetId)).toEqual(before);
  }); // prettier-ignore

  test('of an append, and of a deletion', async () => {
    const datasetId = await newDataset();
    await commitRecords(datasetId, [{ n: 0 }]);
    const append = await commitId(datasetId, threeRecords);
    const [, second, third] = idsOf(await recordsOf(datasetId));
    const deletion = await commitId(datasetId, [{ _id: second }, { _id: third }], 'delete');
    const { json: open } = await ann.get(rollbackPath(deletion));
    expect([open['is_blocked'], open['blocking_commits'], open['blocked_records']]).toEqual([false, [], []]); // prettier-ignore
    const restored = await rollBack(deletion);
    expect(restored.json).toMatchObject({ records_modified: 2, records_added: 2, records_changed: 0, records_removed: 0 }); // prettier-ignore
    const { json: rolledBack } = await ann.get(`/v2/dataset_commits/${deletion}`);
    expect(rolledBack).toMatchObject({ rollback_commit_id: idOf(restored), rollback_commit_job_id: restored.json['task_id'] }); // prettier-ignore
    expect(restored.json).toMatchObject({ parent_job_model: 'datasets.DatasetCommit', parent_commit_id: deletion, parent_commit_job_id: rolledBack['task_id'] }); // prettier-ignore
    const refused = await expectBlocked(idOf(restored));
    expect(refused['detail']).toMatch(
      /is a rollback, which cannot be rolled back: import the records again/,
    );
    expect(refused['blocking_commits']).toEqual([]);
    const removed = await rollBack(append);
    expect(removed.json).toMatchObject({ records_modified: 3, records_added: 0, records_changed: 0, records_removed: 3 }); // prettier-ignore
  });
});

test('a rollback by which a merge becomes due is followed by it, without another commit', async () => {
  const datasetId = await newDataset();
  const segmentsWithRecords = async (): Promise<number> => {
    await server.scheduler.compacted();
    const { segments } = await server.store.snapshot(datasetId);
    return segments.filter((segment) => liveRowCount(segment) > 0).length;
  };
  for (let n = 0; n < 15; n++) await commitRecords(datasetId, [{ n }]);
  const [first] = idsOf(await recordsOf(datasetId));
  const deletion = await commitId(datasetId, [{ _id: first }], 'delete');
  await commitRecords(datasetId, [{ n: 15 }]);
  expect(await segmentsWithRecords()).toBe(15); // sixteen are merged
  expect((await rollBack(deletion)).status).toBe(201);
  expect(await segmentsWithRecords()).toBe(1);
  expect((await recordsOf(datasetId)).map(({ n }) => n)).toEqual([...Array(16).keys()]);
});

describe('C6: a rollback that would restore records that are there again', () => {
  test('is blocked also by the rollback that has restored an earlier state of a record', async () => {
    const datasetId = await newDataset();
    const append = await commitId(datasetId, threeRecords);
    const [first] = idsOf(await recordsOf(datasetId));
    const deletion = await commitId(datasetId, [{ _id: first }], 'delete');
    await commitRecords(datasetId, [{ _id: first, n: 7 }], 'upsert');
    const later = await commitId(datasetId, [{ _id: first }], 'delete');
    expect((await rollBack(deletion)).status).toBe(201);
    const refused = await expectBlocked(later);
    expect(refused['blocked_records']).toEqual([{ commit_id: append, records: 1, example_id: first }]); // prettier-ignore
    expect((await recordsOf(datasetId)).map(({ n }) => n)).toEqual([1, 2, 3]);
  });

  test('lets other requests be answered while it looks for many of them', async () => {
    const datasetId = await newDataset();
    const lines = Array.from({ length: 24_000 }, (_, n) => `{"n":${n}}\n`).join('');
    await runImport({ dataset_id: datasetId, object_id: await newFile('many.json', lines) });
    const everything = { source_id: datasetId, target_id: datasetId, commit_mode: 'delete' };
    const migration = idOf(await ann.post('/v2/dataset_migrations', everything));
    const { json } = await waitForJob(ann, `/v2/dataset_migrations/${migration}`);
    const [deletion] = json['dataset_commits'] as Json[];
    const newest = await server.store.snapshot(datasetId);
    const rollback = await server.store.rollback(datasetId, newest.version, newest.version);
    let ticks = 0;
    let isSearching = true;
    const tick = (): void => {
      ticks += 1;
      if (isSearching) setImmediate(tick);
    };
    setImmediate(tick);
    const engine = {} as QueryEngine; // no segment has to be queried: the log has all ids
    const search = findReaddingCommits(engine, newest, rollback, Number(deletion!['id']));
    const found = await search.finally(() => (isSearching = false));
    expect([rollback.restored, found]).toEqual([24_000, []]);
    expect(ticks).toBeGreaterThanOrEqual(4);
  });
});

test('C6: only tasks of commits that may be rolled back offer it', async () => {
  const datasetId = await newDataset();
  const append = await commitId(datasetId, threeRecords);
  const last = await commitId(datasetId, [{ n: 4 }]);
  const rollback = idOf(await rollBack(last));
  const tasks = listOf(await ann.get(`/v2/tasks?target_object_id=${datasetId}&task_type=datasets.DatasetCommit`)); // prettier-ignore
  const actions = new Map(tasks.map((task) => [task['task_id'], task['available_actions']]));
  expect([append, last, rollback].map((id) => actions.get(id))).toEqual([['rollback'], [], []]); // prettier-ignore
});

describe('mode=strict', () => {
  test('is blocked by later changes of other records until they are rolled back, and not by appends', async () => {
    const datasetId = await newDataset();
    await commitRecords(datasetId, [{ n: 0 }]);
    const [other] = idsOf(await recordsOf(datasetId));
    const append = await commitId(datasetId, threeRecords);
    const upsert = await commitId(datasetId, [{ _id: other, n: 9 }], 'upsert');
    await commitRecords(datasetId, [{ n: 5 }]);
    expect((await ann.get(rollbackPath(append))).json['is_blocked']).toBe(false);
    const refused = await expectBlocked(append, '?mode=strict');
    expect(refused['blocking_commits']).toMatchObject([{ id: upsert }]);
    const overwrite = await commitId(datasetId, [{ _id: other, n: 8 }], 'overwrite');
    expect((await expectBlocked(append, '?mode=strict'))['blocking_commits']).toMatchObject([{ id: upsert }, { id: overwrite }]); // prettier-ignore
    expect((await rollBack(overwrite)).status).toBe(201);
    expect(refused['blocked_records']).toEqual([{ commit_id: upsert, records: null, example_id: null }]); // prettier-ignore
    expect((await rollBack(upsert)).status).toBe(201);
    expect((await ann.get(rollbackPath(append, '?mode=strict'))).json['is_blocked']).toBe(false);
    const unset = await ann.get(rollbackPath(append, '?mode='));
    expect([unset.status, unset.json['is_blocked']]).toEqual([200, false]);
    expect((await ann.post(rollbackPath(append, '?mode='), { mode: 'strict' })).status).toBe(201);
    expect((await recordsOf(datasetId)).map(({ n }) => n)).toEqual([0, 5]);
  });

  test('is blocked by a change whose entry was deleted, for good', async () => {
    const datasetId = await newDataset();
    await commitRecords(datasetId, [{ n: 0 }]);
    const [other] = idsOf(await recordsOf(datasetId));
    const append = await commitId(datasetId, threeRecords);
    const deletion = await commitId(datasetId, [{ _id: other }], 'delete');
    await deleteEntry(deletion);
    const refused = await expectBlocked(append, '?mode=strict');
    expect(refused['blocking_commits']).toEqual([]);
    expect(refused['blocked_records']).toEqual([{ commit_id: deletion, records: null, example_id: null }]); // prettier-ignore
    expect(refused['detail']).toContain(`the entry of commit ${deletion} was deleted`);
    expect((await rollBack(append)).status).toBe(201);
  });
});

test.each(['', '?mode=strict'])('a blocked rollback%s lists the newest commits in the way, and their number (T0: blockingCommits)', async (query) => {
  const datasetId = await newDataset();
  const append = await commitId(datasetId, [...threeRecords, { n: 4 }, { n: 5 }]);
  const upserts: number[] = [];
  for (const id of idsOf(await recordsOf(datasetId))) upserts.push(await commitId(datasetId, [{ _id: id, n: 9 }], 'upsert'));
  const whole = await expectBlocked(append, query);
  expect(whole['blocked_records']).toMatchObject(upserts.map((commit_id) => ({ commit_id })));
  expect(whole['detail']).not.toContain('listed');
  await deleteEntry(upserts[0]!);
  await deleteEntry(upserts[4]!);
  await withChangedBudgets({ blockingCommits: 3 }, async () => {
    const refused = await expectBlocked(append, query);
    expect(refused['blocking_commits']).toMatchObject([{ id: upserts[2] }, { id: upserts[3] }]);
    expect(refused['blocked_records']).toMatchObject(upserts.slice(2).map((commit_id) => ({ commit_id })));
    expect(refused['detail']).toMatch(/^5 commits changed records of .* The newest 3 of 5 are listed\./);
    expect(refused['detail']).toContain(`the entries of the commits ${upserts[0]}, ${upserts[4]} were deleted`);
  });
  await withChangedBudgets({ blockingCommits: 1 }, async () => {
    const refused = await expectBlocked(append, query);
    expect(refused['blocked_records']).toMatchObject([{ commit_id: upserts[4] }]);
    expect(refused['detail']).toContain(`the entries of the commits ${upserts[4]} and 1 earlier commit were deleted`);
  });
}); // prettier-ignore

describe('C6: a commit whose entry was deleted', () => {
  test('still prevents that a record is there twice', async () => {
    const datasetId = await newDataset();
    await commitRecords(datasetId, threeRecords);
    const [first] = idsOf(await recordsOf(datasetId));
    const deletion = await commitId(datasetId, [{ _id: first }], 'delete');
    const upsert = await commitId(datasetId, [{ _id: first, n: 7 }], 'upsert');
    await deleteEntry(upsert);
    const refused = await expectBlocked(deletion);
    expect(refused['blocking_commits']).toEqual([]);
    expect(refused['blocked_records']).toEqual([{ commit_id: upsert, records: 1, example_id: first }]); // prettier-ignore
    expect(refused['detail']).toContain(`the entry of commit ${upsert} was deleted`);
    expect((await recordsOf(datasetId)).filter(({ _id }) => _id === first)).toHaveLength(1);
    // Once the record that was added again is gone, the earlier one can come back.
    await commitRecords(datasetId, [{ _id: first }], 'delete');
    expect((await rollBack(deletion)).status).toBe(201);
    expect((await recordsOf(datasetId)).map(({ n }) => n)).toEqual([1, 2, 3]);
  });

  test('is named where it prevents a rollback', async () => {
    const datasetId = await newDataset();
    const append = await commitId(datasetId, threeRecords);
    const [first, second] = idsOf(await recordsOf(datasetId));
    const listed = await commitId(datasetId, [{ _id: first, n: 8 }], 'upsert');
    const unlisted = await commitId(datasetId, [{ _id: second }], 'delete');
    await deleteEntry(unlisted);
    const refused = await expectBlocked(append);
    expect(refused['blocking_commits']).toMatchObject([{ id: listed }]);
    expect(refused['blocked_records']).toEqual([
      { commit_id: listed, records: 1, example_id: first },
      { commit_id: unlisted, records: 1, example_id: second },
    ]);
    expect(refused['detail']).toBe(`2 commits changed records of this commit later: roll them back first, the newest first. But the entry of commit ${unlisted} was deleted, so that it can no longer be rolled back.`); // prettier-ignore
  });

  test('stays rolled back, and a deleted rollback is not done twice', async () => {
    const datasetId = await newDataset();
    const append = await commitId(datasetId, threeRecords);
    const [first] = idsOf(await recordsOf(datasetId));
    const upsert = await commitId(datasetId, [{ _id: first, n: 8 }], 'upsert');
    const rollback = idOf(await rollBack(upsert));
    await deleteEntry(rollback);
    expect((await expectBlocked(upsert))['detail']).toBe(`The commit has been rolled back already, by commit ${rollback}.`); // prettier-ignore
    expect((await ann.get(`/v2/dataset_commits/${upsert}`)).json).toMatchObject({ rollback_commit_id: rollback, rollback_commit_job_id: null }); // prettier-ignore
    await deleteEntry(upsert);
    expect((await ann.get(rollbackPath(append, '?mode=strict'))).json['is_blocked']).toBe(false);
  });

  test('stays a version that times and its id name', async () => {
    const datasetId = await newDataset();
    const ids: number[] = [];
    for (const n of [1, 2, 3]) ids.push(await commitId(datasetId, [{ n }]));
    const [one, two, three] = ids as [number, number, number];
    const { json: second } = await ann.get(`/v2/dataset_commits/${two}`);
    await deleteEntry(two);
    await deleteEntry(three);
    const numbersAsOf = async (as_of: unknown): Promise<unknown[]> =>
      (await recordsOf(datasetId, { as_of })).map(({ n }) => n);
    expect(await numbersAsOf('2999-01-01')).toEqual([1, 2, 3]);
    expect(await numbersAsOf(second['created_at'])).toEqual([1, 2]);
    expect(await numbersAsOf(two)).toEqual([1, 2]);
    expect(await numbersAsOf(one)).toEqual([1]);
    const { json } = await ann.get(`/v2/datasets/${datasetId}/diff`);
    expect(json).toMatchObject({ from: { commit_id: two }, to: { commit_id: three }, counts: { added: 1, changed: 0, removed: 0 } }); // prettier-ignore
    expect(await diffCounts(datasetId, `to=${String(second['created_at'])}`)).toEqual({ added: 1, changed: 0, removed: 0 }); // prettier-ignore
    const { json: verified } = await ann.post(`/v2/datasets/${datasetId}/verify`);
    expect(verified).toMatchObject({ is_whole: true, differences: [] });
    // The entries are in no list, and the changelog does not have them.
    for (const path of ['commits', 'changelog']) {
      const { json: listed } = await ann.get(`/v2/datasets/${datasetId}/${path}`);
      expect((listed['data'] as Json[]).map((row) => row['commit_id'] ?? row['id'])).toEqual([one]);
    }
    const { json: changelog } = await ann.get(`/v2/datasets/${datasetId}/changelog`);
    const version = Number((changelog['data'] as Json[])[0]!['version']);
    const statuses = [version, version + 1].map(async (number) => (await ann.get(`/v2/datasets/${datasetId}/changelog/${number}`)).status); // prettier-ignore
    expect(await Promise.all(statuses)).toEqual([200, 404]);
    const elsewhere = await ann.post(`/v2/datasets/${await newDataset()}/data`, { as_of: two });
    expect([elsewhere.status, elsewhere.json]).toEqual([400, { as_of: [expect.stringContaining(`no commit ${two}`)] }]); // prettier-ignore
  });
});

test('C6: a rollback that is in the log when the server closes on a failing disk is complete after the next start', async () => {
  const datasetId = await failing.newDataset();
  const { dataset_commits } = await failing.runImport({ dataset_id: datasetId, records: threeRecords });
  const imported = Number((dataset_commits as Json[])[0]!['id']);
  const commitsOf = async (): Promise<readonly Json[]> =>
    listOf(await failing.ann.get(`/v2/datasets/${datasetId}/commits`));
  // The first transaction of the request takes an id for the new commit.
  armFault({ code: 'EIO', nth: 2, isLasting: true, operations: ['commit'] });
  const answer = failing.ann.post(rollbackPath(imported), {});
  await pollUntil(() => reportedMessages.some((message) => message.includes('will be tried again')));
  await failing.server.scheduler.close();
  // A 404 would say that there is no such commit to roll back.
  expect((await answer).status).toBe(500);
  armFault(undefined);
  expect((await commitsOf()).map(({ id }) => id)).toEqual([imported]);
  await failing.restart();
  const [rollback, ...earlier] = await commitsOf();
  expect(earlier.map(({ id }) => id)).toEqual([imported]);
  const { status, json } = await failing.ann.get(`/v2/dataset_commits/${rollback!['id']}`);
  expect([status, json]).toEqual([200, expect.objectContaining({ mode: 'rollback', status: 'completed', parent_job_id: imported, user_id: failing.ann.user.id })]); // prettier-ignore
  expect(await failing.total(datasetId)).toBe(0);
  expect((await failing.ann.post(rollbackPath(imported), {})).status).toBe(400);
}); // prettier-ignore
