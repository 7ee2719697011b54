import type { IncomingMessage } from 'node:http';
import { transientFailure } from './fetch-failure.js';
import type { ConnectionTimeout } from './connection-timeout.js';
import type { ByteCounter } from './byte-counter.js';

/** Number of unread bytes from which on reading from the host is paused, until all of them have been read. */
const maxBufferedBytes = 1 << 20;

/**
 * The body of a response, including everything received before the connection broke off. Node's own stream drops its
 * buffer on an error, so that a resumed transfer would start earlier than necessary or make no progress at all.
 */
export class ResponseBody implements AsyncIterable<Uint8Array> {
  readonly #message: IncomingMessage;
  readonly #counter: ByteCounter;
  readonly #timeout: ConnectionTimeout;
  readonly #idleMs: number;
  #pieces: Uint8Array[] = [];
  #bufferedBytes = 0;
  #isOver = false;
  #wake: () => void = () => undefined;

  constructor(
    message: IncomingMessage,
    counter: ByteCounter,
    timeout: ConnectionTimeout,
    idleMs: number,
  ) {
    this.#message = message;
    this.#counter = counter;
    this.#timeout = timeout;
    this.#idleMs = idleMs;
    message.on('data', (piece: Uint8Array) => {
      this.#pieces.push(piece);
      this.#bufferedBytes += piece.byteLength;
      if (this.#bufferedBytes >= maxBufferedBytes) message.pause();
      this.#wake();
    });
    for (const end of ['end', 'error', 'close']) {
      message.on(end, () => {
        this.#isOver = true;
        this.#wake();
      });
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const pieces = this.#pieces;
      this.#pieces = [];
      this.#bufferedBytes = 0;
      yield* pieces;
      if (this.#pieces.length > 0) continue;
      if (this.#isOver) break;
      this.#message.resume();
      await this.#next();
    }
    // The connection may end before the body is complete.
    if (!this.#message.complete) throw transientFailure('the connection broke off');
    const length = this.#message.headers['content-length'];
    if (length !== undefined) this.#counter.checkBodyLength(Number(length));
  }

  async #next(): Promise<void> {
    this.#timeout.startTimer(this.#idleMs, 'its host sent no further bytes');
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#timeout.stopTimer();
  }
}
