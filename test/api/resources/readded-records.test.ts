import { describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

/*
 * Tests rollbacks that would restore records whose `_id`s are there again (C6). The `_id`s of appended segments are in the log, those of
 * records that were added under a given `_id` are only in their segments.
 */
const { ann, server, newDataset, runImport } = await startServerFixture();

type Json = Readonly<Record<string, unknown>>;

const newestCommitIdOf = async (datasetId: number): Promise<number> =>
  Number(listOf(await ann.get(`/v2/datasets/${datasetId}/commits?limit=1`))[0]!['id']);

async function commit(dataset_id: number, records: object[], commit_mode = 'append'): Promise<number> {
  await runImport({ dataset_id, records, commit_mode });
  return newestCommitIdOf(dataset_id);
} // prettier-ignore

async function migrate(id: number, body: object): Promise<number> {
  const createdMigration = await ann.post('/v2/dataset_migrations', { source_id: id, target_id: id, ...body });
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
  return newestCommitIdOf(id);
} // prettier-ignore

/** Returns the `_id`s of the records, in the order of the dataset. */
async function idsOf(datasetId: number): Promise<readonly string[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 10_000, fields: ['_id'] }); // prettier-ignore
  return (json['results'] as { _id: string }[]).map(({ _id }) => _id);
}

/** Returns for each segment whether the `_id`s of its rows are in the log. */
const hasIdsInLog = async (datasetId: number): Promise<readonly boolean[]> =>
  (await server.store.snapshot(datasetId)).segments.map(({ idRuns }) => idRuns !== undefined);

const rollBack = (id: number) => ann.post(`/v2/dataset_commits/${id}/rollback`, {});

async function expectRolledBack(id: number): Promise<void> {
  const { status, json } = await rollBack(id);
  expect([status, json['detail']]).toEqual([201, undefined]);
}

async function expectBlockedBy(id: number, records: readonly Json[]): Promise<void> {
  const refusedAnswer = await rollBack(id);
  expect([refusedAnswer.status, refusedAnswer.json['detail']]).toEqual(
    [400, expect.stringContaining('are there again, with the same _id')],
  ); // prettier-ignore
  expect(refusedAnswer.json['blocked_records']).toEqual(records);
}

const fourRecords = [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }];
const recordsWithIds = (ids: readonly (string | undefined)[], n = 0) =>
  ids.map((_id) => ({ _id, n }));

describe('C6: a rollback is blocked by records that are there again', () => {
  test('in a segment whose ids are not in the log, until they are deleted', async () => {
    const id = await newDataset();
    await commit(id, fourRecords);
    const allIds = await idsOf(id);
    const deletionId = await commit(id, recordsWithIds(allIds.slice(0, 3)), 'delete');
    const upsertId = await commit(id, recordsWithIds(allIds.slice(1, 3)), 'upsert');
    expect(await hasIdsInLog(id)).toEqual([true, false]);
    await expectBlockedBy(deletionId, [{ commit_id: upsertId, records: 2, example_id: allIds[1] }]);
    await commit(id, recordsWithIds([allIds[1]]), 'delete');
    await expectBlockedBy(deletionId, [{ commit_id: upsertId, records: 1, example_id: allIds[2] }]);
    await commit(id, recordsWithIds([allIds[2]]), 'delete');
    await expectRolledBack(deletionId);
    expect(await idsOf(id)).toEqual(allIds);
  });

  test('in a segment whose ids are in the log, also if another segment may have them', async () => {
    const id = await newDataset();
    const appendId = await commit(id, fourRecords);
    const allIds = await idsOf(id);
    const deletionId = await commit(id, recordsWithIds(allIds.slice(0, 2)), 'delete');
    await commit(id, recordsWithIds(allIds.slice(0, 2)), 'upsert');
    const secondDeletionId = await commit(id, recordsWithIds(allIds.slice(0, 2)), 'delete');
    await expectRolledBack(deletionId);
    expect(await hasIdsInLog(id)).toEqual([true, false]);
    await expectBlockedBy(secondDeletionId, [
      { commit_id: appendId, records: 2, example_id: allIds[0] },
    ]);
    expect(await idsOf(id)).toEqual(allIds);
  });

  test('in several segments, by the commits that wrote them last', async () => {
    const id = await newDataset();
    await commit(id, fourRecords);
    await commit(id, fourRecords);
    const allIds = await idsOf(id);
    const deletedIds = [allIds[0], allIds[1], allIds[4], allIds[5]];
    const deletionId = await commit(id, recordsWithIds(deletedIds), 'delete');
    const firstCommitId = await commit(id, recordsWithIds([allIds[0], allIds[5]]), 'upsert');
    const secondCommitId = await commit(id, recordsWithIds([allIds[1], 'other']), 'overwrite');
    const thirdCommitId = await commit(id, recordsWithIds([allIds[0]], 3), 'upsert');
    await expectBlockedBy(deletionId, [
      { commit_id: firstCommitId, records: 1, example_id: allIds[5] },
      { commit_id: secondCommitId, records: 1, example_id: allIds[1] },
      { commit_id: thirdCommitId, records: 1, example_id: allIds[0] },
    ]);
    await commit(id, recordsWithIds([allIds[0], allIds[1], allIds[5]]), 'delete');
    await expectRolledBack(deletionId);
    expect((await idsOf(id)).toSorted()).toEqual([...allIds, 'other'].toSorted());
  });

  test('more of them than one query takes', async () => {
    const id = await newDataset();
    const count = 5_500;
    for (let from = 0; from < count; from += 2_750)
      await commit(
        id,
        Array.from({ length: 2_750 }, (_, n) => ({ n: from + n })),
      );
    const appendId = await newestCommitIdOf(id);
    const allIds = await idsOf(id);
    const deletionId = await migrate(id, { commit_mode: 'delete', source_params: { filters: [['n__gte', 100]] } }); // prettier-ignore
    const overwriteId = await migrate(id, { commit_mode: 'overwrite', source_params: { as_of: appendId, filters: [['n__gte', 200]] } }); // prettier-ignore
    expect(await idsOf(id)).toHaveLength(count - 100);
    await expectBlockedBy(deletionId, [{ commit_id: overwriteId, records: count - 200, example_id: allIds[200] }]); // prettier-ignore
    await migrate(id, { commit_mode: 'delete', source_params: { filters: [['n__gte', 201]] } });
    await expectBlockedBy(deletionId, [
      { commit_id: overwriteId, records: 1, example_id: allIds[200] },
    ]);
    await migrate(id, { commit_mode: 'delete', source_params: { filters: [['n', 200]] } });
    await expectRolledBack(deletionId);
    expect(await idsOf(id)).toEqual(allIds);
  });
});
