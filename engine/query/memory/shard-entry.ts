import { workerData } from 'node:worker_threads';
import { outcomeOf } from '../../core/outcome.js';
import { transferResult } from '../../core/threads.js';
import type { MessageFromShard, MessageToShard } from './shard-protocol.js';
import type { PageRecords } from '../results/page-format.js';
import { serveShard } from './serve-shard.js';
import type { ShardThreadData } from './shard-thread.js';

/* The entry point of a worker thread of the API process, which runs one shard. */

const { cacheBytes, counts, idle } = workerData as ShardThreadData;
const shard = serveShard(cacheBytes, counts, idle);

/** Answers one message. The bytes of records are transferred, not copied, unless they are few. */
export async function answer(message: MessageToShard): Promise<unknown> {
  const outcome = await outcomeOf(() => shard.answer(message));
  const records = outcome.ok ? pageRecordsInReply(outcome.value) : undefined;
  if (records === undefined || !('bytes' in records)) return outcome;
  return transferResult(outcome, [records.bytes, records.ends]);
}

function pageRecordsInReply(reply: MessageFromShard): PageRecords | undefined {
  if (reply === 'done') return undefined;
  if ('records' in reply) return reply.records;
  return 'selected' in reply ? reply.selected.records : undefined;
}
