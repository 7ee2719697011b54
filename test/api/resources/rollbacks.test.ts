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
const failingFixture = await startServerFixture({
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

const makeCommit = async (...args: Parameters<typeof commitRecords>): Promise<number> =>
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

async function deleteCommitEntry(id: number): Promise<void> {
  expect((await ann.delete(`/v2/dataset_commits/${id}`)).status).toBe(200);
}

/** Expects that check and rollback refuse alike; returns the answer of the rollback. */
async function expectBlocked(id: number, query = ''): Promise<Json> {
  const check = await ann.get(rollbackPath(id, query));
  expect([check.status, check.json['is_blocked']]).toEqual([200, true]);
  const refusedAnswer = await rollBack(id, query);
  expect([refusedAnswer.status, refusedAnswer.json]).toEqual([400, check.json]);
  return refusedAnswer.json;
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
    const recordsBefore = await recordsOf(datasetId);
    const [firstId, , thirdId] = idsOf(recordsBefore);
    const records = [{ _id: firstId, n: 10 }, { _id: thirdId, n: 30 }, { _id: 'mine', n: 40 }];
    const upsertId = await makeCommit(datasetId, records, 'upsert');
    const { json: check } = await ann.get(rollbackPath(upsertId));
    expect(check['detail']).toBe('Rolling the commit back removes 1 record, restores 0, and gives 2 their earlier values.'); // prettier-ignore
    const rollbackAnswer = await rollBack(upsertId);
    expect(rollbackAnswer.json).toMatchObject({
      records_total: 3, records_modified: 3, records_added: 0, records_changed: 2, records_removed: 1,
    }); // prettier-ignore
    expect(await diffCounts(datasetId, `to=${idOf(rollbackAnswer)}`)).toEqual({ added: 0, changed: 2, removed: 1 }); // prettier-ignore
    expect(await recordsOf(datasetId)).toEqual(recordsBefore);
  }); // prettier-ignore

  test('of an append, and of a deletion', async () => {
    const datasetId = await newDataset();
    await commitRecords(datasetId, [{ n: 0 }]);
    const appendId = await makeCommit(datasetId, threeRecords);
    const [, secondId, thirdId] = idsOf(await recordsOf(datasetId));
    const deletionId = await makeCommit(datasetId, [{ _id: secondId }, { _id: thirdId }], 'delete');
    const { json: check } = await ann.get(rollbackPath(deletionId));
    expect([check['is_blocked'], check['blocking_commits'], check['blocked_records']]).toEqual([false, [], []]); // prettier-ignore
    const restoringRollback = await rollBack(deletionId);
    expect(restoringRollback.json).toMatchObject({ records_modified: 2, records_added: 2, records_changed: 0, records_removed: 0 }); // prettier-ignore
    const { json: rolledBackCommit } = await ann.get(`/v2/dataset_commits/${deletionId}`);
    expect(rolledBackCommit).toMatchObject({
      rollback_commit_id: idOf(restoringRollback), rollback_commit_job_id: restoringRollback.json['task_id'],
    }); // prettier-ignore
    expect(restoringRollback.json).toMatchObject({ parent_job_model: 'datasets.DatasetCommit', parent_commit_id: deletionId, parent_commit_job_id: rolledBackCommit['task_id'] }); // prettier-ignore
    const refusal = await expectBlocked(idOf(restoringRollback));
    expect(refusal['detail']).toMatch(
      /is a rollback, which cannot be rolled back: import the records again/,
    );
    expect(refusal['blocking_commits']).toEqual([]);
    const removingRollback = await rollBack(appendId);
    expect(removingRollback.json).toMatchObject({ records_modified: 3, records_added: 0, records_changed: 0, records_removed: 3 }); // prettier-ignore
  });
});

test('a rollback by which a merge becomes due is followed by it, without another commit', async () => {
  const datasetId = await newDataset();
  const countSegmentsWithRecords = async (): Promise<number> => {
    await server.scheduler.compacted();
    const { segments } = await server.store.snapshot(datasetId);
    return segments.filter((segment) => liveRowCount(segment) > 0).length;
  };
  for (let n = 0; n < 15; n++) await commitRecords(datasetId, [{ n }]);
  const [firstId] = idsOf(await recordsOf(datasetId));
  const deletionId = await makeCommit(datasetId, [{ _id: firstId }], 'delete');
  await commitRecords(datasetId, [{ n: 15 }]);
  expect(await countSegmentsWithRecords()).toBe(15); // sixteen are merged
  expect((await rollBack(deletionId)).status).toBe(201);
  expect(await countSegmentsWithRecords()).toBe(1);
  expect((await recordsOf(datasetId)).map(({ n }) => n)).toEqual([...Array(16).keys()]);
});

describe('C6: a rollback that would restore records that are there again', () => {
  test('is blocked also by the rollback that has restored an earlier state of a record', async () => {
    const datasetId = await newDataset();
    const appendId = await makeCommit(datasetId, threeRecords);
    const [firstId] = idsOf(await recordsOf(datasetId));
    const deletionId = await makeCommit(datasetId, [{ _id: firstId }], 'delete');
    await commitRecords(datasetId, [{ _id: firstId, n: 7 }], 'upsert');
    const laterDeletionId = await makeCommit(datasetId, [{ _id: firstId }], 'delete');
    expect((await rollBack(deletionId)).status).toBe(201);
    const refusal = await expectBlocked(laterDeletionId);
    expect(refusal['blocked_records']).toEqual([{ commit_id: appendId, records: 1, example_id: firstId }]); // prettier-ignore
    expect((await recordsOf(datasetId)).map(({ n }) => n)).toEqual([1, 2, 3]);
  });

  test('lets other requests be answered while it looks for many of them', async () => {
    const datasetId = await newDataset();
    const lines = Array.from({ length: 24_000 }, (_, n) => `{"n":${n}}\n`).join('');
    await runImport({ dataset_id: datasetId, object_id: await newFile('many.json', lines) });
    const deletionBody = { source_id: datasetId, target_id: datasetId, commit_mode: 'delete' };
    const migrationId = idOf(await ann.post('/v2/dataset_migrations', deletionBody));
    const { json } = await waitForJob(ann, `/v2/dataset_migrations/${migrationId}`);
    const [deletionCommit] = json['dataset_commits'] as Json[];
    const newestSnapshot = await server.store.snapshot(datasetId);
    const rollback = await server.store.rollback(
      datasetId,
      newestSnapshot.version,
      newestSnapshot.version,
    );
    let ticks = 0;
    let isSearching = true;
    const tick = (): void => {
      ticks += 1;
      if (isSearching) setImmediate(tick);
    };
    setImmediate(tick);
    const engine = {} as QueryEngine; // no segment has to be queried: the log has all ids
    const search = findReaddingCommits(
      engine,
      newestSnapshot,
      rollback,
      Number(deletionCommit!['id']),
    );
    const readdingCommits = await search.finally(() => (isSearching = false));
    expect([rollback.restored, readdingCommits]).toEqual([24_000, []]);
    expect(ticks).toBeGreaterThanOrEqual(4);
  });
});

test('C6: only tasks of commits that may be rolled back offer it', async () => {
  const datasetId = await newDataset();
  const appendId = await makeCommit(datasetId, threeRecords);
  const lastCommitId = await makeCommit(datasetId, [{ n: 4 }]);
  const rollbackId = idOf(await rollBack(lastCommitId));
  const tasks = listOf(await ann.get(`/v2/tasks?target_object_id=${datasetId}&task_type=datasets.DatasetCommit`)); // prettier-ignore
  const actions = new Map(tasks.map((task) => [task['task_id'], task['available_actions']]));
  expect([appendId, lastCommitId, rollbackId].map((id) => actions.get(id))).toEqual([['rollback'], [], []]); // prettier-ignore
});

describe('mode=strict', () => {
  test('is blocked by later changes of other records until they are rolled back, and not by appends', async () => {
    const datasetId = await newDataset();
    await commitRecords(datasetId, [{ n: 0 }]);
    const [otherRecordId] = idsOf(await recordsOf(datasetId));
    const appendId = await makeCommit(datasetId, threeRecords);
    const upsertId = await makeCommit(datasetId, [{ _id: otherRecordId, n: 9 }], 'upsert');
    await commitRecords(datasetId, [{ n: 5 }]);
    expect((await ann.get(rollbackPath(appendId))).json['is_blocked']).toBe(false);
    const refusal = await expectBlocked(appendId, '?mode=strict');
    expect(refusal['blocking_commits']).toMatchObject([{ id: upsertId }]);
    const overwriteId = await makeCommit(datasetId, [{ _id: otherRecordId, n: 8 }], 'overwrite');
    expect((await expectBlocked(appendId, '?mode=strict'))['blocking_commits']).toMatchObject([{ id: upsertId }, { id: overwriteId }]); // prettier-ignore
    expect((await rollBack(overwriteId)).status).toBe(201);
    expect(refusal['blocked_records']).toEqual([{ commit_id: upsertId, records: null, example_id: null }]); // prettier-ignore
    expect((await rollBack(upsertId)).status).toBe(201);
    expect((await ann.get(rollbackPath(appendId, '?mode=strict'))).json['is_blocked']).toBe(false);
    const unsetModeAnswer = await ann.get(rollbackPath(appendId, '?mode='));
    expect([unsetModeAnswer.status, unsetModeAnswer.json['is_blocked']]).toEqual([200, false]);
    expect((await ann.post(rollbackPath(appendId, '?mode='), { mode: 'strict' })).status).toBe(201);
    expect((await recordsOf(datasetId)).map(({ n }) => n)).toEqual([0, 5]);
  });

  test('is blocked by a change whose entry was deleted, for good', async () => {
    const datasetId = await newDataset();
    await commitRecords(datasetId, [{ n: 0 }]);
    const [otherRecordId] = idsOf(await recordsOf(datasetId));
    const appendId = await makeCommit(datasetId, threeRecords);
    const deletionId = await makeCommit(datasetId, [{ _id: otherRecordId }], 'delete');
    await deleteCommitEntry(deletionId);
    const refusal = await expectBlocked(appendId, '?mode=strict');
    expect(refusal['blocking_commits']).toEqual([]);
    expect(refusal['blocked_records']).toEqual([{ commit_id: deletionId, records: null, example_id: null }]); // prettier-ignore
    expect(refusal['detail']).toContain(`the entry of commit ${deletionId} was deleted`);
    expect((await rollBack(appendId)).status).toBe(201);
  });
});

test.each(['', '?mode=strict'])('a blocked rollback%s lists the newest commits in the way, and their number (T0: blockingCommits)', async (query) => {
  const datasetId = await newDataset();
  const appendId = await makeCommit(datasetId, [...threeRecords, { n: 4 }, { n: 5 }]);
  const upsertIds: number[] = [];
  for (const id of idsOf(await recordsOf(datasetId))) upsertIds.push(await makeCommit(datasetId, [{ _id: id, n: 9 }], 'upsert'));
  const fullRefusal = await expectBlocked(appendId, query);
  expect(fullRefusal['blocked_records']).toMatchObject(upsertIds.map((commit_id) => ({ commit_id })));
  expect(fullRefusal['detail']).not.toContain('listed');
  await deleteCommitEntry(upsertIds[0]!);
  await deleteCommitEntry(upsertIds[4]!);
  await withChangedBudgets({ blockingCommits: 3 }, async () => {
    const refusal = await expectBlocked(appendId, query);
    expect(refusal['blocking_commits']).toMatchObject([{ id: upsertIds[2] }, { id: upsertIds[3] }]);
    expect(refusal['blocked_records']).toMatchObject(upsertIds.slice(2).map((commit_id) => ({ commit_id })));
    expect(refusal['detail']).toMatch(/^5 commits changed records of .* The newest 3 of 5 are listed\./);
    expect(refusal['detail']).toContain(`the entries of the commits ${upsertIds[0]}, ${upsertIds[4]} were deleted`);
  });
  await withChangedBudgets({ blockingCommits: 1 }, async () => {
    const refusal = await expectBlocked(appendId, query);
    expect(refusal['blocked_records']).toMatchObject([{ commit_id: upsertIds[4] }]);
    expect(refusal['detail']).toContain(`the entries of the commits ${upsertIds[4]} and 1 earlier commit were deleted`);
  });
}); // prettier-ignore

describe('C6: a commit whose entry was deleted', () => {
  test('still prevents that a record is there twice', async () => {
    const datasetId = await newDataset();
    await commitRecords(datasetId, threeRecords);
    const [firstId] = idsOf(await recordsOf(datasetId));
    const deletionId = await makeCommit(datasetId, [{ _id: firstId }], 'delete');
    const upsertId = await makeCommit(datasetId, [{ _id: firstId, n: 7 }], 'upsert');
    await deleteCommitEntry(upsertId);
    const refusal = await expectBlocked(deletionId);
    expect(refusal['blocking_commits']).toEqual([]);
    expect(refusal['blocked_records']).toEqual([{ commit_id: upsertId, records: 1, example_id: firstId }]); // prettier-ignore
    expect(refusal['detail']).toContain(`the entry of commit ${upsertId} was deleted`);
    expect((await recordsOf(datasetId)).filter(({ _id }) => _id === firstId)).toHaveLength(1);
    // Once the record that was added again is gone, the earlier one can come back.
    await commitRecords(datasetId, [{ _id: firstId }], 'delete');
    expect((await rollBack(deletionId)).status).toBe(201);
    expect((await recordsOf(datasetId)).map(({ n }) => n)).toEqual([1, 2, 3]);
  });

  test('is named where it prevents a rollback', async () => {
    const datasetId = await newDataset();
    const appendId = await makeCommit(datasetId, threeRecords);
    const [firstId, secondId] = idsOf(await recordsOf(datasetId));
    const upsertId = await makeCommit(datasetId, [{ _id: firstId, n: 8 }], 'upsert');
    const deletionId = await makeCommit(datasetId, [{ _id: secondId }], 'delete');
    await deleteCommitEntry(deletionId);
    const refusal = await expectBlocked(appendId);
    expect(refusal['blocking_commits']).toMatchObject([{ id: upsertId }]);
    expect(refusal['blocked_records']).toEqual([
      { commit_id: upsertId, records: 1, example_id: firstId },
      { commit_id: deletionId, records: 1, example_id: secondId },
    ]);
    expect(refusal['detail']).toBe(`2 commits changed records of this commit later: roll them back first, the newest first. But the entry of commit ${deletionId} was deleted, so that it can no longer be rolled back.`); // prettier-ignore
  });

  test('stays rolled back, and a deleted rollback is not done twice', async () => {
    const datasetId = await newDataset();
    const appendId = await makeCommit(datasetId, threeRecords);
    const [firstId] = idsOf(await recordsOf(datasetId));
    const upsertId = await makeCommit(datasetId, [{ _id: firstId, n: 8 }], 'upsert');
    const rollbackId = idOf(await rollBack(upsertId));
    await deleteCommitEntry(rollbackId);
    expect((await expectBlocked(upsertId))['detail']).toBe(`The commit has been rolled back already, by commit ${rollbackId}.`); // prettier-ignore
    expect((await ann.get(`/v2/dataset_commits/${upsertId}`)).json).toMatchObject({ rollback_commit_id: rollbackId, rollback_commit_job_id: null }); // prettier-ignore
    await deleteCommitEntry(upsertId);
    expect((await ann.get(rollbackPath(appendId, '?mode=strict'))).json['is_blocked']).toBe(false);
  });

  test('stays a version that times and its id name', async () => {
    const datasetId = await newDataset();
    const ids: number[] = [];
    for (const n of [1, 2, 3]) ids.push(await makeCommit(datasetId, [{ n }]));
    const [firstCommitId, secondCommitId, thirdCommitId] = ids as [number, number, number];
    const { json: secondCommit } = await ann.get(`/v2/dataset_commits/${secondCommitId}`);
    await deleteCommitEntry(secondCommitId);
    await deleteCommitEntry(thirdCommitId);
    const fetchNumbersAsOf = async (as_of: unknown): Promise<unknown[]> =>
      (await recordsOf(datasetId, { as_of })).map(({ n }) => n);
    expect(await fetchNumbersAsOf('2999-01-01')).toEqual([1, 2, 3]);
    expect(await fetchNumbersAsOf(secondCommit['created_at'])).toEqual([1, 2]);
    expect(await fetchNumbersAsOf(secondCommitId)).toEqual([1, 2]);
    expect(await fetchNumbersAsOf(firstCommitId)).toEqual([1]);
    const { json } = await ann.get(`/v2/datasets/${datasetId}/diff`);
    expect(json).toMatchObject({
      from: { commit_id: secondCommitId }, to: { commit_id: thirdCommitId }, counts: { added: 1, changed: 0, removed: 0 },
    }); // prettier-ignore
    expect(await diffCounts(datasetId, `to=${String(secondCommit['created_at'])}`)).toEqual({ added: 1, changed: 0, removed: 0 }); // prettier-ignore
    const { json: verification } = await ann.post(`/v2/datasets/${datasetId}/verify`);
    expect(verification).toMatchObject({ is_whole: true, differences: [] });
    // The deleted entries are neither in the list of commits nor in the changelog.
    for (const path of ['commits', 'changelog']) {
      const { json: list } = await ann.get(`/v2/datasets/${datasetId}/${path}`);
      expect((list['data'] as Json[]).map((row) => row['commit_id'] ?? row['id'])).toEqual([
        firstCommitId,
      ]);
    }
    const { json: changelog } = await ann.get(`/v2/datasets/${datasetId}/changelog`);
    const version = Number((changelog['data'] as Json[])[0]!['version']);
    const statuses = [version, version + 1].map(async (number) => (await ann.get(`/v2/datasets/${datasetId}/changelog/${number}`)).status); // prettier-ignore
    expect(await Promise.all(statuses)).toEqual([200, 404]);
    const otherDatasetAnswer = await ann.post(`/v2/datasets/${await newDataset()}/data`, {
      as_of: secondCommitId,
    });
    expect([otherDatasetAnswer.status, otherDatasetAnswer.json]).toEqual(
      [400, { as_of: [expect.stringContaining(`no commit ${secondCommitId}`)] }],
    ); // prettier-ignore
  });
});

test('C6: a rollback that is in the log when the server closes on a failing disk is complete after the next start', async () => {
  const datasetId = await failingFixture.newDataset();
  const { dataset_commits } = await failingFixture.runImport({ dataset_id: datasetId, records: threeRecords });
  const importCommitId = Number((dataset_commits as Json[])[0]!['id']);
  const fetchCommits = async (): Promise<readonly Json[]> =>
    listOf(await failingFixture.ann.get(`/v2/datasets/${datasetId}/commits`));
  // The first transaction of the request takes an id for the new commit.
  armFault({ code: 'EIO', nth: 2, isLasting: true, operations: ['commit'] });
  const answer = failingFixture.ann.post(rollbackPath(importCommitId), {});
  await pollUntil(() => reportedMessages.some((message) => message.includes('will be tried again')));
  await failingFixture.server.scheduler.close();
  // A 404 would say that there is no such commit to roll back.
  expect((await answer).status).toBe(500);
  armFault(undefined);
  expect((await fetchCommits()).map(({ id }) => id)).toEqual([importCommitId]);
  await failingFixture.restart();
  const [rollback, ...earlierCommits] = await fetchCommits();
  expect(earlierCommits.map(({ id }) => id)).toEqual([importCommitId]);
  const { status, json } = await failingFixture.ann.get(`/v2/dataset_commits/${rollback!['id']}`);
  expect([status, json]).toEqual([200, expect.objectContaining({ mode: 'rollback', status: 'completed', parent_job_id: importCommitId, user_id: failingFixture.ann.user.id })]); // prettier-ignore
  expect(await failingFixture.countRecords(datasetId)).toBe(0);
  expect((await failingFixture.ann.post(rollbackPath(importCommitId), {})).status).toBe(400);
}); // prettier-ignore
