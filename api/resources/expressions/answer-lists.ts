import type { PackedStrings } from '../../../engine/core/packed-strings.js';
import { maxAnswerLength } from './opened-dataset.js';

/** Lists of JSON texts, numbered from 1. A list refers to the bytes of its texts until they are joined. */
export class JsonValueLists {
  readonly #most: number;
  /** For each list, by number: its first value, its last value and its number of values. Values are numbered from 1; 0 is none. */
  readonly #first: number[] = [0];
  readonly #last: number[] = [0];
  readonly #counts: number[] = [0];
  readonly #sources: Uint8Array[] = [];
  /** The index of the bytes to which `addSlice` refers. */
  #current = 0;
  /** For each value: the index of its bytes, the positions of its first byte and of its end in them, and the next value of its list. */
  readonly #source: number[] = [0];
  readonly #begins: number[] = [0];
  readonly #ends: number[] = [0];
  readonly #next: number[] = [0];

  /** `most` is the maximum number of values of a list; further values are left out. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The number of values in all lists. */
  get size(): number {
    return this.#next.length - 1;
  }

  /** Sets the bytes to which later calls of `addSlice` refer. */
  addBytes(bytes: Uint8Array): void {
    this.#current = this.#sources.push(bytes) - 1;
  }

  /** Adds a value to the list with this number, or to a new list if the number is the next one. */
  addSlice(list: number, from: number, to: number): void {
    this.#add(list, this.#current, from, to);
  }

  /** Adds a text to a list. */
  addText(list: number, text: string): void {
    const bytes = Buffer.from(text);
    this.#add(list, this.#sources.push(bytes) - 1, 0, bytes.length);
  }

  /** Returns the lists with these numbers as JSON texts. The text is empty for a list that is too long for an answer. List 0 is empty. */
  packLists(lists: Int32Array): PackedStrings {
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
