import type { BatchBuilder } from '../../engine/ingest/batch.js';
import { isoMicros } from '../../engine/ingest/iso-date.js';
import { type RecordContext, TrialEnded } from '../../engine/ingest/record-context.js';
import type { ObjectFields, ValueColumn } from '../../engine/ingest/value-column.js';
import { budgets } from '../../engine/core/budgets.js';
import { floatAt } from '../text/numbers.js';
import { FieldOrder, type OrderedField } from './field-order.js';
import { countOf, recordBuffer } from './record-buffer.js';
import { valueKinds } from './record-kernel.js';
import { byte, MalformedLine } from './scanner.js';

/** Reads the value at an offset of the text into a column; `depth` is the number of enclosing objects. */
type AddValueAt = (column: ValueColumn, at: number, depth: number) => void;

/** The number of failed searches for a run, and of abandoned runs, after which a chunk is read record by record. */
const maxFailures = 100;
const maxFailedRuns = 16;
/** Maximum number of records from which the order of keys is learned. */
const maxLearnedRecords = 50;
/** Minimum number of records of a run: below it, the general path is faster. */
const minRows = 16;

/**
 * The fast path: finds runs of records with known keys in a known order, and appends their values column by column. A value that is neither
 * a text without escapes nor a plain number, boolean or object is read by the general path. A run with a value that has to be reported is
 * left to `JsonlParser`, and so are all records outside of runs.
 */
export class RecordRuns {
  /** Offset in the text of the record after the run. */
  next = 0;
  readonly #out: BatchBuilder;
  readonly #context: RecordContext;
  readonly #read: AddValueAt;
  readonly #order = new FieldOrder();
  readonly #buffer = recordBuffer();
  #isEnabled = true;
  /** The offset in the text up to which records are left to the parser. */
  #generalUntil = 0;
  #maxRows = Infinity;
  #learnedRecords = 0;
  #failures = 0;
  #failedRuns = 0;
  /**
   * The number of the field that is appended next, the number of objects around it, and the maximum number of keys in a record of the run.
   */
  #field = 0;
  #depth = 1;
  #keys = 0;

  constructor(out: BatchBuilder, context: RecordContext, read: AddValueAt) {
    this.#out = out;
    this.#context = context;
    this.#read = read;
  }

  /** Learns the order of keys from a record that the parser has read into `fields`. */
  learn(text: Uint8Array, at: number, fields: ObjectFields): void {
    if (!this.#isEnabled || at < this.#generalUntil || ++this.#learnedRecords > maxLearnedRecords)
      return;
    if (this.#order.learn(text, at, fields)) this.#isEnabled = this.#buffer.setFields(this.#order.fields); // prettier-ignore
  }

  /**
   * Appends a run of records that begins at `at`, on line `line`; returns the number of its records, or 0 if the record at `at` is left to
   * the parser.
   */
  read(text: Uint8Array, at: number, line: number): number {
    if (!this.#isEnabled || at < this.#generalUntil || this.#order.fields.length === 0) return 0;
    const count = this.#buffer.find(text, at, minRows, this.#maxRows);
    this.next = this.#buffer.next;
    if (count > 0 && this.#append(count)) {
      this.#failures = this.#failedRuns = 0;
      this.#maxRows = Math.max(this.#maxRows, 2 * count);
      this.#out.endRecords(count, line);
      return count;
    }
    this.#generalUntil = this.next;
    if (count === 0) this.#isEnabled = ++this.#failures < maxFailures;
    else {
      this.#isEnabled = ++this.#failedRuns < maxFailedRuns;
      this.#maxRows = Math.max(minRows, count >> 1);
    }
    return 0;
  }

  /** Appends the values of a run; returns false, with nothing appended, if a value has to be reported. */
  #append(count: number): boolean {
    const { rows } = this.#out;
    this.#field = 0;
    this.#keys = 0;
    this.#context.isTrial = true;
    try {
      for (const field of this.#order.fields) this.#appendField(field, rows, count);
      if (this.#keys < budgets.recordKeysWarning) return true;
    } catch (error) {
      if (!(error instanceof TrialEnded || error instanceof MalformedLine)) throw error;
    } finally {
      this.#context.isTrial = false;
      this.#depth = 1;
    }
    this.#out.rollback(rows);
    return false;
  }

  #appendField({ column, members }: OrderedField, row: number, count: number): void {
    const number = this.#field++;
    const first = number * this.#buffer.maxRows;
    const kinds = this.#buffer.kindsOf(number) & ~valueKinds.absent;
    const after = this.#field + countOf(members ?? []);
    column.padTo(row);
    const object = kinds === valueKinds.object ? column.startObjects() : null;
    if (object !== null) {
      this.#depth++;
      for (const member of members!) this.#appendField(member, row, count);
      this.#depth--;
      const { from } = this.#buffer;
      object.endObjects(count, (i) => from[first + i] !== 0);
      column.padTo(row + count);
      return;
    }
    this.#keys++;
    this.#field = after;
    if (kinds === 0 || this.#appendRun(column, kinds, first, count)) return;
    this.#appendValues(column, row, first, count);
  }

  /**
   * Appends values that are all texts, numbers or booleans; returns false if there is any other value, or if the column does not store them
   * unchanged.
   */
  #appendRun(column: ValueColumn, kinds: number, first: number, count: number): boolean {
    if (column.storesJson) return false;
    const { integer, double, text, boolean } = valueKinds;
    if (kinds === text) return this.#appendTexts(column, first, count);
    if (kinds === boolean) return this.#appendNumbers(column, 'boolean', first, count);
    if (kinds === integer) return this.#appendNumbers(column, 'long', first, count);
    if ((kinds & ~(integer | double)) !== 0 || !this.#readDoubles(first, count)) return false;
    return this.#appendNumbers(column, 'double', first, count);
  }

  #appendTexts(column: ValueColumn, first: number, count: number): boolean {
    const buffer = this.#buffer;
    const builder = column.startTexts(() => this.#hasPlainText(first, count));
    if (builder === null) return false;
    const { gathered, offsets, from } = buffer;
    buffer.gather(first, count);
    const hasAbsent = from.subarray(first, first + count).includes(0);
    const isValid = hasAbsent ? (i: number): boolean => from[first + i] !== 0 : null;
    builder.appendConsecutive({ bytes: gathered, offsets }, count, isValid);
    column.padTo(builder.length);
    return true;
  }

  #hasPlainText(first: number, count: number): boolean {
    const { bytes, from, to } = this.#buffer;
    for (let i = first; i < first + count; i++)
      if (from[i] !== 0 && isoMicros(bytes, from[i]!, to[i]!) === undefined) return true;
    return false;
  }

  #appendNumbers(
    column: ValueColumn,
    kind: 'boolean' | 'long' | 'double',
    first: number,
    count: number,
  ): boolean {
    const numbers = this.#buffer.numbers.subarray(first, first + count);
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

  /** Reads the numbers that the kernel has not read (many digits, large exponents); returns false if one is too large for a double. */
  #readDoubles(first: number, count: number): boolean {
    const { bytes, from, to, numbers } = this.#buffer;
    for (let i = first; i < first + count; i++) {
      if (numbers[i] === numbers[i] || from[i] === 0) continue;
      const value = floatAt(bytes, from[i]!, to[i]!);
      if (value - value !== 0) return false;
      numbers[i] = value;
    }
    return true;
  }

  #appendValues(column: ValueColumn, row: number, first: number, count: number): void {
    const { bytes, from, base } = this.#buffer;
    const context = this.#context;
    let most = 0;
    for (let i = 0; i < count; i++) {
      const start = from[first + i]!;
      if (start === 0) continue;
      column.padTo(row + i);
      context.record++;
      context.keys = 0;
      // The cell of a text begins behind its quote.
      this.#read(column, base + start - (bytes[start - 1] === byte.quote ? 1 : 0), this.#depth);
      most = Math.max(most, context.keys);
    }
    this.#keys += most;
  }
}
