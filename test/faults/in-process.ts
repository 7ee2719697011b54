import { valueSymbol } from 'piscina';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { fromErrorValue } from '../../engine/core/errors.js';
import { openQueryEngine, type QueryEngine } from '../../engine/query/plan/query-engine.js';
import { openFetcher } from '../../scheduler/fetch/fetcher.js';
import type { WorkerSupervisor, startWorker } from '../../scheduler/worker/worker-supervisor.js';
import { jobs as declaredJobs, type Jobs } from '../../scheduler/jobs/index.js';
import type { MessageToWorker } from '../../scheduler/worker/messages.js';
import type { Outcome } from '../../engine/core/outcome.js';
import type { ThreadJob, ThreadPool } from '../../scheduler/jobs/thread-pool.js';
import * as thread from '../../scheduler/worker/job-thread.js';
import { createMessageHandler } from '../../scheduler/worker/worker.js';
import { DataFolder as Folder } from '../../engine/core/data-folder.js';

/*
 * Runs the worker and its threads in the test's own process, so that an injected fault counts every file system step of a task, although in
 * the product some steps are in the worker process. Messages are copied, as between processes.
 */

type StartWorkerArguments = [...Parameters<typeof startWorker>, jobs?: Jobs];

/** Starts a worker in the test's own process. */
export const startWorkerInProcess = (...args: StartWorkerArguments): WorkerSupervisor => {
  const data = new Folder(args[0].dataFolder);
  return startWorkerWith(openEngine(data), args);
};

/**
 * Starts a worker in the test's own process for tasks that need no SQL engine, so that a fault cannot strike while the engine is opened.
 */
export const startWorkerWithoutEngine = (...args: StartWorkerArguments): WorkerSupervisor =>
  startWorkerWith(Promise.resolve(undefined), args);

function startWorkerWith(
  engine: Promise<QueryEngine | undefined>,
  [config, , events, jobs = declaredJobs]: StartWorkerArguments,
): WorkerSupervisor {
  const data = new Folder(config.dataFolder);
  const handle = createMessageHandler({
    data,
    pool: poolInProcess(config.threads),
    withQueryEngine: async (_, work) => work((await engine) ?? {}),
    fetchFile: openFetcher(config.fetching),
    jobs,
    send: (message) => setImmediate(() => events.message(structuredClone(message))),
  });
  return {
    pid: null,
    send: (message: MessageToWorker) => setImmediate(() => void handle(structuredClone(message))),
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

function poolInProcess(threads: number): ThreadPool {
  type Answer = Outcome<unknown> | { readonly [valueSymbol]: Outcome<unknown> };
  const jobs = thread as unknown as Record<string, (job: unknown) => Promise<Answer>>;
  return {
    threads,
    async run<J extends object, R>(kind: ThreadJob<J, R>, job: (attempt: number) => J) {
      const answer = await jobs[kind]!(job(1));
      // A result whose memory is transferred to the main thread is wrapped in an object.
      const outcome = valueSymbol in answer ? answer[valueSymbol] : answer;
      if (!outcome.ok) throw fromErrorValue(outcome.error);
      return outcome.value as R;
    },
    close: async () => undefined,
  };
}
