import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Lake, vcfOf } from './lake.js';
import { random } from '../random.js';

/*
 * Kills at every named crash point and at random moments. Afterwards the server is started again on what is left, until it
 * has nothing more to do: then every task has ended, and `Lake.damage` looks for anything lost, doubled or left over.
 */

/** More random kills by STRANDLAKE_CRASH_RUNS; others by STRANDLAKE_SEED. */
const runs = Number(process.env['STRANDLAKE_CRASH_RUNS'] ?? 8);
const seed = Number(process.env['STRANDLAKE_SEED'] ?? 1);
const script = fileURLToPath(new URL('./processes/server.js', import.meta.url));
const rowsBefore = 100;
const rows = 60_000;

let lake: Lake;
let root: string;

beforeEach(async () => {
  lake = await Lake.make();
  root = lake.data.root;
});
afterEach(() => lake.remove());

/** A server on the data folder, which only one process may open: the test's own catalogue is closed meanwhile. */
class Server {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;
  #out = '';
  #told: (() => void) | undefined;

  constructor(crashPoint?: string, place: 'server' | 'worker' = 'server') {
    const env = { ...process.env, ...(crashPoint && { STRANDLAKE_CRASH_POINT: crashPoint }) };
    this.#child = spawn(process.execPath, [script, root, place], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#child.stdout?.on('data', (bytes: Buffer) => {
      this.#out += bytes.toString();
      this.#told?.();
    });
    this.#exit = once(this.#child, 'close');
  }

  get isIdle(): boolean {
    return this.#out.includes('idle');
  }

  /** Resolves with the worker's pid, or undefined when the server died before it had one. */
  async ready(): Promise<number | undefined> {
    const ready = new Promise<void>((resolve) => {
      this.#told = () => this.#out.includes('ready') && resolve();
      this.#told();
    });
    await Promise.race([ready, this.#exit]);
    const pid = /ready (\d+)/.exec(this.#out)?.[1];
    return pid === undefined ? undefined : Number(pid);
  }

  /** Server and worker at once. */
  async kill(workerPid: number | undefined): Promise<void> {
    this.#child.kill('SIGKILL');
    if (workerPid !== undefined) killed(workerPid);
    await this.#exit;
  }

  async exit(): Promise<void> {
    await this.#exit;
  }
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

/** Starts the server again and again until it comes to an end by itself. */
async function recovered(): Promise<void> {
  for (let start = 0; start < 5; start++) {
    const server = new Server();
    await server.exit();
    if (server.isIdle) return;
  }
  throw new Error('the server does not come to rest');
}

/** A dataset with a first commit, and an import of `rows` records waiting. */
async function waitingImport(): Promise<{ datasetId: number; taskId: number; importId: number }> {
  const datasetId = await lake.dataset();
  await lake.import(datasetId, await lake.file('before.vcf', vcfOf(rowsBefore)), { priority: 1 });
  await away(recovered);
  const task = await lake.import(datasetId, await lake.file('a.vcf', vcfOf(rows)));
  return { datasetId, taskId: task.id, importId: task.resourceId };
}

/** Does something while the test has let go of the data folder. */
async function away(work: () => Promise<void>): Promise<void> {
  await lake.close();
  try {
    await work();
  } finally {
    lake = await Lake.open(root);
  }
}

describe('killed at', () => {
  const inServer = [
    'segment.renamed',
    'log.temp-written',
    'log.linked',
    'catalog.before-commit',
    'catalog.after-commit',
    'task.before-done',
  ];

  test.each(inServer)('%s, the server recovers and the import completes', async (point) => {
    const { datasetId, taskId } = await waitingImport();
    await away(async () => {
      const crashing = new Server(point);
      await crashing.exit();
      expect([point, crashing.isIdle]).toEqual([point, false]);
      await recovered();
    });
    expect(await lake.task(taskId)).toMatchObject({ status: 'completed' });
    expect((await lake.store.snapshot(datasetId)).rows).toBe(rowsBefore + rows);
    expect(await lake.damage()).toEqual([]);
  });

  test.each(['segment.partial', 'segment.flushed'])(
    '%s, the worker is replaced and the import completes',
    async (point) => {
      const { datasetId, taskId } = await waitingImport();
      await away(async () => {
        const server = new Server(point, 'worker');
        await server.exit();
        expect(server.isIdle).toBe(true);
      });
      expect(await lake.task(taskId)).toMatchObject({ status: 'completed', attempts: 2 });
      expect((await lake.store.snapshot(datasetId)).rows).toBe(rowsBefore + rows);
      expect(await lake.damage()).toEqual([]);
    },
  );

  test.each([
    ['export.partial', 'worker'],
    ['export.renamed', 'server'],
  ] as const)('%s, the export is written again', async (point, place) => {
    const { datasetId } = await waitingImport();
    await away(recovered);
    const task = await lake.export(datasetId, 'json', { targetFullPath: '~/out' });
    await away(async () => {
      await new Server(point, place).exit();
      await recovered();
    });
    expect(await lake.task(task.id)).toMatchObject({ status: 'completed', attempts: 2 });
    const row = await lake.catalog.exports.get(task.resourceId);
    expect(row).toMatchObject({ documentsCount: rowsBefore + rows });
    expect(await readdir(lake.data.exports)).toEqual([`${row?.id}.json.gz`]);
    expect(
      (await readdir(lake.data.objects)).filter((name) =>
        name.startsWith(String(row?.targetObjectId)),
      ),
    ).toHaveLength(1);
    expect(await lake.damage()).toEqual([]);
  });
});

describe('killed at random', () => {
  test('moments, server and worker together: nothing is lost, doubled or left', async () => {
    const { datasetId } = await waitingImport();
    const next = random(seed);
    const objectId = await lake.file('b.vcf', vcfOf(rows));
    const startedAt = performance.now();
    await away(recovered);
    const wholeMs = performance.now() - startedAt;
    const ends: string[] = [];
    for (let run = 0; run < runs; run++) {
      const first = await lake.import(datasetId, objectId);
      const second = await lake.import(datasetId, objectId);
      const afterMs = next() * wholeMs;
      await away(async () => {
        const server = new Server();
        // From the very start of the process, so that its recovery is hit as well.
        const pid = server.ready();
        await new Promise((resolve) => setTimeout(resolve, afterMs));
        await server.kill(await Promise.race([pid, Promise.resolve(undefined)]));
        await recovered();
      });
      const where = `seed ${seed}, run ${run}, after ${afterMs.toFixed(1)} ms`;
      expect([where, await lake.damage()]).toEqual([where, []]);
      for (const task of [first, second]) {
        const { status, attempts } = (await lake.task(task.id)) ?? {};
        expect([where, status]).toEqual([where, 'completed']);
        ends.push(`${attempts}`);
      }
    }
    console.log(`crash, seed ${seed}: attempts ${ends.join(' ')}`);
    expect((await lake.store.snapshot(datasetId)).rows).toBe(rowsBefore + rows * (1 + 2 * runs));
  });

  test('moments, the worker alone: the server goes on and completes everything', async () => {
    const { datasetId } = await waitingImport();
    const next = random(seed + 1);
    const objectId = await lake.file('b.vcf', vcfOf(rows));
    const tasks: number[] = [];
    for (let run = 0; run < runs; run++) tasks.push((await lake.import(datasetId, objectId)).id);
    await away(async () => {
      const server = new Server();
      const pid = await server.ready();
      await new Promise((resolve) => setTimeout(resolve, next() * 1_000));
      if (pid !== undefined) killed(pid);
      await server.exit();
      expect(server.isIdle).toBe(true);
    });
    for (const id of tasks) expect(await lake.task(id)).toMatchObject({ status: 'completed' });
    expect((await lake.store.snapshot(datasetId)).rows).toBe(rowsBefore + rows * (1 + runs));
    expect(await lake.damage()).toEqual([]);
  });
});
