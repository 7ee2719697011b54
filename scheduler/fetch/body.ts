import type { IncomingMessage } from 'node:http';
import { passing } from './failure.js';
import type { Line } from './line.js';
import type { Tally } from './tally.js';

/** So much may wait to be written. */
const mostWaiting = 1 << 20;

/**
 * The bytes of an answer, all that came before it broke off included: Node's own stream drops what it holds at an error, and
 * a transfer that is to go on there would begin earlier than it must, or never get anywhere.
 */
export class Body implements AsyncIterable<Uint8Array> {
  readonly #message: IncomingMessage;
  readonly #tally: Tally;
  readonly #line: Line;
  readonly #idleMs: number;
  #pieces: Uint8Array[] = [];
  #waiting = 0;
  #isOver = false;
  #wake: () => void = () => undefined;

  constructor(message: IncomingMessage, tally: Tally, line: Line, idleMs: number) {
    this.#message = message;
    this.#tally = tally;
    this.#line = line;
    this.#idleMs = idleMs;
    message.on('data', (piece: Uint8Array) => {
      this.#pieces.push(piece);
      this.#waiting += piece.byteLength;
      if (this.#waiting >= mostWaiting) message.pause();
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
      this.#waiting = 0;
      yield* pieces;
      if (this.#pieces.length > 0) continue;
      if (this.#isOver) break;
      this.#message.resume();
      await this.#next();
    }
    // A connection that ends before the body does must never pass for its end.
    if (!this.#message.complete) throw passing('the connection broke off');
    const length = this.#message.headers['content-length'];
    if (length !== undefined) this.#tally.check(Number(length));
  }

  async #next(): Promise<void> {
    this.#line.expect(this.#idleMs, 'no further bytes', 'fetchIdleMs');
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#line.relax();
  }
}
