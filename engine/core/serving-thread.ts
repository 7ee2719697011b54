import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { fromErrorValue } from './errors.js';
import type { Message, Reply } from './thread-messages.js';
import { Threads, type ThreadsOptions } from './threads.js';

interface OpenMessage {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The rejection of a message whose thread exited before it answered. */
export class ThreadExitedError extends Error {}

/**
 * One worker thread that answers messages, many at a time, and is replaced when it exits. It is a pool of one thread whose only task
 * installs the receiver of the messages (`serveMessages`): as tasks of the pool, the messages of a small query would take more processor
 * time.
 */
export class ServingThread {
  readonly #threads: Threads;
  readonly #openMessages = new Map<number, OpenMessage>();
  #port!: MessagePort;
  #lastId = 0;
  #isClosed = false;

  /** The module `entry` exports a function `serve`, which passes its argument to `serveMessages`. */
  constructor({ onExit, ...options }: Omit<ThreadsOptions, 'threads'>) {
    this.#threads = new Threads({
      ...options,
      threads: 1,
      onExit: () => {
        this.#port.close();
        for (const { reject } of this.#openMessages.values())
          reject(new ThreadExitedError('the thread exited before it answered'));
        this.#openMessages.clear();
        if (!this.#isClosed) this.#connect();
        onExit?.();
      },
    });
    this.#connect();
  }

  /**
   * Sends a message and resolves to the answer. Rejects with an `AppError` if the thread could not answer it, with a `ThreadExitedError` if
   * the thread exited first, and with a `DataCloneError` for a message that cannot be copied.
   */
  send<R>(input: unknown): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      if (this.#isClosed) return reject(new ThreadExitedError('the thread is closed'));
      const id = ++this.#lastId;
      this.#port.postMessage({ id, input } satisfies Message, []);
      // Only while it waits for an answer, the port keeps the process alive.
      if (this.#openMessages.size === 0) this.#port.ref();
      this.#openMessages.set(id, { resolve: resolve as OpenMessage['resolve'], reject });
    });
  }

  /** Terminates the thread; the messages that it has not answered reject. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#threads.close();
  }

  #connect(): void {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    port1.on('message', ({ id, outcome }: Reply) => {
      const message = this.#openMessages.get(id);
      this.#openMessages.delete(id);
      if (this.#openMessages.size === 0) port1.unref();
      if (outcome.ok) message?.resolve(outcome.value);
      else message?.reject(fromErrorValue(outcome.error));
    });
    port1.unref();
    // The pool replaces a thread only after its exit has been handled. If the new thread exits before it serves, it is replaced as well.
    queueMicrotask(() => {
      this.#threads.run('serve', port2, undefined, [port2]).catch(() => undefined);
    });
  }
}
