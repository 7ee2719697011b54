import { acquireBuffer, growBuffer, releaseBuffer } from '../core/buffers.js';
import { bitWidth } from './hybrid.js';
import { hashBytes, isConstant, areStringsEqual, finalMix } from './hash.js';
import type { Int32s, Int64s, Strings } from './encoder-values.js';

/** The distinct values in order of first occurrence, and the entry of each value. */
export interface DictionaryEncoding {
  readonly entryCount: number;
  /** For each entry, the index of the first value equal to it. */
  readonly firsts: Int32Array;
  /** For each value, its entry. */
  readonly indices: Int32Array;
}

/** Integers in a range narrower than 2^31, as distances from the smallest one, `base`. */
export interface FrameOfReference {
  readonly distances: Int32Array;
  readonly base: number;
  /** The largest distance from `base`. */
  readonly span: number;
}

const maxEntries = 1 << 16;
/** Number of values before the size of the dictionary is estimated for the first time, and between two estimates. */
const valuesBeforeFirstEstimate = 4096;
const valuesBetweenEstimates = 16_384;

/**
 * Builds the dictionary of a column's values; undefined if it grows too large, or another encoding is estimated to be smaller:
 * `alternativeShare` is the compressed size of that encoding, as a share of PLAIN. If the values are integers in a narrow range, `near`
 * contains them as small distances. Pass the result to `releaseDictionary` after use.
 */
export function buildDictionary(
  values: Int32s | Int64s | Strings,
  alternativeShare: number,
  near?: FrameOfReference,
): DictionaryEncoding | undefined {
  const builder = new DictionaryBuilder(values, alternativeShare);
  if (near !== undefined && near.span < maxEntries) builder.addFrameOfReference(near);
  else if (near !== undefined) builder.addInt32s(near.distances, values.count);
  else if (values.kind === 'int32s') builder.addInt32s(values.int32s, values.count);
  else if (values.kind === 'int64s') builder.addInt64s(values);
  else if (isConstant(values)) builder.addConstant();
  else builder.addStrings(values);
  return builder.finish();
}

/** Releases the buffers of a dictionary. */
export function releaseDictionary(dictionary: DictionaryEncoding): void {
  releaseBuffer(dictionary.firsts);
  releaseBuffer(dictionary.indices);
}

/**
 * For each byte, 1 + the index of the entry that is a string of only this byte, or 0. Most alleles are such strings, which need no hashing.
 */
const singleByteEntries = new Int32Array(256);

/**
 * A hash table with open addressing: a slot contains 1 + the index of an entry, or 0. Each type has a loop of its own, which allocates
 * nothing per value.
 */
class DictionaryBuilder {
  #entries = 0;
  #firsts = acquireBuffer(Int32Array, 1024);
  #hashes = acquireBuffer(Int32Array, 1024);
  /** Only for strings: for each entry, the entry that followed its last occurrence; it is tried first for the next value. */
  #followers = zeroedIntegers(1024);
  #slots = zeroedIntegers(1024);
  #mask = 1023;
  #isAbandoned = false;
  readonly #indices: Int32Array;
  readonly #values: Int32s | Int64s | Strings;
  /** The average number of bytes of a value in PLAIN. */
  readonly #bytesPerValue: number;
  readonly #alternativeShare: number;

  constructor(values: Int32s | Int64s | Strings, alternativeShare: number) {
    this.#values = values;
    this.#alternativeShare = alternativeShare;
    this.#indices = acquireBuffer(Int32Array, values.count);
    this.#bytesPerValue = plainBytes(values) / Math.max(1, values.count);
  }

  /** Adds a column whose values are all equal. */
  addConstant(): void {
    this.#enter(0, 0);
    this.#indices.fill(0, 0, this.#values.count);
  }

  /** Adds integers in a narrow range, which need no hashing. */
  addFrameOfReference({ distances, span }: FrameOfReference): void {
    const { count } = this.#values;
    const entryOf = zeroedIntegers(span + 1);
    const indices = this.#indices;
    let checkAt = valuesBeforeFirstEstimate;
    for (let i = 0; i < count; i++) {
      const distance = distances[i]!;
      let entry = entryOf[distance]! - 1;
      if (entry < 0) {
        entry = this.#enter(i, 0);
        entryOf[distance] = entry + 1;
      }
      indices[i] = entry;
      if (i === checkAt) {
        checkAt += valuesBetweenEstimates;
        if (!this.#isWorthwhile(i)) break;
      }
    }
    releaseBuffer(entryOf);
  }

  addInt32s(int32s: Int32Array, count: number): void {
    const indices = this.#indices;
    let checkAt = valuesBeforeFirstEstimate;
    for (let i = 0; i < count; i++) {
      const value = int32s[i]!;
      const hash = finalMix(value);
      const mask = this.#mask;
      let slot = hash & mask;
      let entry = this.#slots[slot]! - 1;
      while (entry >= 0 && int32s[this.#firsts[entry]!] !== value) {
        slot = (slot + 1) & mask;
        entry = this.#slots[slot]! - 1;
      }
      if (entry < 0) {
        entry = this.#enter(i, hash);
        this.#slots[slot] = entry + 1;
        if (this.#entries * 2 > mask) this.#grow();
      }
      indices[i] = entry;
      if (i === checkAt) {
        checkAt += valuesBetweenEstimates;
        if (!this.#isWorthwhile(i)) return;
      }
    }
  }

  addInt64s({ count, halves }: Int64s): void {
    const indices = this.#indices;
    let checkAt = valuesBeforeFirstEstimate;
    for (let i = 0; i < count; i++) {
      const low = halves[2 * i]!;
      const high = halves[2 * i + 1]!;
      const hash = finalMix(low ^ Math.imul(high, 0x9e3779b1));
      const mask = this.#mask;
      let slot = hash & mask;
      let entry = this.#slots[slot]! - 1;
      while (entry >= 0) {
        const first = 2 * this.#firsts[entry]!;
        if (halves[first] === low && halves[first + 1] === high) break;
        slot = (slot + 1) & mask;
        entry = this.#slots[slot]! - 1;
      }
      if (entry < 0) {
        entry = this.#enter(i, hash);
        this.#slots[slot] = entry + 1;
        if (this.#entries * 2 > mask) this.#grow();
      }
      indices[i] = entry;
      if (i === checkAt) {
        checkAt += valuesBetweenEstimates;
        if (!this.#isWorthwhile(i)) return;
      }
    }
  }

  addStrings(strings: Strings): void {
    const { count, bytes, view, offsets } = strings;
    const indices = this.#indices;
    let checkAt = valuesBeforeFirstEstimate;
    singleByteEntries.fill(0);
    let before = 0;
    for (let i = 0; i < count; i++) {
      const from = offsets[i]!;
      const to = offsets[i + 1]!;
      if (to - from === 1) {
        let entry = singleByteEntries[bytes[from]!]! - 1;
        if (entry < 0) {
          entry = this.#enter(i, 0);
          singleByteEntries[bytes[from]!] = entry + 1;
        }
        indices[i] = entry;
        continue;
      }
      // The guess is the value that followed the previous value at its last occurrence, where strings of one byte do not count. It is right
      // for runs, and mostly for the samples of each record.
      const guess = this.#followers[before]!;
      if (guess < this.#entries && areStringsEqual(strings, i, this.#firsts[guess]!)) {
        indices[i] = before = guess;
        continue;
      }
      const hash = hashBytes(view, bytes, from, to);
      const mask = this.#mask;
      let slot = hash & mask;
      let entry = this.#slots[slot]! - 1;
      while (entry >= 0) {
        if (this.#hashes[entry] === hash && areStringsEqual(strings, i, this.#firsts[entry]!))
          break;
        slot = (slot + 1) & mask;
        entry = this.#slots[slot]! - 1;
      }
      if (entry < 0) {
        entry = this.#enter(i, hash);
        this.#slots[slot] = entry + 1;
        if (this.#entries * 2 > mask) this.#grow();
      }
      this.#followers[before] = entry;
      indices[i] = before = entry;
      if (i >= checkAt) {
        checkAt = i + valuesBetweenEstimates;
        if (!this.#isWorthwhile(i)) return;
      }
    }
  }

  /**
   * Returns the dictionary; undefined if it was abandoned, is empty, or is not smaller than the alternative. The builder must not be used
   * after this call.
   */
  finish(): DictionaryEncoding | undefined {
    releaseBuffer(this.#hashes);
    releaseBuffer(this.#followers);
    releaseBuffer(this.#slots);
    const { count } = this.#values;
    const dictionary = {
      entryCount: this.#entries,
      firsts: this.#firsts,
      indices: this.#indices,
    };
    if (!this.#isAbandoned && count > 0 && this.#size(count) < 1) return dictionary;
    releaseDictionary(dictionary);
    return undefined;
  }

  /**
   * Returns the size of the dictionary encoding of the first `seen` values as a share of their size in the alternative encoding.
   */
  #size(seen: number): number {
    const indices = (seen * bitWidth(this.#entries - 1)) / 8;
    const otherBytes = seen * this.#bytesPerValue * this.#alternativeShare;
    return (this.#entries * this.#bytesPerValue + indices) / otherBytes;
  }

  /**
   * Whether to continue building the dictionary. New entries become rarer with more values, so at this point the dictionary may still be a
   * little too large.
   */
  #isWorthwhile(seen: number): boolean {
    const isSmall =
      seen < valuesBetweenEstimates ? this.#entries < seen * 0.95 : this.#size(seen) < 1.2;
    this.#isAbandoned = !isSmall || this.#entries > maxEntries;
    return !this.#isAbandoned;
  }

  #enter(i: number, hash: number): number {
    const entry = this.#entries++;
    if (entry === this.#firsts.length) this.#firsts = growBuffer(this.#firsts, entry + 1);
    if (entry === this.#hashes.length) this.#hashes = growBuffer(this.#hashes, entry + 1);
    if (entry === this.#followers.length) this.#followers = growBuffer(this.#followers, entry + 1);
    this.#followers[entry] = 0;
    this.#firsts[entry] = i;
    this.#hashes[entry] = hash;
    return entry;
  }

  #grow(): void {
    const mask = this.#mask * 4 + 3;
    const slots = zeroedIntegers(mask + 1);
    for (let entry = 0; entry < this.#entries; entry++) {
      let slot = this.#hashes[entry]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = entry + 1;
    }
    releaseBuffer(this.#slots);
    this.#slots = slots;
    this.#mask = mask;
  }
}

function zeroedIntegers(length: number): Int32Array {
  return acquireBuffer(Int32Array, length).fill(0, 0, length);
}

/** Returns the number of bytes of the values in the encoding PLAIN. */
function plainBytes(values: Int32s | Int64s | Strings): number {
  const { kind, count } = values;
  if (kind !== 'strings') return count * (kind === 'int64s' ? 8 : 4);
  return count * 4 + values.offsets[count]! - values.offsets[0]!;
}
