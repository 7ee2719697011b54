import { describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, waitForJob } from '../server.js';

const { server, ann, newDataset, runImport } = await startServerFixture();

type Json = Readonly<Record<string, unknown>>;

async function fetchRecords(datasetId: number): Promise<readonly Json[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1000 });
  return (json['results'] as Json[]).map(({ _commit, ...rest }) => rest);
}

async function migrate(source_id: number, target_id: number, body: object): Promise<Json> {
  const createdMigration = await ann.post('/v2/dataset_migrations', {
    source_id,
    target_id,
    ...body,
  });
  expect([createdMigration.status, createdMigration.text]).toEqual([201, expect.any(String)]);
  return (await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`)).json;
}

async function migrateInto(sourceId: number, targetId: number, body: object): Promise<Json> {
  const migration = await migrate(sourceId, targetId, body);
  expect([migration['error_message'], migration['status']]).toEqual([null, 'completed']);
  return migration;
}

async function newSourceDataset(): Promise<number> {
  const datasetId = await newDataset();
  const records = Array.from({ length: 30 }, (_, n) => ({ n, word: `w${n}`, info: { a: n, b: ['x'] } })); // prettier-ignore
  await runImport({ dataset_id: datasetId, records });
  return datasetId;
}

test('overwrite gives the target the same records under the same ids, and later only what has changed', async () => {
  const [sourceId, targetId] = [await newSourceDataset(), await newDataset()];
  const firstMigration = await migrateInto(sourceId, targetId, { commit_mode: 'overwrite' });
  expect((firstMigration['metadata'] as Json)['changes']).toEqual({
    records_added: 30,
    records_changed: 0,
  });
  expect(await fetchRecords(targetId)).toEqual(await fetchRecords(sourceId));
  const ids = (await fetchRecords(sourceId)).map(({ _id }) => _id);
  const changes = [{ _id: ids[7], n: 700, word: 'new' }, { _id: ids[3], n: 300, word: 'other' }, { n: 31, word: 'added' }]; // prettier-ignore
  await runImport({ dataset_id: sourceId, commit_mode: 'upsert', records: changes });
  const secondMigration = await migrateInto(sourceId, targetId, { commit_mode: 'overwrite', source_params: { filters: [['n__gt', 30]] } }); // prettier-ignore
  expect(secondMigration).toMatchObject({
    documents_count: 3, metadata: { changes: { records_added: 1, records_changed: 2 } },
  }); // prettier-ignore
  expect(await fetchRecords(targetId)).toEqual(await fetchRecords(sourceId));
  const [commit] = secondMigration['dataset_commits'] as Json[];
  expect(commit).toMatchObject({ mode: 'overwrite', records_added: 1, records_changed: 2, records_total: 31 }); // prettier-ignore
  const rollbackAnswer = await ann.post(
    `/v2/dataset_commits/${String(commit!['id'])}/rollback`,
    {},
  );
  expect([rollbackAnswer.status, rollbackAnswer.json['records_total']]).toEqual([201, 30]);
  expect((await fetchRecords(targetId)).map(({ word }) => word)).toEqual(Array.from({ length: 30 }, (_, n) => `w${n}`)); // prettier-ignore
});

test('upsert by id_fields adds fields to the records of the target, which keep their ids', async () => {
  const [sourceId, targetId] = [await newDataset(), await newSourceDataset()];
  await runImport({ dataset_id: sourceId, records: [{ key: 5, n: 5, score: 0.5 }, { key: 99, n: 99, score: 1 }, { key: 8, n: 8, info: { a: -8 } }] }); // prettier-ignore
  const recordsBefore = await fetchRecords(targetId);
  const body = { commit_mode: 'upsert', id_fields: ['n'], source_params: { exclude_fields: ['key'] } }; // prettier-ignore
  const dryRun = await migrate(sourceId, targetId, { ...body, dry_run: true });
  expect((dryRun['metadata'] as Json)['dry_run']).toMatchObject({ records_added: 1, records_changed: 2 }); // prettier-ignore
  expect(await fetchRecords(targetId)).toEqual(recordsBefore);
  await migrateInto(sourceId, targetId, body);
  const recordsAfter = await fetchRecords(targetId);
  expect(recordsAfter[5]).toEqual({ ...recordsBefore[5], score: 0.5 });
  expect(recordsAfter[8]).toEqual({ ...recordsBefore[8], score: null, info: { a: -8, b: ['x'] } });
  expect(recordsAfter[30]).toMatchObject({ n: 99, word: null, score: 1 });
  expect(recordsAfter.map(({ _id }) => _id).slice(0, 30)).toEqual(
    recordsBefore.map(({ _id }) => _id),
  );
});

test.each(['overwrite', 'upsert'])('the sample of a dry run of %s has the records that the migration then writes, in the order of the target', async (commit_mode) => {
  const [sourceId, targetId] = [await newDataset(), await newSourceDataset()];
  await runImport({ dataset_id: sourceId, records: [{ n: 99, score: 1 }, { n: 8, info: { a: -8 } }, { n: 5, score: 0.5 }] });
  const body = { commit_mode, id_fields: ['n'] };
  const dryRun = await migrate(sourceId, targetId, { ...body, dry_run: true });
  const { sample } = (dryRun['metadata'] as { dry_run: Json }).dry_run;
  const [commit] = (await migrateInto(sourceId, targetId, body))['dataset_commits'] as Json[];
  const query = { filters: [['_commit', String(commit!['id'])]], exclude_fields: ['_id', '_commit'] };
  const { json } = await ann.post(`/v2/datasets/${targetId}/data`, query);
  expect((json['results'] as Json[]).map(({ n }) => n)).toEqual([5, 8, 99]);
  expect(sample).toEqual(json['results']);
}); // prettier-ignore

test('a dataset overwrites its own records, without some of their fields', async () => {
  const datasetId = await newSourceDataset();
  const recordsBefore = await fetchRecords(datasetId);
  const source_params = { filters: [['n__lt', 3]], exclude_fields: ['word'] };
  await migrateInto(datasetId, datasetId, { commit_mode: 'overwrite', source_params });
  expect(await fetchRecords(datasetId)).toEqual(
    recordsBefore.map((record, n) => (n < 3 ? { ...record, word: null } : record)),
  );
});

test('deletes by id_fields what another dataset lists, several times as well', async () => {
  const [sourceId, targetId] = [await newDataset(), await newSourceDataset()];
  await runImport({
    dataset_id: sourceId,
    records: ['w1', 'w2', 'nobody', 'w1', 'nobody'].map((word) => ({ word })),
  });
  const migration = await migrateInto(sourceId, targetId, {
    commit_mode: 'delete',
    id_fields: ['word'],
  });
  expect((migration['metadata'] as Json)['deletions']).toEqual({
    records_deleted: 2,
    ids_not_found: 1,
  });
  expect((await fetchRecords(targetId)).map(({ n }) => n)).toEqual([0, ...Array.from({ length: 27 }, (_, i) => i + 3)]); // prettier-ignore
});

describe('two records with the same key fail the migration, which names both,', () => {
  test('and change nothing', async () => {
    const [sourceId, targetId] = [await newDataset(), await newSourceDataset()];
    await runImport({ dataset_id: sourceId, records: [{ n: 1 }, { n: 2 }, { n: 1 }] });
    const recordsBefore = await fetchRecords(targetId);
    const failedMigration = await migrate(sourceId, targetId, {
      commit_mode: 'upsert',
      id_fields: ['n'],
    });
    const message = `record 1 of dataset ${sourceId} and record 3 of dataset ${sourceId} have the same n: give each record once`;
    expect([failedMigration['status'], failedMigration['error_message']]).toEqual([
      'failed',
      message,
    ]);
    expect(await fetchRecords(targetId)).toEqual(recordsBefore);
  });

  test('and keeps its report and its rejected records', async () => {
    const [sourceId, targetId] = [await newDataset(), await newSourceDataset()];
    const records = [{ n: 1, day: 'x' }, { n: 2, day: '5' }, { n: 3, day: '6' }, { n: 2, day: '7' }]; // prettier-ignore
    await runImport({ dataset_id: sourceId, records });
    const failedMigration = await migrate(sourceId, targetId, {
      commit_mode: 'upsert',
      id_fields: ['n'],
      target_fields: [{ name: 'day', data_type: 'long' }],
      validation_params: { on_error: 'reject', max_rejected: 1 },
    });
    const message = `record 1 of those stored from dataset ${sourceId} and record 3 of those stored from dataset ${sourceId} have the same n: give each record once`;
    expect([failedMigration['status'], failedMigration['error_message']]).toEqual([
      'failed',
      message,
    ]);
    expect(failedMigration['metadata']).toMatchObject({
      progress: { processed_records: 4 },
      validation: { errors_count: 1, error_codes: [301] },
      receipt: { records_read: 4, records_stored: 3, records_rejected: 1, is_committed: false },
    });
    const rejectedAnswer = await ann.get(
      `/v2/dataset_migrations/${String(failedMigration['id'])}/rejected`,
    );
    expect(rejectedAnswer.status).toBe(302);
  });
});

describe('a dry run counts what the migration then does, and writes nothing:', () => {
  /** Returns everything about a dataset that a migration may change. */
  async function fetchState(datasetId: number): Promise<unknown> {
    const url = `/v2/datasets/${datasetId}`;
    const records = await ann.post(`${url}/data`, { limit: 1000 });
    const lists = ['fields', 'commits'].map(async (name) => listOf(await ann.get(`${url}/${name}`)));
    const files = await readdir(server.data.path('datasets', String(datasetId)), { recursive: true });
    return [(await ann.get(url)).json, records.json['results'], await Promise.all(lists), files.toSorted()];
  } // prettier-ignore

  /** Selects the records with n above 25. */
  const above25 = { filters: [['n__gt', 25]] };
  // When the migration runs, the target has n = 1 to 27 and 29, and a separate source has n = 0 to 29, 31 and 32.
  test.each<[string, boolean, object, Json]>([
    ['deletes by a query', true, { commit_mode: 'delete', source_params: above25 }, { records_deleted: 3, ids_not_found: 0 }],
    ['deletes by _id', false, { commit_mode: 'delete', source_params: above25 }, { records_deleted: 3, ids_not_found: 3 }],
    ['deletes by id_fields', false, { commit_mode: 'delete', id_fields: ['n'] }, { records_deleted: 28, ids_not_found: 4 }],
    ['overwrites by _id', false, { commit_mode: 'overwrite', source_params: above25 }, { records_added: 3, records_changed: 3 }],
    ['overwrites by id_fields', false, { commit_mode: 'overwrite', id_fields: ['n'], source_params: above25 }, { records_added: 3, records_changed: 3 }],
    ['overwrites its own records', true, { commit_mode: 'overwrite', source_params: { ...above25, exclude_fields: ['info'] } }, { records_added: 0, records_changed: 3 }],
    ['upserts by _id', false, { commit_mode: 'upsert', source_params: above25 }, { records_added: 3, records_changed: 3 }],
    ['upserts by id_fields', false, { commit_mode: 'upsert', id_fields: ['n'] }, { records_added: 4, records_changed: 28 }],
    ['upserts its own records', true, { commit_mode: 'upsert', source_params: above25, target_fields: [{ name: 'twice', data_type: 'long', expression: '2 * record.n' }] }, { records_added: 0, records_changed: 3 }],
    ['changes nothing', true, { commit_mode: 'upsert', source_params: { filters: [['n', -1]] } }, { records_added: 0, records_changed: 0 }],
  ])('%s', async (_, isOwn, body, counts) => {
    const targetId = await newSourceDataset();
    const sourceId = isOwn ? targetId : await newDataset();
    if (!isOwn) {
      await migrateInto(targetId, sourceId, { commit_mode: 'overwrite' });
      await runImport({ dataset_id: sourceId, records: [{ n: 31, word: 'a' }, { n: 32, more: 1 }] });
    }
    const [removedRecord] = await fetchRecords(targetId);
    const id = (await fetchRecords(targetId))[28]!['_id'];
    await runImport({ dataset_id: targetId, commit_mode: 'delete', records: [{ _id: id }, { _id: removedRecord!['_id'] }] });
    const [targetBefore, sourceBefore] = [await fetchState(targetId), await fetchState(sourceId)];
    const dryRun = await migrate(sourceId, targetId, { ...body, dry_run: true });
    expect(dryRun).toMatchObject({ status: 'completed', error_message: null, dry_run: true, dataset_commits: [], metadata: { dry_run: counts } });
    expect([await fetchState(targetId), await fetchState(sourceId)]).toEqual([targetBefore, sourceBefore]);
    const realMigration = await migrateInto(sourceId, targetId, body);
    const { receipt, ...realCounts } = realMigration['metadata'] as Readonly<Record<string, Json>>;
    expect(realCounts['deletions'] ?? realCounts['changes']).toEqual(counts);
    expect((dryRun['metadata'] as Json)['receipt']).toEqual({ ...receipt, is_committed: false });
    expect(dryRun['documents_count']).toBe(realMigration['documents_count']);
  }); // prettier-ignore
});
