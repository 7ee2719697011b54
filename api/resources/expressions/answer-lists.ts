import type { PackedTexts } from '../../../engine/core/packed-texts.js';
import { maxAnswerLength } from './opened-dataset.js';

/** Lists of JSON texts, numbered from 1. A list refers to the bytes of its texts until they are joined. */
export class AnswerLists {
  readonly #most: number;
  /** The first and the last value of each list and how many it has, by number; values count from 1, too, and 0 is none. */
  readonly #first: number[] = [0];
  readonly #last: number[] = [0];
  readonly #counts: number[] = [0];
  readonly #sources: Uint8Array[] = [];
  /** The number of the bytes that `add` refers to. */
  #current = 0;
  /** For each value: its number of bytes, the positions of its first and last byte there, and the next value of its list. */
  readonly #source: number[] = [0];
  readonly #begins: number[] = [0];
  readonly #ends: number[] = [0];
  readonly #next: number[] = [0];

  /** `most` is how many values a list takes; others are left out. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The number of values. */
  get size(): number {
    return this.#next.length - 1;
  }

  /** Takes the bytes that `add` refers to from now on. */
  addBytes(bytes: Uint8Array): void {
    this.#current = this.#sources.push(bytes) - 1;
  }

  /** Adds a value to a list, which may be the one after the last one. */
  add(list: number, from: number, to: number): void {
    this.#add(list, this.#current, from, to);
  }

  /** Adds a text to a list. */
  addText(list: number, text: string): void {
    const bytes = Buffer.from(text);
    this.#add(list, this.#sources.push(bytes) - 1, 0, bytes.length);
  }

  /** The lists with these numbers as JSON texts; the text is empty for a list that is too long for an answer. List 0 is empty. */
  packed(lists: Int32Array): PackedTexts {
    const offsets = new Int32Array(lists.length + 1);
    for (let i = 0; i < lists.length; i++) {
      const size = this.#sizeOf(lists[i]!);
      offsets[i + 1] = offsets[i]! + (size > maxAnswerLength ? 0 : size);
    }
    const bytes = new Uint8Array(offsets[lists.length]!);
    for (let i = 0; i < lists.length; i++)
      if (offsets[i + 1]! > offsets[i]!) this.#write(bytes, offsets[i]!, lists[i]!);
    return { bytes, offsets };
  }

  #add(list: number, source: number, from: number, to: number): void {
    if (list === this.#first.length) {
      this.#first.push(0);
      this.#last.push(0);
      this.#counts.push(0);
    }
    if (this.#counts[list] === this.#most) return;
    const value = this.#source.push(source) - 1;
    this.#begins.push(from);
    this.#ends.push(to);
    this.#next.push(0);
    const last = this.#last[list]!;
    if (last === 0) this.#first[list] = value;
    else this.#next[last] = value;
    this.#last[list] = value;
    this.#counts[list]!++;
  }

  #sizeOf(list: number): number {
    let size = 2;
    for (let at = this.#first[list]!; at > 0; at = this.#next[at]!)
      size += this.#ends[at]! - this.#begins[at]! + (this.#next[at] === 0 ? 0 : 1);
    return size;
  }

  #write(bytes: Uint8Array, from: number, list: number): void {
    let end = from;
    bytes[end++] = openBracket;
    for (let at = this.#first[list]!; at > 0; at = this.#next[at]!) {
      const source = this.#sources[this.#source[at]!]!;
      for (let i = this.#begins[at]!; i < this.#ends[at]!; i++) bytes[end++] = source[i]!;
      if (this.#next[at] !== 0) bytes[end++] = comma;
    }
    bytes[end] = closeBracket;
  }
}

const [comma, openBracket, closeBracket] = [0x2c, 0x5b, 0x5d];
