import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryPrefix } from '../../../engine/core/atomic-files.js';
import { spawnSync } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { warmCaches } from '../../../api/warm.js';
import type { CommitRow } from '../../../engine/catalog/commits.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { withDatasetLock } from '../../../scheduler/jobs/dataset-lock.js';
import { rollBack } from '../../../scheduler/jobs/rollback/roll-back.js';
import { startWorker, type WorkerSupervisor } from '../../../scheduler/worker/worker-supervisor.js';
import type { MessageToWorker } from '../../../scheduler/worker/messages.js';
import { findFolderInconsistencies } from '../../faults/differences.js';
import { pollUntil } from '../../until.js';
import { idOf, listOf, startServer, waitForJob, type Answer, type Client, type TestServer } from '../server.js'; // prettier-ignore

/* Tests archives of datasets through the interface (contract 7.3, C10). */

let server: TestServer;
let ann: Client;
let vaultId: number;
/** Kinds of task whose `run` messages to the worker process are withheld. */
const heldTaskKinds = new Set<string>();
let heldMessages: MessageToWorker[] = [];
let worker: WorkerSupervisor;

beforeAll(async () => {
  server = await startServer({
    scheduler: {
      startWorker: (...args) => {
        worker = startWorker(...args);
        const send = (message: MessageToWorker): void => {
          if (message.type === 'run' && heldTaskKinds.has(message.kind)) heldMessages.push(message);
          else worker.send(message);
        };
        return { ...worker, send };
      },
    },
  });
  ann = await server.user('ann', { role: 'admin' });
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Archives' }));
});
afterAll(() => server.close());

function releaseMessages(): void {
  heldTaskKinds.clear();
  for (const message of heldMessages.splice(0)) worker.send(message);
}

let nameCount = 0;

/** Creates a dataset with three commits; returns its id. */
async function newFilledDataset(): Promise<number> {
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: `d${nameCount++}` }));
  for (let i = 0; i < 3; i++) {
    const records = [{ gene: `G${i}`, n: i, sample: { id: `s${i}`, dp: [i, i + 1] } }, { gene: 'TP53', n: 10 * i }]; // prettier-ignore
    const createdImport = await ann.post('/v2/dataset_imports', { dataset_id: id, records });
    expect(createdImport.json).toMatchObject({ status: 'completed' });
  }
  return id;
}

/**
 * Returns the files of a dataset by path, each as Base64, without the file that has the time of its restore and without temporary files: a
 * process that reads the dataset may be writing the schema file once more.
 */
async function readDatasetFiles(id: number): Promise<Record<string, string>> {
  const root = server.data.dataset(id);
  const entries = await readdir(root, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith(temporaryPrefix)).map((entry) => join(entry.parentPath, entry.name)); // prettier-ignore
  const pathsAndContents: [string, string][] = [];
  for (const file of files.filter((one) => !one.endsWith('/_restored')).toSorted())
    pathsAndContents.push([file.slice(root.length + 1), (await readFile(file)).toString('base64')]);
  return Object.fromEntries(pathsAndContents);
}

async function queryAnswersOf(id: number): Promise<readonly unknown[]> {
  const queries = [
    { ordering: ['_id'] },
    { filters: [['gene', 'TP53']], ordering: ['n'] },
    { limit: 0, facets: { gene: {}, n: { facet_type: 'stats' } } },
  ];
  const answers: unknown[] = [];
  for (const query of queries) {
    const { json } = await ann.post(`/v2/datasets/${id}/data`, query);
    answers.push([json['results'], json['total'], json['facets']]);
  }
  const { json } = await ann.get(`/v2/datasets/${id}/commits`);
  return [...answers, listOf({ json } as Answer).map((one) => [one['id'], one['records_total']])];
}

async function fetchAvailability(id: number): Promise<unknown> {
  const datasetAvailability = (await ann.get(`/v2/datasets/${id}`)).json['availability'];
  const objectAvailability = (await ann.get(`/v2/objects/${id}`)).json['availability'];
  expect(objectAvailability).toBe(datasetAvailability);
  return datasetAvailability;
}

async function fetchTasks(id: number, kind = ''): Promise<readonly Record<string, unknown>[]> {
  const type = kind === '' ? '' : `&task_type=datasets.Dataset${kind}Task`;
  return listOf(await ann.get(`/v2/tasks?target_object_id=${id}${type}`));
}

async function changeStorageClass(
  id: number,
  storageClass: string,
  resource = 'datasets',
): Promise<Answer> {
  const answer = await ann.patch(`/v2/${resource}/${id}`, { storage_class: storageClass });
  expect([answer.status, answer.json['storage_class']]).toEqual([200, storageClass]);
  return answer;
}

/** Waits until the newest task of a dataset, or the newest of one kind, has ended; returns the answer for the task. */
async function waitForNewestTask(id: number, kind = ''): Promise<Answer> {
  const [task] = await fetchTasks(id, kind);
  const endedTask = await waitForJob(ann, `/v2/tasks/${String(task!['id'])}`);
  await server.scheduler.wait(Number(task!['id'])).catch(() => undefined);
  return endedTask;
}

test('an archived dataset is one file, and comes back identical, with its history', async () => {
  const id = await newFilledDataset();
  const [files, answers] = [await readDatasetFiles(id), await queryAnswersOf(id)];
  await changeStorageClass(id, 'Archive', 'objects');
  const task = await waitForNewestTask(id);
  expect(task.json).toMatchObject({
    status: 'completed',
    task_type: 'datasets.DatasetSnapshotTask',
    task_display_name: 'Dataset Snapshot',
    require_idle_target: true,
    target_object: { id },
    task_object: {
      class_name: 'DatasetSnapshotTask',
      status: 'completed',
      dataset_id: id,
      dataset: { id, availability: 'archived', storage_class: 'Archive' },
      vault_id: vaultId,
      storage_class: 'Archive',
      metadata: { progress: { snapshot: 100 } },
      error_message: null,
      version: 2,
    },
  });
  expect(await fetchAvailability(id)).toBe('archived');
  expect(await readdir(server.data.archives)).toEqual([`${id}.tar.zst`]);
  expect(await readdir(server.data.dataset(id))).not.toContain('_delta_log');
  const archiveBytes = zstdDecompressSync(await readFile(server.data.archive(id)));
  const tarListing = spawnSync('tar', ['-tf', '-'], { input: archiveBytes, encoding: 'utf8' });
  if (tarListing.error === undefined)
    expect(tarListing.stdout.split('\n').toSorted().slice(1)).toEqual([...Object.keys(files).filter((path) => !path.startsWith('_schema/')), 'manifest.json'].toSorted()); // prettier-ignore
  expect(await findFolderInconsistencies(server)).toEqual([]);

  await changeStorageClass(id, 'Standard-IA');
  const restoredTask = await waitForNewestTask(id);
  expect(restoredTask.json).toMatchObject({
    status: 'completed',
    task_type: 'datasets.DatasetRestoreTask',
    task_object: {
      class_name: 'DatasetRestoreTask',
      storage_class: 'Standard-IA',
      metadata: { progress: { restore: 100 } },
      dataset: { id, availability: 'available', storage_class: 'Standard-IA' },
    },
  });
  expect(await fetchAvailability(id)).toBe('available');
  expect(await queryAnswersOf(id)).toEqual(answers);
  expect(await readDatasetFiles(id)).toEqual(files); // the first query writes the schema file again
  expect(await readdir(server.data.archives)).toEqual([]);
  expect(await findFolderInconsistencies(server)).toEqual([]);
  const laterImport = await ann.post('/v2/dataset_imports', {
    dataset_id: id,
    records: [{ n: 7 }],
  });
  expect(laterImport.json).toMatchObject({ status: 'completed' });
});

test('the tasks are listed, read and not created', async () => {
  const id = await newFilledDataset();
  await changeStorageClass(id, 'Archive');
  await waitForNewestTask(id);
  await changeStorageClass(id, 'Essential');
  await waitForNewestTask(id);
  for (const [kind, className] of [
    ['snapshot', 'DatasetSnapshotTask'],
    ['restore', 'DatasetRestoreTask'],
  ] as const) {
    // prettier-ignore
    const path = `/v2/dataset_${kind}_tasks`;
    const [row] = listOf(await ann.get(`${path}?dataset_id=${id}`));
    expect(row).toMatchObject({ class_name: className, dataset_id: id, status: 'completed' });
    const taskAnswer = await ann.get(`${path}/${String(row!['id'])}`);
    expect(taskAnswer.json).toEqual(row);
    expect(String(row!['url'])).toContain(`${path}/${String(row!['id'])}`);
    expect((await ann.get(`/v2/tasks/${String(row!['task_id'])}`)).json['task_id']).toBe(row!['id']); // prettier-ignore
    expect((await ann.post(path, { dataset_id: id })).status).toBe(405);
    const strangerClient = await server.user(`stranger-${kind}`, { domain: 'other' });
    expect((await strangerClient.get(`${path}/${String(row!['id'])}`)).status).toBe(404);
    expect(listOf(await strangerClient.get(path))).toEqual([]);
  }
});

test('an archived dataset answers what it is and how to restore it, and the same class again changes nothing', async () => {
  const id = await newFilledDataset();
  await changeStorageClass(id, 'Archive');
  await waitForNewestTask(id);
  const restoreAdvice = expect.stringMatching(/archived.*storage_class.*Standard/);
  const fetchRefusals = async (): Promise<readonly unknown[]> => {
    const query = await ann.post(`/v2/datasets/${id}/data`, {});
    const createdExport = await ann.post('/v2/dataset_exports', { dataset_id: id, format: 'json' });
    // The number of records that a computed condition finds is unknown until the export runs.
    const computedExport = await ann.post('/v2/dataset_exports', {
      dataset_id: id,
      format: 'json',
      params: { filters: [['double', 2]] },
      target_fields: [{ name: 'double', expression: 'record.n * 2', data_type: 'long' }],
    });
    const importAnswer = await ann.post('/v2/dataset_imports', {
      dataset_id: id,
      records: [{ n: 1 }],
    });
    const beaconAnswer = await ann.get(`/v2/datasets/${id}/beacon?chromosome=1&coordinate=1`);
    expect([400, 404, 501]).toContain(beaconAnswer.status);
    return [query, createdExport, computedExport, importAnswer].map(({ status, json }) => [
      status,
      json,
    ]);
  };
  expect(await fetchRefusals()).toEqual([
    [400, { detail: restoreAdvice }],
    [400, { dataset_id: [restoreAdvice] }],
    [400, { dataset_id: [restoreAdvice] }],
    [400, { dataset_id: [restoreAdvice] }],
  ]);
  await changeStorageClass(id, 'Archive');
  expect(await fetchTasks(id, 'Snapshot')).toHaveLength(1);
  heldTaskKinds.add('restore');
  await changeStorageClass(id, 'Standard');
  const restoringMessage = expect.stringMatching(/archived and being restored: wait/);
  expect(await fetchRefusals()).toEqual([
    [400, { detail: restoringMessage }],
    [400, { dataset_id: [restoringMessage] }],
    [400, { dataset_id: [restoringMessage] }],
    [400, { dataset_id: [restoringMessage] }],
  ]);
  releaseMessages();
  await waitForNewestTask(id);
  expect(await fetchAvailability(id)).toBe('available');
});

describe('while a task runs', () => {
  test('an archived dataset passes from available through unavailable, takes no other change, and can be canceled', async () => {
    const id = await newFilledDataset();
    const [files, answers] = [await readDatasetFiles(id), await queryAnswersOf(id)];
    expect(await fetchAvailability(id)).toBe('available');
    heldTaskKinds.add('snapshot');
    await changeStorageClass(id, 'Archive');
    await pollUntil(async () => (await fetchAvailability(id)) === 'unavailable');
    await changeStorageClass(id, 'Archive');
    expect(await fetchTasks(id, 'Snapshot')).toHaveLength(1);
    const otherAnswer = await ann.patch(`/v2/objects/${id}`, { storage_class: 'Standard' });
    expect([otherAnswer.status, otherAnswer.json]).toEqual([400, { storage_class: [expect.stringMatching(/being archived: wait for task/)] }]); // prettier-ignore
    const query = await ann.post(`/v2/datasets/${id}/data`, {});
    expect([query.status, query.json]).toEqual([400, { detail: expect.stringMatching(/being archived/) }]); // prettier-ignore
    const [task] = await fetchTasks(id, 'Snapshot');
    expect(task!['available_actions']).toEqual(['cancel']);
    releaseMessages();
    heldTaskKinds.add('snapshot');
    await waitForNewestTask(id);
    await changeStorageClass(id, 'Temporary');
    await waitForNewestTask(id);
    // The worker does not get the messages of this task, so that the task cannot end before it is canceled.
    await changeStorageClass(id, 'Archive');
    await pollUntil(async () => (await fetchAvailability(id)) === 'unavailable');
    const [secondTask] = await fetchTasks(id, 'Snapshot');
    const cancelAnswer = await ann.patch(`/v2/tasks/${String(secondTask!['id'])}`, {
      status: 'canceled',
    });
    expect(cancelAnswer.json['status']).toBe('canceled');
    heldMessages = [];
    heldTaskKinds.clear();
    expect((await ann.get(`/v2/datasets/${id}`)).json).toMatchObject({ availability: 'available', storage_class: 'Temporary' }); // prettier-ignore
    expect([await readDatasetFiles(id), await queryAnswersOf(id)]).toEqual([files, answers]);
    expect(await readdir(server.data.archives)).toEqual([]);
  });

  test('a verification that begins meanwhile verifies the archive', async () => {
    const id = await newFilledDataset();
    heldTaskKinds.add('snapshot').add('verify');
    await changeStorageClass(id, 'Archive');
    await pollUntil(() => heldMessages.length === 1);
    const verification = ann.post(`/v2/datasets/${id}/verify`);
    await pollUntil(() => heldMessages.length === 2);
    heldTaskKinds.clear();
    worker.send(heldMessages.shift()!);
    const isArchived = async (): Promise<boolean> =>
      (await ann.get(`/v2/datasets/${id}`)).json['availability'] === 'archived';
    await pollUntil(isArchived);
    releaseMessages();
    const { size: bytes } = await stat(server.data.archive(id));
    const result = (await verification).json;
    expect(result).toMatchObject({ is_whole: true, files: 1, records: 6, bytes, differences: [] });
  });

  test('verifications that run or wait do not hold it up, and then verify the archive', async () => {
    const id = await newFilledDataset();
    heldTaskKinds.add('verify');
    const runningVerifications = [1, 2].map(() => ann.post(`/v2/datasets/${id}/verify`));
    await pollUntil(() => heldMessages.length === 2);
    const waitingVerification = await ann.post(`/v2/datasets/${id}/verify`, { wait: false }); // two run at a time
    await changeStorageClass(id, 'Archive');
    expect((await waitForNewestTask(id)).json).toMatchObject({ status: 'completed' });
    expect(await fetchAvailability(id)).toBe('archived');
    releaseMessages();
    const wholeResult = { is_whole: true, files: 1, records: 6, differences: [] };
    for (const { json } of await Promise.all(runningVerifications))
      expect(json).toMatchObject(wholeResult);
    const task = await waitForJob(ann, `/v2/tasks/${idOf(waitingVerification)}`);
    expect(task.json).toMatchObject({ status: 'completed', task_object: { result: wholeResult } });
  });

  test('a verification during which a dataset is restored, changed and archived anew verifies the new archive', async () => {
    const id = await newFilledDataset();
    await changeStorageClass(id, 'Archive');
    await waitForNewestTask(id);
    heldTaskKinds.add('verify');
    const verification = ann.post(`/v2/datasets/${id}/verify`);
    await pollUntil(() => heldMessages.length === 1);
    await changeStorageClass(id, 'Standard');
    await waitForNewestTask(id);
    const laterImport = await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n: 7 }] }); // prettier-ignore
    expect(laterImport.json).toMatchObject({ status: 'completed' });
    await changeStorageClass(id, 'Archive');
    await waitForNewestTask(id, 'Snapshot');
    expect(await fetchAvailability(id)).toBe('archived');
    releaseMessages();
    expect((await verification).json).toMatchObject({ is_whole: true, files: 1, records: 7, differences: [] }); // prettier-ignore
  });

  test('a canceled restore leaves the dataset archived', async () => {
    const id = await newFilledDataset();
    await changeStorageClass(id, 'Archive');
    await waitForNewestTask(id);
    heldTaskKinds.add('restore');
    await changeStorageClass(id, 'Standard');
    const otherAnswer = await ann.patch(`/v2/datasets/${id}`, { storage_class: 'Archive' });
    expect([otherAnswer.status, Object.keys(otherAnswer.json)]).toEqual([400, ['storage_class']]);
    const [task] = await fetchTasks(id, 'Restore');
    await ann.patch(`/v2/tasks/${String(task!['id'])}`, { status: 'canceled' });
    heldMessages = [];
    heldTaskKinds.clear();
    expect((await ann.get(`/v2/datasets/${id}`)).json).toMatchObject({ availability: 'archived', storage_class: 'Archive' }); // prettier-ignore
    expect(await findFolderInconsistencies(server)).toEqual([]);
    await changeStorageClass(id, 'Standard');
    expect((await waitForNewestTask(id)).json['status']).toBe('completed');
  });

  test('an import that came first is waited for, and none is taken afterwards', async () => {
    const id = await newFilledDataset();
    heldTaskKinds.add('import');
    const file = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'late.jsonl' }); // prettier-ignore
    await fetch(String(file.json['upload_url']), { method: 'PUT', body: '{"n":99}\n' });
    const createdImport = await ann.post('/v2/dataset_imports', {
      dataset_id: id,
      object_id: idOf(file),
    });
    await pollUntil(() => heldMessages.length > 0);
    await changeStorageClass(id, 'Archive');
    expect(await fetchAvailability(id)).toBe('available');
    expect((await ann.post(`/v2/datasets/${id}/data`, {})).json['total']).toBe(6);
    const refusedAnswer = await ann.post('/v2/dataset_imports', {
      dataset_id: id,
      records: [{ n: 1 }],
    });
    expect([refusedAnswer.status, refusedAnswer.json]).toEqual([400, { dataset_id: [expect.stringMatching(/The dataset is being archived; cancel task \d+ to change it\./)] }]); // prettier-ignore
    const exportAnswer = await ann.post('/v2/dataset_exports', { dataset_id: id, format: 'json' });
    expect(exportAnswer.status).toBe(400);
    releaseMessages();
    expect((await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`)).json['status']).toBe('completed'); // prettier-ignore
    const [task] = await fetchTasks(id, 'Snapshot');
    expect((await waitForJob(ann, `/v2/tasks/${String(task!['id'])}`)).json).toMatchObject({ status: 'completed', task_object: { version: 3 } }); // prettier-ignore
    expect(await fetchAvailability(id)).toBe('archived');
  });
});

describe('a rollback and a snapshot at the same time', () => {
  const lastCommitOf = async (id: number): Promise<CommitRow> => {
    const [commit] = listOf(await ann.get(`/v2/datasets/${id}/commits`));
    return (await server.catalog.commits.get(Number(commit!['id'])))!;
  };
  const rollBackCommit = (commit: CommitRow, persist = server.scheduler.persist) =>
    rollBack({ ...server, queryEngine: {} as QueryEngine, scheduler: { ...server.scheduler, persist } }, commit, 'records', ann.user.id); // prettier-ignore

  test('C10: a rollback that waits while a snapshot is requested is refused', async () => {
    const id = await newFilledDataset();
    const commit = await lastCommitOf(id);
    const lock = Promise.withResolvers<void>();
    void withDatasetLock(id, () => lock.promise);
    const waitingRollback = rollBackCommit(commit);
    await changeStorageClass(id, 'Archive');
    const [task] = await fetchTasks(id, 'Snapshot');
    lock.resolve();
    const detail = `The dataset is being archived; cancel task ${task!['id']} to change it.`;
    expect(await waitingRollback).toEqual({ detail, isBlocked: true, blocking: [] });
    expect((await waitForNewestTask(id)).json).toMatchObject({ status: 'completed' });
    expect(await fetchAvailability(id)).toBe('archived');
  });

  test('C10: a snapshot that is requested during a rollback waits for it', async () => {
    const id = await newFilledDataset();
    const commit = await lastCommitOf(id);
    const [logWrite, catalogGate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const rollback = rollBackCommit(commit, async (work) => {
      logWrite.resolve();
      await catalogGate.promise;
      return server.scheduler.persist(work);
    });
    await logWrite.promise; // the rollback is in the log, and not in the catalogue
    await changeStorageClass(id, 'Archive');
    await pollUntil(async () => (await fetchTasks(id, 'Snapshot'))[0]!['status'] !== 'queued');
    catalogGate.resolve();
    expect(await rollback).toMatchObject({ mode: 'rollback', recordsTotal: 4 });
    expect((await waitForNewestTask(id, 'Snapshot')).json).toMatchObject({ status: 'completed' });
    await changeStorageClass(id, 'Standard');
    expect((await waitForNewestTask(id)).json).toMatchObject({ status: 'completed' });
    expect((await ann.post(`/v2/datasets/${id}/data`, {})).json['total']).toBe(4);
  });

  test('C10: a rollback is refused as blocked while a snapshot is pending', async () => {
    const id = await newFilledDataset();
    const path = `/v2/dataset_commits/${(await lastCommitOf(id)).id}/rollback`;
    const lock = Promise.withResolvers<void>();
    void withDatasetLock(id, () => lock.promise);
    await changeStorageClass(id, 'Archive');
    const check = await ann.get(path);
    expect([check.status, check.json]).toEqual([200, expect.objectContaining({ is_blocked: true, detail: expect.stringMatching(/being archived; cancel task/) })]); // prettier-ignore
    expect((await ann.post(path, {})).status).toBe(400);
    lock.resolve();
    await waitForNewestTask(id);
  });
});

describe('a dataset that is created with the class Archive', () => {
  async function newColdDataset(): Promise<number> {
    const coldVaultId =
      idOf(await ann.post('/v2/vaults', { name: `Cold ${nameCount++}`, default_storage_class: 'Archive' })); // prettier-ignore
    return idOf(await ann.post('/v2/datasets', { vault_id: coldVaultId, name: 'cold' }));
  }

  const importInto = (id: number, n: number): Promise<Answer> =>
    ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n }] });

  test('is archived once a commit has given it records', async () => {
    const id = await newColdDataset();
    const shownDataset = await ann.get(`/v2/datasets/${id}`);
    expect(shownDataset.json).toMatchObject({
      storage_class: 'Archive',
      availability: 'available',
    });
    await ann.put(`/v2/datasets/${id}`, shownDataset.json);
    expect(await fetchTasks(id, 'Snapshot')).toEqual([]);
    expect((await importInto(id, 1)).json['status']).toBe('completed');
    expect((await waitForNewestTask(id)).json).toMatchObject({ status: 'completed', task_type: 'datasets.DatasetSnapshotTask', user: { id: ann.user.id } }); // prettier-ignore
    expect(await fetchAvailability(id)).toBe('archived');
    expect((await importInto(id, 2)).status).toBe(400);
    await changeStorageClass(id, 'Standard');
    await waitForNewestTask(id);
    expect((await importInto(id, 2)).json['status']).toBe('completed');
    expect(await fetchAvailability(id)).toBe('available');
    expect(await fetchTasks(id, 'Snapshot')).toHaveLength(1);
  });

  test('takes the imports that were queued before the first had ended', async () => {
    const id = await newColdDataset();
    heldTaskKinds.add('import');
    const bothImports = [importInto(id, 1), importInto(id, 2)];
    await pollUntil(async () => (await fetchTasks(id)).length === 2);
    releaseMessages();
    for (const { json } of await Promise.all(bothImports)) expect(json['status']).toBe('completed');
    await waitForNewestTask(id);
    const task = (await fetchTasks(id, 'Snapshot'))[0]!;
    const endedTask = await waitForJob(ann, `/v2/tasks/${String(task['id'])}`);
    expect(endedTask.json).toMatchObject({ status: 'completed', task_object: { version: 1 } });
    expect((await ann.get(`/v2/datasets/${id}`)).json).toMatchObject({ availability: 'archived', documents_count: 2 }); // prettier-ignore
  });

  test('has it from its vault if the request has null, which changes no class', async () => {
    const coldVaultId =
      idOf(await ann.post('/v2/vaults', { name: `Cold ${nameCount++}`, default_storage_class: 'Archive' })); // prettier-ignore
    const createdDataset = await ann.post('/v2/datasets', { vault_id: coldVaultId, name: 'cold', storage_class: null }); // prettier-ignore
    const path = `/v2/datasets/${idOf(createdDataset)}`;
    for (const answer of [
      createdDataset,
      await ann.patch(path, { storage_class: null }),
      await ann.get(path),
    ])
      expect(answer.json).toMatchObject({ storage_class: 'Archive', availability: 'available' });
    expect(await fetchTasks(idOf(createdDataset))).toEqual([]);
  });

  test('gets the class Standard if its snapshot is canceled', async () => {
    const id = await newColdDataset();
    heldTaskKinds.add('snapshot');
    await importInto(id, 1);
    const [task] = await fetchTasks(id, 'Snapshot');
    await ann.patch(`/v2/tasks/${String(task!['id'])}`, { status: 'canceled' });
    heldMessages = [];
    heldTaskKinds.clear();
    expect((await ann.get(`/v2/datasets/${id}`)).json).toMatchObject({ availability: 'available', storage_class: 'Standard' }); // prettier-ignore
    expect((await importInto(id, 2)).json['status']).toBe('completed');
    expect(await fetchTasks(id, 'Snapshot')).toHaveLength(1);
  });
});

test('an empty dataset is archived and restored, too', async () => {
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'empty' }));
  await changeStorageClass(id, 'Archive');
  expect((await waitForNewestTask(id)).json['status']).toBe('completed');
  expect(await fetchAvailability(id)).toBe('archived');
  await changeStorageClass(id, 'Standard');
  expect((await waitForNewestTask(id)).json['status']).toBe('completed');
  const createdImport = await ann.post('/v2/dataset_imports', {
    dataset_id: id,
    records: [{ n: 1 }],
  });
  expect(createdImport.json['status']).toBe('completed');
});

test('a server does not warm an archived dataset, and reports nothing', async () => {
  const id = await newFilledDataset();
  await changeStorageClass(id, 'Archive');
  await waitForNewestTask(id);
  const reports: string[] = [];
  const { catalog, store } = server;
  const queryEngine = {} as QueryEngine; // the engine is not used
  const usedColumns = [{ dataset: id, fields: ['n'] }];
  await warmCaches({ catalog, store, queryEngine, app: server.app }, usedColumns, new AbortController().signal, (message) => reports.push(message)); // prettier-ignore
  expect(reports).toEqual([]);
});

test('deleting an archived dataset removes its archive', async () => {
  const id = await newFilledDataset();
  await changeStorageClass(id, 'Archive');
  await waitForNewestTask(id);
  expect(await readdir(server.data.archives)).toContain(`${id}.tar.zst`);
  const fetchSnapshotTasks = async () =>
    (await ann.get('/v2/dataset_snapshot_tasks?limit=1000')).json;
  const tasksBefore = await fetchSnapshotTasks();
  expect((await ann.delete(`/v2/datasets/${id}`)).status).toBe(200);
  expect(await readdir(server.data.archives)).not.toContain(`${id}.tar.zst`);
  expect((await fetchSnapshotTasks())['total']).toBe(Number(tasksBefore['total']) - 1);
  expect(await findFolderInconsistencies(server)).toEqual([]);
});
