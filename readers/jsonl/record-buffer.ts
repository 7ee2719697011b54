import { budgets } from '../../engine/core/budgets.js';
import { powersOfTen } from '../text/parse-numbers.js';
import { ScanBuffer, maxGatheredRanges } from '../text/scan-buffer.js';
import type { OrderedField } from './field-order.js';
import {
  fieldWordOffsets,
  recordAddresses,
  recordsKernel,
  wordsPerField,
} from './record-kernel.js';

/**
 * A part of a text in which runs of records with the same order of keys are found. The cells of field `i` begin at index
 * `i * maxRunRecords`; fields are numbered depth-first, including members. A cell has the range of a value in the text, and its number
 * (`recordsKernel`).
 */
class RecordBuffer extends ScanBuffer<{ records(...of: readonly number[]): number }> {
  readonly cellNumbers: Float64Array;
  /** Maximum number of records in a run. */
  maxRunRecords = 0;
  /** The offset in the text of the first byte after the run. */
  nextRecordOffset = 0;
  /** The offset of the buffer's first byte in the text. */
  bufferOffset = 0;
  readonly #memory: Uint8Array;
  readonly #words: Int32Array;
  #literalEnd = 0;

  constructor() {
    super([recordsKernel], recordAddresses.end);
    const { buffer } = this.kernelExports.memory;
    const { numbers, powers } = recordAddresses;
    this.cellNumbers = new Float64Array(buffer, numbers, maxGatheredRanges);
    this.#memory = new Uint8Array(buffer);
    this.#words = new Int32Array(buffer);
    new Float64Array(buffer, powers, powersOfTen.length).set(powersOfTen);
  }

  /**
   * Sets the fields of the records that `findRecordRun` looks for; the next text may be a different one. Returns false if there are too
   * many fields, or if their keys are too long in total.
   */
  setFields(fields: readonly OrderedField[]): boolean {
    const { fields: root, literals, end } = recordAddresses;
    const count = countFields(fields);
    const size = (all: readonly OrderedField[]): number =>
      all.reduce((sum, { literal, members }) => sum + 16 + literal.length + size(members ?? []), 0);
    if (count >= budgets.recordKeysWarning || size(fields) > end - literals) return false;
    this.maxRunRecords = Math.floor(maxGatheredRanges / Math.max(1, count));
    this.#literalEnd = literals;
    this.#setWord(root, 'next', this.#addFields(fields, root, root + 4 * wordsPerField));
    this.textLength = 0;
    return true;
  }

  /** Returns the kinds of the values of a field in the run, as bits of `valueKinds`. */
  valueKindsOf(i: number): number {
    return this.#words[
      (recordAddresses.fields + 4 * (i + 1) * wordsPerField) / 4 + fieldWordOffsets.kinds
    ]!;
  }

  /**
   * Finds a run of `least` to `most` records that begins at `at`, and sets `nextRecordOffset` to its end. Returns the number of records; 0
   * if there are fewer than `least`.
   */
  findRecordRun(text: Uint8Array, at: number, least: number, most: number): number {
    if (at < this.bufferOffset || at >= this.bufferOffset + this.textLength) this.#openAt(text, at);
    const { fields: root } = recordAddresses;
    const count = this.#records(at, most);
    this.nextRecordOffset = this.bufferOffset + this.#word(root, 'cells') - this.bytes.byteOffset;
    if (count < least) return 0;
    // The kernel stopped within a record. The run is read again without that record, so that the kinds of its values are not recorded.
    if (this.#word(root, 'kinds') !== 0) this.#records(at, count);
    return count;
  }

  /** Fills the buffer with whole lines, beginning at `at`. */
  #openAt(text: Uint8Array, at: number): void {
    this.loadText(text, at);
    this.textLength = this.bytes.lastIndexOf(10, this.textLength - 1) + 1;
    // The bytes after the last line are cleared, so that no value extends beyond it.
    this.bytes.fill(0, this.textLength, this.textLength + 16);
    this.bufferOffset = at;
  }

  #records(at: number, most: number): number {
    const { fields: root } = recordAddresses;
    const last = this.#word(root, 'next');
    for (let field = root; field < last; field += 4 * wordsPerField)
      this.#setWord(field, 'kinds', 0);
    const begin = this.bytes.byteOffset;
    return this.kernelExports.records(begin + at - this.bufferOffset, begin + this.textLength, Math.min(most, this.maxRunRecords), budgets.stringBytes, root); // prettier-ignore
  }

  /** Writes the descriptions of fields from address `from` on; returns the address of their end. */
  #addFields(fields: readonly OrderedField[], parent: number, from: number): number {
    let at = from;
    for (const { literal, members } of fields) {
      const number = (at - recordAddresses.fields) / (4 * wordsPerField) - 1;
      this.#memory.set(literal, this.#literalEnd);
      this.#setWord(at, 'literal', this.#literalEnd);
      this.#setWord(at, 'literalBytes', literal.length);
      this.#setWord(at, 'parent', parent);
      this.#setWord(at, 'cells', 4 * number * this.maxRunRecords);
      this.#setWord(at, 'isObject', members === null ? 0 : 1);
      this.#literalEnd += literal.length + 16;
      const next = this.#addFields(members ?? [], at, at + 4 * wordsPerField);
      this.#setWord(at, 'next', next);
      at = next;
    }
    return at;
  }

  #word(field: number, name: keyof typeof fieldWordOffsets): number {
    return this.#words[field / 4 + fieldWordOffsets[name]]!;
  }

  #setWord(field: number, name: keyof typeof fieldWordOffsets, value: number): void {
    this.#words[field / 4 + fieldWordOffsets[name]] = value;
  }
}

/** Returns the number of fields, including members. */
export function countFields(fields: readonly OrderedField[]): number {
  return fields.reduce((sum, { members }) => sum + 1 + countFields(members ?? []), 0);
}

let recordBufferOfThread: RecordBuffer | undefined;

/** Returns the buffer of this thread. */
export function recordBuffer(): RecordBuffer {
  return (recordBufferOfThread ??= new RecordBuffer());
}
