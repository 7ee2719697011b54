import { DataFolder } from '../engine/data-folder.js';
import { AppError, toErrorValue } from '../engine/errors.js';
import { makeFolder } from '../engine/files.js';
import type { FromWorker, ToWorker, WorkerConfig } from './messages.js';
import { openPool } from './pool.js';
import { sharedQueryEngine } from './query-engine.js';
import { TaskFailure, type RunContext } from './task.js';
import { runTask } from './tasks/run.js';

/*
 * The worker process: runs the `run` halves of tasks. It lives exactly as long as its channel to the API process, and
 * whatever kills it costs a retry of its tasks and nothing else.
 */

const config = JSON.parse(process.argv[2] ?? '{}') as WorkerConfig;
const data = new DataFolder(config.dataFolder);
const pool = openPool({
  threads: config.threads,
  heapMb: Math.max(128, Math.floor(config.memoryMb / (config.threads + 1))),
});
const withQueryEngine = sharedQueryEngine(data, config);
const running = new Map<number, AbortController>();

// Ctrl-C reaches the whole process group; the API process decides when the worker ends, by closing the channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit(0));
process.on('message', (message) => void handle(message as ToWorker));
setInterval(() => send({ type: 'alive' }), config.aliveMs);

async function handle(message: ToWorker): Promise<void> {
  if (message.type === 'cancel') {
    running.get(message.taskId)?.abort();
    return;
  }
  const { taskId, attempt, kind, params } = message;
  const abort = new AbortController();
  running.set(taskId, abort);
  try {
    const scratch = data.taskScratch(taskId, attempt);
    await makeFolder(scratch);
    const context: RunContext = {
      taskId,
      attempt,
      data,
      scratch,
      pool,
      signal: abort.signal,
      withQueryEngine,
      progress: (progress) => send({ type: 'progress', taskId, attempt, progress }),
    };
    const result = await runTask(kind, params, context);
    send({ type: 'done', taskId, attempt, result });
  } catch (error) {
    if (!(error instanceof AppError)) console.error(error); // a bug: its stack does not cross the channel
    const metadata = error instanceof TaskFailure ? error.metadata : null;
    send({ type: 'failed', taskId, attempt, error: toErrorValue(error), metadata });
  } finally {
    running.delete(taskId);
  }
}

function send(message: FromWorker): void {
  // Without the channel this process is about to end.
  if (process.connected) process.send?.(message, () => undefined);
}
