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
  const createdMigrationSchema = await ann.post('/v2/dataset_migrations', {
    source_id,
    target_id,
    ...body,
  });
  expect([createdMigrationSchema.status, createdMigrationSchema.text]).toEqual([
    201,
    expect.any(String),
  ]);
  return waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigrationSchema)}`);
}

async function fetchNumbers(datasetId: number, body: object = {}): Promise<readonly unknown[]> {
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, { limit: 1_000, ...body });
  return (json['results'] as readonly { readonly n: unknown }[]).map(({ n }) => n);
}

const commitOf = ({ json }: Answer) => (json['dataset_commits'] as Record<string, unknown>[])[0]!;

test('the metadata of a request stays beside that of the server', async () => {
  const dataset = await newFilledDataset();
  const metadata = { ticket: 'LAB-7', reviewers: { first: 'ben' } };
  const body = { commit_mode: 'delete', source_params: { filters: [['n', 3]] }, metadata };
  const created = await ann.post('/v2/dataset_migrations', { source_id: dataset, target_id: dataset, ...body }); // prettier-ignore
  expect(created.json['metadata']).toMatchObject(metadata);
  const done = await waitForJob(ann, `/v2/dataset_migrations/${idOf(created)}`);
  expect(done.json['metadata']).toMatchObject({ ...metadata, deletions: { records_deleted: 1 } });
});

describe('a deletion', () => {
  test('removes what the query of the dataset finds, and can be rolled back', async () => {
    const dataset = await newFilledDataset();
    const [before] = listOf(await ann.get(`/v2/datasets/${dataset}/commits`));
    const body = { commit_mode: 'delete', source_params: { filters: [['n__range', [10, 19]]] } };
    const done = await migrate(dataset, dataset, body);
    const numbersLeft = sourceRecords.map(({ n }) => n).filter((n) => n < 10 || n > 19);
    expect(await fetchNumbers(dataset)).toEqual(numbersLeft);
    expect(done.json).toMatchObject({ status: 'completed', documents_count: 10, commit_mode: 'delete' }); // prettier-ignore
    expect(done.json['metadata']).toMatchObject({ deletions: { records_deleted: 10, ids_not_found: 0 } }); // prettier-ignore
    expect(commitOf(done)).toMatchObject({ mode: 'delete', records_modified: 10, records_total: 30, parent_job_model: 'datasets.DatasetMigration' }); // prettier-ignore
    expect(await fetchNumbers(dataset, { as_of: before!['id'] })).toHaveLength(40);
    const path = `/v2/datasets/${dataset}/diff?from=${String(before!['id'])}&limit=100`;
    const { json } = await ann.get(path);
    expect(json['counts']).toEqual({ added: 0, changed: 0, removed: 10 });
    const rollbackAnswer = await ann.post(
      `/v2/dataset_commits/${String(commitOf(done)['id'])}/rollback`,
    );
    expect(rollbackAnswer.status).toBe(201);
    expect(await fetchNumbers(dataset)).toEqual(sourceRecords.map(({ n }) => n));
  });

  test.each<[string, object, (n: number) => boolean]>([
    ['an ordering and a limit', { ordering: ['-n'], limit: 5 }, (n) => n < 35],
    ['a limit', { limit: 7 }, (n) => n >= 7],
    ['every record', {}, () => false],
    ['no record', { filters: [['n', 1_000]] }, () => true],
  ])('by %s', async (_, source_params, stays) => {
    const dataset = await newFilledDataset();
    await migrate(dataset, dataset, { commit_mode: 'delete', source_params });
    // Rows that were deleted earlier stay deleted when more rows are deleted.
    expect(await fetchNumbers(dataset)).toEqual(sourceRecords.map(({ n }) => n).filter(stays));
    await migrate(dataset, dataset, { commit_mode: 'delete', source_params: { filters: [['n', 20]] } }); // prettier-ignore
    expect(await fetchNumbers(dataset)).toEqual(sourceRecords.map(({ n }) => n).filter((n) => stays(n) && n !== 20)); // prettier-ignore
  });

  test('finds the records of another dataset, or of an earlier version, by their ids', async () => {
    const dataset = await newFilledDataset();
    const [first] = listOf(await ann.get(`/v2/datasets/${dataset}/commits`));
    await ann.post('/v2/dataset_imports', { dataset_id: dataset, records: [{ n: 5 }, { n: 100 }] });
    const source_params = { as_of: first!['id'], filters: [['n__lt', 20]] };
    const done = await migrate(dataset, dataset, { commit_mode: 'delete', source_params });
    expect(await fetchNumbers(dataset)).toEqual([
      ...sourceRecords.slice(20).map(({ n }) => n),
      5,
      100,
    ]);
    expect(commitOf(done)).toMatchObject({ records_modified: 20 });
    const otherDataset = await newFilledDataset([{ n: 1 }]);
    const emptyMigration = await migrate(otherDataset, dataset, { commit_mode: 'delete' });
    expect(emptyMigration.json['metadata']).toMatchObject({ deletions: { records_deleted: 0, ids_not_found: 1 } }); // prettier-ignore
  });

  test('as a dry run tells the number', async () => {
    const dataset = await newFilledDataset();
    const body = { commit_mode: 'delete', dry_run: true, source_params: { limit: 3 } };
    const done = await migrate(dataset, dataset, body);
    expect(done.json['metadata']).toMatchObject({ dry_run: { records_deleted: 3 } });
    expect(await fetchNumbers(dataset)).toHaveLength(40);
  });
});

test('a dataset may be appended to itself, and the commit rolled back', async () => {
  const dataset = await newFilledDataset();
  const done = await migrate(dataset, dataset, { source_params: { filters: [['gene', 'G1']] } });
  const copies = sourceRecords.filter(({ gene }) => gene === 'G1').map(({ n }) => n);
  expect(await fetchNumbers(dataset)).toEqual([...sourceRecords.map(({ n }) => n), ...copies]);
  const rollbackAnswer = await ann.post(
    `/v2/dataset_commits/${String(commitOf(done)['id'])}/rollback`,
  );
  expect(rollbackAnswer.json).toMatchObject({ mode: 'rollback', records_total: 40 });
  expect(await fetchNumbers(dataset)).toEqual(sourceRecords.map(({ n }) => n));
});

test('a dry run says what the migration then does, and does nothing itself', async () => {
  const source = await newFilledDataset();
  const target = await newFilledDataset([{ n: 0.5, kept: true }]);
  const body = { source_params: { filters: [['n__lt', 30]] }, target_fields: [{ name: 'n', data_type: 'double' }] }; // prettier-ignore
  const fields = await ann.get(`/v2/datasets/${target}/fields`);
  const dryRun = await migrate(source, target, { ...body, dry_run: true });
  const { dry_run: report } = dryRun.json['metadata'] as { dry_run: Record<string, unknown> };
  expect(dryRun.json).toMatchObject({ status: 'completed', dry_run: true, dataset_commits: [] });
  expect((await ann.get(`/v2/datasets/${target}/fields`)).json['data']).toEqual(fields.json['data']); // prettier-ignore
  expect(await fetchNumbers(target)).toEqual([0.5]);
  const real = await migrate(source, target, body);
  const page = { offset: 1, limit: 20, exclude_fields: ['_id', '_commit'] };
  const { json } = await ann.post(`/v2/datasets/${target}/data`, page);
  expect(report).toMatchObject({ records: 30, sample: json['results'] });
  expect(real.json['documents_count']).toBe(dryRun.json['documents_count']);
  const newFields = (report['fields'] as { name: string; is_new: boolean }[]).map(({ name, is_new }) => [name, is_new]); // prettier-ignore
  expect(newFields).toEqual([['n', false], ['kept', false], ['gene', true]]); // prettier-ignore
});

describe('a mistake is named by its key', () => {
  let source: number;
  beforeAll(async () => {
    source = await newFilledDataset();
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
    const answer = await ann.post('/v2/dataset_migrations', { source_id: source, target_id: source, ...body }); // prettier-ignore
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, [key]]);
    expect(answer.text).toContain(message);
  });

  test('archived datasets are refused with the reason', async () => {
    const archived = await newFilledDataset();
    await ann.patch(`/v2/datasets/${archived}`, { storage_class: 'Archive' });
    await pollUntil(async () => (await ann.get(`/v2/datasets/${archived}`)).json['availability'] === 'archived'); // prettier-ignore
    for (const key of ['source_id', 'target_id']) {
      const body = { source_id: source, target_id: source, [key]: archived };
      const answer = await ann.post('/v2/dataset_migrations', body);
      expect([answer.status, Object.keys(answer.json)]).toEqual([400, [key]]);
      expect(answer.text).toContain('The dataset is archived');
    }
  });
});

describe('the resource', () => {
  test('has the keys of the contract, its task both datasets, and the lists find it', async () => {
    const [source, target] = [await newFilledDataset(), await newFilledDataset([])];
    const body = { source_id: source, target_id: target, source_params: null, target_fields: null }; // prettier-ignore
    const createdMigrationSchema = await ann.post('/v2/dataset_migrations', body);
    expect(createdMigrationSchema.status).toBe(201);
    const { json } = await waitForJob(
      ann,
      `/v2/dataset_migrations/${idOf(createdMigrationSchema)}`,
    );
    const keys = 'class_name id task_id url status source target source_id target_id source_params target_fields commit_mode id_fields include_errors entity_params validation_params annotator_params priority documents_count dataset_commits error_message metadata timestamps vault_id user created_at updated_at'; // prettier-ignore
    expect(Object.keys(json)).toEqual(expect.arrayContaining(keys.split(' ')));
    expect(json).not.toHaveProperty('data');
    expect(json).toMatchObject({ class_name: 'DatasetMigration', commit_mode: 'append', include_errors: true, source: { id: source }, target: { id: target }, source_params: {}, documents_count: 40, vault_id: vaultId }); // prettier-ignore
    expect(json['metadata']).toMatchObject({ progress: { processed_records: 40, percent: 100 } });
    const task = (await ann.get(`/v2/tasks/${String(json['task_id'])}`)).json;
    expect(task).toMatchObject({ task_type: 'datasets.DatasetMigration', task_display_name: 'Dataset Migration', task_id: json['id'], source_object: { id: source }, target_object: { id: target }, task_object: { id: json['id'] } }); // prettier-ignore
    const commit = (json['dataset_commits'] as Record<string, unknown>[])[0]!;
    const taskOfCommit = (await ann.get(`/v2/tasks/${String(commit['task_id'])}`)).json;
    expect(taskOfCommit['parent_id']).toBe(json['task_id']);
    for (const path of ['', `?dataset_id=${source}`, '?status=completed'])
      expect(listOf(await ann.get(`/v2/dataset_migrations${path}`)).map(({ id }) => id)).toContain(json['id']); // prettier-ignore
    for (const spelling of ['dataset', 'datasets']) {
      const list = listOf(await ann.get(`/v2/${spelling}/${source}/migrations`));
      expect(list.map(({ id }) => id)).toEqual([json['id']]);
    }
    expect(listOf(await ann.get(`/v2/dataset/${target}/migrations`))).toEqual([]);
  });

  test.each([[false], [true]])(
    'stands in a list if it is created with `parallel: true`, also in the answer to a repeat (dry_run %j)',
    async (dry_run) => {
      const [source, target] = [await newFilledDataset(), await newFilledDataset([])];
      const body = { source_id: source, target_id: target, parallel: true, dry_run };
      const key = { 'idempotency-key': randomUUID() };
      const createdList = await ann.call('POST', '/v2/dataset_migrations', body, key);
      const [migration] = listOf(createdList);
      const id = String(migration!['id']);
      const done = await waitForJob(ann, `/v2/dataset_migrations/${id}`);
      expect(done.json).toMatchObject({ status: 'completed', dry_run, documents_count: 40 });
      expect(await fetchNumbers(target)).toHaveLength(dry_run ? 0 : 40);
      const list = await ann.get(`/v2/dataset_migrations?id=${id}`);
      expect(listOf(list)).toEqual([done.json]);
      const repeated = await ann.call('POST', '/v2/dataset_migrations', body, key);
      expect([createdList.status, repeated.status]).toEqual([201, 201]);
      expect(repeated.headers.get('idempotent-replayed')).toBe('true');
      expect(repeated.json).toEqual(list.json);
      expect(createdList.json).toEqual({ ...list.json, data: [migration] });
      expect(Object.keys(migration!)).toEqual(Object.keys(done.json));
      const plain = await ann.post('/v2/dataset_migrations', { ...body, parallel: false });
      expect([plain.status, plain.json]).toEqual([201, expect.objectContaining({ class_name: 'DatasetMigration', dry_run })]); // prettier-ignore
      await waitForJob(ann, `/v2/dataset_migrations/${idOf(plain)}`);
    },
  );

  test('is canceled with its task in every spelling', async () => {
    const [source, target] = [await newFilledDataset(), await newFilledDataset([])];
    const body = { source_id: source, target_id: target };
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
    for (const [i, [method, path]] of spellings.entries()) {
      const answer = await ann.call(method, path(createdMigrations[i]!), { status: 'canceled' });
      expect([i, answer.status, answer.json['status']]).toEqual([i, 200, 'canceled']);
    }
    releaseMessages();
    for (const [i, [method, path]] of spellings.entries()) {
      const { json } = await ann.get(`/v2/dataset_migrations/${idOf(createdMigrations[i]!)}`);
      expect(json).toMatchObject({ status: 'canceled', dataset_commits: [], error_message: null });
      const task = await ann.get(`/v2/tasks/${String(json['task_id'])}`);
      expect(task.json['status']).toBe('canceled');
      const repeatedCancel = await ann.call(method, path(createdMigrations[i]!), {
        status: 'canceled',
      });
      expect([i, repeatedCancel.status, Object.keys(repeatedCancel.json)]).toEqual([
        i,
        400,
        ['status'],
      ]);
    }
    expect(await fetchNumbers(target)).toEqual([]);
  });

  test('deleting it keeps its records, deleting its source leaves null, deleting its target takes it along', async () => {
    const [source, target] = [await newFilledDataset(), await newFilledDataset([])];
    const [first, second] = [await migrate(source, target), await migrate(source, target)];
    expect((await ann.delete(`/v2/dataset_migrations/${idOf(first)}`)).status).toBe(200);
    expect((await ann.get(`/v2/dataset_migrations/${idOf(first)}`)).status).toBe(404);
    expect(await fetchNumbers(target)).toHaveLength(80);
    expect((await ann.delete(`/v2/datasets/${source}`)).status).toBe(200);
    const list = listOf(await ann.get('/v2/dataset_migrations?limit=1000'));
    const { id } = second.json;
    expect(list.find((one) => one['id'] === id)).toMatchObject({ source: null, source_id: source, target: { id: target }, status: 'completed' }); // prettier-ignore
    const cancelAnswer = await ann.put(`/v2/dataset_migrations/${String(id)}/cancel`, { status: 'canceled' }); // prettier-ignore
    expect([cancelAnswer.status, cancelAnswer.json]).toEqual([400, { status: ['The task is completed and cannot be canceled.'] }]); // prettier-ignore
    expect((await ann.get('/v2/tasks')).status).toBe(200);
    expect((await ann.delete(`/v2/datasets/${target}`)).status).toBe(200);
    expect((await ann.get(`/v2/dataset_migrations/${String(id)}`)).status).toBe(404);
    expect((await ann.get('/v2/dataset_migrations')).status).toBe(200);
  });

  test('whose source is deleted while it waits is canceled', async () => {
    const [source, target] = [await newFilledDataset(), await newFilledDataset([])];
    holdsMessages = true;
    const createdMigrationSchema = await ann.post('/v2/dataset_migrations', {
      source_id: source,
      target_id: target,
    });
    await pollUntil(() => heldMessages.length > 0);
    expect((await ann.delete(`/v2/datasets/${source}`)).status).toBe(200);
    releaseMessages();
    const { json } = await ann.get(`/v2/dataset_migrations/${idOf(createdMigrationSchema)}`);
    expect(json).toMatchObject({ status: 'canceled', error_message: 'The source dataset was deleted.', source: null }); // prettier-ignore
    expect(await fetchNumbers(target)).toEqual([]);
  });
});

test('A5: it needs read permission on the source and write permission on the target, also when it is published', async () => {
  const ben = await server.user('ben');
  const [readable, writable] = [
    idOf(await ann.post('/v2/vaults', { name: 'Readable' })),
    idOf(await ann.post('/v2/vaults', { name: 'Writable' })),
  ];
  const [source, target, hidden] = [await newFilledDataset(sourceRecords, readable), await newFilledDataset([], writable), await newFilledDataset()]; // prettier-ignore
  await grantPermission(server, readable, ben, 'read');
  await grantPermission(server, writable, ben, 'write');
  const post = (source_id: number, target_id: number): Promise<Answer> =>
    ben.post('/v2/dataset_migrations', { source_id, target_id });
  expect((await post(target, source)).status).toBe(403);
  for (const [from, to, key] of [[hidden, target, 'source_id'], [source, hidden, 'target_id']] as const) {
    const answer = await post(from, to);
    expect([answer.status, Object.keys(answer.json)]).toEqual([400, [key]]);
  } // prettier-ignore
  holdsMessages = true;
  const createdMigrationSchema = await post(source, target);
  expect(createdMigrationSchema.status).toBe(201);
  await pollUntil(() => heldMessages.length > 0);
  await server.catalog.vaultPermissions.grant(readable, { userId: ben.user.id }, null);
  releaseMessages();
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigrationSchema)}`);
  expect(json).toMatchObject({ status: 'failed', dataset_commits: [] });
  expect(json['error_message']).toContain(
    'the user who created this task may not read it any more',
  );
  // A user who may read only the target sees only the id of the source.
  const seenMigration = await ben.get(`/v2/dataset_migrations/${idOf(createdMigrationSchema)}`);
  expect(seenMigration.json).toMatchObject({
    source: null,
    source_id: source,
    target: { id: target },
  });
  const task = await ben.get(`/v2/tasks/${String(json['task_id'])}`);
  expect(task.json).toMatchObject({ source_object: null, source_vault: null, target_object: { id: target } }); // prettier-ignore
  expect([seenMigration.text, task.text].some((text) => text.includes('Readable'))).toBe(false);
});
