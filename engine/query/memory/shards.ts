import { budgets } from '../../core/budgets.js';
import { AppError, type ErrorCode, type FieldErrors } from '../../core/errors.js';
import { clientLeft, timedOut, type RunOptions } from '../plan/limits.js';
import type { Snapshot } from '../../store/store.js';
import type { Lane, Listener } from './lane.js';
import type { Unsupported } from '../unsupported.js';
import type { FromShard, ShardProblem, ShardSnapshot, ToShard } from './protocol.js';

/** How many versions of datasets the shards know at a time. */
const knownSnapshots = 64;
/** Where segments are is forgotten when it is of so many. */
const knownSegments = 200_000;

/** A message that is answered. */
type Question = Extract<ToShard, { readonly id: number }>;
type Asked = Question extends infer Q ? (Q extends Question ? Omit<Q, 'id'> : never) : never;

interface Waiting {
  readonly done: (message: FromShard) => void;
  readonly failed: (error: unknown) => void;
}

/** A snapshot that the shards have been told of. */
export interface Known {
  readonly key: number;
  /** The shard of each segment. */
  readonly shardOf: Uint16Array;
}

/** The shards: which segment is where, and what is asked of whom. Threads start with the first question. */
export class Shards {
  readonly #count: number;
  readonly #open: () => Lane;
  readonly #report: (message: string) => void;
  readonly #lanes: Lane[] = [];
  readonly #rows: number[];
  readonly #places = new Map<string, number>();
  readonly #known = new Map<string, Known>();
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #lastKey = 0;

  constructor(
    count: number,
    open: (listener: Listener) => Lane,
    report: (message: string) => void = () => undefined,
  ) {
    this.#report = report;
    this.#count = count;
    this.#rows = Array.from({ length: count }, () => 0);
    const listener = {
      heard: (message: FromShard) => this.#heard(message),
      ended: (error: Error) => this.#reset(error),
    };
    this.#open = () => open(listener);
  }

  /** Tells the shards of a snapshot, unless they know it. */
  know(snapshot: Snapshot): Known {
    if (this.#lanes.length === 0)
      for (let i = 0; i < this.#count; i++) this.#lanes.push(this.#open());
    const name = `${snapshot.files[0]}\n${snapshot.version}\n${snapshot.segments.length}`;
    const known = this.#known.get(name);
    if (known !== undefined) {
      this.#known.delete(name);
      this.#known.set(name, known);
      return known;
    }
    const key = ++this.#lastKey;
    const shardOf = Uint16Array.from(snapshot.segments, ({ rows }, i) =>
      this.#placeOf(snapshot.files[i + 1]!, rows),
    );
    const { datasetId, columns } = snapshot;
    for (const [shard, lane] of this.#lanes.entries()) {
      const segments = snapshot.segments.flatMap(({ rows }, number) =>
        shardOf[number] === shard ? [{ number, path: snapshot.files[number + 1]!, rows }] : [],
      );
      const told: ShardSnapshot = { key, datasetId, columns, segments };
      lane.send({ kind: 'snapshot', snapshot: told });
    }
    const made = { key, shardOf };
    this.#known.set(name, made);
    if (this.#known.size > knownSnapshots) {
      const [oldest, { key: gone }] = this.#known.entries().next().value!;
      this.#known.delete(oldest);
      for (const lane of this.#lanes) lane.send({ kind: 'forget', snapshot: gone });
    }
    return made;
  }

  /** Puts a question to several shards; throws what a shard threw, or why it was given up. */
  async ask(
    questions: readonly (readonly [shard: number, question: Asked])[],
    options: RunOptions,
  ): Promise<readonly FromShard[] | Unsupported> {
    const ids: number[] = [];
    const { signal, timeoutMs = budgets.queryMs } = options;
    let giveUp: (error: AppError) => void = () => undefined;
    const given = new Promise<never>((_, reject) => (giveUp = reject));
    const onAbort = (): void => giveUp(clientLeft());
    const onLate = (): void => giveUp(timedOut(timeoutMs));
    const timer = setTimeout(onLate, timeoutMs);
    // A timer waits for a millisecond at least, in which there may be an answer.
    if (timeoutMs <= 0) onLate();
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted) onAbort();
    try {
      const answers = questions.map(([shard, question]) => {
        const id = ++this.#lastId;
        ids.push(id);
        return new Promise<FromShard>((done, failed) => {
          this.#waiting.set(id, { done, failed });
          this.#lanes[shard]!.send({ ...question, id } as Question);
        });
      });
      const all = await Promise.race([Promise.all(answers), given]);
      return all.find((answer) => 'unsupported' in answer) ?? all;
    } catch (error) {
      for (const id of ids) {
        if (!this.#waiting.delete(id)) continue;
        for (const [shard] of questions) this.#lanes[shard]?.send({ kind: 'cancel', id });
      }
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async close(): Promise<void> {
    const closed = new AppError('internal', 'The query engine is closed');
    for (const { failed } of this.#waiting.values()) failed(closed);
    this.#waiting.clear();
    await Promise.all(this.#lanes.splice(0).map((lane) => lane.close()));
  }

  #placeOf(path: string, rows: number): number {
    const known = this.#places.get(path);
    if (known !== undefined) return known;
    if (this.#places.size > knownSegments) this.#places.clear();
    const shard = this.#rows.indexOf(Math.min(...this.#rows));
    this.#rows[shard]! += rows;
    this.#places.set(path, shard);
    return shard;
  }

  #heard(message: FromShard): void {
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return; // given up
    this.#waiting.delete(message.id);
    if ('problem' in message) waiting.failed(errorOf(message.problem));
    else waiting.done(message);
  }

  /** A thread has ended: what was asked is answered by the SQL engine, and the next question finds new threads. */
  #reset(error: Error): void {
    this.#report(error.message);
    for (const [id, { done }] of this.#waiting)
      done({ id, unsupported: 'a query whose worker thread has just exited' });
    this.#waiting.clear();
    this.#known.clear();
    for (const lane of this.#lanes.splice(0)) void lane.close();
  }
}

function errorOf(problem: ShardProblem): Error {
  const { code, message, fields } = problem;
  return new AppError(code as ErrorCode, message, fields as FieldErrors | undefined);
}
