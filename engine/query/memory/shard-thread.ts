import { fromErrorValue, toErrorValue } from '../../core/errors.js';
import { newCacheStats, type CacheStats } from './admission-cache.js';
import type { IdleTaskState } from './cooperative-tasks.js';
import { serveShard } from './serve-shard.js';
import type { MessageFromShard, MessageToShard } from './shard-protocol.js';

/** The interface of a shard for the other parts of the executor. */
export interface ShardThread {
  /** Sends a message and resolves to the answer, or to a `ThreadExit`. Rejects with an `AppError` if the shard failed. */
  run(message: MessageToShard): Promise<MessageFromShard | ThreadExit>;
  /** The counts of the shard's cache; hits and misses are those of all threads that the shard has had. */
  readonly counts: CacheStats;
  close(): Promise<void>;
}

/** The outcome of a message whose thread exited before it answered. */
export interface ThreadExit {
  /** Why the thread exited, for the log. */
  readonly exitReason: string;
}

/** The data with which a shard's thread starts. */
export interface ShardThreadData {
  readonly cacheBytes: number;
  readonly counts: CacheStats;
  readonly idle: IdleTaskState | undefined;
}

/** The functions that receive the events of a shard's thread. */
export interface ShardEvents {
  /** Called when the thread has exited. Unless the shard is being closed, a new thread, which knows no snapshot, replaces it. */
  readonly exited: () => void;
  /** Writes a message to the log, such as the reason why the thread has exited. */
  readonly report: (message: string) => void;
}

/**
 * Opens a shard in a worker thread of its own, which does not keep the process alive: a message must reach the thread that caches the
 * columns of its segments.
 */
export async function openShardThread(
  cacheBytes: number,
  events: ShardEvents,
  idle?: IdleTaskState,
  entry: string = new URL('./shard-entry.js', import.meta.url).href,
): Promise<ShardThread> {
  const { ServingThread, ThreadExitedError } = await import('../../core/serving-thread.js');
  const counts = newCacheStats();
  const data: ShardThreadData = { cacheBytes, counts, idle };
  const thread = new ServingThread({
    entry,
    data,
    onExit: events.exited,
    onError: (error) => events.report(`a query thread exited: ${String(error)}`),
  });
  return {
    async run(message) {
      try {
        return await thread.send<MessageFromShard>(message);
      } catch (error) {
        if (error instanceof ThreadExitedError) return { exitReason: error.message };
        throw error;
      }
    },
    counts,
    close: () => thread.close(),
  };
}

/** Opens a shard in the calling thread, for tests. Messages are copied, as between threads. */
export async function openInlineShard(cacheBytes: number): Promise<ShardThread> {
  const counts = newCacheStats();
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
