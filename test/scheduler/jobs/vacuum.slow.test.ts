import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { AsOf } from '../../../engine/catalog/commits.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { armFault, faultHits, type FileFault } from '../../../engine/core/faultpoint.js';
import type { Store } from '../../../engine/store/store.js';
import type { Scheduler, SchedulerOptions } from '../../../scheduler/queue/scheduler.js';
import { createHoldableWorker } from '../../api/held-worker.js';
import { readWithDuckdb } from '../../engine/store/duckdb.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';
import { pollUntil } from '../../until.js';
import { KillableServer, killServerRepeatedly, recoverServer } from '../processes/killable.js';
import { Lake } from '../lake.js';

/*
 * Kills a vacuum, or makes the disk fail, at every step. Afterwards, the records are unchanged, only the files of the newest version
 * remain, and the log records the vacuum. Each case begins with sixteen commits that were merged into one segment.
 */
const expectedRecords = Array.from({ length: 32 }, (_, i) => BigInt(i));
const keepNoVersions = { keepVersionsMs: 0 };
let templateFolder: string;
let datasetId: number;
const copiedFolders: string[] = [];
let lake: Lake;
let scheduler: Scheduler | undefined;

async function startScheduler(options: Partial<SchedulerOptions> = {}): Promise<Scheduler> {
  const config = { threads: 1, workerMemoryMb: 512 };
  const report = (): void => undefined; // failures are expected and tried again
  scheduler = await lake.startScheduler({
    config,
    startWorker: startWorkerInProcess,
    report,
    ...options,
  });
  return scheduler;
}

beforeAll(async () => {
  lake = await Lake.make();
  templateFolder = lake.data.root;
  datasetId = await lake.createDataset();
  const runningScheduler = await startScheduler();
  for (let i = 0; i < 16; i++) {
    const task = await lake.queueInlineImport(datasetId, `{"n":${2 * i}}\n{"n":${2 * i + 1}}\n`);
    runningScheduler.wake();
    expect((await runningScheduler.wait(task.id)).status).toBe('completed');
  }
  await runningScheduler.compacted();
  expect(await listSegmentNames(lake.data.root)).toHaveLength(17);
  await runningScheduler.close();
  await lake.close();
  process.env['STRANDLAKE_KEEP_VERSIONS_MS'] = '0';
});
afterEach(async () => {
  await scheduler?.close();
  scheduler = undefined;
  await lake.close();
});
afterAll(async () => {
  for (const root of [templateFolder, ...copiedFolders]) await rm(root, { recursive: true });
});

async function copyTemplate(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'strandlake-vacuum-'));
  copiedFolders.push(root);
  await cp(templateFolder, root, { recursive: true });
  return root;
}

async function listSegmentNames(root: string): Promise<readonly string[]> {
  const names = await readdir(join(root, 'datasets', String(datasetId)));
  return names.filter((name) => name.endsWith('.parquet'));
}

async function expectVacuumed(root: string): Promise<void> {
  lake = await Lake.open(root, keepNoVersions);
  expect(await lake.findFolderDamage()).toEqual([]);
  const { files, segments } = await lake.store.snapshot(datasetId);
  expect((await readWithDuckdb(files, 'n')).columns[0]).toEqual(expectedRecords);
  expect(await listSegmentNames(root)).toEqual(segments.map(({ path }) => path));
  const [isDue, endedVersion] = [await lake.store.isVacuumDue(datasetId), await lake.store.endVacuum(datasetId)]; // prettier-ignore
  expect([isDue, endedVersion]).toEqual([false, undefined]);
  await expect(lake.store.snapshot(datasetId, 3)).rejects.toMatchObject({ code: 'invalid' });
}

describe('a vacuum that is killed at', () => {
  const serverSteps = ['log.temp-written', 'log.linked', 'vacuum.begun', 'vacuum.removed', 'log.temp-written:2', 'log.linked:2', 'vacuum.ended', 'task.before-done']; // prettier-ignore
  test.each(serverSteps)('%s goes on after the next start', async (point) => {
    const root = await copyTemplate();
    const crashingServer = new KillableServer(root, point);
    await crashingServer.waitForExit();
    expect([point, crashingServer.isIdle]).toEqual([point, false]);
    await recoverServer(root);
    await expectVacuumed(root);
  });

  test('vacuum.partial in the worker is continued by the next worker', async () => {
    const root = await copyTemplate();
    const server = new KillableServer(root, 'vacuum.partial:5', 'worker');
    await server.waitForExit();
    expect(server.isIdle).toBe(true);
    await expectVacuumed(root);
  });

  test(`random moments goes on after the next start (STRANDLAKE_SEED=${seed})`, async () => {
    const root = await copyTemplate();
    await killServerRepeatedly(root, 2, 300, seededRandom(seed));
    await recoverServer(root);
    await expectVacuumed(root);
  });
});

/** Returns the store, changed to inject a fault when a vacuum begins. */
function withArmedFault(store: Store, fault: FileFault): Store {
  let isArmed = false;
  return new Proxy(store, {
    get(target, name) {
      if (name === 'beginVacuum' && !isArmed) {
        isArmed = true;
        armFault(fault);
      }
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('a vacuum on a failing disk', () => {
  const faults: readonly Omit<FileFault, 'nth'>[] = [
    { code: 'ENOSPC', operations: ['write', 'rename', 'link', 'commit'] },
    { code: 'EIO', operations: ['flush', 'remove'] },
  ];
  test.each(faults)('$code at any step changes no record, and it goes on later', async (fault) => {
    for (let nth = 1; ; nth += 1) {
      const root = await copyTemplate();
      lake = await Lake.open(root, keepNoVersions);
      const runningScheduler = await startScheduler({
        store: withArmedFault(lake.store, { ...fault, nth }),
        retryMs: 5,
      });
      await runningScheduler.compacted();
      const hitOperations = faultHits();
      armFault(undefined);
      await runningScheduler.close();
      await lake.close();
      lake = await Lake.open(root, keepNoVersions);
      const { files } = await lake.store.snapshot(datasetId);
      expect([nth, (await readWithDuckdb(files, 'n')).columns[0]]).toEqual([nth, expectedRecords]);
      const secondScheduler = await startScheduler();
      await secondScheduler.compacted();
      await secondScheduler.close();
      await lake.close();
      await expectVacuumed(root);
      if (hitOperations.length === 0) return;
      await lake.close();
    }
  });
});

test('a vacuum that is canceled leaves the versions that need no removed file', async () => {
  const root = await copyTemplate();
  lake = await Lake.open(root, keepNoVersions);
  const startCancelingWorker: typeof startWorkerInProcess = (...args) => {
    const worker = startWorkerInProcess(...args);
    return {
      ...worker,
      send(message) {
        worker.send(message);
        if (message.type === 'run')
          void runningScheduler.cancel(message.taskId).catch(() => undefined);
      },
    };
  };
  const runningScheduler = await startScheduler({ startWorker: startCancelingWorker });
  await runningScheduler.compacted();
  const { rows } = await lake.catalog.tasks.list({ viewer: null, kinds: ['vacuum'], classes: ['background'] }, { limit: 1, offset: 0 }); // prettier-ignore
  expect(rows.map(({ status }) => status)).toEqual(['canceled']);
  expect(await lake.store.verify(datasetId)).toEqual([]);
  await runningScheduler.close();
  await lake.close();
  await recoverServer(root);
  await expectVacuumed(root);
});

test('what a running task may read stays until it has ended', async () => {
  const root = await copyTemplate();
  lake = await Lake.open(root, keepNoVersions);
  const { catalog } = lake;
  const otherTask = await catalog.tasks.addStandalone({ kind: 'verify', description: '', priority: 0, params: {}, targetObjectId: null, sourceObjectId: datasetId, isStarted: true }); // prettier-ignore
  const oldestStart = otherTask.createdAt;
  expect((await catalog.tasks.runningOn(datasetId)).map(({ id }) => id)).toEqual([otherTask.id]);
  expect((await lake.store.beginVacuum(datasetId, { since: oldestStart - 3_600_000, versions: [] }))).toBeUndefined(); // prettier-ignore
  await catalog.tasks.complete(otherTask.id);
  await recoverAndExpectVacuumed(root);
});

/** Opens a copy of the template in which no version is kept because of its age or its last use; returns the path of the folder. */
async function openWithoutPins(): Promise<string> {
  const root = await copyTemplate();
  // A task may run for longer than the use of a version keeps its files.
  lake = await Lake.open(root, { ...keepNoVersions, pinMs: -1 });
  return root;
}

/** Runs a vacuum of the dataset, if it has files to remove, as the server does by itself. */
async function vacuumBy(runningScheduler: Scheduler): Promise<void> {
  const order = { description: 'vacuum', targetObjectId: datasetId, params: {} };
  await runningScheduler.enqueueAndWait('vacuum', order);
}

describe('a vacuum removes no file that an earlier version needs while', () => {
  /** The version after the import of the first eight records: the fourth one of the log. */
  async function readEarlierVersion(): Promise<AsOf> {
    const commit = await lake.catalog.commits.atVersion(datasetId, 3);
    return { commit_id: commit!.id, version: 3 };
  }

  /** Queues an export of the dataset, or a migration to a dataset without records. */
  async function queueReader(
    kind: 'export' | 'migration',
    name: string,
    asOf: AsOf | null,
  ): Promise<{ readonly task: TaskRow; readNumbers(): Promise<readonly unknown[]> }> {
    if (kind === 'export') {
      const task = await lake.queueExport(datasetId, 'json', { asOf });
      const readNumbers = async (): Promise<readonly unknown[]> => {
        const bytes = await readFile(lake.data.export(task.resourceId, 'json.gz'));
        const lines = gunzipSync(bytes).toString().trimEnd().split('\n');
        return lines.map((line) => BigInt((JSON.parse(line) as { readonly n: number }).n));
      };
      return { task, readNumbers };
    }
    const targetId = await lake.createDataset(name);
    const task = await lake.queueMigration(datasetId, targetId, { asOf });
    const readNumbers = async (): Promise<readonly unknown[]> =>
      (await readWithDuckdb((await lake.store.snapshot(targetId)).files, 'n')).columns[0]!;
    return { task, readNumbers };
  }

  test.each([
    ['export', 'waits'],
    ['export', 'runs'],
    ['migration', 'waits'],
    ['migration', 'runs'],
  ] as const)('its %s %s', async (kind, state) => {
    const root = await openWithoutPins();
    const asOf = await readEarlierVersion();
    const earlierSegments = (await lake.store.snapshot(datasetId, asOf.version)).segments;
    const newestNames = (await lake.store.snapshot(datasetId)).segments.map(({ path }) => path);
    expect([earlierSegments.length, newestNames.length, (await listSegmentNames(root)).length]).toEqual([4, 1, 17]); // prettier-ignore
    // The server has one thread, so that a task of the newest version keeps a later one waiting.
    const newestReader = state === 'waits' ? await queueReader(kind, 'newest', null) : undefined;
    const earlierReader = await queueReader(kind, 'earlier', asOf);
    const worker = createHoldableWorker();
    worker.hold(kind);
    const runningScheduler = await startScheduler({ startWorker: worker.startWorker });
    await pollUntil(() => worker.held.length === 1);
    await runningScheduler.compacted();
    expect((await lake.readTaskRow(earlierReader.task.id))!.status).toBe(state === 'waits' ? 'queued' : 'running'); // prettier-ignore
    const neededNames = [...earlierSegments.map(({ path }) => path), ...newestNames];
    expect((await listSegmentNames(root)).toSorted()).toEqual(neededNames.toSorted());
    worker.release();
    for (const [one, expected] of [
      [newestReader, expectedRecords],
      [earlierReader, expectedRecords.slice(0, 8)],
    ] as const) {
      if (one === undefined) continue;
      expect((await runningScheduler.wait(one.task.id)).status).toBe('completed');
      expect(await one.readNumbers()).toEqual(expected);
    }
    await vacuumBy(runningScheduler);
    expect(await listSegmentNames(root)).toEqual(newestNames);
    expect(await lake.store.verify(datasetId)).toEqual([]);
  });
});

test('a vacuum removes no file that was part of the newest version when a task began that still runs', async () => {
  const root = await openWithoutPins();
  const { catalog } = lake;
  const runningScheduler = await startScheduler();
  await runningScheduler.compacted();
  expect(await listSegmentNames(root)).toHaveLength(1);
  const verificationTask = await catalog.tasks.addStandalone({ kind: 'verify', description: '', priority: 0, params: {}, targetObjectId: null, sourceObjectId: datasetId, isStarted: true }); // prettier-ignore
  for (let n = 32; n < 36; n++) {
    const task = await lake.queueInlineImport(datasetId, `{"n":${n}}\n`);
    runningScheduler.wake();
    expect((await runningScheduler.wait(task.id)).status).toBe('completed');
  }
  await runningScheduler.compacted();
  const namesBefore = await listSegmentNames(root);
  expect(namesBefore).toHaveLength(5);
  const merge = { description: 'merge', targetObjectId: datasetId, params: { is_quiet: true } };
  await runningScheduler.enqueueAndWait('merge', merge);
  const newestNames = (await lake.store.snapshot(datasetId)).segments.map(({ path }) => path);
  const mergedNames = namesBefore.filter((name) => !newestNames.includes(name));
  expect(mergedNames.length).toBeGreaterThanOrEqual(4);
  await vacuumBy(runningScheduler);
  expect((await listSegmentNames(root)).toSorted()).toEqual(
    [...mergedNames, ...newestNames].toSorted(),
  );
  await catalog.tasks.complete(verificationTask.id);
  await vacuumBy(runningScheduler);
  expect((await listSegmentNames(root)).toSorted()).toEqual(newestNames.toSorted());
  expect(await lake.store.verify(datasetId)).toEqual([]);
});

/** Closes the data folder, runs a server until no work is due, and checks the folder. */
async function recoverAndExpectVacuumed(root: string): Promise<void> {
  await lake.close();
  await recoverServer(root);
  await expectVacuumed(root);
}
