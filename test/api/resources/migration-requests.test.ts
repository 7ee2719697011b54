import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startWorker, type WorkerSupervisor } from '../../../scheduler/worker/worker-supervisor.js';
import type { MessageToWorker } from '../../../scheduler/worker/messages.js';
import { pollUntil } from '../../until.js';
import { grantPermission, idOf, listOf, startServer, waitForJob, type Answer, type Client, type TestServer } from '../server.js'; // prettier-ignore

/* Tests requests for migrations, their permissions and their outcomes (contract 12 and 15). */

let server: TestServer;
let ann: Client;
let vaultId: number;
/** While true, migrations wait before they are sent to the worker. */
let holdsMessages = false;
let heldMessages: MessageToWorker[] = [];
let worker: WorkerSupervisor;

beforeAll(async () => {
  server = await startServer({
    scheduler: {
      startWorker: (...args) => {
        worker = startWorker(...args);
        const send = (message: MessageToWorker): void => {
          if (holdsMessages && message.type === 'run' && message.kind === 'migration')
            heldMessages.push(message);
          else worker.send(message);
        };
        return { ...worker, send };
      },
    },
  });
  ann = await server.user('ann', { role: 'admin' });
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Migrations' }));
});
afterAll(() => server.close());

function releaseMessages(): void {
  holdsMessages = false;
  for (const message of heldMessages.splice(0)) worker.send(message);
}

let nameCount = 0;
const sourceRecords = Array.from({ length: 40 }, (_, i) => ({ n: i, gene: `G${i % 4}` }));

async function newFilledDataset(
  records: readonly object[] = sourceRecords,
  vault_id = vaultId,
): Promise<number> {
  const dataset_id = idOf(await ann.post('/v2/datasets', { vault_id, name: `d${nameCount++}` }));
  if (records.length > 0) await ann.post('/v2/dataset_imports', { dataset_id, records });
  return dataset_id;
}

async function migrate(source_id: number, target_id: number, body: object = {}): Promise<Answer> {
  const createdMigration = await ann.post('/v2/dataset_migrations', {
    source_id,
    target_id,
    ...body,
  });
  expect([createdMigration.status, createdMigration.text]).toEqual([201, expect.any(String)]);
  return waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
}

async function fetchNumbers(datasetId: number, body: object = {}): Promise<readonly unknown[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1_000, ...body });
  return (json['results'] as readonly { readonly n: unknown }[]).map(({ n }) => n);
}

const commitOf = ({ json }: Answer) => (json['dataset_commits'] as Record<string, unknown>[])[0]!;

test('the metadata of a request stays beside that of the server', async () => {
  const datasetId = await newFilledDataset();
  const metadata = { ticket: 'LAB-7', reviewers: { first: 'ben' } };
  const body = { commit_mode: 'delete', source_params: { filters: [['n', 3]] }, metadata };
  const createdMigration =
    await ann.post('/v2/dataset_migrations', { source_id: datasetId, target_id: datasetId, ...body }); // prettier-ignore
  expect(createdMigration.json['metadata']).toMatchObject(metadata);
  const endedMigration = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect(endedMigration.json['metadata']).toMatchObject({
    ...metadata,
    deletions: { records_deleted: 1 },
  });
});

describe('a deletion', () => {
  test('removes what the query of the dataset finds, and can be rolled back', async () => {
    const datasetId = await newFilledDataset();
    const [firstCommit] = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
    const body = { commit_mode: 'delete', source_params: { filters: [['n__range', [10, 19]]] } };
    const endedMigration = await migrate(datasetId, datasetId, body);
    const remainingNumbers = sourceRecords.map(({ n }) => n).filter((n) => n < 10 || n > 19);
    expect(await fetchNumbers(datasetId)).toEqual(remainingNumbers);
    expect(endedMigration.json).toMatchObject({ status: 'completed', documents_count: 10, commit_mode: 'delete' }); // prettier-ignore
    expect(endedMigration.json['metadata']).toMatchObject({ deletions: { records_deleted: 10, ids_not_found: 0 } }); // prettier-ignore
    expect(commitOf(endedMigration)).toMatchObject({ mode: 'delete', records_modified: 10, records_total: 30, parent_job_model: 'datasets.DatasetMigration' }); // prettier-ignore
    expect(await fetchNumbers(datasetId, { as_of: firstCommit!['id'] })).toHaveLength(40);
    const path = `/v2/datasets/${datasetId}/diff?from=${String(firstCommit!['id'])}&limit=100`;
    const { json } = await ann.get(path);
    expect(json['counts']).toEqual({ added: 0, changed: 0, removed: 10 });
    const rollbackAnswer = await ann.post(
      `/v2/dataset_commits/${String(commitOf(endedMigration)['id'])}/rollback`,
    );
    expect(rollbackAnswer.status).toBe(201);
    expect(await fetchNumbers(datasetId)).toEqual(sourceRecords.map(({ n }) => n));
  });

  test.each<[string, object, (n: number) => boolean]>([
    ['an ordering and a limit', { ordering: ['-n'], limit: 5 }, (n) => n < 35],
    ['a limit', { limit: 7 }, (n) => n >= 7],
    ['every record', {}, () => false],
    ['no record', { filters: [['n', 1_000]] }, () => true],
  ])('by %s', async (_, source_params, stays) => {
    const datasetId = await newFilledDataset();
    await migrate(datasetId, datasetId, { commit_mode: 'delete', source_params });
    // Rows that were deleted earlier stay deleted when more rows are deleted.
    expect(await fetchNumbers(datasetId)).toEqual(sourceRecords.map(({ n }) => n).filter(stays));
    await migrate(datasetId, datasetId, { commit_mode: 'delete', source_params: { filters: [['n', 20]] } }); // prettier-ignore
    expect(await fetchNumbers(datasetId)).toEqual(sourceRecords.map(({ n }) => n).filter((n) => stays(n) && n !== 20)); // prettier-ignore
  });

  test('finds the records of another dataset, or of an earlier version, by their ids', async () => {
    const datasetId = await newFilledDataset();
    const [firstCommit] = listOf(await ann.get(`/v2/datasets/${datasetId}/commits`));
    await ann.post('/v2/dataset_imports', {
      dataset_id: datasetId,
      records: [{ n: 5 }, { n: 100 }],
    });
    const source_params = { as_of: firstCommit!['id'], filters: [['n__lt', 20]] };
    const endedMigration = await migrate(datasetId, datasetId, {
      commit_mode: 'delete',
      source_params,
    });
    expect(await fetchNumbers(datasetId)).toEqual([
      ...sourceRecords.slice(20).map(({ n }) => n),
      5,
      100,
    ]);
    expect(commitOf(endedMigration)).toMatchObject({ records_modified: 20 });
    const otherDatasetId = await newFilledDataset([{ n: 1 }]);
    const emptyMigration = await migrate(otherDatasetId, datasetId, { commit_mode: 'delete' });
    expect(emptyMigration.json['metadata']).toMatchObject({ deletions: { records_deleted: 0, ids_not_found: 1 } }); // prettier-ignore
  });

  test('as a dry run tells the number', async () => {
    const datasetId = await newFilledDataset();
    const body = { commit_mode: 'delete', dry_run: true, source_params: { limit: 3 } };
    const endedMigration = await migrate(datasetId, datasetId, body);
    expect(endedMigration.json['metadata']).toMatchObject({ dry_run: { records_deleted: 3 } });
    expect(await fetchNumbers(datasetId)).toHaveLength(40);
  });
});

test('a dataset may be appended to itself, and the commit rolled back', async () => {
  const datasetId = await newFilledDataset();
  const endedMigration = await migrate(datasetId, datasetId, {
    source_params: { filters: [['gene', 'G1']] },
  });
  const copies = sourceRecords.filter(({ gene }) => gene === 'G1').map(({ n }) => n);
  expect(await fetchNumbers(datasetId)).toEqual([...sourceRecords.map(({ n }) => n), ...copies]);
  const rollbackAnswer = await ann.post(
    `/v2/dataset_commits/${String(commitOf(endedMigration)['id'])}/rollback`,
  );
  expect(rollbackAnswer.json).toMatchObject({ mode: 'rollback', records_total: 40 });
  expect(await fetchNumbers(datasetId)).toEqual(sourceRecords.map(({ n }) => n));
});

test('a dry run says what the migration then does, and does nothing itself', async () => {
  const sourceId = await newFilledDataset();
  const targetId = await newFilledDataset([{ n: 0.5, kept: true }]);
  const body = { source_params: { filters: [['n__lt', 30]] }, target_fields: [{ name: 'n', data_type: 'double' }] }; // prettier-ignore
  const fieldsBefore = await ann.get(`/v2/datasets/${targetId}/fields`);
  const dryRun = await migrate(sourceId, targetId, { ...body, dry_run: true });
  const { dry_run: report } = dryRun.json['metadata'] as { dry_run: Record<string, unknown> };
  expect(dryRun.json).toMatchObject({ status: 'completed', dry_run: true, dataset_commits: [] });
  expect((await ann.get(`/v2/datasets/${targetId}/fields`)).json['data']).toEqual(fieldsBefore.json['data']); // prettier-ignore
  expect(await fetchNumbers(targetId)).toEqual([0.5]);
  const realMigration = await migrate(sourceId, targetId, body);
  const page = { offset: 1, limit: 20, exclude_fields: ['_id', '_commit'] };
  const { json } = await ann.post(`/v2/datasets/${targetId}/data`, page);
  expect(report).toMatchObject({ records: 30, sample: json['results'] });
  expect(realMigration.json['documents_count']).toBe(dryRun.json['documents_count']);
  const newFields = (report['fields'] as { name: string; is_new: boolean }[]).map(({ name, is_new }) => [name, is_new]); // prettier-ignore
  expect(newFields).toEqual([['n', false], ['kept', false], ['gene', true]]); // prettier-ignore
});

describe('a mistake is named by its key', () => {
  let sourceId: number;
  beforeAll(async () => {
    sourceId = await newFilledDataset();
  });
  test.each<[object, string, string]>([
    [{ source_id: null }, 'source_id', 'required'],
    [{ target_id: undefined }, 'target_id', 'required'],
    [{ source_id: 12 }, 'source_id', 'Invalid dataset'],
    [{ commit_mode: 'replace' }, 'commit_mode', 'not a valid choice'],
    [{ id_fields: ['n'] }, 'id_fields', 'Only with commit_mode'],
    [{ source_params: { filters: [['m', 1]] } }, 'source_params', 'filters'],
    [{ source_params: { fields: ['m'] } }, 'source_params', 'fields'],
    [{ source_params: { limit: 0 } }, 'source_params', 'limit'],
    [{ source_params: { facets: { n: {} } } }, 'source_params', 'Not supported in a migration'],
    [{ source_params: { as_of: 77 } }, 'source_params', 'no commit 77'],
    [{ source_params: { colour: 'red' } }, 'source_params', 'Unknown key'],
    [{ source_params: 7 }, 'source_params', 'JSON object'],
    [{ target_fields: [{ name: 'n', data_type: 'string' }] }, 'target_fields', 'type long'],
    [{ target_fields: [{ name: 'x', data_type: 'odd' }] }, 'target_fields', 'data_type'],
    [{ validation_params: { max_rejected: 3 } }, 'validation_params', 'max_rejected'],
    [{ validation_params: { strict: true } }, 'validation_params', 'Unknown key'],
  ])('%j', async (body, key, message) => {
    const answer = await ann.post('/v2/dataset_migrations', { source_id: sourceId, target_id: sourceId, ...body }); // prettier-ignore
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, [key]]);
    expect(answer.text).toContain(message);
  });

  test('archived datasets are refused with the reason', async () => {
    const archivedId = await newFilledDataset();
    await ann.patch(`/v2/datasets/${archivedId}`, { storage_class: 'Archive' });
    await pollUntil(async () => (await ann.get(`/v2/datasets/${archivedId}`)).json['availability'] === 'archived'); // prettier-ignore
    for (const key of ['source_id', 'target_id']) {
      const body = { source_id: sourceId, target_id: sourceId, [key]: archivedId };
      const answer = await ann.post('/v2/dataset_migrations', body);
      expect([answer.status, Object.keys(answer.json)]).toEqual([400, [key]]);
      expect(answer.text).toContain('The dataset is archived');
    }
  });
});

describe('the resource', () => {
  test('has the keys of the contract, its task both datasets, and the lists find it', async () => {
    const [sourceId, targetId] = [await newFilledDataset(), await newFilledDataset([])];
    const body = { source_id: sourceId, target_id: targetId, source_params: null, target_fields: null }; // prettier-ignore
    const createdMigration = await ann.post('/v2/dataset_migrations', body);
    expect(createdMigration.status).toBe(201);
    const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
    const keys = 'class_name id task_id url status source target source_id target_id source_params target_fields commit_mode id_fields include_errors entity_params validation_params annotator_params priority documents_count dataset_commits error_message metadata timestamps vault_id user created_at updated_at'; // prettier-ignore
    expect(Object.keys(json)).toEqual(expect.arrayContaining(keys.split(' ')));
    expect(json).not.toHaveProperty('data');
    expect(json).toMatchObject({ class_name: 'DatasetMigration', commit_mode: 'append', include_errors: true, source: { id: sourceId }, target: { id: targetId }, source_params: {}, documents_count: 40, vault_id: vaultId }); // prettier-ignore
    expect(json['metadata']).toMatchObject({ progress: { processed_records: 40, percent: 100 } });
    const task = (await ann.get(`/v2/tasks/${String(json['task_id'])}`)).json;
    expect(task).toMatchObject({ task_type: 'datasets.DatasetMigration', task_display_name: 'Dataset Migration', task_id: json['id'], source_object: { id: sourceId }, target_object: { id: targetId }, task_object: { id: json['id'] } }); // prettier-ignore
    const commit = (json['dataset_commits'] as Record<string, unknown>[])[0]!;
    const taskOfCommit = (await ann.get(`/v2/tasks/${String(commit['task_id'])}`)).json;
    expect(taskOfCommit['parent_id']).toBe(json['task_id']);
    for (const path of ['', `?dataset_id=${sourceId}`, '?status=completed'])
      expect(listOf(await ann.get(`/v2/dataset_migrations${path}`)).map(({ id }) => id)).toContain(json['id']); // prettier-ignore
    for (const spelling of ['dataset', 'datasets']) {
      const list = listOf(await ann.get(`/v2/${spelling}/${sourceId}/migrations`));
      expect(list.map(({ id }) => id)).toEqual([json['id']]);
    }
    expect(listOf(await ann.get(`/v2/dataset/${targetId}/migrations`))).toEqual([]);
  });

  test.each([[false], [true]])(
    'stands in a list if it is created with `parallel: true`, also in the answer to a repeat (dry_run %j)',
    async (dry_run) => {
      const [sourceId, targetId] = [await newFilledDataset(), await newFilledDataset([])];
      const body = { source_id: sourceId, target_id: targetId, parallel: true, dry_run };
      const keyHeader = { 'idempotency-key': randomUUID() };
      const createdList = await ann.call('POST', '/v2/dataset_migrations', body, keyHeader);
      const [migration] = listOf(createdList);
      const id = String(migration!['id']);
      const endedMigration = await waitForJob(ann, `/v2/dataset_migrations/${id}`);
      expect(endedMigration.json).toMatchObject({
        status: 'completed',
        dry_run,
        documents_count: 40,
      });
      expect(await fetchNumbers(targetId)).toHaveLength(dry_run ? 0 : 40);
      const list = await ann.get(`/v2/dataset_migrations?id=${id}`);
      expect(listOf(list)).toEqual([endedMigration.json]);
      const repeatedAnswer = await ann.call('POST', '/v2/dataset_migrations', body, keyHeader);
      expect([createdList.status, repeatedAnswer.status]).toEqual([201, 201]);
      expect(repeatedAnswer.headers.get('idempotent-replayed')).toBe('true');
      expect(repeatedAnswer.json).toEqual(list.json);
      expect(createdList.json).toEqual({ ...list.json, data: [migration] });
      expect(Object.keys(migration!)).toEqual(Object.keys(endedMigration.json));
      const plainMigration = await ann.post('/v2/dataset_migrations', { ...body, parallel: false });
      expect([plainMigration.status, plainMigration.json]).toEqual(
        [201, expect.objectContaining({ class_name: 'DatasetMigration', dry_run })],
      ); // prettier-ignore
      await waitForJob(ann, `/v2/dataset_migrations/${idOf(plainMigration)}`);
    },
  );

  test('is canceled with its task in every spelling', async () => {
    const [sourceId, targetId] = [await newFilledDataset(), await newFilledDataset([])];
    const body = { source_id: sourceId, target_id: targetId };
    holdsMessages = true;
    const createdMigrations: Answer[] = [];
    for (let i = 0; i < 5; i++)
      createdMigrations.push(await ann.post('/v2/dataset_migrations', body));
    await pollUntil(() => heldMessages.length > 0);
    const spellings: readonly [string, (migration: Answer) => string][] = [
      ['PUT', (one) => `/v2/datasets_migrations/${idOf(one)}/cancel`],
      ['PUT', (one) => `/v2/dataset_migrations/${idOf(one)}/cancel`],
      ['PUT', (one) => `/v2/dataset_migrations/${idOf(one)}`],
      ['PATCH', (one) => `/v2/dataset_migrations/${idOf(one)}`],
      ['PATCH', (one) => `/v2/tasks/${String(one.json['task_id'])}`],
    ];
    for (const [i, [method, pathOf]] of spellings.entries()) {
      const answer = await ann.call(method, pathOf(createdMigrations[i]!), { status: 'canceled' });
      expect([i, answer.status, answer.json['status']]).toEqual([i, 200, 'canceled']);
    }
    releaseMessages();
    for (const [i, [method, pathOf]] of spellings.entries()) {
      const { json } = await ann.get(`/v2/dataset_migrations/${idOf(createdMigrations[i]!)}`);
      expect(json).toMatchObject({ status: 'canceled', dataset_commits: [], error_message: null });
      const task = await ann.get(`/v2/tasks/${String(json['task_id'])}`);
      expect(task.json['status']).toBe('canceled');
      const repeatedCancel = await ann.call(method, pathOf(createdMigrations[i]!), {
        status: 'canceled',
      });
      expect([i, repeatedCancel.status, Object.keys(repeatedCancel.json)]).toEqual([
        i,
        400,
        ['status'],
      ]);
    }
    expect(await fetchNumbers(targetId)).toEqual([]);
  });

  test('deleting it keeps its records, deleting its source leaves null, deleting its target takes it along', async () => {
    const [sourceId, targetId] = [await newFilledDataset(), await newFilledDataset([])];
    const [firstMigration, secondMigration] = [
      await migrate(sourceId, targetId),
      await migrate(sourceId, targetId),
    ];
    expect((await ann.delete(`/v2/dataset_migrations/${idOf(firstMigration)}`)).status).toBe(200);
    expect((await ann.get(`/v2/dataset_migrations/${idOf(firstMigration)}`)).status).toBe(404);
    expect(await fetchNumbers(targetId)).toHaveLength(80);
    expect((await ann.delete(`/v2/datasets/${sourceId}`)).status).toBe(200);
    const list = listOf(await ann.get('/v2/dataset_migrations?limit=1000'));
    const { id } = secondMigration.json;
    expect(list.find((one) => one['id'] === id)).toMatchObject({ source: null, source_id: sourceId, target: { id: targetId }, status: 'completed' }); // prettier-ignore
    const cancelAnswer = await ann.put(`/v2/dataset_migrations/${String(id)}/cancel`, { status: 'canceled' }); // prettier-ignore
    expect([cancelAnswer.status, cancelAnswer.json]).toEqual([400, { status: ['The task is completed and cannot be canceled.'] }]); // prettier-ignore
    expect((await ann.get('/v2/tasks')).status).toBe(200);
    expect((await ann.delete(`/v2/datasets/${targetId}`)).status).toBe(200);
    expect((await ann.get(`/v2/dataset_migrations/${String(id)}`)).status).toBe(404);
    expect((await ann.get('/v2/dataset_migrations')).status).toBe(200);
  });

  test('whose source is deleted while it waits is canceled', async () => {
    const [sourceId, targetId] = [await newFilledDataset(), await newFilledDataset([])];
    holdsMessages = true;
    const createdMigration = await ann.post('/v2/dataset_migrations', {
      source_id: sourceId,
      target_id: targetId,
    });
    await pollUntil(() => heldMessages.length > 0);
    expect((await ann.delete(`/v2/datasets/${sourceId}`)).status).toBe(200);
    releaseMessages();
    const { json } = await ann.get(`/v2/dataset_migrations/${idOf(createdMigration)}`);
    expect(json).toMatchObject({ status: 'canceled', error_message: 'The source dataset was deleted.', source: null }); // prettier-ignore
    expect(await fetchNumbers(targetId)).toEqual([]);
  });
});

test('A5: it needs read permission on the source and write permission on the target, also when it is published', async () => {
  const ben = await server.user('ben');
  const [readableVaultId, writableVaultId] = [
    idOf(await ann.post('/v2/vaults', { name: 'Readable' })),
    idOf(await ann.post('/v2/vaults', { name: 'Writable' })),
  ];
  const [sourceId, targetId, hiddenDatasetId] = [await newFilledDataset(sourceRecords, readableVaultId), await newFilledDataset([], writableVaultId), await newFilledDataset()]; // prettier-ignore
  await grantPermission(server, readableVaultId, ben, 'read');
  await grantPermission(server, writableVaultId, ben, 'write');
  const post = (source_id: number, target_id: number): Promise<Answer> =>
    ben.post('/v2/dataset_migrations', { source_id, target_id });
  expect((await post(targetId, sourceId)).status).toBe(403);
  for (const [from, to, key] of [[hiddenDatasetId, targetId, 'source_id'], [sourceId, hiddenDatasetId, 'target_id']] as const) {
    const answer = await post(from, to);
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, [key]]);
  } // prettier-ignore
  holdsMessages = true;
  const createdMigration = await post(sourceId, targetId);
  expect(createdMigration.status).toBe(201);
  await pollUntil(() => heldMessages.length > 0);
  await server.catalog.vaultPermissions.grant(readableVaultId, { userId: ben.user.id }, null);
  releaseMessages();
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect(json).toMatchObject({ status: 'failed', dataset_commits: [] });
  expect(json['error_message']).toContain(
    'the user who created this task may not read it any more',
  );
  // A user who may read only the target sees only the id of the source.
  const seenMigration = await ben.get(`/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect(seenMigration.json).toMatchObject({
    source: null,
    source_id: sourceId,
    target: { id: targetId },
  });
  const task = await ben.get(`/v2/tasks/${String(json['task_id'])}`);
  expect(task.json).toMatchObject({ source_object: null, source_vault: null, target_object: { id: targetId } }); // prettier-ignore
  expect([seenMigration.text, task.text].some((text) => text.includes('Readable'))).toBe(false);
});
