import { budgets } from '../../engine/core/budgets.js';
import { powersOfTen } from '../text/numbers.js';
import { ScanBuffer, scanCells } from '../text/scan-buffer.js';
import type { OrderedField } from './field-order.js';
import { fieldWords, recordAddresses, recordsKernel, wordsOfField } from './record-kernel.js';

/**
 * A part of a text in which runs of records with the same order of keys are found. The cells of field `i`, counted with the members of the
 * fields before it, begin at index `i * maxRows`. A cell holds the range of a value in the text, and its number (`recordsKernel`).
 */
export class RecordBuffer extends ScanBuffer<{ records(...of: readonly number[]): number }> {
  readonly numbers: Float64Array;
  /** Maximum number of records of a run. */
  maxRows = 0;
  /** Offset in the text of the first byte after the run. */
  next = 0;
  /** Offset in the text of the buffer's first byte. */
  base = 0;
  readonly #memory: Uint8Array;
  readonly #words: Int32Array;
  #literalEnd = 0;

  constructor() {
    super([recordsKernel], recordAddresses.end);
    const { buffer } = this.exports.memory;
    const { numbers, powers } = recordAddresses;
    this.numbers = new Float64Array(buffer, numbers, scanCells);
    this.#memory = new Uint8Array(buffer);
    this.#words = new Int32Array(buffer);
    new Float64Array(buffer, powers, powersOfTen.length).set(powersOfTen);
  }

  /** Sets the fields of the records that `find` looks for, perhaps in another text. Returns false if there are too many fields. */
  setFields(fields: readonly OrderedField[]): boolean {
    const { fields: root, literals, end } = recordAddresses;
    const count = countOf(fields);
    const size = (all: readonly OrderedField[]): number =>
      all.reduce((sum, { literal, members }) => sum + 16 + literal.length + size(members ?? []), 0);
    if (count >= budgets.recordKeysWarning || size(fields) > end - literals) return false;
    this.maxRows = Math.floor(scanCells / Math.max(1, count));
    this.#literalEnd = literals;
    this.#setWord(root, 'next', this.#addFields(fields, root, root + 4 * wordsOfField));
    this.length = 0;
    return true;
  }

  /** The kinds of the values of a field in the run (`valueKinds`). */
  kindsOf(i: number): number {
    return this.#words[
      (recordAddresses.fields + 4 * (i + 1) * wordsOfField) / 4 + fieldWords.kinds
    ]!;
  }

  /**
   * Finds a run of `least` to `most` records that begins at `at`, and sets `next` to its end; returns the number of records, or 0 if there
   * are fewer than `least`.
   */
  find(text: Uint8Array, at: number, least: number, most: number): number {
    if (at < this.base || at >= this.base + this.length) this.#openAt(text, at);
    const { fields: root } = recordAddresses;
    const count = this.#records(at, most);
    this.next = this.base + this.#word(root, 'cells') - this.bytes.byteOffset;
    if (count < least) return 0;
    // The kernel stopped within a record: the run is read again without it, so that its kinds of values are not counted.
    if (this.#word(root, 'kinds') !== 0) this.#records(at, count);
    return count;
  }

  /** Fills the buffer with whole lines. */
  #openAt(text: Uint8Array, at: number): void {
    this.open(text, at);
    this.length = this.bytes.lastIndexOf(10, this.length - 1) + 1;
    // No value extends beyond the last line.
    this.bytes.fill(0, this.length, this.length + 16);
    this.base = at;
  }

  #records(at: number, most: number): number {
    const { fields: root } = recordAddresses;
    const last = this.#word(root, 'next');
    for (let field = root; field < last; field += 4 * wordsOfField)
      this.#setWord(field, 'kinds', 0);
    const begin = this.bytes.byteOffset;
    return this.exports.records(begin + at - this.base, begin + this.length, Math.min(most, this.maxRows), budgets.stringBytes, root); // prettier-ignore
  }

  /** Writes fields from an address on; returns the address of their end. */
  #addFields(fields: readonly OrderedField[], parent: number, from: number): number {
    let at = from;
    for (const { literal, members } of fields) {
      const number = (at - recordAddresses.fields) / (4 * wordsOfField) - 1;
      this.#memory.set(literal, this.#literalEnd);
      this.#setWord(at, 'literal', this.#literalEnd);
      this.#setWord(at, 'literalBytes', literal.length);
      this.#setWord(at, 'parent', parent);
      this.#setWord(at, 'cells', 4 * number * this.maxRows);
      this.#setWord(at, 'isObject', members === null ? 0 : 1);
      this.#literalEnd += literal.length + 16;
      const next = this.#addFields(members ?? [], at, at + 4 * wordsOfField);
      this.#setWord(at, 'next', next);
      at = next;
    }
    return at;
  }

  #word(field: number, name: keyof typeof fieldWords): number {
    return this.#words[field / 4 + fieldWords[name]]!;
  }

  #setWord(field: number, name: keyof typeof fieldWords, value: number): void {
    this.#words[field / 4 + fieldWords[name]] = value;
  }
}

/** The number of fields, including members. */
export function countOf(fields: readonly OrderedField[]): number {
  return fields.reduce((sum, { members }) => sum + 1 + countOf(members ?? []), 0);
}

let instance: RecordBuffer | undefined;

/** The buffer of this thread. */
export function recordBuffer(): RecordBuffer {
  return (instance ??= new RecordBuffer());
}
