import { dataViewOf } from '../core/buffers.js';

/** A cursor over bytes, the counterpart of `ByteSink`. Reading past the end throws a `RangeError`. */
export class ByteSource {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readOffset = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = dataViewOf(bytes);
  }

  readByte(): number {
    return this.view.getUint8(this.readOffset++);
  }

  /** Reads a four-byte length. */
  readLength(): number {
    const value = this.view.getInt32(this.readOffset, true);
    this.readOffset += 4;
    return value;
  }

  /** Reads an unsigned LEB128 number, up to 2^53. */
  readVarint(): number {
    let value = 0;
    for (let unit = 1; ; unit *= 0x80) {
      const byte = this.readByte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
  }

  /** Reads a signed number in zigzag form: 0, 1, 2, 3 are 0, -1, 1, -2. */
  readZigzag(): number {
    const value = this.readVarint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  skip(size: number): void {
    const end = this.readOffset + size;
    if (!(size >= 0 && end <= this.bytes.length))
      throw new RangeError(`no ${size} bytes at ${this.readOffset}`);
    this.readOffset = end;
  }

  readBytes(size: number): Uint8Array {
    const from = this.readOffset;
    this.skip(size);
    return this.bytes.subarray(from, this.readOffset);
  }
}
