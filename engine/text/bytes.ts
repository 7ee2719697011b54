/** Bytes being written: a buffer that grows. */
export class ByteWriter {
  bytes: Uint8Array;
  end = 0;

  constructor(capacity = 1 << 16) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Makes room for `size` more bytes. */
  reserve(size: number): void {
    if (this.end + size <= this.bytes.length) return;
    const wider = new Uint8Array(Math.max(this.bytes.length * 2, this.end + size));
    wider.set(this.bytes.subarray(0, this.end));
    this.bytes = wider;
  }

  /** An unsigned LEB128 number below 2^32. */
  varint(value: number): void {
    this.reserve(5);
    let rest = value;
    while (rest > 0x7f) {
      this.bytes[this.end++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.bytes[this.end++] = rest;
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.end);
    this.end += bytes.length;
  }

  written(): Uint8Array {
    return this.bytes.subarray(0, this.end);
  }
}

/** Reads what a `ByteWriter` has written; bytes that end early are an error, never a wrong number. */
export class ByteCursor {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  varint(): number {
    const bytes = this.#bytes;
    let value = 0;
    for (let factor = 1; factor < 2 ** 35; factor *= 128) {
      const byte = bytes[this.at++];
      if (byte === undefined) throw new Error('the index ends early');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new Error('a number of the index does not end');
  }

  take(length: number): Uint8Array {
    if (this.at + length > this.#bytes.length) throw new Error('the index ends early');
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }
}

/** Whole numbers being collected. */
export class Numbers {
  list: Uint32Array;
  length = 0;

  constructor(capacity = 1 << 10) {
    this.list = new Uint32Array(capacity);
  }

  push(value: number): void {
    if (this.length === this.list.length) {
      const wider = new Uint32Array(this.list.length * 2);
      wider.set(this.list);
      this.list = wider;
    }
    this.list[this.length++] = value;
  }

  written(): Uint32Array {
    return this.list.subarray(0, this.length);
  }
}

/** A hash of some bytes (FNV-1a), its bits spread over the low ones. */
export function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Below zero, zero or above it, as `a` comes before `b`, is the same, or comes behind it. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}
