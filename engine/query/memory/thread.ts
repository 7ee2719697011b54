import { workerData } from 'node:worker_threads';
import { outcomeOf, type Outcome } from '../../core/outcome.js';
import type { FromShard, ToShard } from './protocol.js';
import { serveShard } from './serve.js';

/* A worker thread of the API process with one shard. */

const shard = serveShard((workerData as { readonly cacheBytes: number }).cacheBytes);

/** Answers one message. */
export function answer(message: ToShard): Promise<Outcome<FromShard>> {
  return outcomeOf(() => shard.answer(message));
}
