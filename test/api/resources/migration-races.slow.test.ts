import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unlimitedPage } from '../../../engine/catalog/list-page.js';
import { withDatasetLock } from '../../../scheduler/jobs/dataset-lock.js';
import { jobs, type Jobs } from '../../../scheduler/jobs/index.js';
import { startWorker, type WorkerSupervisor } from '../../../scheduler/worker/worker-supervisor.js';
import type { MessageFromWorker, MessageToWorker } from '../../../scheduler/worker/messages.js';
import { pollUntil } from '../../until.js';
import { idOf, sendRequest, startServer, waitForJob, type Answer, type Client, type TestServer } from '../server.js'; // prettier-ignore

/* Tests migrations during which their target changes or a dataset is deleted, and migrations of unusual datasets. */

let server: TestServer;
let ann: Client;
let vaultId: number;
/** While true, the results of migrations wait to be published. */
let holdsMessages = false;
let heldMessages: MessageFromWorker[] = [];
let deliverMessage: (message: MessageFromWorker) => void;
const migrationTaskIds = new Set<number>();
/** Migrations wait for this promise after they have begun to be published, before anything else. */
let publicationGate = Promise.resolve();

const jobsWithGate: Jobs = jobs.map((job) => {
  if (job.kind !== 'migration') return job;
  const publish: typeof job.publish = async (...args) => {
    await publicationGate;
    return job.publish!(...args);
  };
  return { ...job, publish };
});

beforeAll(async () => {
  server = await startServer({
    scheduler: {
      jobs: jobsWithGate,
      startWorker: (config, heartbeatTimeoutMs, events) => {
        deliverMessage = events.message;
        const message = (one: MessageFromWorker): void => {
          if (holdsMessages && one.type === 'done' && migrationTaskIds.has(one.taskId))
            heldMessages.push(one);
          else events.message(one);
        };
        const worker: WorkerSupervisor = startWorker(config, heartbeatTimeoutMs, {
          ...events,
          message,
        });
        const send = (one: MessageToWorker): void => {
          if (one.type === 'run' && one.kind === 'migration') migrationTaskIds.add(one.taskId);
          worker.send(one);
        };
        return { ...worker, send };
      },
    },
  });
  ann = await server.user('ann');
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Races' }));
});
afterAll(() => server.close());

let nameCount = 0;

async function newFilledDataset(records: readonly object[]): Promise<number> {
  const body = { vault_id: vaultId, name: `d${nameCount++}` };
  const dataset_id = idOf(await ann.post('/v2/datasets', body));
  if (records.length > 0) await ann.post('/v2/dataset_imports', { dataset_id, records });
  return dataset_id;
}

async function fetchRecords(datasetId: number): Promise<readonly Record<string, unknown>[]> {
  const body = { limit: 1_000, exclude_fields: ['_id', '_commit'] };
  const { json } = await ann.post(`/v2/datasets/${datasetId}/data`, body);
  return json['results'] as readonly Record<string, unknown>[];
}

/** Runs a migration, and calls `meanwhile` between its work and its publication. */
async function migrate(
  body: object,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<Answer> {
  holdsMessages = true;
  const createdMigration = await ann.post('/v2/dataset_migrations', body);
  expect([createdMigration.status, createdMigration.text]).toEqual([201, expect.any(String)]);
  await pollUntil(() => heldMessages.length > 0);
  await meanwhile();
  holdsMessages = false;
  for (const message of heldMessages.splice(0)) deliverMessage(message);
  const migration = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect([migration.json['error_message'], migration.json['status']]).toEqual([null, 'completed']);
  return migration;
}

test('a field of the target that has become wider meanwhile makes the migration run again', async () => {
  const [sourceId, targetId] = [
    await newFilledDataset([{ n: 7 }]),
    await newFilledDataset([{ n: 1 }]),
  ];
  const records = [{ n: 0.5 }];
  await migrate({ source_id: sourceId, target_id: targetId }, () =>
    ann.post('/v2/dataset_imports', { dataset_id: targetId, records }),
  );
  expect(await fetchRecords(targetId)).toEqual([{ n: 1 }, { n: 0.5 }, { n: 7 }]);
});

test('a field that is declared meanwhile keeps its type', async () => {
  const [sourceId, targetId] = [await newFilledDataset([{ n: 7 }]), await newFilledDataset([])];
  await migrate({ source_id: sourceId, target_id: targetId }, () =>
    ann.post('/v2/dataset_fields', { dataset_id: targetId, name: 'n', data_type: 'string' }),
  );
  expect(await fetchRecords(targetId)).toEqual([{ n: '7' }]);
});

test('a deletion by rows finds them again after another commit', async () => {
  const datasetId = await newFilledDataset(Array.from({ length: 10 }, (_, n) => ({ n })));
  const source_params = { filters: [['n__gte', 6]] };
  const body = { source_id: datasetId, target_id: datasetId, commit_mode: 'delete', source_params };
  const migration = await migrate(body, () =>
    ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ n: 11 }, { n: 2 }] }),
  );
  expect((await fetchRecords(datasetId)).map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 2]);
  expect(migration.json['metadata']).toMatchObject({ deletions: { records_deleted: 5 } });
});

test('a migration that commits outdate three times runs while no other task changes its dataset', async () => {
  const datasetId = await newFilledDataset([{ n: 1 }, { n: 2 }]);
  const otherDatasetId = await newFilledDataset([]);
  const source_params = { filters: [['n__gte', 2]] };
  const body = { source_id: datasetId, target_id: datasetId, commit_mode: 'delete', source_params };
  holdsMessages = true;
  const migrationId = idOf(await ann.post('/v2/dataset_migrations', body));
  const deliverHeldMessages = (): void =>
    heldMessages.splice(0).forEach((message) => deliverMessage(message));
  for (let n = 3; n <= 5; n++) {
    await pollUntil(() => heldMessages.length > 0);
    await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ n }] });
    deliverHeldMessages();
  }
  await pollUntil(() => heldMessages.length > 0);
  const lateImport = ann.post('/v2/dataset_imports', {
    dataset_id: datasetId,
    records: [{ n: 6 }],
  });
  const fetchImports = async () => (await server.catalog.imports.list({ viewer: null, datasetIds: [datasetId] }, unlimitedPage)).rows; // prettier-ignore
  await pollUntil(async () => (await fetchImports()).length === 5);
  // Tasks are started in the order of their ids, so the earlier import would have been started before this one.
  await ann.post('/v2/dataset_imports', { dataset_id: otherDatasetId, records: [{ n: 7 }] });
  expect(await fetchRecords(otherDatasetId)).toEqual([{ n: 7 }]);
  expect((await fetchImports())[0]!.status).toBe('queued');
  holdsMessages = false;
  deliverHeldMessages();
  expect((await waitForJob(ann, `/v2/dataset_migrations/${migrationId}`)).json['status']).toBe('completed'); // prettier-ignore
  expect((await lateImport).json['status']).toBe('completed');
  expect((await fetchRecords(datasetId)).map(({ n }) => n)).toEqual([1, 6]);
});

test('a dataset that is deleted meanwhile gets nothing', async () => {
  const [sourceId, targetId] = [await newFilledDataset([{ n: 7 }]), await newFilledDataset([])];
  holdsMessages = true;
  const createdMigration = await ann.post('/v2/dataset_migrations', {
    source_id: sourceId,
    target_id: targetId,
  });
  await pollUntil(() => heldMessages.length > 0);
  expect((await ann.delete(`/v2/datasets/${targetId}`)).status).toBe(200);
  holdsMessages = false;
  for (const message of heldMessages.splice(0)) deliverMessage(message);
  expect((await ann.get(`/v2/dataset_migrations/${idOf(createdMigration)}`)).status).toBe(404);
  expect(await fetchRecords(sourceId)).toEqual([{ n: 7 }]);
});

test('an empty dataset gives no records, and its declared fields', async () => {
  const body = { vault_id: vaultId, name: 'empty', fields: [{ name: 'a', data_type: 'integer' }] };
  const sourceId = idOf(await ann.post('/v2/datasets', body));
  const targetId = await newFilledDataset([]);
  const migration = await migrate({ source_id: sourceId, target_id: targetId });
  expect(migration.json).toMatchObject({ documents_count: 0 });
  expect(await fetchRecords(targetId)).toEqual([]);
  await ann.post('/v2/dataset_imports', { dataset_id: targetId, records: [{ a: '5' }] });
  expect(await fetchRecords(targetId)).toEqual([{ a: 5 }]);
  const deletionBody = { source_id: sourceId, target_id: targetId, commit_mode: 'delete' };
  await migrate(deletionBody);
  expect(await fetchRecords(targetId)).toEqual([{ a: 5 }]);
});

test('names that differ in case alone are different fields', async () => {
  const targetId = await newFilledDataset([{ name: 'a', o: { x: 1 } }]);
  const sourceId = await newFilledDataset([{ NAME: 'b', o: { X: 2, x: 3 }, 'o.x': 'flat' }]);
  await migrate({ source_id: sourceId, target_id: targetId });
  expect(await fetchRecords(targetId)).toEqual([
    expect.objectContaining({ name: 'a', o: { x: 1 }, NAME: null }),
    expect.objectContaining({ name: null, o: { x: 3, X: 2 }, NAME: 'b', 'o.x': 'flat' }),
  ]);
});

test('objects and scalars of one name do not mix: the records with an error are named', async () => {
  const targetId = await newFilledDataset([{ a: 'text' }]);
  const sourceId = await newFilledDataset([{ a: { b: 1 } }, { c: 1 }]);
  holdsMessages = false;
  const createdMigration = await ann.post('/v2/dataset_migrations', {
    source_id: sourceId,
    target_id: targetId,
  });
  const { json } = await waitForJob(ann, `/v2/dataset_migrations/${idOf(createdMigration)}`);
  expect(json).toMatchObject({ status: 'failed', error_message: expect.stringContaining('an object is not a valid string') }); // prettier-ignore
});

/** Takes the lock of a dataset, so that commits to it wait; returns the function that releases it. */
async function takeDatasetLock(datasetId: number): Promise<() => void> {
  const [lockTaken, lockReleased] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  void withDatasetLock(datasetId, () => {
    lockTaken.resolve();
    return lockReleased.promise;
  });
  await lockTaken.promise;
  return lockReleased.resolve;
}

/** Makes migrations wait at the start of their publication; returns the function that releases them. */
async function holdPublication(): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  publicationGate = promise;
  return resolve;
}

/** Creates a migration, and waits until it is being published. */
async function startPublishing(body: object): Promise<{ readonly id: number; readonly taskId: number }> {
  const createdMigration = await ann.post('/v2/dataset_migrations', body);
  expect([createdMigration.status, createdMigration.text]).toEqual([201, expect.any(String)]);
  const taskId = Number(createdMigration.json['task_id']);
  await pollUntil(async () => (await server.catalog.tasks.get(taskId))?.isPublishing === true);
  return { id: idOf(createdMigration), taskId };
} // prettier-ignore

describe('a migration that is being published', () => {
  test.each([
    ['begins', holdPublication],
    ['waits for another commit to the target', takeDatasetLock],
  ] as const)('is completed although its source is deleted when the publication %s', async (_, hold) => {
    const [sourceId, targetId] = [await newFilledDataset([{ n: 7 }]), await newFilledDataset([])];
    const release = await hold(targetId);
    const { id, taskId } = await startPublishing({ source_id: sourceId, target_id: targetId });
    const deletion = ann.delete(`/v2/datasets/${sourceId}`);
    await pollUntil(async () => (await ann.get(`/v2/datasets/${sourceId}`)).status === 404);
    release();
    expect((await deletion).status).toBe(200);
    const { json } = await waitForJob(ann, `/v2/dataset_migrations/${id}`);
    const [commit] = json['dataset_commits'] as { readonly id: number }[];
    expect(json).toMatchObject({ status: 'completed', error_message: null, task_id: taskId, documents_count: 1 }); // prettier-ignore
    expect((await ann.get(`/v2/tasks/${taskId}`)).json).toMatchObject({ status: 'completed', source_object: null }); // prettier-ignore
    expect((await ann.get(`/v2/dataset_commits/${commit!.id}`)).json).toMatchObject({ status: 'completed', parent_job_id: id }); // prettier-ignore
    expect(await fetchRecords(targetId)).toEqual([{ n: 7 }]);
    expect(server.logs.filter((line) => line.includes('not removed'))).toEqual([]);
  }); // prettier-ignore

  test('is canceled if its source is deleted and a commit to the target has outdated its records', async () => {
    const [sourceId, targetId] = [
      await newFilledDataset([{ n: 7 }]),
      await newFilledDataset([{ n: 1 }]),
    ];
    const release = await holdPublication();
    const { id, taskId } = await startPublishing({ source_id: sourceId, target_id: targetId });
    const records = [{ n: 0.5 }]; // the field becomes wider
    await ann.post('/v2/dataset_imports', { dataset_id: targetId, records });
    const deletion = ann.delete(`/v2/datasets/${sourceId}`);
    await pollUntil(async () => (await ann.get(`/v2/datasets/${sourceId}`)).status === 404);
    release();
    expect((await deletion).status).toBe(200);
    const { json } = await waitForJob(ann, `/v2/dataset_migrations/${id}`);
    expect(json).toMatchObject({ status: 'canceled', error_message: 'The source dataset was deleted.', dataset_commits: [] }); // prettier-ignore
    await server.scheduler.wait(taskId);
    expect((await ann.get(`/v2/tasks/${taskId}`)).json).toMatchObject({ status: 'canceled', source_object: null }); // prettier-ignore
    expect(await fetchRecords(targetId)).toEqual([{ n: 1 }, { n: 0.5 }]);
    expect((await readdir(server.data.scratch)).filter((name) => name.startsWith(`${taskId}-`))).toEqual([]); // prettier-ignore
  });

  test('is deleted when it has been published', async () => {
    const [sourceId, targetId] = [await newFilledDataset([{ n: 7 }]), await newFilledDataset([])];
    const release = await takeDatasetLock(targetId);
    const { id } = await startPublishing({ source_id: sourceId, target_id: targetId });
    const deletion = ann.delete(`/v2/dataset_migrations/${id}`);
    // The answer to the deletion must not come before those to several later requests.
    const laterAnswers = (async () => {
      for (let i = 0; i < 20; i++) await ann.get(`/v2/dataset_migrations/${id}`);
      return 'not deleted yet';
    })();
    expect(await Promise.race([deletion, laterAnswers])).toBe('not deleted yet');
    release();
    const answer = await deletion;
    expect([answer.status, answer.json['status']]).toEqual([200, 'completed']);
    expect((await ann.get(`/v2/dataset_migrations/${id}`)).status).toBe(404);
    expect(await fetchRecords(targetId)).toEqual([{ n: 7 }]);
  });

  test('and tasks that wait end with the vault that has their datasets, and leave no files', async () => {
    const [otherSourceId, otherTargetId] = [
      await newFilledDataset([{ n: 1 }]),
      await newFilledDataset([]),
    ];
    const doomedVaultId = idOf(await ann.post('/v2/vaults', { name: 'Doomed' }));
    const newDoomedDataset = async (name: string): Promise<number> =>
      idOf(await ann.post('/v2/datasets', { vault_id: doomedVaultId, name }));
    const targetId = await newDoomedDataset('target');
    const sourceId = await newDoomedDataset('source');
    await ann.post('/v2/dataset_imports', { dataset_id: sourceId, records: [{ n: 2 }] });
    const release = await takeDatasetLock(targetId);
    const publishingMigration = await startPublishing({
      source_id: otherSourceId,
      target_id: targetId,
    });
    // The server runs one task at a time, so that these wait.
    const file = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'waits.json' }); // prettier-ignore
    await sendRequest('', 'PUT', String(file.json['upload_url']), '{"n":1}');
    const waitingImport = await ann.post('/v2/dataset_imports', { dataset_id: sourceId, object_id: idOf(file) }); // prettier-ignore
    const waitingMigration = await ann.post('/v2/dataset_migrations', { source_id: sourceId, target_id: otherTargetId }); // prettier-ignore
    expect([waitingImport.json['status'], waitingMigration.json['status']]).toEqual([
      'queued',
      'queued',
    ]);
    // What an attempt of the import before a restart would have left for the next attempt.
    const keptFolder = join(server.data.scratch, `${waitingImport.json['task_id']}-1`);
    await mkdir(keptFolder);
    await writeFile(join(keptFolder, 'chunk'), 'kept');
    const deletion = ann.delete(`/v2/vaults/${doomedVaultId}`);
    await pollUntil(async () => (await ann.get(`/v2/vaults/${doomedVaultId}`)).status === 404);
    release();
    expect((await deletion).status).toBe(200);
    expect(server.logs.filter((line) => line.includes('not removed'))).toEqual([]);
    expect((await ann.get(`/v2/dataset_migrations/${publishingMigration.id}`)).status).toBe(404);
    expect((await ann.get(`/v2/dataset_migrations/${idOf(waitingMigration)}`)).json).toMatchObject({ status: 'canceled', error_message: 'The source dataset was deleted.' }); // prettier-ignore
    const scratchNames = await readdir(server.data.scratch);
    expect(scratchNames.filter((name) => !name.startsWith('spill-'))).toEqual([]);
    expect(await fetchRecords(otherTargetId)).toEqual([]);
  });
});
