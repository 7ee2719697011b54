import { workerData, type MessagePort } from 'node:worker_threads';
import { outcomeOf, type Outcome } from '../../../../engine/core/outcome.js';
import { serveMessages } from '../../../../engine/core/thread-messages.js';
import type {
  MessageFromShard,
  MessageToShard,
} from '../../../../engine/query/memory/shard-protocol.js';
import { serveShard } from '../../../../engine/query/memory/serve-shard.js';

/* The entry point of a worker thread with one shard, which exits when it receives the message `cancel 0`. */

const shardServer = serveShard((workerData as { readonly cacheBytes: number }).cacheBytes);

export function serve(port: MessagePort): Outcome<null> {
  return serveMessages(port, (message: MessageToShard): Promise<Outcome<MessageFromShard>> => {
    if (message.kind === 'cancel' && message.id === 0) process.exit(3);
    return outcomeOf(() => shardServer.answer(message));
  });
}
