import { workerData, type MessagePort } from 'node:worker_threads';
import { outcomeOf, type Outcome } from '../../core/outcome.js';
import { serveMessages } from '../../core/thread-messages.js';
import type { MessageFromShard, MessageToShard } from './shard-protocol.js';
import type { PageRecords } from '../results/page-format.js';
import { serveShard } from './serve-shard.js';
import type { ShardThreadData } from './shard-thread.js';

/* The entry point of a worker thread of the API process, which runs one shard. */

const { cacheBytes, counts, idle } = workerData as ShardThreadData;
const shard = serveShard(cacheBytes, counts, idle);

/** Answers the messages that arrive at `port`. The bytes of records are transferred, not copied, unless they are few. */
export function serve(port: MessagePort): Outcome<null> {
  return serveMessages(
    port,
    (message: MessageToShard) => outcomeOf(() => shard.answer(message)),
    recordBytesInReply,
  );
}

function recordBytesInReply(reply: MessageFromShard): readonly ArrayBufferView[] {
  const records = pageRecordsInReply(reply);
  return records !== undefined && 'bytes' in records ? [records.bytes, records.ends] : [];
}

function pageRecordsInReply(reply: MessageFromShard): PageRecords | undefined {
  if (reply === 'done') return undefined;
  if ('records' in reply) return reply.records;
  return 'selected' in reply ? (reply.selected.page ?? reply.selected.records) : undefined;
}
