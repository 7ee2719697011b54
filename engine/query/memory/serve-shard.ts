import { canceledError } from '../../core/errors.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { CacheStats } from './admission-cache.js';
import { CooperativeScheduler, type IdleTaskState } from './cooperative-tasks.js';
import type { MessageFromShard, MessageToShard } from './shard-protocol.js';
import { Shard } from './shard.js';

/** Opens a shard that answers messages. Requests that read data run in turns (`CooperativeScheduler`). */
export function serveShard(
  cacheBytes: number,
  counts?: CacheStats,
  idle?: IdleTaskState,
): {
  answer(message: MessageToShard): Promise<MessageFromShard>;
  close(): void;
} {
  const shard = new Shard(cacheBytes, counts);
  const tasks = new CooperativeScheduler(idle);
  const runCooperatively = async <T>(
    { id, isIdle = false }: Extract<MessageToShard, { readonly isIdle?: unknown }>,
    work: Generator<void, T | Unsupported>,
    reply: (result: T) => MessageFromShard,
  ): Promise<MessageFromShard> => {
    try {
      const result = await new Promise<T | Unsupported>((done, failed) =>
        tasks.add(id, { work, done, failed, isIdle }),
      );
      return isUnsupported(result) ? result : reply(result);
    } catch (error) {
      // Whether there is memory for a typed array is known only from this error.
      if (error instanceof RangeError && /allocation failed/i.test(error.message))
        return { unsupported: 'a column for which there is no memory' };
      throw error;
    }
  };
  return {
    async answer(message) {
      switch (message.kind) {
        case 'snapshot':
          shard.addSnapshot(message.snapshot);
          return 'done';
        case 'forget':
          shard.removeSnapshot(message.snapshot);
          return 'done';
        case 'projection':
          shard.addProjection(message.key, message.projection);
          return 'done';
        case 'forget-projection':
          shard.removeProjection(message.key);
          return 'done';
        case 'cancel':
          tasks.cancel(message.id, canceledError());
          return 'done';
        case 'select':
          return runCooperatively(message, shard.select(message.query), (selected) => ({
            selected,
          }));
        case 'count':
          return runCooperatively(message, shard.count(message.query), (counts) => ({ counts }));
        case 'frequencies':
          return runCooperatively(message, shard.frequencies(message.query), (frequencies) => ({ frequencies })); // prettier-ignore
        case 'search':
          return runCooperatively(message, shard.search(message.query), (found) => ({ found }));
        case 'open':
          return runCooperatively(message, shard.openSegmentFiles(message.query), (bytes) => ({
            bytes,
          }));
        case 'load':
          return runCooperatively(message, shard.loadColumns(message.query), (loaded) => ({
            loaded,
          }));
        case 'records':
          return runCooperatively(message, shard.records(message.query), (records) => ({
            records,
          }));
      }
    },
    close: () => shard.close(),
  };
}
