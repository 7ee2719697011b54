import { budgets } from '../../core/budgets.js';
import { AppError } from '../../core/errors.js';
import { clientLeftError, queryTimeoutError, type RunOptions } from '../executor/run-options.js';

/** A connection whose statement can be interrupted. */
interface InterruptibleConnection {
  interrupt(): void;
}

/** The memory and the disk space that all statements of an engine may use together. */
interface EngineLimits {
  readonly memoryMb: number;
  readonly spillMb: number;
}

/** Interrupts a statement when its client disconnects, its time limit passes or the engine closes, and reports the reason. */
export class StatementInterrupter {
  /** Aborted when the statement has to end. */
  readonly signal: AbortSignal;
  readonly #options: RunOptions;
  readonly #closing: AbortSignal;
  readonly #limits: EngineLimits;
  readonly #timeoutMs: number;
  readonly #stop = (): void => this.#interrupt();
  #connection: InterruptibleConnection | null = null;
  #interrupting: NodeJS.Timeout | null = null;

  constructor(options: RunOptions, closing: AbortSignal, limits: EngineLimits) {
    this.#options = options;
    this.#closing = closing;
    this.#limits = limits;
    this.#timeoutMs = options.timeoutMs ?? budgets.queryMs;
    const signals = [closing, AbortSignal.timeout(this.#timeoutMs)];
    if (options.signal) signals.push(options.signal);
    this.signal = AbortSignal.any(signals);
    this.signal.addEventListener('abort', this.#stop);
  }

  /** Interrupts `connection` when the signal is aborted; must be called when the connection starts to run the statement. */
  interruptOnAbort(connection: InterruptibleConnection): void {
    this.#connection = connection;
    if (this.signal.aborted) this.#interrupt();
  }

  /** Ends the interruption of the connection; must be called when the statement has ended. */
  release(): void {
    this.signal.removeEventListener('abort', this.#stop);
    if (this.#interrupting) clearInterval(this.#interrupting);
    this.#interrupting = null;
    this.#connection = null;
  }

  /** Returns the `AppError` (`canceled`, `budget`, `damaged`, `internal`) for an error of the engine; returns other errors unchanged. */
  toAppError(error: unknown): unknown {
    if (error instanceof AppError) return error;
    const message = String((error as { message?: unknown } | null)?.message ?? error);
    if (this.signal.aborted && (error === this.signal.reason || message.startsWith('INTERRUPT'))) {
      return this.#ending(error);
    }
    if (message.startsWith('Out of Memory')) {
      const { memoryMb, spillMb } = this.#limits;
      const text = `The query needs more than ${memoryMb} MB of memory, with ${spillMb} MB on disk besides: narrow it with filters, ask for fewer fields and facets, or start the server with a larger --api-memory-mb (for exports --worker-memory-mb), of which queries may use half.`;
      return new AppError('budget', text, undefined, error);
    }
    if (damagedFileMessagePattern.test(message)) {
      const text = `A stored file of ${this.#options.subject ?? 'the query'} is missing or damaged`;
      return new AppError('damaged', text, undefined, error);
    }
    return error;
  }

  #ending(cause: unknown): AppError {
    if (this.#options.signal?.aborted) return clientLeftError(cause);
    if (this.#closing.aborted) {
      return new AppError('internal', 'The query engine is closed', undefined, cause);
    }
    return queryTimeoutError(this.#timeoutMs, cause);
  }

  #interrupt(): void {
    const connection = this.#connection;
    if (!connection || this.#interrupting) return;
    // DuckDB ignores an interrupt before the statement has started, so the interrupt is repeated.
    connection.interrupt();
    this.#interrupting = setInterval(() => connection.interrupt(), 10);
  }
}

/** Matches the start of DuckDB's messages about a file that cannot be opened or decoded. */
const damagedFileMessagePattern =
  /^((IO|Serialization|Invalid) Error|Invalid Input Error: (No magic|File|Footer|Failed to read|.*parquet))/i;
