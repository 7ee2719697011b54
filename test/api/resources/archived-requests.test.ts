import { beforeAll, expect, test } from '@jest/globals';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, type Answer } from '../server.js';

/* Everything that reads the records of a dataset says that the dataset is archived (contract 7.3). */

const { server, ann, vaultId, newDataset, runImport } = await startServerFixture({
  scheduler: { startWorker },
});

let id: number;
let fieldId: unknown;
let recordId: unknown;
let commitIds: readonly unknown[];
let beaconSetId: number;
let beaconId: number;
let otherId: number;

beforeAll(async () => {
  id = await newDataset();
  otherId = await newDataset();
  for (const gene of ['TP53', 'BRCA1'])
    await runImport({ dataset_id: id, records: [{ gene, n: 1 }], target_fields: [{ name: 'gene', entity_type: 'gene' }] }); // prettier-ignore
  await runImport({ dataset_id: otherId, records: [{ n: 1 }] });
  const fields = listOf(await ann.get(`/v2/datasets/${id}/fields`));
  fieldId = fields.find(({ name }) => name === 'n')!['id'];
  const { json } = await ann.post(`/v2/datasets/${id}/data`, { limit: 1 });
  [{ _id: recordId }] = json['results'] as [{ _id: unknown }];
  commitIds = listOf(await ann.get(`/v2/datasets/${id}/commits`)).map((commit) => commit['id']);
  beaconSetId = idOf(await ann.post('/v2/beacon_sets', { title: 'Set' }));
  const beacon = { beacon_set_id: beaconSetId, title: 'Beacon', vault_object_id: id };
  beaconId = idOf(await ann.post('/v2/beacons', beacon));
  await ann.patch(`/v2/datasets/${id}`, { storage_class: 'Archive' });
  await pollUntil(async () => (await ann.get(`/v2/datasets/${id}`)).json['availability'] === 'archived'); // prettier-ignore
});

const message = /The dataset is archived: set its storage_class to another one/;
const messageText = expect.stringMatching(message);

test.each<readonly [string, () => Promise<Answer>]>([
  ['a query', () => ann.post(`/v2/datasets/${id}/data`, { filters: [['gene', 'TP53']] })],
  ['a query of an earlier version', () => ann.post(`/v2/datasets/${id}/data`, { as_of: commitIds[1] })],
  ['a page with a cursor', () => ann.post(`/v2/datasets/${id}/data`, { cursor: true, limit: 1 })],
  ['an explained query', () => ann.post(`/v2/datasets/${id}/data`, { explain: true })],
  ['a query by a computed field', () => ann.post(`/v2/datasets/${id}/data`, { filters: [['m', 2]], target_fields: [{ name: 'm', expression: 'record.n * 2', data_type: 'long' }] })],
  ['a lookup by id', () => ann.get(`/v2/datasets/${id}/data/${String(recordId)}`)],
  ['facets of a field', () => ann.get(`/v2/dataset_fields/${String(fieldId)}/facets`)],
  ['a comparison of versions', () => ann.get(`/v2/datasets/${id}/diff?from=${String(commitIds[1])}`)],
  ['the download of a commit', () => ann.get(`/v2/dataset_commits/${String(commitIds[0])}/download?redirect=`)],
  ['an export', () => ann.post('/v2/dataset_exports', { dataset_id: id, format: 'csv' })],
  ['an import', () => ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n: 2 }] })],
  ['a dry run', () => ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n: 2 }], dry_run: true })],
  ['a migration from it', () => ann.post('/v2/dataset_migrations', { source_id: id, target_id: otherId })],
  ['a migration into it', () => ann.post('/v2/dataset_migrations', { source_id: otherId, target_id: id })],
  ['the query of a beacon', () => ann.post(`/v2/beacons/${beaconId}/query`, { query: 'TP53' })],
  ['the check of a rollback', () => ann.get(`/v2/dataset_commits/${String(commitIds[0])}/rollback`)],
  ['a rollback', () => ann.post(`/v2/dataset_commits/${String(commitIds[0])}/rollback`, {})],
])('%s is refused', async (_, request) => {
  const { status, text } = await request();
  expect([status, text]).toEqual([400, messageText]);
}); // prettier-ignore

test('of a batch of queries, only those of the dataset are refused', async () => {
  const queries = [{ dataset: otherId }, { dataset: id }, { dataset: otherId }];
  const { json } = await ann.post('/v2/batch_query', { queries });
  const answers = json as unknown as readonly Record<string, unknown>[];
  expect(answers.map((one) => [one['status_code'], one['detail']])).toEqual([[200, undefined], [400, messageText], [200, undefined]]); // prettier-ignore
});

test('an earlier version is refused also at the moment at which the log is gone', async () => {
  const { store, data } = server;
  const dataset = await newDataset();
  for (const n of [1, 2, 3]) await runImport({ dataset_id: dataset, records: [{ n }] });
  const [, commit] = listOf(await ann.get(`/v2/datasets/${dataset}/commits`));
  const gone = Promise.withResolvers<void>();
  const { retire } = store;
  store.retire = async (...args) => {
    store.retire = retire;
    await rename(data.deltaLog(dataset), join(data.dataset(dataset), '_dropped'));
    gone.resolve();
    await retire.apply(store, args);
  };
  await ann.patch(`/v2/datasets/${dataset}`, { storage_class: 'Archive' });
  await gone.promise;
  for (const as_of of [commit!['id'], (commit!['timestamps'] as string[][]).at(-1)![2]]) {
    const query = await ann.post(`/v2/datasets/${dataset}/data`, { as_of });
    expect([query.status, query.text]).toEqual([400, messageText]);
    const body = { dataset_id: dataset, format: 'csv', params: { as_of } };
    const created = await ann.post('/v2/dataset_exports', body);
    expect([created.status, created.text]).toEqual([400, messageText]);
    const diff = await ann.get(`/v2/datasets/${dataset}/diff?from=${String(as_of)}`);
    expect([diff.status, diff.text]).toEqual([400, messageText]);
  }
});

test.each([
  'dataset_query(D)',
  "dataset_query(D, filters=[('gene', 'TP53')], fields=['n'])",
  'dataset_count(D)',
  "dataset_field_values(D, 'n')",
  "dataset_field_top_terms(D, 'gene')",
  "dataset_field_terms_count(D, 'gene')",
  "dataset_entity_top_terms(D, 'gene')",
  "dataset_field_stats(D, 'n')",
  "dataset_field_percentiles(D, 'n')",
  "prevalence(D, ('gene', 'TP53'), 'n')",
])('the expression %s fails', async (expression) => {
  const data = { D: id };
  const { status, text } = await ann.post('/v1/evaluate', { expression, data });
  expect([status, text]).toEqual([400, messageText]);
  const body = { records: [{ n: 1 }], fields: [{ name: 'x', expression }], data };
  const annotated = await ann.post('/v1/annotate', body);
  expect([annotated.status, annotated.json['results']]).toEqual([200, [{ n: 1, x: null, _errors: { x: messageText } }]]); // prettier-ignore
});

test('an import whose expressions read it stores the error', async () => {
  const target_fields = [{ name: 'known', expression: 'dataset_count(D)', data_type: 'long' }];
  const annotator_params = { data: { D: id } };
  const dataset_id = await newDataset();
  await runImport({ dataset_id, records: [{ n: 2 }], target_fields, annotator_params });
  const { json } = await ann.post(`/v2/datasets/${dataset_id}/data`, {});
  expect(json['results']).toEqual([expect.objectContaining({ n: 2, _errors: { known: messageText } })]); // prettier-ignore
});

test('a beacon set answers that its beacon failed, and why', async () => {
  const set = await ann.post(`/v2/beacon_sets/${beaconSetId}/query`, { query: 'TP53' });
  expect(set.json).toMatchObject({ failed_count: 1, beacons: [{ status: 'failed', error: messageText }] }); // prettier-ignore
  const { json: evaluated } = await ann.post('/v1/evaluate', { expression: `beacon('TP53', 'gene', beacon_set=${beaconSetId})['failed_count']` }); // prettier-ignore
  expect(evaluated).toEqual({ result: '1' });
});

test('a saved query of it is created, read and changed', async () => {
  const body = { name: 'saved', dataset: id, params: { filters: [['gene', 'TP53']] } };
  const created = await ann.post('/v2/saved_queries', body);
  expect([created.status, created.json]).toEqual([201, expect.objectContaining({ params: body.params })]); // prettier-ignore
  const path = `/v2/saved_queries/${idOf(created)}`;
  expect((await ann.get(path)).json).toEqual(created.json);
  expect((await ann.patch(path, { name: 'other' })).status).toBe(200);
  const asOf = await ann.post('/v2/saved_queries', { ...body, params: { as_of: commitIds[1] } });
  expect(asOf.status).toBe(201);
});

test('what needs no records is read and found', async () => {
  for (const path of [
    `/v2/datasets/${id}`,
    `/v2/datasets/${id}/fields`,
    `/v2/datasets/${id}/commits`,
    `/v2/datasets/${id}/changelog`,
    `/v2/datasets/${id}/disk_use`,
    `/v2/dataset_fields/${String(fieldId)}`,
    `/v2/objects?vault_id=${vaultId}`,
  ])
    expect([path, (await ann.get(path)).status]).toEqual([path, 200]);
  for (const filters of [[], [['type', 'dataset']]]) {
    const { status, json } = await ann.post('/v2/search', { filters });
    expect([status, JSON.stringify(json)]).toEqual([200, expect.stringContaining(String(id))]);
  }
});

test('a dataset whose snapshot waits takes no export and no other storage class until it is archived', async () => {
  const datasetId = await newDataset();
  await runImport({ dataset_id: datasetId, records: [{ n: 1 }] });
  const dataset = (await server.catalog.datasets.get(datasetId))!;
  const job = {
    dataset,
    storageClass: 'Archive',
    userId: ann.user.id,
    accountId: ann.user.accountId,
  };
  // The task waits until the scheduler is told of it.
  await server.catalog.transaction((tx) => tx.snapshots.create(job));
  const answers = [
    await ann.post('/v2/dataset_exports', { dataset_id: datasetId, format: 'csv' }),
    await ann.patch(`/v2/datasets/${datasetId}`, { storage_class: 'Standard' }),
  ];
  const reason = [expect.stringMatching(/being archived/)];
  const fields = ['dataset_id', 'storage_class'];
  expect(answers.map(({ status, json }) => [status, json])).toEqual(
    fields.map((name) => [400, { [name]: reason }]),
  );
  server.scheduler.wake();
  await pollUntil(async () => (await ann.get(`/v2/datasets/${datasetId}`)).json['availability'] === 'archived'); // prettier-ignore
});
