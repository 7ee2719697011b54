import { parentPort, workerData } from 'node:worker_threads';
import { serveShard } from './serve.js';

/* A thread of the API process with one shard in it: answers messages until it is terminated. */

const { cacheBytes } = workerData as { readonly cacheBytes: number };
const port = parentPort!;
const { take } = serveShard(cacheBytes, (message) => port.postMessage(message));
port.on('message', take);
