import { canceled } from '../../core/errors.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { CacheCounts } from './admission-cache.js';
import { CooperativeScheduler, type IdleThreads } from './cooperative-tasks.js';
import type { FromShard, ToShard } from './protocol.js';
import { Shard } from './shard.js';

/** Opens a shard that answers messages; those that ask for rows or records take turns. */
export function serveShard(
  cacheBytes: number,
  counts?: CacheCounts,
  idle?: IdleThreads,
): {
  answer(message: ToShard): Promise<FromShard>;
  close(): void;
} {
  const shard = new Shard(cacheBytes, counts);
  const tasks = new CooperativeScheduler(idle);
  const inTurns = async <T>(
    { id, isIdle = false }: Extract<ToShard, { readonly isIdle?: unknown }>,
    work: Generator<void, T | Unsupported>,
    reply: (result: T) => FromShard,
  ): Promise<FromShard> => {
    try {
      const result = await new Promise<T | Unsupported>((done, failed) =>
        tasks.add(id, { work, done, failed, isIdle }),
      );
      return isUnsupported(result) ? result : reply(result);
    } catch (error) {
      if (error instanceof RangeError && /allocation failed/i.test(error.message))
        return { unsupported: 'a column for which there is no memory' };
      throw error;
    }
  };
  return {
    async answer(message) {
      switch (message.kind) {
        case 'snapshot':
          shard.learn(message.snapshot);
          return 'done';
        case 'forget':
          shard.forget(message.snapshot);
          return 'done';
        case 'projection':
          shard.learnProjection(message.key, message.projection);
          return 'done';
        case 'forget-projection':
          shard.forgetProjection(message.key);
          return 'done';
        case 'cancel':
          tasks.cancel(message.id, canceled());
          return 'done';
        case 'select':
          return inTurns(message, shard.select(message.query), (selected) => ({ selected }));
        case 'count':
          return inTurns(message, shard.count(message.query), (counts) => ({ counts }));
        case 'frequencies':
          return inTurns(message, shard.frequencies(message.query), (frequencies) => ({ frequencies })); // prettier-ignore
        case 'search':
          return inTurns(message, shard.search(message.query), (found) => ({ found }));
        case 'open':
          return inTurns(message, shard.open(message.query), (bytes) => ({ bytes }));
        case 'load':
          return inTurns(message, shard.load(message.query), (loaded) => ({ loaded }));
        case 'records':
          return inTurns(message, shard.records(message.query), (records) => ({ records }));
      }
    },
    close: () => shard.close(),
  };
}
