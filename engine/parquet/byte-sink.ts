import { acquireBuffer, releaseBuffer } from '../core/buffers.js';

/** A growing output buffer; `endOffset` is the number of bytes written. Call `release` after use. */
export class ByteSink {
  bytes: Uint8Array<ArrayBuffer>;
  /** A view of `bytes`, for writing numbers at any position. */
  view: DataView;
  endOffset = 0;

  constructor(capacity: number) {
    this.bytes = acquireBuffer(Uint8Array, capacity) as Uint8Array<ArrayBuffer>;
    this.view = new DataView(this.bytes.buffer);
  }

  /** Reserves room for `size` more bytes. Loops then write to `bytes` and `view` directly and advance `endOffset` themselves. */
  reserve(size: number): void {
    if (this.endOffset + size <= this.bytes.length) return;
    const wider = acquireBuffer(Uint8Array, Math.max(this.bytes.length * 2, this.endOffset + size));
    wider.set(this.bytes.subarray(0, this.endOffset));
    releaseBuffer(this.bytes);
    this.bytes = wider as Uint8Array<ArrayBuffer>;
    this.view = new DataView(this.bytes.buffer);
  }

  /** Returns a view of the bytes written; valid until the next write. */
  writtenBytes(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.endOffset);
  }

  writeByte(value: number): void {
    this.reserve(1);
    this.bytes[this.endOffset++] = value;
  }

  /** Writes an unsigned LEB128 number, up to 2^53. */
  writeVarint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.endOffset++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.endOffset++] = rest;
  }

  /** Writes a signed number in the zigzag form of Thrift and the delta encodings: 0, -1, 1, -2 become 0, 1, 2, 3. */
  writeZigzag(value: number): void {
    this.writeVarint(value < 0 ? -2 * value - 1 : 2 * value);
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.endOffset);
    this.endOffset += bytes.length;
  }

  /** Reserves four bytes for a length; pass the result to `writeLengthPrefix`. */
  reserveLengthPrefix(): number {
    this.reserve(4);
    this.endOffset += 4;
    return this.endOffset;
  }

  /** Fills in the number of bytes written since `reserveLengthPrefix` returned `start`. */
  writeLengthPrefix(start: number): void {
    this.view.setInt32(start - 4, this.endOffset - start, true);
  }

  /** Releases the buffer; the sink must not be used after this call. */
  release(): void {
    releaseBuffer(this.bytes);
  }
}
