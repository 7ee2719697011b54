import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { SqliteDatabase } from '../../engine/catalog/database.js';
import { migrations } from '../../engine/catalog/migrations.js';
import { constantSql, sql } from '../../engine/catalog/sql.js';
import { idOf, listOf, type Client } from '../api/server.js';
import { pollUntil } from '../until.js';
import { KillableApiProcess } from './api-process.js';

/*
 * Brings the catalogue of a data folder forward from the schema before version 22, which kept no versions of commits whose entries were
 * deleted (R8). The migration reads these versions from the log of the dataset, which is in the archive if the dataset is archived.
 */
let api: KillableApiProcess;
beforeAll(async () => {
  api = await KillableApiProcess.createWithUser();
});
afterEach(() => api.signalAndWait('SIGKILL'));
afterAll(() => api.removeRootFolder());

/** The indexes that the schemas after 22 add. */
const laterIndexes = ['tasks_active_account', 'tasks_active_target_object', 'tasks_active_source_object', 'snapshots_task', 'restores_task',
  'commits_created', ...['imports', 'exports', 'dataset_migrations'].flatMap((table) => [`${table}_status`, `${table}_dataset_status`])]; // prettier-ignore

/** Takes the catalogue back to the schema 21, with what it would have held. */
async function revertToSchema21(): Promise<void> {
  const db = new SqliteDatabase(join(api.dataFolderPath, 'catalog.sqlite'));
  const columns = ['parent_job_model', 'mode', 'records_total', 'records_added', 'log_version', 'completed_at']; // prettier-ignore
  for (const statement of [
    'DROP TABLE task_counts',
    ...['insert', 'update', 'delete'].map((event) => `DROP TRIGGER tasks_count_${event}`),
    ...laterIndexes.map((index) => `DROP INDEX ${index}`),
    'DROP VIEW commit_versions',
    'DROP INDEX deleted_commits_version',
    'DROP INDEX deleted_commits_job',
    ...columns.map((column) => `ALTER TABLE deleted_commits DROP COLUMN ${column}`),
    'CREATE INDEX deleted_commits_dataset ON deleted_commits (dataset_id)',
  ])
    await db.run(constantSql(statement));
  await db.run(sql`DELETE FROM schema_versions WHERE version > 21`);
  expect(migrations[21]?.name).toBe('versions of deleted commits');
  await db.close();
}

async function changeStorageClass(ann: Client, id: number, storage_class: string): Promise<void> {
  expect((await ann.patch(`/v2/datasets/${id}`, { storage_class })).status).toBe(200);
  const expectedAvailability = storage_class === 'Archive' ? 'archived' : 'available';
  await pollUntil(
    async () => (await ann.get(`/v2/datasets/${id}`)).json['availability'] === expectedAvailability,
  );
}

test.each([
  'stays available',
  'is archived when the catalogue is brought forward, and restored later',
])(
  'deleted commits of a dataset that %s are versions, and prevent rollbacks',
  async (state) => {
    const isArchived = state !== 'stays available';
    let ann = await api.start();
    const vault_id = idOf(await ann.post('/v2/vaults', { name: state }));
    const id = idOf(await ann.post('/v2/datasets', { vault_id, name: 'd' }));
    const commitIds: number[] = [];
    const times: string[] = [];
    async function change(body: object): Promise<void> {
      const { json } = await ann.post('/v2/dataset_imports', { dataset_id: id, ...body });
      expect(json['status']).toBe('completed');
      const [commit] = listOf(await ann.get(`/v2/datasets/${id}/commits?limit=1`));
      commitIds.push(Number(commit!['id']));
      times.push((commit!['timestamps'] as string[][]).at(-1)![2]!);
      // The next commit has a later time.
      await pollUntil(() => Date.now() > Date.parse(times.at(-1)!));
    }
    await change({ records: [{ n: 1 }, { n: 2 }, { n: 3 }] });
    await change({ commit_mode: 'upsert', id_fields: ['n'], records: [{ n: 2, more: 'x' }, { n: 4 }] });
    await change({ commit_mode: 'delete', id_fields: ['n'], records: [{ n: 3 }] });
    await change({ records: [{ n: 5 }] });
    const rollback = await ann.post(`/v2/dataset_commits/${commitIds[3]}/rollback`, {});
    expect(rollback.status).toBe(201);
    // The entries of the upsert, the deletion and the rollback are deleted, and that of an append that was rolled back stays.
    for (const commitId of [commitIds[1], commitIds[2], idOf(rollback)])
      expect((await ann.delete(`/v2/dataset_commits/${commitId}`)).status).toBe(200);
    if (isArchived) await changeStorageClass(ann, id, 'Archive');
    await api.signalAndWait('SIGTERM');
    await revertToSchema21();

    ann = await api.start();
    if (isArchived) {
      const refusal = await ann.post(`/v2/datasets/${id}/data`, { as_of: times[1] });
      expect([refusal.status, refusal.text]).toEqual([400, expect.stringContaining('archived')]);
      await changeStorageClass(ann, id, 'Standard');
    }
    const shownRecords: unknown[] = [];
    for (const as_of of times) {
      const { json } = await ann.post(`/v2/datasets/${id}/data`, { as_of, ordering: ['n'] });
      shownRecords.push((json['results'] as { n: number; more?: string }[]).map(({ n, more }) => `${n}${more ?? ''}`));
    }
    expect(shownRecords).toEqual([['1', '2', '3'], ['1', '2x', '3', '4'], ['1', '2x', '4'], ['1', '2x', '4', '5']]);
    const { json: difference } = await ann.get(`/v2/datasets/${id}/diff?from=${times[0]}&to=${times[2]}`);
    expect(difference).toMatchObject({ counts: { added: 1, changed: 1, removed: 1 } });
    const strictCheck = await ann.get(`/v2/dataset_commits/${commitIds[0]}/rollback?mode=strict`);
    const deletedCommitsText = `${commitIds[1]}, ${commitIds[2]} were deleted`;
    expect(strictCheck.json).toMatchObject({ is_blocked: true, detail: expect.stringContaining(deletedCommitsText) });
    const repeatedAnswer = await ann.post(`/v2/dataset_commits/${commitIds[3]}/rollback`, {});
    expect([repeatedAnswer.status, repeatedAnswer.json['detail']]).toEqual([400, expect.stringContaining('rolled back already')]);
    await ann.delete(`/v2/vaults/${vault_id}`);
    await api.expectIntactData();
  }, // prettier-ignore
);
