import { fromErrorValue, toErrorValue } from '../../core/errors.js';
import { newCacheCounts, type CacheCounts } from './admission-cache.js';
import type { IdleThreads } from './cooperative-tasks.js';
import { serveShard } from './serve.js';
import type { FromShard, ToShard } from './protocol.js';

/** A shard as the rest of the executor sees it. */
export interface ShardThread {
  /** Rejects with an `AppError` if the shard failed, and with any other error if its thread exited. */
  run(message: ToShard): Promise<FromShard>;
  /** The counts of the shard's cache, over all threads that the shard has had. */
  readonly counts: CacheCounts;
  close(): Promise<void>;
}

/** The data with which a shard's thread starts. */
export interface ShardData {
  readonly cacheBytes: number;
  readonly counts: CacheCounts;
  readonly idle: IdleThreads | undefined;
}

/** The events of a shard's thread. */
export interface ShardEvents {
  /** The thread has exited, and another one, which knows no snapshot, takes its place. */
  readonly exited: () => void;
  /** Writes a message to the log, such as the reason why the thread has exited. */
  readonly report: (message: string) => void;
}

/** Maximum number of messages that a shard works on at the same time: more than there can be open requests. */
const messagesAtOnce = 100_000;

/**
 * A shard in a worker thread of its own, which does not keep the process alive. Each shard has a pool of one thread, because a message
 * has to reach the thread that caches the columns of its segments, and a pool gives a task to any of its threads.
 */
export async function openShardThread(
  cacheBytes: number,
  events: ShardEvents,
  idle?: IdleThreads,
  entry: string = new URL('./thread.js', import.meta.url).href,
): Promise<ShardThread> {
  const { Threads } = await import('../../core/threads.js');
  const counts = newCacheCounts();
  const data: ShardData = { cacheBytes, counts, idle };
  const threads = new Threads({
    entry,
    threads: 1,
    tasksPerThread: messagesAtOnce,
    data,
    onExit: events.exited,
    onError: (error) => events.report(`a query thread exited: ${String(error)}`),
  });
  return {
    run: (message) => threads.run('answer', message),
    counts,
    close: () => threads.close(),
  };
}

/** A shard in the calling thread, for tests: messages are copied all the same. */
export async function openInlineShard(cacheBytes: number): Promise<ShardThread> {
  const counts = newCacheCounts();
  const shard = serveShard(cacheBytes, counts);
  return {
    counts,
    async run(message) {
      try {
        return structuredClone(await shard.answer(structuredClone(message)));
      } catch (error) {
        throw fromErrorValue(toErrorValue(error));
      }
    },
    close: async () => shard.close(),
  };
}
