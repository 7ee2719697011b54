import type { PackedStrings } from '../../../engine/core/packed-strings.js';
import { maxAnswerLength } from './opened-dataset.js';

/**
 * Lists of JSON texts; the lists are numbered from 1. A text that `addSlice` adds is not copied: the list refers to the bytes that contain
 * it. `packLists` writes lists as JSON.
 */
export class JsonValueLists {
  readonly #maxValues: number;
  /** For each list, by number: its first value, its last value and its number of values. Values are numbered from 1; 0 is none. */
  readonly #firstValues: number[] = [0];
  readonly #lastValues: number[] = [0];
  readonly #valueCounts: number[] = [0];
  readonly #sources: Uint8Array[] = [];
  /** The index of the bytes to which `addSlice` refers. */
  #currentSource = 0;
  /** For each value: the index of its bytes, the positions of its first byte and of its end in them, and the next value of its list. */
  readonly #sourceIndices: number[] = [0];
  readonly #valueStarts: number[] = [0];
  readonly #valueEnds: number[] = [0];
  readonly #nextValues: number[] = [0];

  /** `maxValues` is the maximum number of values of a list; further values are left out. */
  constructor(maxValues: number) {
    this.#maxValues = maxValues;
  }

  /** The number of values in all lists. */
  get size(): number {
    return this.#nextValues.length - 1;
  }

  /** Sets the bytes to which later calls of `addSlice` refer. */
  addBytes(bytes: Uint8Array): void {
    this.#currentSource = this.#sources.push(bytes) - 1;
  }

  /** Adds a value to the list with this number, or to a new list if the number is the next one. */
  addSlice(listNumber: number, from: number, to: number): void {
    this.#add(listNumber, this.#currentSource, from, to);
  }

  /** Adds a text to a list. */
  addText(list: number, text: string): void {
    const bytes = Buffer.from(text);
    this.#add(list, this.#sources.push(bytes) - 1, 0, bytes.length);
  }

  /** Returns the lists with these numbers as JSON texts. The text is empty for a list that is too long for an answer. List 0 is `[]`. */
  packLists(listNumbers: Int32Array): PackedStrings {
    const offsets = new Int32Array(listNumbers.length + 1);
    for (let i = 0; i < listNumbers.length; i++) {
      const size = this.#sizeOf(listNumbers[i]!);
      offsets[i + 1] = offsets[i]! + (size > maxAnswerLength ? 0 : size);
    }
    const bytes = new Uint8Array(offsets[listNumbers.length]!);
    for (let i = 0; i < listNumbers.length; i++)
      if (offsets[i + 1]! > offsets[i]!) this.#write(bytes, offsets[i]!, listNumbers[i]!);
    return { bytes, offsets };
  }

  #add(list: number, source: number, from: number, to: number): void {
    if (list === this.#firstValues.length) {
      this.#firstValues.push(0);
      this.#lastValues.push(0);
      this.#valueCounts.push(0);
    }
    if (this.#valueCounts[list] === this.#maxValues) return;
    const value = this.#sourceIndices.push(source) - 1;
    this.#valueStarts.push(from);
    this.#valueEnds.push(to);
    this.#nextValues.push(0);
    const lastValue = this.#lastValues[list]!;
    if (lastValue === 0) this.#firstValues[list] = value;
    else this.#nextValues[lastValue] = value;
    this.#lastValues[list] = value;
    this.#valueCounts[list]!++;
  }

  #sizeOf(list: number): number {
    let size = 2;
    for (let at = this.#firstValues[list]!; at > 0; at = this.#nextValues[at]!)
      size += this.#valueEnds[at]! - this.#valueStarts[at]! + (this.#nextValues[at] === 0 ? 0 : 1);
    return size;
  }

  #write(bytes: Uint8Array, from: number, list: number): void {
    let end = from;
    bytes[end++] = openBracket;
    for (let at = this.#firstValues[list]!; at > 0; at = this.#nextValues[at]!) {
      const source = this.#sources[this.#sourceIndices[at]!]!;
      for (let i = this.#valueStarts[at]!; i < this.#valueEnds[at]!; i++) bytes[end++] = source[i]!;
      if (this.#nextValues[at] !== 0) bytes[end++] = comma;
    }
    bytes[end] = closeBracket;
  }
}

const [comma, openBracket, closeBracket] = [0x2c, 0x5b, 0x5d];
