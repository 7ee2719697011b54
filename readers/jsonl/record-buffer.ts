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
 * `i * maxRunRecords`; fields are numbered depth-first, including members. A cell has the range of a value in the buffer, and its number
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
   * Sets the fields of the records that `findRecordRun` looks for, and discards the text in the buffer. Returns false if there are too many
   * fields, or if their keys are too long in total.
   */
  setFields(fields: readonly OrderedField[]): boolean {
    const { fields: rootAddress, literals, end } = recordAddresses;
    const fieldCount = countFields(fields);
    const sizeOf = (listedFields: readonly OrderedField[]): number =>
      listedFields.reduce(
        (sum, { literal, members }) => sum + 16 + literal.length + sizeOf(members ?? []),
        0,
      );
    if (fieldCount >= budgets.recordKeysWarning || sizeOf(fields) > end - literals) return false;
    this.maxRunRecords = Math.floor(maxGatheredRanges / Math.max(1, fieldCount));
    this.#literalEnd = literals;
    this.#setWord(
      rootAddress,
      'next',
      this.#addFields(fields, rootAddress, rootAddress + 4 * wordsPerField),
    );
    this.textLength = 0;
    return true;
  }

  /** Returns the kinds of the values of a field in the run, as bits of `valueKinds`. */
  valueKindsOf(fieldNumber: number): number {
    return this.#words[
      (recordAddresses.fields + 4 * (fieldNumber + 1) * wordsPerField) / 4 + fieldWordOffsets.kinds
    ]!;
  }

  /**
   * Finds a run of `minRecords` to `maxRecords` records that begins at `at`, and sets `nextRecordOffset` to its end. Returns the number of
   * records; 0 if there are fewer than `minRecords`, whose end is then in `nextRecordOffset`.
   */
  findRecordRun(text: Uint8Array, at: number, minRecords: number, maxRecords: number): number {
    if (at < this.bufferOffset || at >= this.bufferOffset + this.textLength)
      this.#loadLines(text, at);
    const { fields: rootAddress } = recordAddresses;
    const count = this.#runKernel(at, maxRecords);
    this.nextRecordOffset =
      this.bufferOffset + this.#readWord(rootAddress, 'cells') - this.bytes.byteOffset;
    if (count < minRecords) return 0;
    // The kernel stopped within a record. The run is read again without that record, so that the kinds of its values are not recorded.
    if (this.#readWord(rootAddress, 'kinds') !== 0) this.#runKernel(at, count);
    return count;
  }

  /** Fills the buffer with whole lines, beginning at `at`. */
  #loadLines(text: Uint8Array, at: number): void {
    this.loadText(text, at);
    this.textLength = this.bytes.lastIndexOf(10, this.textLength - 1) + 1;
    // The bytes after the last line are cleared, so that no value extends beyond it.
    this.bytes.fill(0, this.textLength, this.textLength + 16);
    this.bufferOffset = at;
  }

  #runKernel(at: number, most: number): number {
    const { fields: root } = recordAddresses;
    const fieldsEnd = this.#readWord(root, 'next');
    for (let fieldAddress = root; fieldAddress < fieldsEnd; fieldAddress += 4 * wordsPerField)
      this.#setWord(fieldAddress, 'kinds', 0);
    const base = this.bytes.byteOffset;
    return this.kernelExports.records(base + at - this.bufferOffset, base + this.textLength, Math.min(most, this.maxRunRecords), budgets.stringBytes, root); // prettier-ignore
  }

  /** Writes the descriptions of fields from address `from` on; returns the address of their end. */
  #addFields(fields: readonly OrderedField[], parent: number, from: number): number {
    let fieldAddress = from;
    for (const { literal, members } of fields) {
      const fieldNumber = (fieldAddress - recordAddresses.fields) / (4 * wordsPerField) - 1;
      this.#memory.set(literal, this.#literalEnd);
      this.#setWord(fieldAddress, 'literal', this.#literalEnd);
      this.#setWord(fieldAddress, 'literalBytes', literal.length);
      this.#setWord(fieldAddress, 'parent', parent);
      this.#setWord(fieldAddress, 'cells', 4 * fieldNumber * this.maxRunRecords);
      this.#setWord(fieldAddress, 'isObject', members === null ? 0 : 1);
      this.#literalEnd += literal.length + 16;
      const nextAddress = this.#addFields(
        members ?? [],
        fieldAddress,
        fieldAddress + 4 * wordsPerField,
      );
      this.#setWord(fieldAddress, 'next', nextAddress);
      fieldAddress = nextAddress;
    }
    return fieldAddress;
  }

  #readWord(fieldAddress: number, name: keyof typeof fieldWordOffsets): number {
    return this.#words[fieldAddress / 4 + fieldWordOffsets[name]]!;
  }

  #setWord(fieldAddress: number, name: keyof typeof fieldWordOffsets, value: number): void {
    this.#words[fieldAddress / 4 + fieldWordOffsets[name]] = value;
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
