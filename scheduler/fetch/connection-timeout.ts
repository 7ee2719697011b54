import type { Socket } from 'node:net';
import { timedOut } from './failure.js';

/** Destroys the sockets of one request when a timeout expires or the signal aborts. */
export class ConnectionTimeout {
  /** Why the sockets were destroyed. Errors that they emit afterwards are consequences of it. */
  reason: Error | undefined;
  readonly #sockets: Socket[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #signal: AbortSignal;
  readonly #abort = (): void => this.#destroy(this.#signal.reason as Error);

  constructor(signal: AbortSignal) {
    signal.throwIfAborted();
    this.#signal = signal;
    signal.addEventListener('abort', this.#abort, { once: true });
  }

  /** Adds a socket to those that are destroyed at the timeout. */
  addSocket(socket: Socket): void {
    this.#sockets.push(socket);
    socket.on('error', () => undefined); // the user of the socket has a listener of its own
    if (this.reason !== undefined) socket.destroy(this.reason);
  }

  /** Starts the timer of the next step, in place of any that runs; `missing` is for the error message. */
  start(ms: number, missing: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#destroy(timedOut(missing, ms)), ms);
  }

  /** Stops the timer: the step is done. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the request: stops the timer and closes all sockets. */
  close(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#abort);
    for (const socket of this.#sockets) socket.destroy();
  }

  #destroy(reason: Error): void {
    this.reason ??= reason;
    for (const socket of this.#sockets.toReversed()) socket.destroy(this.reason);
  }
}
