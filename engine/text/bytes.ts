/** A growing output buffer; `endOffset` is the number of bytes written. */
export class ByteWriter {
  bytes: Uint8Array;
  endOffset = 0;

  constructor(capacity = 1 << 16) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Makes room for `size` more bytes. */
  reserve(size: number): void {
    if (this.endOffset + size <= this.bytes.length) return;
    const widerBytes = new Uint8Array(Math.max(this.bytes.length * 2, this.endOffset + size));
    widerBytes.set(this.bytes.subarray(0, this.endOffset));
    this.bytes = widerBytes;
  }

  /** Writes an unsigned LEB128 number below 2^32. */
  writeVarint(value: number): void {
    this.reserve(5);
    let bitsLeft = value;
    while (bitsLeft > 0x7f) {
      this.bytes[this.endOffset++] = (bitsLeft & 0x7f) | 0x80;
      bitsLeft >>>= 7;
    }
    this.bytes[this.endOffset++] = bitsLeft;
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.endOffset);
    this.endOffset += bytes.length;
  }

  written(): Uint8Array {
    return this.bytes.subarray(0, this.endOffset);
  }
}

/** A cursor over the output of a `ByteWriter`. Reading past the end throws an `Error`. */
export class ByteCursor {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  /** Reads an unsigned LEB128 number of at most five bytes. */
  readVarint(): number {
    const bytes = this.#bytes;
    const first = bytes[this.at]!;
    if (first < 0x80) {
      this.at++;
      return first;
    }
    let value = 0;
    for (let factor = 1; factor < 2 ** 35; factor *= 128) {
      const byte = bytes[this.at++];
      if (byte === undefined) throw new Error('the index ends early');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new Error('the index has a number of more than five bytes');
  }

  take(length: number): Uint8Array {
    const from = this.skip(length);
    return this.#bytes.subarray(from, this.at);
  }

  /** Skips `length` bytes; returns the position of the first. */
  skip(length: number): number {
    const from = this.at;
    if (from + length > this.#bytes.length) throw new Error('the index ends early');
    this.at = from + length;
    return from;
  }
}

/** A growing list of unsigned 32-bit integers. */
export class Uint32List {
  elements: Uint32Array;
  length = 0;

  constructor(capacity = 1 << 10) {
    this.elements = new Uint32Array(capacity);
  }

  push(value: number): void {
    if (this.length === this.elements.length) {
      const widerList = new Uint32Array(this.elements.length * 2);
      widerList.set(this.elements);
      this.elements = widerList;
    }
    this.elements[this.length++] = value;
  }

  written(): Uint32Array {
    return this.elements.subarray(0, this.length);
  }
}

/** Returns the FNV-1a hash of `bytes[from..to)`, finalised so that its low bits can index a hash table. */
export function hashFnv1a(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Returns a negative number, zero or a positive number if `a` sorts before, equal to or after `b`, compared as unsigned bytes. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}
