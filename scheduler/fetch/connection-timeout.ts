import type { Socket } from 'node:net';
import { timeoutFailure } from './fetch-failure.js';

/** Destroys the sockets of one request when a timeout expires or the signal aborts. */
export class ConnectionTimeout {
  /** Why the sockets were destroyed. Errors that the sockets emit afterwards are consequences of it. */
  destroyReason: Error | undefined;
  readonly #sockets: Socket[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #signal: AbortSignal;
  readonly #abort = (): void => this.#destroy(this.#signal.reason as Error);

  constructor(signal: AbortSignal) {
    signal.throwIfAborted();
    this.#signal = signal;
    signal.addEventListener('abort', this.#abort, { once: true });
  }

  /** Adds a socket to those that are destroyed when the timeout expires, the signal aborts or the request ends. */
  addSocket(socket: Socket): void {
    this.#sockets.push(socket);
    socket.on('error', () => undefined); // the user of the socket has a listener of its own
    if (this.destroyReason !== undefined) socket.destroy(this.destroyReason);
  }

  /**
   * Starts the timer for the next step of the request and stops a running timer; `missing` says in the error message what did not happen.
   */
  startTimer(ms: number, missing: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#destroy(timeoutFailure(missing, ms)), ms);
  }

  /** Stops the timer when a step of the request is complete. */
  stopTimer(): void {
    clearTimeout(this.#timer);
  }

  /** Ends the request: stops the timer and closes all sockets. */
  close(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#abort);
    for (const socket of this.#sockets) socket.destroy();
  }

  #destroy(reason: Error): void {
    this.destroyReason ??= reason;
    for (const socket of this.#sockets.toReversed()) socket.destroy(this.destroyReason);
  }
}
