import { afterEach, expect, test } from '@jest/globals';
import type { ThreadJob, ThreadPool } from '../../../scheduler/jobs/thread-pool.js';
import { openPool } from '../../../scheduler/worker/pool.js';
import { pollUntil } from '../../until.js';

const stubThreadModule = new URL('../processes/stub-thread.js', import.meta.url).href;
const gzip = 'gzip' as ThreadJob<Uint8Array, Uint8Array>;
let threadPool: ThreadPool | undefined;
afterEach(() => threadPool?.close());

function newPool(jobMs?: number): ThreadPool {
  threadPool = openPool({
    threads: 2,
    heapMb: 32,
    entry: stubThreadModule,
    ...(jobMs !== undefined && { jobMs }),
  });
  return threadPool;
}

function runGzipJob(job: string, signal = new AbortController().signal): Promise<string> {
  return (threadPool as ThreadPool)
    .run(gzip, () => Buffer.from(job), signal)
    .then((b) => Buffer.from(b).toString());
}

test('runs jobs and brings errors back as values', async () => {
  newPool();
  expect(await Promise.all(['a', 'b', 'c', 'd'].map((job) => runGzipJob(job)))).toEqual([
    'a',
    'b',
    'c',
    'd',
  ]);
  await expect(runGzipJob('fail')).rejects.toMatchObject({
    code: 'input',
    message: 'a.vcf, line 3: no tab',
  });
});

test('R1: runs a job once more when its thread dies, then fails it with a reason', async () => {
  newPool();
  let lastAttempt = 0;
  const secondRun = (threadPool as ThreadPool).run(
    gzip,
    (attempt) => Buffer.from(((lastAttempt = attempt), attempt === 1 ? 'exit' : 'fine')),
    new AbortController().signal,
  );
  expect(Buffer.from(await secondRun).toString()).toBe('fine');
  expect(lastAttempt).toBe(2);
  await expect(runGzipJob('exit')).rejects.toThrow(/ended its thread twice.*code: 3/);
  await expect(runGzipJob('heap')).rejects.toThrow(/more memory than a thread may use/);
  expect(await runGzipJob('still here')).toBe('still here');
});

test.each(['before they start', 'while they run'])(
  'drops canceled jobs %s, and others go on',
  async (when) => {
    newPool();
    const abortController = new AbortController();
    // The first byte of each job is in shared memory: a thread sets it when it begins to spin.
    const jobs = [1, 2, 3].map(() => new Uint8Array(new SharedArrayBuffer(1)));
    const spinningRuns = jobs.map((job) =>
      (threadPool as ThreadPool).run(gzip, () => job, abortController.signal),
    );
    const waitingRun = runGzipJob('next');
    if (when === 'while they run') await pollUntil(() => jobs[0]?.[0] === 1 && jobs[1]?.[0] === 1);
    abortController.abort();
    for (const job of await Promise.allSettled(spinningRuns)) {
      expect(job).toMatchObject({ status: 'rejected', reason: { code: 'canceled' } });
    }
    expect(await waitingRun).toBe('next');
  },
);

test('R1: ends a job that takes too long', async () => {
  // A job may take 1 ms. The test of canceled jobs above checks that a thread which is ended is replaced.
  newPool(1);
  await expect(runGzipJob('spin')).rejects.toThrow('took more than 0.001 s');
});

test('R1: keeps its size after a hundred deaths', async () => {
  newPool();
  for (let i = 0; i < 50; i++) await expect(runGzipJob('exit')).rejects.toThrow('twice');
  expect(await Promise.all([runGzipJob('a'), runGzipJob('b')])).toEqual(['a', 'b']);
});

test('runs urgent jobs before those that wait, each in order', async () => {
  threadPool = openPool({ threads: 1, heapMb: 32, entry: stubThreadModule });
  const { signal } = new AbortController();
  const finishedNames: string[] = [];
  const add = (name: string, isUrgent: boolean): Promise<unknown> =>
    (threadPool as ThreadPool)
      .run(gzip, () => Buffer.from(name), signal, { isUrgent })
      .then(() => finishedNames.push(name));
  await Promise.all([
    add('first', false),
    add('a', false),
    add('b', false),
    add('urgent 1', true),
    add('urgent 2', true),
  ]);
  expect(finishedNames.indexOf('urgent 1')).toBeLessThan(finishedNames.indexOf('b'));
  expect(finishedNames.indexOf('urgent 1')).toBeLessThan(finishedNames.indexOf('urgent 2'));
  expect(finishedNames.indexOf('a')).toBeLessThan(finishedNames.indexOf('b'));
});
