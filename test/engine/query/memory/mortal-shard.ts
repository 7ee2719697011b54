import { workerData } from 'node:worker_threads';
import { outcomeOf, type Outcome } from '../../../../engine/core/outcome.js';
import type { FromShard, ToShard } from '../../../../engine/query/memory/protocol.js';
import { serveShard } from '../../../../engine/query/memory/serve.js';

/* The entry of a worker thread with one shard, which exits on the message `cancel 0`. */

const shard = serveShard((workerData as { readonly cacheBytes: number }).cacheBytes);

export function answer(message: ToShard): Promise<Outcome<FromShard>> {
  if (message.kind === 'cancel' && message.id === 0) process.exit(3);
  return outcomeOf(() => shard.answer(message));
}
