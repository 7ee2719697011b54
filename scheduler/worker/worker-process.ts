import { DataFolder } from '../../engine/core/data-folder.js';
import { openFetcher } from '../fetch/fetcher.js';
import type { MessageFromWorker, MessageToWorker, WorkerConfig } from './messages.js';
import { openPool } from './pool.js';
import { sharedQueryEngine } from './shared-query-engine.js';
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
const withQueryEngine = sharedQueryEngine(data, config);
const handleMessage = createMessageHandler({
  data,
  pool,
  withQueryEngine,
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
