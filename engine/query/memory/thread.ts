import { workerData } from 'node:worker_threads';
import { outcomeOf } from '../../core/outcome.js';
import { handedOver } from '../../core/threads.js';
import type { FromShard, ToShard } from './protocol.js';
import type { PageRecords } from '../results/page-format.js';
import { serveShard } from './serve.js';
import type { ShardData } from './shard-thread.js';

/* A worker thread of the API process with one shard. */

const { cacheBytes, counts, idle } = workerData as ShardData;
const shard = serveShard(cacheBytes, counts, idle);

/** Answers one message. The bytes of records are handed over, not copied. */
export async function answer(message: ToShard): Promise<unknown> {
  const outcome = await outcomeOf(() => shard.answer(message));
  const records = outcome.ok ? recordsIn(outcome.value) : undefined;
  if (records === undefined || !('bytes' in records)) return outcome;
  return handedOver(outcome, [records.bytes, records.ends]);
}

function recordsIn(reply: FromShard): PageRecords | undefined {
  if (reply === 'done') return undefined;
  if ('records' in reply) return reply.records;
  return 'selected' in reply ? reply.selected.records : undefined;
}
