import { describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

/*
 * Tests rollbacks that would restore records whose `_id`s are there again (C6). The `_id`s of appended segments are in the log, those of
 * records that were added under a given `_id` are only in their segments.
 */
const { ann, server, newDataset, runImport } = await startServerFixture();

type Json = Readonly<Record<string, unknown>>;

const newestCommit = async (datasetId: number): Promise<number> =>
  Number(listOf(await ann.get(`/v2/datasets/${datasetId}/commits?limit=1`))[0]!['id']);

async function commit(dataset_id: number, records: object[], commit_mode = 'append'): Promise<number> {
  await runImport({ dataset_id, records, commit_mode });
  return newestCommit(dataset_id);
} // prettier-ignore

async function migrate(id: number, body: object): Promise<number> {
  const created = await ann.post('/v2/dataset_migrations', { source_id: id, target_id: id, ...body });
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(created)}`);
  expect([json['status'], json['error_message']]).toEqual(['completed', null]);
  return newestCommit(id);
} // prettier-ignore

/** Returns the `_id`s of the records, in the order of the dataset. */
async function idsOf(datasetId: number): Promise<readonly string[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 10_000, fields: ['_id'] }); // prettier-ignore
  return (json['results'] as { _id: string }[]).map(({ _id }) => _id);
}

/** Returns for each segment whether the `_id`s of its rows are in the log. */
const knowsIds = async (datasetId: number): Promise<readonly boolean[]> =>
  (await server.store.snapshot(datasetId)).segments.map(({ idRuns }) => idRuns !== undefined);

const rollBack = (id: number) => ann.post(`/v2/dataset_commits/${id}/rollback`, {});

async function expectRolledBack(id: number): Promise<void> {
  const { status, json } = await rollBack(id);
  expect([status, json['detail']]).toEqual([201, undefined]);
}

async function expectBlockedBy(id: number, records: readonly Json[]): Promise<void> {
  const refused = await rollBack(id);
  expect([refused.status, refused.json['detail']]).toEqual([400, expect.stringContaining('are there again, with the same _id')]); // prettier-ignore
  expect(refused.json['blocked_records']).toEqual(records);
}

const fourRecords = [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }];
const named = (ids: readonly (string | undefined)[], n = 0) => ids.map((_id) => ({ _id, n }));

describe('C6: a rollback is blocked by records that are there again', () => {
  test('in a segment whose ids are not in the log, until they are deleted', async () => {
    const id = await newDataset();
    await commit(id, fourRecords);
    const all = await idsOf(id);
    const deletion = await commit(id, named(all.slice(0, 3)), 'delete');
    const upsert = await commit(id, named(all.slice(1, 3)), 'upsert');
    expect(await knowsIds(id)).toEqual([true, false]);
    await expectBlockedBy(deletion, [{ commit_id: upsert, records: 2, example_id: all[1] }]);
    await commit(id, named([all[1]]), 'delete');
    await expectBlockedBy(deletion, [{ commit_id: upsert, records: 1, example_id: all[2] }]);
    await commit(id, named([all[2]]), 'delete');
    await expectRolledBack(deletion);
    expect(await idsOf(id)).toEqual(all);
  });

  test('in a segment whose ids are in the log, also if another segment may have them', async () => {
    const id = await newDataset();
    const append = await commit(id, fourRecords);
    const all = await idsOf(id);
    const deletion = await commit(id, named(all.slice(0, 2)), 'delete');
    await commit(id, named(all.slice(0, 2)), 'upsert');
    const second = await commit(id, named(all.slice(0, 2)), 'delete');
    await expectRolledBack(deletion);
    expect(await knowsIds(id)).toEqual([true, false]);
    await expectBlockedBy(second, [{ commit_id: append, records: 2, example_id: all[0] }]);
    expect(await idsOf(id)).toEqual(all);
  });

  test('in several segments, by the commits that wrote them last', async () => {
    const id = await newDataset();
    await commit(id, fourRecords);
    await commit(id, fourRecords);
    const all = await idsOf(id);
    const wanted = [all[0], all[1], all[4], all[5]];
    const deletion = await commit(id, named(wanted), 'delete');
    const first = await commit(id, named([all[0], all[5]]), 'upsert');
    const second = await commit(id, named([all[1], 'other']), 'overwrite');
    const third = await commit(id, named([all[0]], 3), 'upsert');
    await expectBlockedBy(deletion, [
      { commit_id: first, records: 1, example_id: all[5] },
      { commit_id: second, records: 1, example_id: all[1] },
      { commit_id: third, records: 1, example_id: all[0] },
    ]);
    await commit(id, named([all[0], all[1], all[5]]), 'delete');
    await expectRolledBack(deletion);
    expect((await idsOf(id)).toSorted()).toEqual([...all, 'other'].toSorted());
  });

  test('more of them than one query takes', async () => {
    const id = await newDataset();
    const count = 5_500;
    for (let from = 0; from < count; from += 2_750)
      await commit(
        id,
        Array.from({ length: 2_750 }, (_, n) => ({ n: from + n })),
      );
    const before = await newestCommit(id);
    const all = await idsOf(id);
    const deletion = await migrate(id, { commit_mode: 'delete', source_params: { filters: [['n__gte', 100]] } }); // prettier-ignore
    const readded = await migrate(id, { commit_mode: 'overwrite', source_params: { as_of: before, filters: [['n__gte', 200]] } }); // prettier-ignore
    expect(await idsOf(id)).toHaveLength(count - 100);
    await expectBlockedBy(deletion, [{ commit_id: readded, records: count - 200, example_id: all[200] }]); // prettier-ignore
    await migrate(id, { commit_mode: 'delete', source_params: { filters: [['n__gte', 201]] } });
    await expectBlockedBy(deletion, [{ commit_id: readded, records: 1, example_id: all[200] }]);
    await migrate(id, { commit_mode: 'delete', source_params: { filters: [['n', 200]] } });
    await expectRolledBack(deletion);
    expect(await idsOf(id)).toEqual(all);
  });
});
