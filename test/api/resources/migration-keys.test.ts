import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, waitForJob } from '../server.js';

/* Tests records without the key of a migration that overwrites or deletes by `id_fields`. */

const { ann, newDataset } = await startServerFixture();

type Json = Readonly<Record<string, unknown>>;

async function runJob(kind: string, body: object): Promise<Json> {
  const createdJob = await ann.post(`/v2/${kind}`, body);
  expect([createdJob.status, createdJob.text]).toEqual([201, expect.any(String)]);
  return (await waitForJob(ann, `/v2/${kind}/${idOf(createdJob)}`)).json;
}

async function newDatasetOf(data_records: readonly object[]): Promise<number> {
  const dataset_id = await newDataset();
  expect((await runJob('dataset_imports', { dataset_id, data_records }))['status']).toBe('completed'); // prettier-ignore
  return dataset_id;
}

/** Returns the names and numbers of a dataset's records, in their order. */
async function namesOf(datasetId: number): Promise<readonly unknown[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 100 });
  return (json['results'] as Json[]).map(({ name, n }) => [name, n]);
}

/** Returns the rejected records of a migration. */
async function downloadRejectedRecords(migration: Json): Promise<readonly Json[]> {
  const { json } = await ann.get(`${new URL(String(migration['url'])).pathname}/rejected?redirect=false`); // prettier-ignore
  const bytes = await (await fetch(String(json['url']))).arrayBuffer();
  const text = gunzipSync(Buffer.from(bytes)).toString();
  return text.trimEnd().split('\n').map((line) => JSON.parse(line) as Json); // prettier-ignore
}

const givenRecords = [
  { name: 'a', n: 10 },
  { n: 11 },
  { name: 'c', n: 12 },
  { name: null, n: 13, more: 'x' },
];
const nameKeyParams = { id_fields: ['name'] };
const rejectParams = { validation_params: { on_error: 'reject' } };

test.each([
  ['overwrite', {}, [['a', 10], ['b', 2], ['c', 12]]],
  ['delete', {}, [['b', 2]]],
  // The key is computed, and the rest is copied.
  ['overwrite', { target_fields: [{ name: 'name', expression: 'value.lower() if value else None' }] }, [['a', 10], ['b', 2], ['c', 12]]],
])('commit_mode %s rejects the records without a key, with %j', async (commit_mode, more, expected) => {
  const target_id = await newDatasetOf(['a', 'b', 'c'].map((name, i) => ({ name, n: i + 1 })));
  const source_id = await newDatasetOf(givenRecords);
  const body = { source_id, target_id, commit_mode, ...nameKeyParams, ...more };
  const failedMigration = await runJob('dataset_migrations', body);
  expect([failedMigration['status'], failedMigration['error_message']]).toEqual(['failed', expect.stringContaining(`no name: with commit_mode ${commit_mode}`)]);
  const dryRun = await runJob('dataset_migrations', { ...body, ...rejectParams, dry_run: true });
  const migration = await runJob('dataset_migrations', { ...body, ...rejectParams });
  expect([migration['status'], migration['error_message']]).toEqual(['completed', null]);
  for (const { metadata } of [dryRun, migration] as { metadata: Json }[]) {
    expect(metadata['receipt']).toMatchObject({ records_read: 4, records_stored: 2, records_rejected: 2 });
    expect((metadata['validation'] as { errors: Json[] }).errors).toMatchObject([{ code: 301, field: 'name', line: 2, count: 2 }]);
  }
  expect(await namesOf(target_id)).toEqual(expected);
  const rejectedRecords = await downloadRejectedRecords(migration);
  expect(rejectedRecords).toMatchObject([2, 4].map((line) => ({ line, field: 'name', code: 301 })));
  expect(rejectedRecords.map(({ text }) => JSON.parse(String(text)) as Json)).toMatchObject([{ n: 11 }, { n: 13, more: 'x' }]);
  const overLimitMigration = await runJob('dataset_migrations', { ...body, validation_params: { on_error: 'reject', max_rejected: 1 } });
  expect([overLimitMigration['status'], await namesOf(target_id)]).toEqual(['failed', expected]);
}); // prettier-ignore

test('records without a key are reported beside those with a value that cannot be cast', async () => {
  const target_id = await newDatasetOf([{ name: 'a' }]);
  const source_id = await newDatasetOf([{ name: 'a', n: '1' }, { n: '2' }, { name: 'c', n: 'x' }, { n: 'y' }]);
  const target_fields = [{ name: 'n', data_type: 'long' }];
  const body = { source_id, target_id, commit_mode: 'overwrite', ...nameKeyParams, target_fields };
  const overLimitMigration = await runJob('dataset_migrations', { ...body, validation_params: { on_error: 'reject', max_rejected: 2 } });
  expect(overLimitMigration['error_message']).toMatch(
    /line 2: field name: no value.*; 3 more errors; 3 records are rejected, .*max_rejected is 2/,
  );
  const migration = await runJob('dataset_migrations', { ...body, ...rejectParams });
  expect([migration['status'], migration['error_message']]).toEqual(['completed', null]);
  const { receipt, validation, progress } = migration['metadata'] as Record<string, Json>;
  expect(receipt).toMatchObject({ records_read: 4, records_stored: 1, records_rejected: 3 });
  expect(validation).toMatchObject({ errors_count: 4, errors: [{ field: 'name', line: 2, count: 2 }, { field: 'n', line: 3, count: 2 }] });
  expect(progress!['errors']).toMatchObject({ records: 3, fields: 2 });
  const rejectedRecords = await downloadRejectedRecords(migration);
  expect(rejectedRecords.map(({ line, errors }) => [line, errors])).toEqual([[2, 1], [3, 1], [4, 2]]);
  expect(await namesOf(target_id)).toEqual([['a', 1]]);
}); // prettier-ignore

test('a field of the key that no record has fails the migration, and an upsert adds a record without a key', async () => {
  const target_id = await newDatasetOf([{ name: 'a', n: 1 }]);
  const source_id = await newDatasetOf([{ n: 5 }, { n: 6 }]);
  const failedMigration = await runJob('dataset_migrations', {
    source_id, target_id, commit_mode: 'overwrite', ...nameKeyParams, ...rejectParams,
  }); // prettier-ignore
  expect([failedMigration['status'], failedMigration['error_message']]).toEqual(
    ['failed', expect.stringContaining('no record has a field "name"')],
  ); // prettier-ignore
  const mixedDatasetId = await newDatasetOf(givenRecords);
  const migration = await runJob('dataset_migrations', {
    source_id: mixedDatasetId, target_id, commit_mode: 'upsert', ...nameKeyParams, ...rejectParams,
  }); // prettier-ignore
  expect(migration['status']).toBe('completed');
  expect(await namesOf(target_id)).toEqual([['a', 10], [null, 11], ['c', 12], [null, 13]]); // prettier-ignore
});
