import { valueSymbol } from 'piscina';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { fromErrorValue } from '../../engine/core/errors.js';
import { openQueryEngine, type QueryEngine } from '../../engine/query/plan/query-engine.js';
import { openFetcher } from '../../scheduler/fetch/fetcher.js';
import type { Host, startHost } from '../../scheduler/worker/host.js';
import { jobs as declaredJobs, type Jobs } from '../../scheduler/jobs/index.js';
import type { ToWorker } from '../../scheduler/worker/messages.js';
import type { Outcome } from '../../engine/core/outcome.js';
import type { Pool, ThreadJobs } from '../../scheduler/worker/pool.js';
import * as thread from '../../scheduler/worker/thread.js';
import { createWorker } from '../../scheduler/worker/worker.js';
import { DataFolder as Folder } from '../../engine/core/data-folder.js';

/*
 * The worker and its threads in the test's own process, so that a fault armed here counts every step on the file system
 * that a task takes, wherever it takes it otherwise. What is sent is copied as between processes.
 */

type HostArguments = [...Parameters<typeof startHost>, jobs?: Jobs];

/** Starts a worker in this process. */
export const hostInProcess = (...args: HostArguments): Host => {
  const data = new Folder(args[0].dataFolder);
  return hostWith(openEngine(data), args);
};

/** Starts a worker in this process for tasks that need no SQL engine, whose opening a fault could strike. */
export const hostWithoutEngine = (...args: HostArguments): Host =>
  hostWith(Promise.resolve(undefined), args);

function hostWith(
  engine: Promise<QueryEngine | undefined>,
  [config, , events, jobs = declaredJobs]: HostArguments,
): Host {
  const data = new Folder(config.dataFolder);
  const handle = createWorker({
    data,
    pool: poolInProcess(config.threads),
    withQueryEngine: async (work) => work((await engine)!),
    fetchFile: openFetcher(config.fetching),
    jobs,
    send: (message) => setImmediate(() => events.message(structuredClone(message))),
  });
  return {
    pid: null,
    send: (message: ToWorker) => setImmediate(() => void handle(structuredClone(message))),
    kill: () => false,
    close: async () => (await engine)?.close(),
  };
}

function openEngine(data: DataFolder): Promise<QueryEngine> {
  return openQueryEngine({
    dataFolder: data.root,
    otherFolders: [data.scratch],
    memoryMb: 256,
    threads: 1,
    spillFolder: data.path('scratch', 'spill-in-process'),
    spillMb: 256,
  });
}

function poolInProcess(threads: number): Pool {
  type Answer = Outcome<unknown> | { readonly [valueSymbol]: Outcome<unknown> };
  const jobs = thread as unknown as Record<string, (job: unknown) => Promise<Answer>>;
  return {
    threads,
    async run<K extends keyof ThreadJobs>(kind: K, job: (attempt: number) => ThreadJobs[K]['job']) {
      const answer = await jobs[kind]!(job(1));
      // A result that is handed over is wrapped in an object.
      const outcome = valueSymbol in answer ? answer[valueSymbol] : answer;
      if (!outcome.ok) throw fromErrorValue(outcome.error);
      return outcome.value as ThreadJobs[K]['result'];
    },
    close: async () => undefined,
  };
}
