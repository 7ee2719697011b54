import { beforeAll, expect, test } from '@jest/globals';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf, type Answer } from '../server.js';

/* Every request that reads or changes the records of a dataset says that the dataset is archived (contract 7.3). */

const { server, ann, vaultId, newDataset, runImport } = await startServerFixture({
  scheduler: { startWorker },
});

let archivedId: number;
let fieldId: unknown;
let recordId: unknown;
let commitIds: readonly unknown[];
let beaconSetId: number;
let beaconId: number;
let otherId: number;

beforeAll(async () => {
  archivedId = await newDataset();
  otherId = await newDataset();
  for (const gene of ['TP53', 'BRCA1'])
    await runImport({ dataset_id: archivedId, records: [{ gene, n: 1 }], target_fields: [{ name: 'gene', entity_type: 'gene' }] }); // prettier-ignore
  await runImport({ dataset_id: otherId, records: [{ n: 1 }] });
  const fields = listOf(await ann.get(`/v2/datasets/${archivedId}/fields`));
  fieldId = fields.find(({ name }) => name === 'n')!['id'];
  const { json } = await ann.post(`/v2/datasets/${archivedId}/data`, { limit: 1 });
  [{ _id: recordId }] = json['results'] as [{ _id: unknown }];
  commitIds = listOf(await ann.get(`/v2/datasets/${archivedId}/commits`)).map(
    (commit) => commit['id'],
  );
  beaconSetId = idOf(await ann.post('/v2/beacon_sets', { title: 'Set' }));
  const beacon = { beacon_set_id: beaconSetId, title: 'Beacon', vault_object_id: archivedId };
  beaconId = idOf(await ann.post('/v2/beacons', beacon));
  await ann.patch(`/v2/datasets/${archivedId}`, { storage_class: 'Archive' });
  await pollUntil(async () => (await ann.get(`/v2/datasets/${archivedId}`)).json['availability'] === 'archived'); // prettier-ignore
});

const archivedPattern = /The dataset is archived: set its storage_class to another one/;
const archivedMessage = expect.stringMatching(archivedPattern);

test.each<readonly [string, () => Promise<Answer>]>([
  ['a query', () => ann.post(`/v2/datasets/${archivedId}/data`, { filters: [['gene', 'TP53']] })],
  ['a query of an earlier version', () => ann.post(`/v2/datasets/${archivedId}/data`, { as_of: commitIds[1] })],
  ['a page with a cursor', () => ann.post(`/v2/datasets/${archivedId}/data`, { cursor: true, limit: 1 })],
  ['an explained query', () => ann.post(`/v2/datasets/${archivedId}/data`, { explain: true })],
  ['a query by a computed field', () => ann.post(`/v2/datasets/${archivedId}/data`, { filters: [['m', 2]], target_fields: [{ name: 'm', expression: 'record.n * 2', data_type: 'long' }] })],
  ['a lookup by id', () => ann.get(`/v2/datasets/${archivedId}/data/${String(recordId)}`)],
  ['facets of a field', () => ann.get(`/v2/dataset_fields/${String(fieldId)}/facets`)],
  ['a comparison of versions', () => ann.get(`/v2/datasets/${archivedId}/diff?from=${String(commitIds[1])}`)],
  ['the download of a commit', () => ann.get(`/v2/dataset_commits/${String(commitIds[0])}/download?redirect=`)],
  ['an export', () => ann.post('/v2/dataset_exports', { dataset_id: archivedId, format: 'csv' })],
  ['an import', () => ann.post('/v2/dataset_imports', { dataset_id: archivedId, records: [{ n: 2 }] })],
  ['a dry run', () => ann.post('/v2/dataset_imports', { dataset_id: archivedId, records: [{ n: 2 }], dry_run: true })],
  ['a migration from it', () => ann.post('/v2/dataset_migrations', { source_id: archivedId, target_id: otherId })],
  ['a migration into it', () => ann.post('/v2/dataset_migrations', { source_id: otherId, target_id: archivedId })],
  ['the query of a beacon', () => ann.post(`/v2/beacons/${beaconId}/query`, { query: 'TP53' })],
  ['the check of a rollback', () => ann.get(`/v2/dataset_commits/${String(commitIds[0])}/rollback`)],
  ['a rollback', () => ann.post(`/v2/dataset_commits/${String(commitIds[0])}/rollback`, {})],
])('%s is refused', async (_, request) => {
  const { status, text } = await request();
  expect([status, text]).toEqual([400, archivedMessage]);
}); // prettier-ignore

test('of a batch of queries, only those of the dataset are refused', async () => {
  const queries = [{ dataset: otherId }, { dataset: archivedId }, { dataset: otherId }];
  const { json } = await ann.post('/v2/batch_query', { queries });
  const answers = json as unknown as readonly Record<string, unknown>[];
  expect(answers.map((one) => [one['status_code'], one['detail']])).toEqual([[200, undefined], [400, archivedMessage], [200, undefined]]); // prettier-ignore
});

test('an earlier version is refused also at the moment at which the log is gone', async () => {
  const { store, data } = server;
  const datasetId = await newDataset();
  for (const n of [1, 2, 3]) await runImport({ dataset_id: datasetId, records: [{ n }] });
  const [, commit] = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
  const logRemoval = Promise.withResolvers<void>();
  const { retire } = store;
  store.retire = async (...args) => {
    store.retire = retire;
    await rename(data.deltaLog(datasetId), join(data.dataset(datasetId), '_dropped'));
    logRemoval.resolve();
    await retire.apply(store, args);
  };
  await ann.patch(`/v2/datasets/${datasetId}`, { storage_class: 'Archive' });
  await logRemoval.promise;
  for (const as_of of [commit!['id'], (commit!['timestamps'] as string[][]).at(-1)![2]]) {
    const queryAnswer = await ann.post(`/v2/datasets/${datasetId}/data`, { as_of });
    expect([queryAnswer.status, queryAnswer.text]).toEqual([400, archivedMessage]);
    const body = { dataset_id: datasetId, format: 'csv', params: { as_of } };
    const exportAnswer = await ann.post('/v2/dataset_exports', body);
    expect([exportAnswer.status, exportAnswer.text]).toEqual([400, archivedMessage]);
    const diffAnswer = await ann.get(`/v2/datasets/${datasetId}/diff?from=${String(as_of)}`);
    expect([diffAnswer.status, diffAnswer.text]).toEqual([400, archivedMessage]);
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
  const data = { D: archivedId };
  const { status, text } = await ann.post('/v1/evaluate', { expression, data });
  expect([status, text]).toEqual([400, archivedMessage]);
  const body = { records: [{ n: 1 }], fields: [{ name: 'x', expression }], data };
  const annotateAnswer = await ann.post('/v1/annotate', body);
  expect([annotateAnswer.status, annotateAnswer.json['results']]).toEqual(
    [200, [{ n: 1, x: null, _errors: { x: archivedMessage } }]],
  ); // prettier-ignore
});

test('an import whose expressions read it stores the error', async () => {
  const target_fields = [{ name: 'known', expression: 'dataset_count(D)', data_type: 'long' }];
  const annotator_params = { data: { D: archivedId } };
  const dataset_id = await newDataset();
  await runImport({ dataset_id, records: [{ n: 2 }], target_fields, annotator_params });
  const { json } = await ann.post(`/v2/datasets/${dataset_id}/data`, {});
  expect(json['results']).toEqual([expect.objectContaining({ n: 2, _errors: { known: archivedMessage } })]); // prettier-ignore
});

test('a beacon set answers that its beacon failed, and why', async () => {
  const setAnswer = await ann.post(`/v2/beacon_sets/${beaconSetId}/query`, { query: 'TP53' });
  expect(setAnswer.json).toMatchObject({ failed_count: 1, beacons: [{ status: 'failed', error: archivedMessage }] }); // prettier-ignore
  const { json: evaluation } = await ann.post('/v1/evaluate', { expression: `beacon('TP53', 'gene', beacon_set=${beaconSetId})['failed_count']` }); // prettier-ignore
  expect(evaluation).toEqual({ result: '1' });
});

test('a saved query of it is created, read and changed', async () => {
  const body = { name: 'saved', dataset: archivedId, params: { filters: [['gene', 'TP53']] } };
  const createdQuery = await ann.post('/v2/saved_queries', body);
  expect([createdQuery.status, createdQuery.json]).toEqual([201, expect.objectContaining({ params: body.params })]); // prettier-ignore
  const path = `/v2/saved_queries/${idOf(createdQuery)}`;
  expect((await ann.get(path)).json).toEqual(createdQuery.json);
  expect((await ann.patch(path, { name: 'other' })).status).toBe(200);
  const asOfQuery = await ann.post('/v2/saved_queries', {
    ...body,
    params: { as_of: commitIds[1] },
  });
  expect(asOfQuery.status).toBe(201);
});

test('what needs no records is read and found', async () => {
  for (const path of [
    `/v2/datasets/${archivedId}`,
    `/v2/datasets/${archivedId}/fields`,
    `/v2/datasets/${archivedId}/commits`,
    `/v2/datasets/${archivedId}/changelog`,
    `/v2/datasets/${archivedId}/disk_use`,
    `/v2/dataset_fields/${String(fieldId)}`,
    `/v2/objects?vault_id=${vaultId}`,
  ])
    expect([path, (await ann.get(path)).status]).toEqual([path, 200]);
  for (const filters of [[], [['type', 'dataset']]]) {
    const { status, json } = await ann.post('/v2/search', { filters });
    expect([status, JSON.stringify(json)]).toEqual([
      200,
      expect.stringContaining(String(archivedId)),
    ]);
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
  const errorKeys = ['dataset_id', 'storage_class'];
  expect(answers.map(({ status, json }) => [status, json])).toEqual(
    errorKeys.map((name) => [400, { [name]: reason }]),
  );
  server.scheduler.wake();
  await pollUntil(async () => (await ann.get(`/v2/datasets/${datasetId}`)).json['availability'] === 'archived'); // prettier-ignore
});
