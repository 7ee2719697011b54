import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Lake, vcfOf } from '../lake.js';
import { killProcess, KillableServer, recoverServer } from '../processes/killable.js';
import { random } from '../../random.js';
import { seed } from '../../seed.js';

/*
 * Kills the server at every named crash point and at random moments. Afterwards the server is started again until it is idle. Then every
 * task has ended, and `Lake.damage` finds nothing that is lost, duplicated or left over.
 */

/** Number of kills at random moments; STRANDLAKE_KILLS overrides it. */
const runs = Number(process.env['STRANDLAKE_KILLS'] ?? 6);
const mostInTest = 25;
const rows = 60_000;

let lake: Lake;
let root: string;
let datasetId: number;
let objectId: number;
/** Number of imports that must be in the dataset. */
let imports = 0;
/** Time from the start of a server until it has imported the file once, milliseconds. */
let wholeMs: number;

beforeAll(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  datasetId = await lake.dataset();
  objectId = await lake.file('a.vcf', vcfOf(rows));
  await queued();
  const startedAt = performance.now();
  await whileClosed(() => recoverServer(root));
  wholeMs = performance.now() - startedAt;
});
/** Every imported record is stored exactly once, and no other. */
afterEach(async () => {
  expect((await lake.store.snapshot(datasetId)).rows).toBe(rows * imports);
  expect(await lake.damage()).toEqual([]);
});
afterAll(() => lake.remove());

/** Queues another import; returns the id of its task. */
async function queued(): Promise<number> {
  imports += 1;
  return (await lake.import(datasetId, objectId)).id;
}

/** Closes the data folder while `work` runs, so that another process can open it. */
async function whileClosed(work: () => Promise<void>): Promise<void> {
  await lake.close();
  try {
    await work();
  } finally {
    lake = await Lake.open(root);
  }
}

describe('C1: killed at', () => {
  const inServer = [
    'segment.renamed',
    'log.temp-written',
    'log.linked',
    'catalog.before-commit',
    'catalog.after-commit',
    'task.before-done',
  ];

  test.each(inServer)('%s, the server recovers and the import completes', async (point) => {
    const taskId = await queued();
    await whileClosed(async () => {
      const crashing = new KillableServer(root, point);
      await crashing.exit();
      expect([point, crashing.isIdle]).toEqual([point, false]);
      await recoverServer(root);
    });
    expect(await lake.task(taskId)).toMatchObject({ status: 'completed' });
  });

  test.each(['segment.partial', 'segment.flushed'])(
    '%s, the worker is replaced and the import completes',
    async (point) => {
      const taskId = await queued();
      await whileClosed(async () => {
        const server = new KillableServer(root, point, 'worker');
        await server.exit();
        expect(server.isIdle).toBe(true);
      });
      expect(await lake.task(taskId)).toMatchObject({ status: 'completed', attempts: 2 });
    },
  );

  test('rejected.renamed, the import fails with its rejected records, once', async () => {
    const badFile = await lake.file('bad.vcf', vcfOf(9, 'chr1\tnowhere\t.\tA\tG\t.\t.\t.'));
    const task = await lake.import(datasetId, badFile);
    await whileClosed(async () => {
      const crashing = new KillableServer(root, 'rejected.renamed');
      await crashing.exit();
      expect(crashing.isIdle).toBe(false);
      await recoverServer(root);
    });
    expect(await lake.task(task.id)).toMatchObject({ status: 'failed', attempts: 2 });
    const rejectedText = gunzipSync(await readFile(lake.data.rejectedLines(task.resourceId)));
    expect(rejectedText.toString()).toMatch(
      /^\{"file":"bad.vcf","line":12,"code":301.*nowhere.*\}\n$/,
    );
  });

  test.each([
    ['export.partial', 'worker'],
    ['export.renamed', 'server'],
  ] as const)('C2: %s, the export is written again', async (point, victim) => {
    const task = await lake.export(datasetId, 'csv', {
      targetFullPath: '~/out',
      params: { fields: ['allele'] },
    });
    await whileClosed(async () => {
      await new KillableServer(root, point, victim).exit();
      await recoverServer(root);
    });
    expect(await lake.task(task.id)).toMatchObject({ status: 'completed', attempts: 2 });
    const row = await lake.catalog.exports.get(task.resourceId);
    expect(row).toMatchObject({ documentsCount: rows * imports });
    const target = await lake.catalog.objects.get(row?.targetObjectId as number);
    const stored = await stat(lake.data.object(target?.id as number, 1));
    expect([target?.size, stored.size]).toEqual([row?.bytes, row?.bytes]);
    const files = [`${row?.id}.csv`, `${target?.id}-1`];
    const filesPresent = [
      ...(await readdir(lake.data.exports)),
      ...(await readdir(lake.data.objects)),
    ];
    expect(filesPresent).toEqual(expect.arrayContaining(files));
    const objects = await lake.catalog.objects.list({ viewer: null }, { limit: 100, offset: 0 });
    const blobs = objects.rows.filter(({ objectType }) => objectType === 'file');
    expect(await readdir(lake.data.objects)).toHaveLength(blobs.length);
  });
});

describe('C1: killed at random', () => {
  const parts = Array.from({ length: Math.ceil(runs / mostInTest) }, (_, i) => i * mostInTest);
  test.each(parts.map((from) => [Math.min(mostInTest, runs - from), seed + from]))(
    '%d moments, the server with or without its worker: nothing is lost, duplicated or left over (STRANDLAKE_SEED=%d)',
    async (count, first) => {
      const empty = await Lake.make();
      const target = await empty.dataset();
      const file = await empty.file('a.vcf', vcfOf(rows));
      await empty.close();
      const attempts: number[] = [];
      let started = 0;
      /** About the time that a server needs now, which other work on the machine changes. */
      let usualMs = wholeMs;
      // Each run has a data folder of its own, so that two run at a time.
      const lane = async (): Promise<void> => {
        while (started < count) {
          const ownSeed = first + started++;
          const next = random(ownSeed);
          const folder = await mkdtemp(join(tmpdir(), 'strandlake-crash-'));
          await cp(empty.data.root, folder, { recursive: true });
          const before = await Lake.open(folder);
          const tasks = [await before.import(target, file), await before.import(target, file)];
          await before.close();
          const afterMs = next() * usualMs * 1.2;
          const server = new KillableServer(folder);
          // The time counts from the start of the process, so that kills also hit its recovery.
          const pid = server.ready();
          await new Promise((resolve) => setTimeout(resolve, afterMs));
          const worker = await Promise.race([pid, Promise.resolve(undefined)]);
          const wasIdle = server.isIdle;
          await server.kill(next() < 0.5 ? worker : undefined);
          const killedAt = performance.now();
          await recoverServer(folder);
          usualMs = wasIdle ? afterMs : performance.now() - killedAt;
          const after = await Lake.open(folder);
          const caseText = `seed ${ownSeed}, after ${afterMs.toFixed(1)} ms`;
          expect([caseText, await after.damage()]).toEqual([caseText, []]);
          expect([caseText, (await after.store.snapshot(target)).rows]).toEqual([
            caseText,
            2 * rows,
          ]);
          for (const { id } of tasks) {
            const task = await after.task(id);
            expect([caseText, task?.status]).toEqual([caseText, 'completed']);
            attempts.push(task?.attempts ?? 0);
          }
          await after.remove();
        }
      };
      await Promise.all([lane(), lane()]);
      await rm(empty.data.root, { recursive: true });
      console.log(`crash, seed ${first}: attempts ${attempts.join(' ')}`);
    },
  );

  test('moments, the worker alone: the server continues and completes everything', async () => {
    const next = random(seed + 1);
    const tasks: number[] = [];
    for (let i = 0; i < 6; i++) tasks.push(await queued());
    await whileClosed(async () => {
      const server = new KillableServer(root);
      const pid = await server.ready();
      await new Promise((resolve) => setTimeout(resolve, next() * wholeMs));
      if (pid !== undefined) killProcess(pid);
      await server.exit();
      expect(server.isIdle).toBe(true);
    });
    for (const id of tasks) expect(await lake.task(id)).toMatchObject({ status: 'completed' });
  });
});
