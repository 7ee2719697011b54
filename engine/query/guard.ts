import { budgets } from '../budgets.js';
import { AppError } from '../errors.js';

/** How one statement runs. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** What the statement reads, for the message when a file is missing or torn: `dataset 4812`. */
  readonly subject?: string | undefined;
}

/** What runs a statement, and can be told to stop. */
interface Interruptible {
  interrupt(): void;
}

/** Ends a statement when its client leaves or its time is up, and says why it ended. */
export class Guard {
  readonly #options: RunOptions;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;
  readonly #stop = (): void => this.#stopped();
  #connection: Interruptible | null = null;
  #interrupting: NodeJS.Timeout | null = null;
  readonly #listeners: (() => void)[] = [];

  constructor(options: RunOptions, closing: AbortSignal) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? budgets.queryMs;
    const signals = [closing, AbortSignal.timeout(this.#timeoutMs)];
    if (options.signal) signals.push(options.signal);
    this.#signal = AbortSignal.any(signals);
    this.#signal.addEventListener('abort', this.#stop);
  }

  watch(connection: Interruptible): void {
    this.#connection = connection;
    if (this.#signal.aborted) this.#stopped();
  }

  onStop(listener: () => void): void {
    this.#listeners.push(listener);
  }

  check(): void {
    if (this.#signal.aborted) throw new Error('INTERRUPT Error: Interrupted!');
  }

  release(): void {
    this.#signal.removeEventListener('abort', this.#stop);
    if (this.#interrupting) clearInterval(this.#interrupting);
    this.#interrupting = null;
    this.#connection = null;
  }

  translate(error: unknown): unknown {
    if (error instanceof AppError) return error;
    const message = String((error as { message?: unknown } | null)?.message ?? error);
    const subject = this.#options.subject ?? 'the query';
    if (this.#signal.aborted && message.startsWith('INTERRUPT')) {
      const gaveUp = this.#options.signal?.aborted === true;
      if (gaveUp) return new AppError('canceled', 'The client gave up', undefined, error);
      const seconds = this.#timeoutMs / 1000;
      return new AppError(
        'budget',
        `The query took longer than ${seconds} s (budget queryMs)`,
        undefined,
        error,
      );
    }
    if (/^(Out of Memory|OutOfMemory)/i.test(message)) {
      const text = 'The query needs more memory than it may use (budget query memory); narrow it';
      return new AppError('budget', text, undefined, error);
    }
    if (damage.test(message)) {
      return new AppError(
        'damaged',
        `A stored file of ${subject} is missing or damaged`,
        undefined,
        error,
      );
    }
    return error;
  }

  #stopped(): void {
    for (const listener of this.#listeners) listener();
    const connection = this.#connection;
    if (!connection || this.#interrupting) return;
    // An interrupt that arrives before the statement has started is forgotten, so it is repeated.
    connection.interrupt();
    this.#interrupting = setInterval(() => connection.interrupt(), 10);
  }
}

/** How DuckDB starts the messages of a file that cannot be opened or decoded. */
const damage =
  /^(IO Error|Serialization Error|Corrupt|Invalid Error|Invalid Input Error: (No magic|File|Footer|Failed to read|Unsupported compression)|.*(magic bytes|Parquet|parquet|thrift|Thrift|TProtocol))/;
