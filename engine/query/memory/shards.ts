import { budgets } from '../../core/budgets.js';
import { AppError } from '../../core/errors.js';
import { LruCache } from '../../core/lru-cache.js';
import { clientLeftError, queryTimeoutError, type RunOptions } from '../executor/run-options.js';
import { rowIdColumn } from '../../store/row-ids.js';
import { segmentFiles, type Snapshot } from '../../store/store.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { ProjectedColumn } from '../results/projection.js';
import type { CacheStats } from './admission-cache.js';
import type { MessageFromShard, ShardSnapshot, MessageToShard } from './shard-protocol.js';
import type { ShardEvents, ShardThread } from './shard-thread.js';

/** Maximum number of snapshots that the shards know at the same time. */
const maxKnownSnapshots = 64;
/** Maximum number of projections that the shards know at the same time. */
const maxKnownProjections = 64;
/** If more assignments of segments to shards than this are remembered, all are forgotten when the next snapshot is registered. */
const maxAssignedSegments = 200_000;

/** A message with a number by which it can be canceled. */
type CancelableMessage = Extract<
  MessageToShard,
  { readonly kind: 'select' | 'count' | 'frequencies' | 'search' | 'open' | 'load' | 'records' }
>;
/** A message without its number and `isIdle`, which `askShards` adds. */
type ShardRequest = CancelableMessage extends infer R
  ? R extends CancelableMessage
    ? Omit<R, 'id' | 'isIdle'>
    : never
  : never;

/** The answer to a message that has a result. */
export type ShardReply = Exclude<MessageFromShard, 'done' | Unsupported>;

/** A snapshot that the shards know. */
export interface KnownSnapshot {
  readonly key: number;
  /** The shard of each segment, by the number of the segment. */
  readonly shardOf: Uint16Array;
}

/** All shards: assigns each segment to one of them, and sends them requests. */
export class Shards {
  readonly #openThreads: () => Promise<readonly ShardThread[]>;
  readonly #report: (message: string) => void;
  /** The number of rows that have ever been assigned to each shard. */
  readonly #assignedRows: number[];
  /** The shard of each segment, by path of its file. */
  readonly #shardOf = new Map<string, number>();
  readonly #knownSnapshots = new LruCache<string, KnownSnapshot>(maxKnownSnapshots, ({ key }) =>
    this.#tellAll({ kind: 'forget', snapshot: key }),
  );
  /** Maps each projection to its key. */
  readonly #projections = new LruCache<readonly ProjectedColumn[], number>(
    maxKnownProjections,
    (key) => this.#tellAll({ kind: 'forget-projection', key }),
  );
  #openingThreads: Promise<readonly ShardThread[]> | undefined;
  #threads: readonly ShardThread[] = [];
  #isClosed = false;
  #lastId = 0;
  #lastKey = 0;

  constructor(
    count: number,
    open: (events: ShardEvents, index: number) => Promise<ShardThread>,
    report: (message: string) => void = () => undefined,
  ) {
    this.#report = report;
    this.#assignedRows = Array.from({ length: count }, () => 0);
    // A new thread knows no snapshot, so all threads forget theirs, and each snapshot is sent to all of them again at its next use.
    const events = { exited: () => this.#forgetAll(), report };
    this.#openThreads = () =>
      Promise.all(this.#assignedRows.map((_, index) => open(events, index)));
  }

  /** Starts the threads, and resolves when they answer or are closed. Without this call, the first snapshot starts them. */
  async start(): Promise<void> {
    this.#threads = await (this.#openingThreads ??= this.#openThreads());
    const nothing: MessageToShard = { kind: 'forget', snapshot: 0 };
    try {
      await Promise.all(this.#threads.map((thread) => this.#run(thread, nothing)));
    } catch (error) {
      if (!this.#isClosed) throw error;
    }
  }

  /** Sends a snapshot to the shards, unless they know it. */
  async registerSnapshot(snapshot: Snapshot): Promise<KnownSnapshot> {
    this.#threads = await (this.#openingThreads ??= this.#openThreads());
    const name = `${snapshot.files[0]}\n${snapshot.version}\n${snapshot.segments.length}\n${snapshot.isInterleaved}`;
    const knownSnapshot = this.#knownSnapshots.get(name);
    if (knownSnapshot !== undefined) return knownSnapshot;
    const key = ++this.#lastKey;
    const shardOf = this.#assignSegments(snapshot);
    const { datasetId } = snapshot;
    const columns = snapshot.isInterleaved ? [rowIdColumn, ...snapshot.columns] : snapshot.columns;
    for (const [shard, thread] of this.#threads.entries()) {
      const files = segmentFiles(snapshot);
      const segments = snapshot.segments.flatMap((segment, number) => {
        if (shardOf[number] !== shard) return [];
        const { rows, areVariantsPlaced = false, deletion, baseRowId } = segment;
        return [{ ...files[number]!, number, rows, areVariantsPlaced, deletion, baseRowId }];
      });
      const shardSnapshot: ShardSnapshot = { key, datasetId, columns, segments };
      this.#tell(thread, { kind: 'snapshot', snapshot: shardSnapshot });
    }
    const newSnapshot = { key, shardOf };
    this.#knownSnapshots.set(name, newSnapshot);
    return newSnapshot;
  }

  /** Sends a projection to the shards, unless they know it, and returns its key. */
  registerProjection(projection: readonly ProjectedColumn[]): number {
    const knownKey = this.#projections.get(projection);
    if (knownKey !== undefined) return knownKey;
    const key = ++this.#lastKey;
    this.#tellAll({ kind: 'projection', key, projection });
    this.#projections.set(projection, key);
    return key;
  }

  /**
   * Sends requests to several shards, and resolves to their replies in the same order, or to a reason if a shard refuses. Rejects with the
   * error of a shard, with `canceled` when the client has left, or with `budget` when the time is up; the shards then drop the requests.
   */
  async askShards(
    requests: readonly (readonly [shard: number, request: ShardRequest])[],
    options: RunOptions,
  ): Promise<readonly ShardReply[] | Unsupported> {
    const sentMessages: { readonly thread: ShardThread; readonly id: number }[] = [];
    const { signal, timeoutMs = budgets.queryMs, isIdle } = options;
    let rejectEnding: (error: AppError) => void = () => undefined;
    const ending = new Promise<never>((_, reject) => (rejectEnding = reject));
    const onAbort = (): void => rejectEnding(clientLeftError());
    const onLate = (): void => rejectEnding(queryTimeoutError(timeoutMs));
    const timer = setTimeout(onLate, timeoutMs);
    // A timer waits for at least a millisecond, in which a shard may answer, so a timeout of 0 is handled at once.
    if (timeoutMs <= 0) onLate();
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted) onAbort();
    try {
      const replies = requests.map(([shard, request]) => {
        const thread = this.#threads[shard]!;
        const id = ++this.#lastId;
        sentMessages.push({ thread, id });
        return this.#run(thread, { ...request, id, isIdle } as CancelableMessage);
      });
      const allReplies = await Promise.race([Promise.all(replies), ending]);
      return allReplies.find(isUnsupported) ?? (allReplies as readonly ShardReply[]);
    } catch (error) {
      for (const { thread, id } of sentMessages) this.#tell(thread, { kind: 'cancel', id });
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** The counts of the threads' caches; empty until the threads have started. */
  get cacheStats(): readonly CacheStats[] {
    return this.#threads.map(({ counts }) => counts);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const threads = (await this.#openingThreads) ?? [];
    await Promise.all(threads.map((thread) => thread.close()));
  }

  /**
   * Sends a message and resolves to the answer, or to `Unsupported` if the thread exits before it answers; another executor then answers
   * the query.
   */
  async #run(thread: ShardThread, message: MessageToShard): Promise<MessageFromShard> {
    const reply = await thread.run(message);
    if (reply === 'done' || !('exitReason' in reply)) return reply;
    if (this.#isClosed) throw new AppError('internal', 'The query engine is closed');
    this.#report(`a query thread exited: ${reply.exitReason}`);
    return { unsupported: 'a query whose worker thread has just exited' };
  }

  /** Sends a message without waiting for the reply. Errors are ignored, because a thread that is exiting does not need the message. */
  #tell(thread: ShardThread, message: MessageToShard): void {
    thread.run(message).catch(() => undefined);
  }

  /**
   * Returns the shard of each segment. Segments without a shard are assigned one by one, the largest first, to the shard with the fewest
   * rows of this snapshot and, among several, of all snapshots, because a query takes as long as the busiest thread.
   */
  #assignSegments({ segments, files }: Snapshot): Uint16Array {
    if (this.#shardOf.size > maxAssignedSegments) this.#shardOf.clear();
    const shardOf = new Uint16Array(segments.length);
    const ownRows = this.#assignedRows.map(() => 0);
    const unassigned: number[] = [];
    for (const [number, { rows }] of segments.entries()) {
      const assignedShard = this.#shardOf.get(files[number + 1]!);
      if (assignedShard === undefined) unassigned.push(number);
      else ownRows[(shardOf[number] = assignedShard)]! += rows;
    }
    for (const number of unassigned.sort((a, b) => segments[b]!.rows - segments[a]!.rows)) {
      const shard = ownRows.reduce((least, rows, other) => {
        const difference =
          rows - ownRows[least]! || this.#assignedRows[other]! - this.#assignedRows[least]!;
        return difference < 0 ? other : least;
      }, 0);
      shardOf[number] = shard;
      ownRows[shard]! += segments[number]!.rows;
      this.#assignedRows[shard]! += segments[number]!.rows;
      this.#shardOf.set(files[number + 1]!, shard);
    }
    return shardOf;
  }

  #tellAll(message: MessageToShard): void {
    for (const thread of this.#threads) this.#tell(thread, message);
  }

  #forgetAll(): void {
    if (this.#isClosed) return;
    const snapshots = this.#knownSnapshots.values().map(({ key }) => key);
    const projections = this.#projections.values();
    this.#knownSnapshots.clear();
    this.#projections.clear();
    // The messages are sent after this event has been handled, because the pool replaces the thread only then.
    queueMicrotask(() => {
      for (const key of snapshots) this.#tellAll({ kind: 'forget', snapshot: key });
      for (const key of projections) this.#tellAll({ kind: 'forget-projection', key });
    });
  }
}

/** Groups segments, given by their numbers, by the shard to which they are assigned. */
export function segmentsByShard(
  shardOf: Uint16Array,
  segments: Iterable<number>,
): ReadonlyMap<number, readonly number[]> {
  const byShard = new Map<number, number[]>();
  for (const segment of segments) {
    const list = byShard.get(shardOf[segment]!);
    if (list) list.push(segment);
    else byShard.set(shardOf[segment]!, [segment]);
  }
  return byShard;
}
