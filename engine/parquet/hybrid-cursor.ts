import type { ByteSource } from './byte-source.js';
import { readRunValue, wordAt } from './decode-hybrid.js';

/**
 * A position in a sequence of numbers in the RLE / bit-packing hybrid, which is read without unpacking the numbers before the wanted ones.
 * The position moves forward only. `source` must contain nothing else that is read while the cursor is in use.
 */
export class HybridCursor {
  /** The position: the number of numbers before the current one. It may be set to a greater one before `peek` or `next`. */
  index = 0;
  readonly #source: ByteSource;
  readonly #width: number;
  readonly #numberCount: number;
  /** The numbers of the current run: from `#runBegin` to `#runEnd` (exclusive). */
  #runBegin = 0;
  #runEnd = 0;
  /** The offset of the current run's first byte if its numbers are bit-packed; otherwise -1, and all of them are `#runValue`. */
  #packedAt = -1;
  #runValue = 0;

  /** The sequence has `count` numbers of `width` bits. */
  constructor(source: ByteSource, width: number, count: number) {
    this.#source = source;
    this.#width = width;
    this.#numberCount = count;
  }

  /** Returns the current number. */
  peek(): number {
    const at = this.index;
    while (at >= this.#runEnd) this.#nextRun();
    return this.#packedAt < 0 ? this.#runValue : this.#packedNumber(at);
  }

  /** Returns the current number and moves to the next one. */
  next(): number {
    const number = this.peek();
    this.index++;
    return number;
  }

  /** Moves forward to position `to`, and returns how many of the numbers from the old to the new position are equal to `value`. */
  rank(to: number, value: number): number {
    const from = this.index;
    if (this.#packedAt < 0 && to <= this.#runEnd) {
      this.index = to;
      return this.#runValue === value ? to - from : 0;
    }
    let equal = 0;
    while (this.index < to) {
      if (this.index === this.#runEnd) this.#nextRun();
      const end = Math.min(to, this.#runEnd);
      if (this.#packedAt >= 0) equal += this.#moveInPackedRun(end, value, Infinity);
      else if (this.#runValue === value) equal += end - this.index;
      this.index = end;
    }
    return equal;
  }

  /**
   * Moves forward past `skipped` numbers that are equal to `value`, to the next one that is; to the end of the sequence if there is none.
   * Returns how many numbers equal to `value` it passed.
   */
  select(skipped: number, value: number): number {
    let equal = 0;
    for (;;) {
      if (this.index === this.#runEnd) {
        if (this.index === this.#numberCount) return equal;
        this.#nextRun();
      }
      if (this.#packedAt >= 0) {
        equal += this.#moveInPackedRun(this.#runEnd, value, skipped - equal);
        if (this.index < this.#runEnd) return equal;
      } else {
        const most = this.#runValue === value ? skipped - equal : Infinity;
        if (this.#runEnd - this.index > most) {
          this.index += most;
          return skipped;
        }
        if (this.#runValue === value) equal += this.#runEnd - this.index;
        this.index = this.#runEnd;
      }
    }
  }

  /** Moves to the end of the sequence. Throws a `RangeError` unless the source ends there, too. */
  finish(): void {
    while (this.#runEnd < this.#numberCount) this.#nextRun();
    this.index = this.#numberCount;
    if (this.#source.readOffset !== this.#source.bytes.length)
      throw new RangeError('the levels of a page do not have the length that it gives');
  }

  #nextRun(): void {
    const source = this.#source;
    const header = source.readVarint();
    const begin = this.#runEnd;
    const numbersLeft = this.#numberCount - begin;
    this.#runBegin = begin;
    if (header % 2 === 0) {
      this.#packedAt = -1;
      this.#runValue = readRunValue(source, this.#width);
      if (header / 2 > numbersLeft) throw new RangeError('a run is longer than its page');
      this.#runEnd = begin + header / 2;
    } else {
      const groups = (header - 1) / 2;
      this.#packedAt = source.readOffset;
      source.skip(groups * this.#width);
      // The last group of eight numbers may be padded.
      this.#runEnd = begin + Math.min(8 * groups, numbersLeft);
    }
  }

  #packedNumber(at: number): number {
    const width = this.#width;
    const { bytes, view } = this.#source;
    const bit = (at - this.#runBegin) * width;
    const byte = this.#packedAt + (bit >>> 3);
    // Nearly all numbers lie within four bytes that can be read at once.
    const isWithinWord = width <= 25 && byte + 4 <= bytes.length;
    const word = isWithinWord ? view.getInt32(byte, true) >>> (bit & 7) : wordAt(bytes, byte, bit & 7); // prettier-ignore
    return width === 32 ? word : word & ((1 << width) - 1);
  }

  /**
   * Moves forward in a bit-packed run, to position `to` or, before that, to the number equal to `value` that follows `most` others equal to
   * it. Returns how many equal numbers it passed.
   */
  #moveInPackedRun(to: number, value: number, most: number): number {
    const width = this.#width;
    const { view } = this.#source;
    let at = this.index;
    let equal = 0;
    // A mask of bit 0 of each of eight numbers in a word; 0 if eight numbers of this width do not fit into one.
    const ones = width <= 4 ? lowestBits[width]! : 0;
    while (at < to) {
      if (ones !== 0 && ((at - this.#runBegin) & 7) === 0) {
        // Eight numbers at once: `differing` has bit 0 of each number that differs from `value`.
        const values = Math.imul(ones, value);
        let byte = this.#packedAt + ((at - this.#runBegin) >> 3) * width;
        const lastByte = view.byteLength - 4;
        for (; at + 8 <= to && byte <= lastByte; at += 8, byte += width) {
          const differences = view.getInt32(byte, true) ^ values;
          let differing = differences;
          for (let bit = 1; bit < width; bit++) differing |= differences >>> bit;
          const equalInGroup = 8 - bitCount(differing & ones);
          if (equal + equalInGroup > most) break;
          equal += equalInGroup;
        }
        if (at === to) break;
      }
      if (this.#packedNumber(at) === value) {
        if (equal === most) break;
        equal++;
      }
      at++;
    }
    this.index = at;
    return equal;
  }
}

/** For each width from 0 to 4 bits, a 32-bit word in which the lowest bit of each of eight numbers of this width is 1. */
const lowestBits = [0, 0xff, 0x5555, 0o11111111, 0x11111111];

/** Returns the number of bits of a 32-bit word that are 1. */
function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
