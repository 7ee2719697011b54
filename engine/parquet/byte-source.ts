/** A cursor over bytes, the counterpart of `ByteSink`. Reading past the end throws a `RangeError`. */
export class ByteSource {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  byte(): number {
    return this.view.getUint8(this.at++);
  }

  /** Reads a four-byte length. */
  length(): number {
    const value = this.view.getInt32(this.at, true);
    this.at += 4;
    return value;
  }

  /** Reads an unsigned LEB128 number, up to 2^53. */
  varint(): number {
    let value = 0;
    for (let unit = 1; ; unit *= 0x80) {
      const byte = this.byte();
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return value;
    }
  }

  /** Reads a signed number: 0, 1, 2, 3 are 0, -1, 1, -2. */
  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  skip(size: number): void {
    const end = this.at + size;
    if (!(size >= 0 && end <= this.bytes.length))
      throw new RangeError(`no ${size} bytes at ${this.at}`);
    this.at = end;
  }

  take(size: number): Uint8Array {
    const from = this.at;
    this.skip(size);
    return this.bytes.subarray(from, this.at);
  }
}
