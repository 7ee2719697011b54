import { DataFolder } from '../../engine/core/data-folder.js';
import { openFetcher } from '../fetch/fetcher.js';
import type { FromWorker, ToWorker, WorkerConfig } from './messages.js';
import { openPool } from './pool.js';
import { sharedQueryEngine } from './shared-query-engine.js';
import { createWorker } from './worker.js';

/*
 * Entry of the worker process. It exits when its channel to the API process closes. If it is killed, its tasks are retried and
 * nothing else is lost.
 */

const config = JSON.parse(process.argv[2] ?? '{}') as WorkerConfig;
const data = new DataFolder(config.dataFolder);
const pool = openPool({
  threads: config.threads,
  heapMb: Math.max(128, Math.floor(config.memoryMb / (config.threads + 1))),
});
const withQueryEngine = sharedQueryEngine(data, config);
const handle = createWorker({
  data,
  pool,
  withQueryEngine,
  fetchFile: openFetcher(config.fetching),
  send: sendMessage,
});

// Ctrl-C reaches the whole process group; the API process decides when the worker ends, by closing the channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit(0));
process.on('message', (message) => void handle(message as ToWorker));
setInterval(() => sendMessage({ type: 'heartbeat' }), config.heartbeatMs);
sendMessage({ type: 'heartbeat' });

function sendMessage(message: FromWorker): void {
  // If the channel is closed, this process is about to exit.
  if (process.connected) process.send?.(message, () => undefined);
}
