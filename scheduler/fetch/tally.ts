import type { Socket } from 'node:net';
import { final } from './failure.js';

/**
 * Counts what comes over a socket. Node's parser drops what follows a body as long as `Content-Length` says; but a host
 * that sends more than it said has lied about one or the other, and a cut file must not pass for a whole one (threats N6).
 */
export class Tally {
  #bytes = 0;
  /** What came so far, until the headers have ended. */
  #head: Buffer | undefined = Buffer.alloc(0);
  #bodyAt = 0;
  readonly #socket: Socket;
  readonly #maxHeadBytes: number;

  /** Two heads fit: an interim answer may come before the real one, but not one after another for ever. */
  constructor(socket: Socket, headerBytes: number) {
    this.#socket = socket;
    this.#maxHeadBytes = headerBytes * 2 + (64 << 10);
    // Before the parser's own listener, which tells the answer from within.
    socket.prependListener('data', this.#count);
  }

  /** The headers of the answer have been read: the body begins behind them. */
  bodyBegins(): void {
    const head = this.#head ?? Buffer.alloc(0);
    let at = 0;
    for (;;) {
      const isInterim = /^HTTP\/1\.[01] 1\d\d/.test(head.toString('latin1', at, at + 12));
      at = head.indexOf('\r\n\r\n', at) + 4;
      if (!isInterim) break;
    }
    this.#bodyAt = at;
    this.#head = undefined;
  }

  /** Throws if more has come than a body of that length. */
  check(length: number): void {
    if (this.#bytes - this.#bodyAt <= length) return;
    throw final('the host sent more than its Content-Length says');
  }

  readonly #count = (piece: Uint8Array): void => {
    this.#bytes += piece.byteLength;
    if (this.#head === undefined) return;
    if (this.#bytes > this.#maxHeadBytes) {
      this.#socket.destroy(Object.assign(new Error('too much'), { code: 'HPE_HEADER_OVERFLOW' }));
      return;
    }
    this.#head = Buffer.concat([this.#head, piece]);
  };
}
