import type { PackedTexts } from '../../../engine/core/packed-texts.js';
import { maxAnswerLength } from './opened-dataset.js';

/** Lists of values, as JSON texts of which the bytes are somewhere else until they are joined. */
export class ValueLists {
  readonly #most: number;
  /** The first and the last value of each list; -1 for an empty one. */
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  readonly #counts: Int32Array;
  /** The bytes of values, and of each value its bytes, where it begins and ends there, and the next one of its list. */
  readonly #sources: Uint8Array[] = [];
  /** The number of the bytes that `add` refers to. */
  #current = 0;
  readonly #source: number[] = [];
  readonly #begins: number[] = [];
  readonly #ends: number[] = [];
  readonly #next: number[] = [];

  /** `most` is how many values a list takes; others are left out. */
  constructor(lists: number, most: number) {
    this.#most = most;
    this.#first = new Int32Array(lists).fill(-1);
    this.#last = new Int32Array(lists).fill(-1);
    this.#counts = new Int32Array(lists);
  }

  /** The bytes that `add` refers to from now on. */
  addBytes(bytes: Uint8Array): Uint8Array {
    this.#current = this.#sources.push(bytes) - 1;
    return bytes;
  }

  /** Adds a value to a list; a negative number is no list. */
  add(list: number, from: number, to: number): void {
    this.#add(list, this.#current, from, to);
  }

  /** The same for a text. */
  addText(list: number, text: string): void {
    const bytes = Buffer.from(text);
    this.#add(list, this.#sources.push(bytes) - 1, 0, bytes.length);
  }

  /** The JSON text of each list; an empty one for a list that is too long for an answer. */
  packed(): PackedTexts {
    const count = this.#first.length;
    const sizes = new Int32Array(count).fill(2);
    for (let list = 0; list < count; list++) {
      for (let at = this.#first[list]!; at >= 0; at = this.#next[at]!)
        sizes[list]! += this.#ends[at]! - this.#begins[at]! + (at === this.#first[list] ? 0 : 1);
      if (sizes[list]! > maxAnswerLength) sizes[list] = 0;
    }
    const offsets = new Int32Array(count + 1);
    for (let list = 0; list < count; list++) offsets[list + 1] = offsets[list]! + sizes[list]!;
    const bytes = new Uint8Array(offsets[count]!);
    for (let list = 0; list < count; list++)
      if (sizes[list]! > 0) this.#write(bytes, offsets[list]!, list);
    return { bytes, offsets };
  }

  #add(list: number, source: number, from: number, to: number): void {
    if (list < 0 || this.#counts[list] === this.#most) return;
    const value = this.#source.push(source) - 1;
    this.#begins.push(from);
    this.#ends.push(to);
    this.#next.push(-1);
    const last = this.#last[list]!;
    if (last < 0) this.#first[list] = value;
    else this.#next[last] = value;
    this.#last[list] = value;
    this.#counts[list]!++;
  }

  #write(bytes: Uint8Array, from: number, list: number): void {
    let end = from;
    bytes[end++] = openBracket;
    for (let at = this.#first[list]!; at >= 0; at = this.#next[at]!) {
      if (at !== this.#first[list]) bytes[end++] = comma;
      const source = this.#sources[this.#source[at]!]!;
      for (let i = this.#begins[at]!; i < this.#ends[at]!; i++) bytes[end++] = source[i]!;
    }
    bytes[end] = closeBracket;
  }
}

const [comma, openBracket, closeBracket] = [0x2c, 0x5b, 0x5d];
