import { acquire, release } from '../core/buffers.js';

/** A growing output buffer; `end` is the number of bytes written. Call `release` after use. */
export class ByteSink {
  bytes: Uint8Array<ArrayBuffer>;
  /** A view of `bytes`, for writing numbers at any position. */
  view: DataView;
  end = 0;

  constructor(capacity: number) {
    this.bytes = acquire(Uint8Array, capacity) as Uint8Array<ArrayBuffer>;
    this.view = new DataView(this.bytes.buffer);
  }

  /** Makes room for `size` more bytes. Loops then write to `bytes` and `view` directly, and advance `end` themselves. */
  reserve(size: number): void {
    if (this.end + size <= this.bytes.length) return;
    const wider = acquire(Uint8Array, Math.max(this.bytes.length * 2, this.end + size));
    wider.set(this.bytes.subarray(0, this.end));
    release(this.bytes);
    this.bytes = wider as Uint8Array<ArrayBuffer>;
    this.view = new DataView(this.bytes.buffer);
  }

  /** A view of the bytes written; valid until the next write. */
  written(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.end);
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.end++] = value;
  }

  /** Writes an unsigned LEB128 number, up to 2^53. */
  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.end++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.end++] = rest;
  }

  /** Writes a signed number as Thrift and the delta encodings do: 0, -1, 1, -2 become 0, 1, 2, 3. */
  zigzag(value: number): void {
    this.varint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.end);
    this.end += bytes.length;
  }

  /** Reserves four bytes for a length; pass the result to `endLength`. */
  startLength(): number {
    this.reserve(4);
    this.end += 4;
    return this.end;
  }

  /** Fills in the number of bytes written since `startLength` returned `start`. */
  endLength(start: number): void {
    this.view.setInt32(start - 4, this.end - start, true);
  }

  /** Releases the buffer; the sink must not be used afterwards. */
  release(): void {
    release(this.bytes);
  }
}
