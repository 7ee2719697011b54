import { valueSymbol } from 'piscina';
import { DataFolder } from '../../engine/core/data-folder.js';
import { fromErrorValue } from '../../engine/core/errors.js';
import { openQueryEngine } from '../../engine/query/plan/query-engine.js';
import { openFetcher } from '../../scheduler/fetch/fetcher.js';
import type { WorkerSupervisor, startWorker } from '../../scheduler/worker/worker-supervisor.js';
import { jobs as declaredJobs, type Jobs } from '../../scheduler/jobs/index.js';
import type { MessageToWorker } from '../../scheduler/worker/messages.js';
import type { Outcome } from '../../engine/core/outcome.js';
import type { ThreadJob, ThreadPool } from '../../scheduler/jobs/thread-pool.js';
import * as thread from '../../scheduler/worker/job-thread.js';
import { createMessageHandler } from '../../scheduler/worker/worker.js';

/*
 * Runs the worker and its threads in the test's own process, so that an injected fault counts every file system step of a task, although in
 * the product some steps are in the worker process. Messages are copied, as between processes.
 */

type StartWorkerArguments = [...Parameters<typeof startWorker>, jobs?: Jobs];

/** Starts a worker in the test's own process. */
export function startWorkerInProcess(
  ...[config, , events, jobs = declaredJobs]: StartWorkerArguments
): WorkerSupervisor {
  const data = new DataFolder(config.dataFolder);
  const queryEngine = openQueryEngine({
    dataFolder: data.root,
    otherFolders: [data.scratch],
    memoryMb: 256,
    threads: 1,
    spillFolder: data.path('scratch', 'spill-in-process'),
    spillMb: 256,
  });
  const handle = createMessageHandler({
    data,
    pool: poolInProcess(config.threads),
    queryEngine,
    fetchFile: openFetcher(config.fetching),
    jobs,
    send: (message) => setImmediate(() => events.message(structuredClone(message))),
  });
  return {
    pid: null,
    send: (message: MessageToWorker) => setImmediate(() => void handle(structuredClone(message))),
    kill: () => false,
    close: () => queryEngine.close(),
  };
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
