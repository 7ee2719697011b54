import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Lake, vcfTextOf } from '../lake.js';
import { killProcess, KillableServer, recoverServer } from '../processes/killable.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

/*
 * Kills the server at the crash points of imports and exports and at random moments, and then starts it again until it is idle. Afterwards,
 * every task must have ended, and `Lake.findFolderDamage` must find nothing lost, duplicated or left behind.
 */

/** Number of kills at random moments; set by STRANDLAKE_KILLS. */
const killCount = Number(process.env['STRANDLAKE_KILLS'] ?? 6);
const maxKillsPerTest = 25;
const rowCount = 60_000;

let lake: Lake;
let root: string;
let datasetId: number;
let objectId: number;
/** Number of imports whose records the dataset must contain. */
let expectedImportCount = 0;
/** Time in milliseconds from the start of a server until it has imported the test's file once. */
let importDurationMs: number;

beforeAll(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  datasetId = await lake.createDataset();
  objectId = await lake.createFile('a.vcf', vcfTextOf(rowCount));
  await queueImport();
  const startedAt = performance.now();
  await withLakeClosed(() => recoverServer(root));
  importDurationMs = performance.now() - startedAt;
});
/** Expects after each test that every imported record is stored exactly once, and no other records. */
afterEach(async () => {
  expect((await lake.store.snapshot(datasetId)).rows).toBe(rowCount * expectedImportCount);
  expect(await lake.findFolderDamage()).toEqual([]);
});
afterAll(() => lake.remove());

/** Queues another import; returns the id of its task. */
async function queueImport(): Promise<number> {
  expectedImportCount += 1;
  return (await lake.queueFileImport(datasetId, objectId)).id;
}

/** Closes the data folder while `work` runs, so that another process can open it. */
async function withLakeClosed(work: () => Promise<void>): Promise<void> {
  await lake.close();
  try {
    await work();
  } finally {
    lake = await Lake.open(root);
  }
}

describe('C1: killed at', () => {
  const serverSteps = [
    'segment.renamed',
    'log.temp-written',
    'log.linked',
    'catalog.before-commit',
    'catalog.after-commit',
    'task.before-done',
  ];

  test.each(serverSteps)('%s, the server recovers and the import completes', async (point) => {
    const taskId = await queueImport();
    await withLakeClosed(async () => {
      const crashingServer = new KillableServer(root, point);
      await crashingServer.waitForExit();
      expect([point, crashingServer.isIdle]).toEqual([point, false]);
      await recoverServer(root);
    });
    expect(await lake.readTaskRow(taskId)).toMatchObject({ status: 'completed' });
  });

  test.each(['segment.partial', 'segment.flushed'])(
    '%s, the worker is replaced and the import completes',
    async (point) => {
      const taskId = await queueImport();
      await withLakeClosed(async () => {
        const server = new KillableServer(root, point, 'worker');
        await server.waitForExit();
        expect(server.isIdle).toBe(true);
      });
      expect(await lake.readTaskRow(taskId)).toMatchObject({ status: 'completed', attempts: 2 });
    },
  );

  test('rejected.renamed, the import fails with its rejected records, once', async () => {
    const badFile = await lake.createFile(
      'bad.vcf',
      vcfTextOf(9, 'chr1\tnowhere\t.\tA\tG\t.\t.\t.'),
    );
    const task = await lake.queueFileImport(datasetId, badFile);
    await withLakeClosed(async () => {
      const crashingServer = new KillableServer(root, 'rejected.renamed');
      await crashingServer.waitForExit();
      expect(crashingServer.isIdle).toBe(false);
      await recoverServer(root);
    });
    expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'failed', attempts: 2 });
    const rejectedText = gunzipSync(await readFile(lake.data.rejectedLines(task.resourceId)));
    expect(rejectedText.toString()).toMatch(
      /^\{"file":"bad.vcf","line":12,"code":301.*nowhere.*\}\n$/,
    );
  });

  test('task.before-failed, an import of given records fails for the same reason, with the same report and rejected records', async () => {
    /** Imports the records while `run` runs a server; returns how the import has ended. */
    const runAndReadOutcome = async (run: () => Promise<void>): Promise<readonly unknown[]> => {
      const records = '{"info":{"DP":1}}\n{"info":{"DP":"deep"}}\n';
      const { resourceId: id } = await lake.queueInlineImport(datasetId, records);
      await withLakeClosed(run);
      const row = (await lake.catalog.imports.get(id))!;
      const rejectedText = gunzipSync(await readFile(lake.data.rejectedLines(id))).toString();
      return [row.status, row.errorMessage, row.metadata['receipt'], rejectedText];
    };
    const expectedOutcome = await runAndReadOutcome(() => recoverServer(root));
    expect([expectedOutcome[0], expectedOutcome[3]]).toEqual([
      'failed',
      expect.stringContaining('deep'),
    ]);
    const outcome = await runAndReadOutcome(async () => {
      const crashingServer = new KillableServer(root, 'task.before-failed');
      await crashingServer.waitForExit();
      expect(crashingServer.isIdle).toBe(false);
      await recoverServer(root);
    });
    expect(outcome).toEqual(expectedOutcome);
  });

  test.each([
    ['export.partial', 'worker'],
    ['export.renamed', 'server'],
  ] as const)('C2: %s, the export is written again', async (point, victim) => {
    const task = await lake.queueExport(datasetId, 'csv', {
      targetFullPath: '~/out',
      params: { fields: ['allele'] },
    });
    await withLakeClosed(async () => {
      await new KillableServer(root, point, victim).waitForExit();
      await recoverServer(root);
    });
    expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'completed', attempts: 2 });
    const row = await lake.catalog.exports.get(task.resourceId);
    expect(row).toMatchObject({ documentsCount: rowCount * expectedImportCount });
    const targetObject = await lake.catalog.objects.get(row?.targetObjectId as number);
    const storedFile = await stat(lake.data.object(targetObject?.id as number, 1));
    expect([targetObject?.size, storedFile.size]).toEqual([row?.bytes, row?.bytes]);
    const files = [`${row?.id}.csv`, `${targetObject?.id}-1`];
    const filesPresent = [
      ...(await readdir(lake.data.exports)),
      ...(await readdir(lake.data.objects)),
    ];
    expect(filesPresent).toEqual(expect.arrayContaining(files));
    const objects = await lake.catalog.objects.list({ viewer: null }, { limit: 100, offset: 0 });
    const fileObjects = objects.rows.filter(({ objectType }) => objectType === 'file');
    expect(await readdir(lake.data.objects)).toHaveLength(fileObjects.length);
  });
});

describe('C1: killed at random', () => {
  const parts = Array.from(
    { length: Math.ceil(killCount / maxKillsPerTest) },
    (_, i) => i * maxKillsPerTest,
  );
  test.each(parts.map((from) => [Math.min(maxKillsPerTest, killCount - from), seed + from]))(
    '%d moments, the server with or without its worker: nothing is lost, duplicated or left over (STRANDLAKE_SEED=%d)',
    async (count, first) => {
      const templateLake = await Lake.make();
      const datasetId = await templateLake.createDataset();
      const fileId = await templateLake.createFile('a.vcf', vcfTextOf(rowCount));
      await templateLake.close();
      const attempts: number[] = [];
      let startedCount = 0;
      /** The approximate time that a server needs at present, which other work on the machine influences. */
      let usualMs = importDurationMs;
      // Each run has its own data folder; two of these loops work at the same time, each with one run after another.
      const runLane = async (): Promise<void> => {
        while (startedCount < count) {
          const ownSeed = first + startedCount++;
          const next = seededRandom(ownSeed);
          const folder = await mkdtemp(join(tmpdir(), 'strandlake-crash-'));
          await cp(templateLake.data.root, folder, { recursive: true });
          const lakeBefore = await Lake.open(folder);
          const tasks = [
            await lakeBefore.queueFileImport(datasetId, fileId),
            await lakeBefore.queueFileImport(datasetId, fileId),
          ];
          await lakeBefore.close();
          const afterMs = next() * usualMs * 1.2;
          const server = new KillableServer(folder);
          // The delay begins with the start of the process, so that a kill may also hit its recovery.
          const pidPromise = server.waitUntilReady();
          await new Promise((resolve) => setTimeout(resolve, afterMs));
          const workerPid = await Promise.race([pidPromise, Promise.resolve(undefined)]);
          const wasIdle = server.isIdle;
          await server.killWithWorker(next() < 0.5 ? workerPid : undefined);
          const killedAt = performance.now();
          await recoverServer(folder);
          usualMs = wasIdle ? afterMs : performance.now() - killedAt;
          const lakeAfter = await Lake.open(folder);
          const caseText = `seed ${ownSeed}, after ${afterMs.toFixed(1)} ms`;
          expect([caseText, await lakeAfter.findFolderDamage()]).toEqual([caseText, []]);
          expect([caseText, (await lakeAfter.store.snapshot(datasetId)).rows]).toEqual([
            caseText,
            2 * rowCount,
          ]);
          for (const { id } of tasks) {
            const task = await lakeAfter.readTaskRow(id);
            expect([caseText, task?.status]).toEqual([caseText, 'completed']);
            attempts.push(task?.attempts ?? 0);
          }
          await lakeAfter.remove();
        }
      };
      await Promise.all([runLane(), runLane()]);
      await rm(templateLake.data.root, { recursive: true });
      console.log(`crash, seed ${first}: attempts ${attempts.join(' ')}`);
    },
  );

  test('moments, the worker alone: the server continues and completes everything', async () => {
    const next = seededRandom(seed + 1);
    const tasks: number[] = [];
    for (let i = 0; i < 6; i++) tasks.push(await queueImport());
    await withLakeClosed(async () => {
      const server = new KillableServer(root);
      const workerPid = await server.waitUntilReady();
      await new Promise((resolve) => setTimeout(resolve, next() * importDurationMs));
      if (workerPid !== undefined) killProcess(workerPid);
      await server.waitForExit();
      expect(server.isIdle).toBe(true);
    });
    for (const id of tasks)
      expect(await lake.readTaskRow(id)).toMatchObject({ status: 'completed' });
  });
});
