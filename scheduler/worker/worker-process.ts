import { availableParallelism } from 'node:os';
import { DataFolder } from '../../engine/core/data-folder.js';
import { stderrSink } from '../../engine/core/server-log.js';
import { logPlansTo } from '../../engine/query/plan/log-plans.js';
import { openQueryEngine } from '../../engine/query/plan/query-engine.js';
import { openFetcher } from '../fetch/fetcher.js';
import {
  spillFolder,
  type MessageFromWorker,
  type MessageToWorker,
  type WorkerConfig,
} from './messages.js';
import { openPool } from './pool.js';
import { createMessageHandler } from './worker.js';

/*
 * Entry point of the worker process. It exits when its channel to the API process closes. If it is killed, its tasks are retried and
 * nothing else is lost.
 */

const config = JSON.parse(process.argv[2] ?? '{}') as WorkerConfig;
const data = new DataFolder(config.dataFolder);
const pool = openPool({
  threads: config.threads,
  heapMb: Math.max(128, Math.floor(config.memoryMb / (config.threads + 1))),
});
// It runs in the main thread, because pool threads may be terminated at any moment.
const queryEngine = openQueryEngine({
  ...(config.logsPlans && { onPlan: logPlansTo(stderrSink) }),
  dataFolder: data.root,
  otherFolders: [data.scratch], // holds the segments that dry runs show
  memoryMb: Math.floor(config.memoryMb / 2),
  threads: Math.min(config.threads, availableParallelism()),
  spillFolder: spillFolder(data, process.pid),
  spillMb: 16_384,
  idleMs: 10_000,
});
const handleMessage = createMessageHandler({
  data,
  pool,
  queryEngine,
  fetchFile: openFetcher(config.fetching),
  send: sendMessage,
});

// Signals are ignored: Ctrl-C reaches the whole process group, but the API process decides when the worker ends, by closing the channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit(0));
process.on('message', (message) => void handleMessage(message as MessageToWorker));
setInterval(() => sendMessage({ type: 'heartbeat' }), config.heartbeatMs);
sendMessage({ type: 'heartbeat' });

function sendMessage(message: MessageFromWorker): void {
  // If the channel is closed, this process is about to exit.
  if (process.connected) process.send?.(message, () => undefined);
}
