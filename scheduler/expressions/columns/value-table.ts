/**
 * A hash table of values: texts, numbers as bytes, or lists of these. Each distinct value has a dictionary index, from 1 on. The table
 * copies the values, so it can be used for several chunks.
 */
export class ValueTable {
  /** The bytes of all values, concatenated. */
  #bytes = new DataView(new ArrayBuffer(1 << 12));
  /** The end of each text in `#bytes`; the first element is 0. */
  #ends = new Int32Array(1 << 10);
  /** For each value, by its index minus one, the number of texts of all values before it; the last element is the total. */
  #textCounts = new Int32Array(1 << 10);
  /**
   * Four numbers for each slot: the index of the value, 0 if the slot is free; the length of a short text, or the negative hash of any
   * other value; and the bytes of a short text, which is found without reading its copy.
   */
  #slots = new Int32Array(4 << 10);
  #mask = (1 << 10) - 1;
  #size = 0;
  /** The index of the value that was last looked up, and the content of its slot: neighbouring records often have the same value. */
  #lastIndex = 0;
  #lastTag = 0;
  #lastLow = 0;
  #lastHigh = 0;
  /** The indices of texts of one byte, such as most alleles, by their byte; 0 for texts that the table does not have. */
  readonly #indexByByte = new Int32Array(256);

  /** The number of different values. */
  get size(): number {
    return this.#size;
  }

  /** The total size of the values in bytes. */
  get byteLength(): number {
    return this.#endOfText(this.#textCounts[this.#size]!);
  }

  /**
   * Returns the index of a value, and adds the value if it is new. The value is the texts of a column from row `from` up to, but without,
   * row `to`; each begins in `bytes` at its offset.
   */
  addValue(bytes: DataView, offsets: Int32Array, from: number, to: number): number {
    const start = offsets[from]!;
    if (to - from !== 1 || offsets[to]! - start !== 1)
      return this.#findOrAdd(bytes, offsets, from, to, true);
    const byte = bytes.getUint8(start);
    return (this.#indexByByte[byte] ||= this.#findOrAdd(bytes, offsets, from, to, true));
  }

  /** Returns the index of a value; 0 if the table does not have it. */
  findValueIndex(bytes: DataView, offsets: Int32Array, from: number, to: number): number {
    return this.#findOrAdd(bytes, offsets, from, to, false);
  }

  #findOrAdd(
    bytes: DataView,
    offsets: Int32Array,
    from: number,
    to: number,
    addsMissing: boolean,
  ): number {
    const start = offsets[from]!;
    const length = offsets[to]! - start;
    const isShort = to - from === 1 && length <= maxShortTextBytes;
    let [low, high] = [0, 0];
    if (isShort && start + maxShortTextBytes <= bytes.byteLength) {
      low = bytes.getInt32(start, true);
      if (length < 4) low &= (1 << (8 * length)) - 1;
      else {
        high = bytes.getInt32(start + 4, true);
        if (length < 8) high &= (1 << (8 * length)) - 1;
      }
    } else if (isShort)
      for (let i = 0; i < length; i++)
        if (i < 4) low |= bytes.getUint8(start + i) << (8 * i);
        else high |= bytes.getUint8(start + i) << (8 * i);
    const tag = isShort ? length : valueHash(bytes, offsets, from, to) | signBit;
    const isLast = tag === this.#lastTag && low === this.#lastLow && high === this.#lastHigh;
    if (isLast && this.#lastIndex > 0 && (isShort || this.#isEqual(this.#lastIndex - 1, bytes, offsets, from, to))) return this.#lastIndex; // prettier-ignore
    const slots = this.#slots;
    for (let slot = slotHash(tag, low, high) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const at = 4 * slot;
      let index = slots[at]!;
      if (index === 0) {
        if (!addsMissing) return 0;
        index = this.#add(bytes, offsets, from, to);
        slots[at] = index;
        slots[at + 1] = tag;
        slots[at + 2] = low;
        slots[at + 3] = high;
        if (2 * index > this.#mask) this.#grow();
      } else if (slots[at + 1] !== tag || slots[at + 2] !== low || slots[at + 3] !== high) continue;
      else if (!isShort && !this.#isEqual(index - 1, bytes, offsets, from, to)) continue;
      this.#lastTag = tag;
      this.#lastLow = low;
      this.#lastHigh = high;
      return (this.#lastIndex = index);
    }
  }

  #add(bytes: DataView, offsets: Int32Array, from: number, to: number): number {
    const ordinal = this.#size++;
    let textOrdinal = this.#textCounts[ordinal]!;
    let end = this.#endOfText(textOrdinal);
    const [start, stop] = [offsets[from]!, offsets[to]!];
    this.#bytes = growBytes(this.#bytes, end + stop - start);
    const ownBytes = this.#bytes;
    for (let i = start; i < stop; i++) ownBytes.setUint8(end++, bytes.getUint8(i));
    this.#ends = growNumbers(this.#ends, textOrdinal + to - from + 1);
    for (let k = from + 1; k <= to; k++) this.#ends[++textOrdinal] = end - stop + offsets[k]!;
    this.#textCounts = growNumbers(this.#textCounts, ordinal + 2);
    this.#textCounts[ordinal + 1] = textOrdinal;
    return ordinal + 1;
  }

  #grow(): void {
    const oldSlots = this.#slots;
    const mask = 2 * this.#mask + 1;
    const slots = new Int32Array(4 * (mask + 1));
    for (let from = 0; from < oldSlots.length; from += 4) {
      if (oldSlots[from] === 0) continue;
      let slot = slotHash(oldSlots[from + 1]!, oldSlots[from + 2]!, oldSlots[from + 3]!) & mask;
      while (slots[4 * slot] !== 0) slot = (slot + 1) & mask;
      for (let i = 0; i < 4; i++) slots[4 * slot + i] = oldSlots[from + i]!;
    }
    this.#slots = slots;
    this.#mask = mask;
  }

  #endOfText(textOrdinal: number): number {
    return this.#ends[textOrdinal]!;
  }

  #isEqual(
    ordinal: number,
    bytes: DataView,
    offsets: Int32Array,
    from: number,
    to: number,
  ): boolean {
    const [ownBytes, ends] = [this.#bytes, this.#ends];
    const textOrdinal = this.#textCounts[ordinal]!;
    if (this.#textCounts[ordinal + 1]! - textOrdinal !== to - from) return false;
    let a = ends[textOrdinal]!;
    let b = offsets[from]!;
    const shift = b - a;
    for (let k = 1; k <= to - from; k++)
      if (offsets[from + k]! - ends[textOrdinal + k]! !== shift) return false;
    const end = offsets[to]!;
    for (; b + 4 <= end; a += 4, b += 4)
      if (ownBytes.getInt32(a, true) !== bytes.getInt32(b, true)) return false;
    for (; b < end; a++, b++) if (ownBytes.getUint8(a) !== bytes.getUint8(b)) return false;
    return true;
  }
}

/** Maximum length in bytes of a short text, which is stored in its slot. */
const maxShortTextBytes = 8;
const signBit = 1 << 31;

function slotHash(tag: number, low: number, high: number): number {
  const hash = Math.imul(Math.imul(tag ^ low, 0x9e3779b1) ^ high, 0x85ebca6b);
  return hash ^ (hash >>> 15);
}

function valueHash(bytes: DataView, offsets: Int32Array, from: number, to: number): number {
  let at = offsets[from]!;
  const end = offsets[to]!;
  let hash = Math.imul(end - at, 0x9e3779b1) ^ (to - from);
  for (; at + 4 <= end; at += 4) hash = Math.imul(hash ^ bytes.getInt32(at, true), 0x85ebca6b);
  for (; at < end; at++) hash = Math.imul(hash ^ bytes.getUint8(at), 0x85ebca6b);
  return hash ^ (hash >>> 15);
}

function growBytes(bytes: DataView<ArrayBuffer>, size: number): DataView<ArrayBuffer> {
  if (bytes.byteLength >= size) return bytes;
  const grownBytes = new Uint8Array(Math.max(size, 2 * bytes.byteLength));
  grownBytes.set(new Uint8Array(bytes.buffer));
  return new DataView(grownBytes.buffer);
}

function growNumbers(numbers: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  if (numbers.length >= length) return numbers;
  const grownNumbers = new Int32Array(Math.max(length, 2 * numbers.length));
  grownNumbers.set(numbers);
  return grownNumbers;
}
