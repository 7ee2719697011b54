import type { DataFolder } from '../../engine/core/data-folder.js';
import { AppError, toErrorValue } from '../../engine/core/errors.js';
import { listFolder, makeFolder, moveFile } from '../../engine/core/files.js';
import { openStore } from '../../engine/store/open-store.js';
import { DurableLogStates } from '../../engine/store/durable-log-states.js';
import { JobHostCalls } from '../expressions/job-calls.js';
import type { HostRequest } from '../expressions/host-call-protocol.js';
import type { FetchFile } from '../fetch/fetcher.js';
import type { MessageFromWorker, MessageToWorker } from './messages.js';
import type { ThreadPool } from '../jobs/thread-pool.js';
import { jobOfKind, jobs as declaredJobs, type Jobs } from '../jobs/index.js';
import { TaskFailure, type RunContext } from '../jobs/job.js';

interface WorkerDependencies {
  readonly data: DataFolder;
  readonly pool: ThreadPool;
  readonly queryEngine: RunContext['queryEngine'];
  readonly fetchFile: FetchFile;
  send(message: MessageFromWorker): void;
  /** The kinds of job; by default, those that `scheduler/jobs/index.ts` declares. */
  readonly jobs?: Jobs;
}

/** A job that runs in this process. */
interface RunningJob {
  readonly attempt: number;
  readonly abort: AbortController;
  readonly calls: JobHostCalls;
}

/**
 * Returns the handler of messages to the worker: it calls `run` of a task or aborts it, passes on answers to calls of expressions, and
 * notes commits.
 */
export function createMessageHandler(
  dependencies: WorkerDependencies,
): (message: MessageToWorker) => Promise<void> {
  const { data, pool, queryEngine, fetchFile, send, jobs = declaredJobs } = dependencies;
  const runningJobs = new Map<number, RunningJob>();
  const logs = new DurableLogStates(data);
  let startedJobCount = 0;
  return async (message) => {
    if (message.type === 'cancel') {
      runningJobs.get(message.taskId)?.abort.abort();
      return;
    }
    if (message.type === 'answer') {
      const runningJob = runningJobs.get(message.taskId);
      if (runningJob?.attempt === message.attempt) runningJob.calls.receiveAnswer(message);
      return;
    }
    if (message.type === 'committed') {
      // If the log cannot be read, the next job that needs it fails.
      await logs.advanceTo(message.datasetId, message.version).catch(() => undefined);
      return;
    }
    const { taskId, attempt, kind, params, accountId } = message;
    const abort = new AbortController();
    const calls = new JobHostCalls((call) => send({ type: 'call', taskId, attempt, ...call }));
    runningJobs.set(taskId, { attempt, abort, calls });
    try {
      const scratch = data.taskScratch(taskId, attempt);
      const earlierFolders = await listEarlierAttempts(data, taskId, attempt);
      await makeFolder(scratch);
      const result = await jobOfKind(jobs, kind).run(params, {
        taskId,
        attempt,
        data,
        scratch,
        earlier: earlierFolders,
        pool,
        snapshot: (datasetId) => openStore(data, { logs }).snapshot(datasetId),
        signal: abort.signal,
        queryEngine,
        fetchSource: ({ location: { url }, name, expected }, file, signal, report) =>
          fetchFile({ url, name, expected, accountId, report }, file, signal),
        hostCalls: {
          scope: String(++startedJobCount),
          answer: (request) => calls.ask(request as HostRequest),
        },
        progress: (progress) => send({ type: 'progress', taskId, attempt, progress }),
      });
      send({ type: 'done', taskId, attempt, result });
    } catch (error) {
      if (!(error instanceof AppError)) console.error(error); // a bug, logged here because its stack does not cross the channel
      const metadata = error instanceof TaskFailure ? error.metadata : null;
      send({ type: 'failed', taskId, attempt, error: toErrorValue(error), metadata });
    } finally {
      runningJobs.delete(taskId);
    }
  };
}

/**
 * Returns the scratch folders of a task's earlier attempts, latest first. An attempt that was not counted, for example because of an
 * orderly shutdown, may have the same number as this attempt; its folder is then renamed.
 */
async function listEarlierAttempts(
  data: DataFolder,
  taskId: number,
  attempt: number,
): Promise<readonly string[]> {
  const entries = await listFolder(data.scratch);
  const names = entries.map(({ name }) => name).filter((name) => name.startsWith(`${taskId}-`));
  const ownFolder = `${taskId}-${attempt}`;
  const earlierNames = names.filter((name) => name !== ownFolder);
  if (names.includes(ownFolder)) {
    let stop = 1;
    while (names.includes(`${ownFolder}-${stop}`)) stop += 1;
    await moveFile(data.path('scratch', ownFolder), data.path('scratch', `${ownFolder}-${stop}`));
    earlierNames.push(`${ownFolder}-${stop}`);
  }
  const numbersIn = (name: string): number[] => name.split('-').slice(1).map(Number);
  const order = (a: string, b: string): number => {
    const [[attemptA = 0, stopA = 0], [attemptB = 0, stopB = 0]] = [numbersIn(a), numbersIn(b)];
    return attemptB - attemptA || stopB - stopA;
  };
  return earlierNames.sort(order).map((name) => data.path('scratch', name));
}
