import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { armFault, faultHits, type FileFault } from '../../../engine/core/faultpoint.js';
import { segmentFormat } from '../../../engine/store/segment.js';
import { openStore } from '../../../engine/store/open-store.js';
import { liveRowCount, type Store } from '../../../engine/store/store.js';
import type { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import { type Scheduler, type SchedulerOptions } from '../../../scheduler/queue/scheduler.js';
import { readWithDuckdb } from '../../engine/store/duckdb.js';
import { findFolderInconsistencies } from '../../faults/differences.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { seededRandom } from '../../random.js';
import { Lake } from '../lake.js';
import { pollUntil } from '../../until.js';
import { KillableServer, killServerRepeatedly, recoverServer } from '../processes/killable.js';

/*
 * Kills a merge, or makes the disk fail, at every step. Afterwards, the records and their order are unchanged, no commit is lost and no
 * other files remain. Each case, except those of merges that sort, begins with fifteen commits and a queued import, whose commit makes a
 * merge due.
 */
const commitCount = 15;
const allRecords = Array.from({ length: 32 }, (_, i) => BigInt(i));
let templateFolder: string;
let datasetId: number;
const copiedFolders: string[] = [];
let lake: Lake;
let scheduler: Scheduler | undefined;

async function startScheduler(options: Partial<SchedulerOptions> = {}): Promise<Scheduler> {
  scheduler = await lake.startScheduler({
    config: { threads: 1, workerMemoryMb: 512 },
    report: (message) => reportedMessages.push(message),
    startWorker: startWorkerInProcess,
    ...options,
  });
  return scheduler;
}
let reportedMessages: string[] = [];

beforeAll(async () => {
  lake = await Lake.make();
  templateFolder = lake.data.root;
  datasetId = await lake.createDataset();
  const runningScheduler = await startScheduler();
  for (let i = 0; i < commitCount; i++) {
    const task = await lake.queueInlineImport(datasetId, `{"n":${2 * i}}\n{"n":${2 * i + 1}}\n`);
    runningScheduler.wake();
    expect((await runningScheduler.wait(task.id)).status).toBe('completed');
  }
  await runningScheduler.close();
  await lake.queueInlineImport(datasetId, '{"n":30}\n{"n":31}\n');
  await lake.close();
});
afterEach(async () => {
  await scheduler?.close();
  scheduler = undefined;
  reportedMessages = [];
  await lake.close();
});
afterAll(async () => {
  for (const root of [templateFolder, ...copiedFolders]) await rm(root, { recursive: true });
});

/** Copies an initial data folder. A test closes its copy while another process uses the folder. */
async function copyTemplate(from = templateFolder): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'strandlake-compaction-'));
  copiedFolders.push(root);
  await cp(from, root, { recursive: true });
  return root;
}

/** Expects that all records are in one segment, that nothing is damaged, and that no other files remain. */
async function expectMerged(): Promise<void> {
  expect(await lake.findFolderDamage()).toEqual([]);
  const { files, segments } = await lake.store.snapshot(datasetId);
  const { columns } = await readWithDuckdb(files, 'n');
  expect(columns[0]).toEqual(allRecords);
  expect(segments).toHaveLength(1);
}

describe('a merge that is killed at', () => {
  // The suffix `:2` means the second time that a crash point is reached: the commit of the import reaches it first.
  const serverSteps = [
    'compact.merged',
    'segment.renamed:2',
    'log.temp-written:2',
    'log.linked:2',
    'compact.before-catalog',
    'compact.after-catalog',
    'task.before-done:2',
  ];
  test.each(serverSteps)('%s is repeated after the next start (C1)', async (point) => {
    const root = await copyTemplate();
    const crashingServer = new KillableServer(root, point);
    await crashingServer.waitForExit();
    expect([point, crashingServer.isIdle]).toEqual([point, false]);
    await recoverServer(root);
    lake = await Lake.open(root);
    await expectMerged();
  });

  test.each(['segment.partial:3', 'segment.flushed:2'])(
    '%s in the worker is repeated by the next worker',
    async (point) => {
      const root = await copyTemplate();
      const server = new KillableServer(root, point, 'worker');
      await server.waitForExit();
      expect(server.isIdle).toBe(true);
      lake = await Lake.open(root);
      await expectMerged();
    },
  );

  const seed = Number(process.env['STRANDLAKE_SEED'] ?? 3);
  test(`random moments is repeated after the next start (seed ${seed})`, async () => {
    const next = seededRandom(seed);
    const root = await copyTemplate();
    await killServerRepeatedly(root, 2, 600, next);
    await recoverServer(root);
    lake = await Lake.open(root);
    await expectMerged();
  });
});

/** Returns the store, changed so that no merge is due. */
function withoutMerges(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'nextMerge') return () => Promise.resolve(undefined);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('a merge that sorts rows, killed at', () => {
  // The first segment has all records, of which fifteen later commits replace one each. The next start sorts them: at least half as
  // many rows as records are out of order or deleted, and there are sixteen segments with records.
  const replacedCount = 15;
  const expectedStates = allRecords.map((n) =>
    n % 2n === 0n && n < 2 * replacedCount ? n / 2n + 1n : 0n,
  );
  let sortedTemplate: string;
  let sortedDatasetId: number;

  beforeAll(async () => {
    lake = await Lake.make();
    sortedTemplate = lake.data.root;
    copiedFolders.push(sortedTemplate);
    sortedDatasetId = await lake.createDataset();
    const runningScheduler = await startScheduler({ store: withoutMerges(lake.store) });
    const complete = async (task: TaskRow): Promise<void> => {
      runningScheduler.wake();
      expect((await runningScheduler.wait(task.id)).status).toBe('completed');
    };
    const lines = allRecords.map((n) => `{"n":${n},"state":0}\n`);
    await complete(await lake.queueInlineImport(sortedDatasetId, lines.join('')));
    for (let i = 0; i < replacedCount; i++) {
      const line = `{"n":${2 * i},"state":${i + 1}}\n`;
      await complete(await lake.queueInlineImport(sortedDatasetId, line, { commitMode: 'upsert', idFields: ['n'] })); // prettier-ignore
    }
    await runningScheduler.close();
    expect((await lake.store.snapshot(sortedDatasetId)).segments).toHaveLength(1 + replacedCount);
    await lake.close();
  });

  /** Expects that a segment has all records in their order, and another one the deleted rows, and that no other files remain. */
  async function expectSorted(): Promise<void> {
    expect(await findFolderInconsistencies(lake)).toEqual([]);
    const { files, segments, isInterleaved = false } = await lake.store.snapshot(sortedDatasetId);
    const counts = segments.map((one) => [one.rows, liveRowCount(one)]);
    const recordCount = allRecords.length;
    expect(counts).toEqual([
      [recordCount, recordCount],
      [replacedCount, 0],
    ]);
    expect(isInterleaved).toBe(false);
    const { columns } = await readWithDuckdb(files.slice(0, 2), 'n, state');
    expect(columns).toEqual([allRecords, expectedStates]);
  }

  test.each([
    ['compact.merged', 'server'],
    ['segment.renamed', 'server'],
    ['log.temp-written', 'server'],
    ['log.linked', 'server'],
    ['compact.before-catalog', 'server'],
    ['compact.after-catalog', 'server'],
    ['task.before-done', 'server'],
    ['segment.partial', 'worker'],
    ['segment.flushed', 'worker'],
    ['segment.flushed:2', 'worker'],
  ] as const)('%s, is repeated or completed (C1)', async (point, victim) => {
    const root = await copyTemplate(sortedTemplate);
    const crashingServer = new KillableServer(root, point, victim);
    await crashingServer.waitForExit();
    expect([point, crashingServer.isIdle]).toEqual([point, victim === 'worker']);
    if (victim === 'server') await recoverServer(root);
    lake = await Lake.open(root);
    await expectSorted();
    if (victim === 'server') return;
    const { rows } = await lake.catalog.tasks.list({ viewer: null, kinds: ['merge'], classes: ['background'] }, { limit: 9, offset: 0 }); // prettier-ignore
    expect(rows).toMatchObject([{ status: 'completed', attempts: 2 }]);
  });
});

test('merges fewer segments after some time without a commit', async () => {
  lake = await Lake.open(await copyTemplate());
  const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
  await lake.catalog.tasks.cancel(rows[0]!.id);
  const runningScheduler = await startScheduler({ quietMs: Infinity });
  await runningScheduler.compacted();
  expect((await lake.store.snapshot(datasetId)).segments).toHaveLength(commitCount);
  await runningScheduler.close();
  const quietScheduler = await startScheduler({ quietMs: 20 });
  await pollUntil(async () => (await lake.store.snapshot(datasetId)).segments.length === 1);
  await quietScheduler.compacted();
  await quietScheduler.close();
  const { files } = await lake.store.snapshot(datasetId);
  const { columns } = await readWithDuckdb(files, 'n');
  expect(columns[0]).toEqual(allRecords.slice(0, 30));
});

test('rewrites segments of earlier formats, whose log entries do not tell the format, when the dataset is quiet', async () => {
  const root = await copyTemplate();
  lake = await Lake.open(root);
  const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
  await lake.catalog.tasks.cancel(rows[0]!.id);
  const quietScheduler = await startScheduler({ quietMs: 20 });
  await pollUntil(async () => (await lake.store.snapshot(datasetId)).segments.length === 1);
  await quietScheduler.compacted();
  await quietScheduler.close();
  await lake.close();
  const log = join(root, 'datasets', String(datasetId), '_delta_log');
  for (const name of await readdir(log)) await removeFormatFromLog(join(log, name));

  lake = await Lake.open(root);
  const snapshotBefore = await lake.store.snapshot(datasetId);
  expect(snapshotBefore.segments.map(({ format }) => format)).toEqual([1]);
  const laterScheduler = await startScheduler({ quietMs: 20 });
  await pollUntil(
    async () => (await lake.store.snapshot(datasetId)).version > snapshotBefore.version,
  );
  await laterScheduler.compacted();
  await laterScheduler.close();
  const { files, segments } = await lake.store.snapshot(datasetId);
  expect(segments.map(({ format }) => format)).toEqual([segmentFormat]);
  expect((await readWithDuckdb(files, 'n')).columns[0]).toEqual(allRecords.slice(0, 30));
  expect(await lake.findFolderDamage()).toEqual([]);
});

/** Changes a log entry as if a server that did not record the segment format had written it. */
async function removeFormatFromLog(path: string): Promise<void> {
  const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1);
  const body = lines.slice(0, -1).map((line) => `${line.replace(`,"strandlake.format":"${segmentFormat}"`, '')}\n`).join(''); // prettier-ignore
  const lastLine = JSON.parse(lines.at(-1)!) as {
    commitInfo: { strandlake: { checksum: string } };
  };
  lastLine.commitInfo.strandlake.checksum = createHash('sha256').update(body).digest('hex');
  await writeFile(path, `${body}${JSON.stringify(lastLine)}\n`);
}

describe('a merge on a failing disk', () => {
  /** Starts a worker that injects the fault when the merge begins. */
  const startFailingWorker =
    (fault: FileFault): typeof startWorker =>
    (...args) => {
      const worker = startWorkerInProcess(...args);
      let isArmed = false;
      const send: typeof worker.send = (message) => {
        if (message.type === 'run' && message.kind === 'merge' && !isArmed) {
          isArmed = true;
          armFault(fault);
        }
        worker.send(message);
      };
      return { ...worker, send };
    };

  const faults: readonly Omit<FileFault, 'nth'>[] = [
    { code: 'ENOSPC', operations: ['mkdir', 'write', 'rename', 'link', 'commit'] },
    { code: 'EIO', operations: ['flush', 'link', 'remove'] },
  ];
  test.each(faults)(
    `$code at any step changes no record, and the merge is repeated (R5)`,
    async (fault) => {
      for (let nth = 1; ; nth += 1) {
        const root = await copyTemplate();
        lake = await Lake.open(root);
        const runningScheduler = await startScheduler({
          startWorker: startFailingWorker({ ...fault, nth }),
          retryMs: 5,
        });
        const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
        await runningScheduler.wait(rows[0]!.id);
        await runningScheduler.compacted();
        const hitOperations = faultHits();
        armFault(undefined);
        await runningScheduler.close();
        await lake.close();
        const { files } = await openStore(lake.data).snapshot(datasetId);
        const { columns } = await readWithDuckdb(files, 'n');
        expect([nth, hitOperations, columns[0]]).toEqual([nth, hitOperations, allRecords]);
        lake = await Lake.open(root);
        const secondScheduler = await startScheduler();
        await secondScheduler.compacted();
        await secondScheduler.close();
        await expectMerged();
        if (hitOperations.length === 0) return;
        await lake.close();
      }
    },
  );
});
