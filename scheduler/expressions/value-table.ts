/**
 * A hash table of values: texts, lists of texts, or numbers as bytes. Each different value has a code, from 1 on. The table has copies of the
 * values, so it may be used for several chunks.
 */
export class ValueTable {
  /** The bytes of all values, one after the other. */
  #bytes = new DataView(new ArrayBuffer(1 << 12));
  /** The end of each text in the bytes, after a 0. */
  #ends = new Int32Array(1 << 10);
  /** The number of texts before those of each value, and after the last one. */
  #texts = new Int32Array(1 << 10);
  #hashes = new Int32Array(1 << 10);
  #slots = new Int32Array(1 << 11);
  #size = 0;
  /** The code of the last value: neighbouring records often have the same one. */
  #last = 0;
  /** The codes of texts of one byte, such as most alleles. */
  readonly #single = new Int32Array(256);

  /** The number of different values. */
  get size(): number {
    return this.#size;
  }

  /** What the values take, in bytes. */
  get byteLength(): number {
    return this.#end(this.#texts[this.#size]!);
  }

  /** The code of the texts of a column from one row to another, of which each begins in `bytes` at its offset. */
  code(bytes: DataView, offsets: Int32Array, from: number, to: number): number {
    const start = offsets[from]!;
    if (to - from !== 1 || offsets[to]! - start !== 1) return this.#find(bytes, offsets, from, to);
    const byte = bytes.getUint8(start);
    return (this.#single[byte] ||= this.#find(bytes, offsets, from, to));
  }

  #find(bytes: DataView, offsets: Int32Array, from: number, to: number): number {
    if (this.#last > 0 && this.#isEqual(this.#last - 1, bytes, offsets, from, to))
      return this.#last;
    const hash = hashOf(bytes, offsets, from, to);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const code = this.#slots[slot]!;
      if (code === 0) {
        this.#slots[slot] = this.#last = this.#add(hash, bytes, offsets, from, to);
        if (2 * this.#size > mask) this.#grow();
        return this.#last;
      }
      if (this.#hashes[code - 1] === hash && this.#isEqual(code - 1, bytes, offsets, from, to))
        return (this.#last = code);
    }
  }

  #add(hash: number, bytes: DataView, offsets: Int32Array, from: number, to: number): number {
    const value = this.#size++;
    let text = this.#texts[value]!;
    let end = this.#end(text);
    const [start, stop] = [offsets[from]!, offsets[to]!];
    this.#bytes = withRoom(this.#bytes, end + stop - start);
    const own = this.#bytes;
    for (let i = start; i < stop; i++) own.setUint8(end++, bytes.getUint8(i));
    this.#ends = longer(this.#ends, text + to - from + 1);
    for (let k = from + 1; k <= to; k++) this.#ends[++text] = end - stop + offsets[k]!;
    this.#texts = longer(this.#texts, value + 2);
    this.#texts[value + 1] = text;
    this.#hashes = longer(this.#hashes, value + 1);
    this.#hashes[value] = hash;
    return value + 1;
  }

  #grow(): void {
    const mask = 4 * this.#slots.length - 1;
    this.#slots = new Int32Array(mask + 1);
    for (let value = 0; value < this.#size; value++) {
      let slot = this.#hashes[value]! & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = value + 1;
    }
  }

  #end(text: number): number {
    return this.#ends[text]!;
  }

  #isEqual(value: number, bytes: DataView, offsets: Int32Array, from: number, to: number): boolean {
    const [own, ends] = [this.#bytes, this.#ends];
    const text = this.#texts[value]!;
    if (this.#texts[value + 1]! - text !== to - from) return false;
    let a = ends[text]!;
    let b = offsets[from]!;
    const shift = b - a;
    for (let k = 1; k <= to - from; k++)
      if (offsets[from + k]! - ends[text + k]! !== shift) return false;
    const end = offsets[to]!;
    for (; b + 4 <= end; a += 4, b += 4)
      if (own.getInt32(a, true) !== bytes.getInt32(b, true)) return false;
    for (; b < end; a++, b++) if (own.getUint8(a) !== bytes.getUint8(b)) return false;
    return true;
  }
}

function hashOf(bytes: DataView, offsets: Int32Array, from: number, to: number): number {
  let at = offsets[from]!;
  const end = offsets[to]!;
  let hash = Math.imul(end - at, 0x9e3779b1) ^ (to - from);
  for (; at + 4 <= end; at += 4) hash = Math.imul(hash ^ bytes.getInt32(at, true), 0x85ebca6b);
  for (; at < end; at++) hash = Math.imul(hash ^ bytes.getUint8(at), 0x85ebca6b);
  return hash ^ (hash >>> 15);
}

function withRoom(bytes: DataView<ArrayBuffer>, size: number): DataView<ArrayBuffer> {
  if (bytes.byteLength >= size) return bytes;
  const grown = new Uint8Array(Math.max(size, 2 * bytes.byteLength));
  grown.set(new Uint8Array(bytes.buffer));
  return new DataView(grown.buffer);
}

function longer(numbers: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  if (numbers.length >= length) return numbers;
  const grown = new Int32Array(Math.max(length, 2 * numbers.length));
  grown.set(numbers);
  return grown;
}
