import type { Socket } from 'node:net';
import { permanentFailure } from './fetch-failure.js';

/**
 * Counts the bytes received over a socket, to detect a body that is longer than its `Content-Length`. Node's parser drops
 * the excess; but then the header or the body is wrong, and a truncated file must not pass for a complete one (threat N6).
 */
export class ByteCounter {
  #bytes = 0;
  /** The bytes received so far; undefined once the headers have ended. */
  #header: Buffer | undefined = Buffer.alloc(0);
  #bodyOffset = 0;
  readonly #socket: Socket;
  readonly #maxHeaderBytes: number;

  /**
   * Limits the bytes before the body to twice `headerBytes` plus 64 kB: interim responses (1xx) may precede the final one, but not without
   * end.
   */
  constructor(socket: Socket, headerBytes: number) {
    this.#socket = socket;
    this.#maxHeaderBytes = headerBytes * 2 + (64 << 10);
    // The parser emits `response` in its own listener, so this listener must run before it.
    socket.prependListener('data', this.#count);
  }

  /** Marks the end of the headers. Must be called when the headers of the final response have been parsed. */
  startBody(): void {
    const header = this.#header ?? Buffer.alloc(0);
    let at = 0;
    for (;;) {
      const isInterim = /^HTTP\/1\.[01] 1\d\d/.test(header.toString('latin1', at, at + 12));
      at = header.indexOf('\r\n\r\n', at) + 4;
      if (!isInterim) break;
    }
    this.#bodyOffset = at;
    this.#header = undefined;
  }

  /** Throws if more than `length` bytes of body have been received. */
  checkBodyLength(length: number): void {
    if (this.#bytes - this.#bodyOffset <= length) return;
    throw permanentFailure('the host sent more than its Content-Length says');
  }

  readonly #count = (piece: Uint8Array): void => {
    this.#bytes += piece.byteLength;
    if (this.#header === undefined) return;
    if (this.#bytes > this.#maxHeaderBytes) {
      const error = new Error('headers are too large');
      this.#socket.destroy(Object.assign(error, { code: 'HPE_HEADER_OVERFLOW' }));
      return;
    }
    this.#header = Buffer.concat([this.#header, piece]);
  };
}
