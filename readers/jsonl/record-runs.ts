import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { isoMicros } from '../../engine/ingest/iso-date.js';
import { type RecordContext, TrialReadFailed } from '../../engine/ingest/record-context.js';
import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import { budgets } from '../../engine/core/budgets.js';
import { parseFloatBytes } from '../text/parse-numbers.js';
import { FieldOrder, type OrderedField } from './field-order.js';
import { countFields, recordBuffer } from './record-buffer.js';
import { valueKinds } from './record-kernel.js';
import { jsonBytes, MalformedLine } from './scanner.js';

/** Reads the value at an offset of the text into a column; `depth` is the number of enclosing objects. */
type AddValueAt = (column: ValueColumn, at: number, depth: number) => void;

/**
 * Numbers of searches that find no run, and of abandoned runs (`maxFailedRuns`), since the last appended run, after which the rest of the
 * chunk is read record by record.
 */
const maxFailedSearches = 100;
const maxFailedRuns = 16;
/** Maximum number of records from which the order of keys is learned. */
const maxLearnedRecords = 50;
/** Minimum number of records in a run: for fewer, the general path is faster. */
const minRunRecords = 16;

/**
 * The fast path for JSON lines: finds runs of records with known keys in a known order, and appends their values column by column. The
 * values of a field in a run are read by the general path unless all are texts without escapes, all plain numbers, all booleans or all
 * objects, and the column stores them unchanged. A run with a value that must be reported, or in which a record may have very many keys, is
 * left to `JsonlParser`, and so are all records outside runs.
 */
export class RecordRunParser {
  /** Offset in the text of the first record after the run. */
  nextRecordOffset = 0;
  readonly #out: BatchBuilder;
  readonly #context: RecordContext;
  readonly #addValueAt: AddValueAt;
  readonly #fieldOrder = new FieldOrder();
  readonly #buffer = recordBuffer();
  #isEnabled = true;
  /** The offset in the text up to which all records are left to `JsonlParser`. */
  #generalPathEnd = 0;
  #maxRunRecords = Infinity;
  #learnedRecords = 0;
  #failedSearches = 0;
  #failedRuns = 0;
  /**
   * The number of the next field to append; `#depth` is the number of objects around it, and `#maxKeyCount` an upper bound for the number
   * of keys in a record of the run.
   */
  #nextFieldNumber = 0;
  #depth = 1;
  #maxKeyCount = 0;

  constructor(out: BatchBuilder, context: RecordContext, addValueAt: AddValueAt) {
    this.#out = out;
    this.#context = context;
    this.#addValueAt = addValueAt;
  }

  /** Learns the order of keys from a record that the parser has read into `fields`. */
  learnFromRecord(text: Uint8Array, at: number, fields: ObjectFields): void {
    if (!this.#isEnabled || at < this.#generalPathEnd || ++this.#learnedRecords > maxLearnedRecords)
      return;
    if (this.#fieldOrder.learnFromRecord(text, at, fields)) this.#isEnabled = this.#buffer.setFields(this.#fieldOrder.fields); // prettier-ignore
  }

  /**
   * Appends a run of records that begins at `at`, on line `line`. Returns the number of its records; 0 if the record at `at` is left to
   * `JsonlParser`.
   */
  readRun(text: Uint8Array, at: number, line: number): number {
    if (!this.#isEnabled || at < this.#generalPathEnd || this.#fieldOrder.fields.length === 0)
      return 0;
    const count = this.#buffer.findRecordRun(text, at, minRunRecords, this.#maxRunRecords);
    this.nextRecordOffset = this.#buffer.nextRecordOffset;
    if (count > 0 && this.#appendRecords(count)) {
      this.#failedSearches = this.#failedRuns = 0;
      this.#maxRunRecords = Math.max(this.#maxRunRecords, 2 * count);
      this.#out.endRecords(count, line);
      return count;
    }
    this.#generalPathEnd = this.nextRecordOffset;
    if (count === 0) this.#isEnabled = ++this.#failedSearches < maxFailedSearches;
    else {
      this.#isEnabled = ++this.#failedRuns < maxFailedRuns;
      this.#maxRunRecords = Math.max(minRunRecords, count >> 1);
    }
    return 0;
  }

  /** Appends the values of a run; returns false, with nothing appended, if a value must be reported or a record may have very many keys. */
  #appendRecords(count: number): boolean {
    const { rows } = this.#out;
    this.#nextFieldNumber = 0;
    this.#maxKeyCount = 0;
    this.#context.isTrial = true;
    try {
      for (const field of this.#fieldOrder.fields) this.#appendField(field, rows, count);
      if (this.#maxKeyCount < budgets.recordKeysWarning) return true;
    } catch (error) {
      if (!(error instanceof TrialReadFailed || error instanceof MalformedLine)) throw error;
    } finally {
      this.#context.isTrial = false;
      this.#depth = 1;
    }
    this.#out.rollback(rows);
    return false;
  }

  #appendField({ column, members }: OrderedField, row: number, count: number): void {
    const fieldNumber = this.#nextFieldNumber++;
    const firstCell = fieldNumber * this.#buffer.maxRunRecords;
    const kinds = this.#buffer.valueKindsOf(fieldNumber) & ~valueKinds.absent;
    const nextFieldNumber = this.#nextFieldNumber + countFields(members ?? []);
    column.padTo(row);
    const objectRun = kinds === valueKinds.object ? column.startObjects() : null;
    if (objectRun !== null) {
      this.#depth++;
      for (const member of members!) this.#appendField(member, row, count);
      this.#depth--;
      const { rangeStarts } = this.#buffer;
      objectRun.endObjects(count, (i) => rangeStarts[firstCell + i] !== 0);
      column.padTo(row + count);
      return;
    }
    this.#maxKeyCount++;
    this.#nextFieldNumber = nextFieldNumber;
    if (kinds === 0 || this.#appendRun(column, kinds, firstCell, count)) return;
    this.#appendValues(column, row, firstCell, count);
  }

  /**
   * Appends the values of a field if all are texts, all are numbers or all are booleans. Returns false if they are not, if the column does
   * not store them unchanged, or if a number needs the general path.
   */
  #appendRun(column: ValueColumn, kinds: number, firstCell: number, count: number): boolean {
    if (column.storesJson) return false;
    const { integer, double, text, boolean } = valueKinds;
    if (kinds === text) return this.#appendTexts(column, firstCell, count);
    if (kinds === boolean) return this.#appendNumbers(column, 'boolean', firstCell, count);
    if (kinds === integer) return this.#appendNumbers(column, 'long', firstCell, count);
    if ((kinds & ~(integer | double)) !== 0 || !this.#readDoubles(firstCell, count)) return false;
    return this.#appendNumbers(column, 'double', firstCell, count);
  }

  #appendTexts(column: ValueColumn, firstCell: number, count: number): boolean {
    const buffer = this.#buffer;
    const builder = column.startTexts(() => this.#hasPlainText(firstCell, count));
    if (builder === null) return false;
    const { gatheredBytes, gatheredOffsets, rangeStarts: from } = buffer;
    buffer.gather(firstCell, count);
    const hasAbsent = from.subarray(firstCell, firstCell + count).includes(0);
    const isValid = hasAbsent ? (i: number): boolean => from[firstCell + i] !== 0 : null;
    builder.appendConsecutive({ bytes: gatheredBytes, offsets: gatheredOffsets }, count, isValid);
    column.padTo(builder.length);
    return true;
  }

  /** Returns whether one of the texts in the cells is not a date. */
  #hasPlainText(firstCell: number, count: number): boolean {
    const { bytes, rangeStarts, rangeEnds } = this.#buffer;
    for (let i = firstCell; i < firstCell + count; i++)
      if (rangeStarts[i] !== 0 && isoMicros(bytes, rangeStarts[i]!, rangeEnds[i]!) === undefined)
        return true;
    return false;
  }

  #appendNumbers(
    column: ValueColumn,
    kind: 'boolean' | 'long' | 'double',
    firstCell: number,
    count: number,
  ): boolean {
    const numbers = this.#buffer.cellNumbers.subarray(firstCell, firstCell + count);
    let builder = column.startNumbers(kind);
    if (
      builder === null &&
      kind === 'long' &&
      numbers.every((number) => number !== number || number === (number | 0))
    )
      // prettier-ignore
      builder = column.startNumbers('integer');
    if (builder === null) return false;
    builder.appendNumbers(numbers);
    column.padTo(builder.length);
    return true;
  }

  /**
   * Parses the numbers that the kernel has not read (many digits, exponents); returns false if one is too large for a double or longer than
   * `parseFloatBytes` supports.
   */
  #readDoubles(firstCell: number, count: number): boolean {
    const { bytes, rangeStarts, rangeEnds, cellNumbers } = this.#buffer;
    for (let i = firstCell; i < firstCell + count; i++) {
      if (cellNumbers[i] === cellNumbers[i] || rangeStarts[i] === 0) continue;
      const value = parseFloatBytes(bytes, rangeStarts[i]!, rangeEnds[i]!);
      if (value - value !== 0) return false;
      cellNumbers[i] = value;
    }
    return true;
  }

  #appendValues(column: ValueColumn, row: number, firstCell: number, count: number): void {
    const { bytes, rangeStarts, bufferOffset } = this.#buffer;
    const context = this.#context;
    let maxKeys = 0;
    for (let i = 0; i < count; i++) {
      const start = rangeStarts[firstCell + i]!;
      if (start === 0) continue;
      column.padTo(row + i);
      context.recordNumber++;
      context.keyCount = 0;
      // The cell of a text begins after its opening quote.
      this.#addValueAt(
        column,
        bufferOffset + start - (bytes[start - 1] === jsonBytes.quote ? 1 : 0),
        this.#depth,
      );
      maxKeys = Math.max(maxKeys, context.keyCount);
    }
    this.#maxKeyCount += maxKeys;
  }
}
