import type { Socket } from 'node:net';
import { overdue } from './failure.js';

/** A connection that ends by itself when it takes too long or nobody wants it any more. */
export class Line {
  /** Why it was ended; what its sockets say then is only a consequence. */
  reason: Error | undefined;
  readonly #sockets: Socket[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #signal: AbortSignal;
  readonly #abort = (): void => this.#stop(this.#signal.reason as Error);

  constructor(signal: AbortSignal) {
    signal.throwIfAborted();
    this.#signal = signal;
    signal.addEventListener('abort', this.#abort, { once: true });
  }

  /** Ends this socket too when it comes to that. */
  hold(socket: Socket): void {
    this.#sockets.push(socket);
    socket.on('error', () => undefined); // whoever waits for the socket hears it too
    if (this.reason !== undefined) socket.destroy(this.reason);
  }

  /** From now on something has to happen within `ms`. */
  expect(ms: number, missing: string, budget: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stop(overdue(missing, ms, budget)), ms);
  }

  /** It has happened. */
  relax(): void {
    clearTimeout(this.#timer);
  }

  /** Closes whatever is open. */
  end(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#abort);
    for (const socket of this.#sockets) socket.destroy();
  }

  #stop(reason: Error): void {
    this.reason ??= reason;
    for (const socket of this.#sockets.toReversed()) socket.destroy(this.reason);
  }
}
