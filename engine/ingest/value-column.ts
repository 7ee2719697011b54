import { budgets } from '../core/budgets.js';
import type { DoubleBuilder, LongBuilder, Utf8Builder } from './builders.js';
import { ColumnBuilder } from './column-builder.js';
import type { ObjectFields } from './object-column.js';

/** Where a value's faults go; readers hand in what they were given to report to. */
export interface FaultReport {
  reject(line: number, code: number, field: string | null, message: string): void;
  warn(line: number, code: number, field: string | null, message: string): boolean;
  readonly isDisabled: boolean;
}

/** What all columns of a chunk share while it is read: the line they are at, and whether its record is still good. */
export class Recording {
  line = 0;
  /** Counts the records begun, to tell whether a column has been met in this one. */
  record = 0;
  /** Columns met in this record, objects not counted (their members are). */
  keys = 0;
  /** The record has an error: it is to be taken back when it ends. */
  hasFailed = false;
  /** Columns found in this chunk beyond the given ones. */
  found = 0;
  /** Columns that will need a second pass because kinds of values met in them that share no store. */
  mixed = 0;
  readonly #report: FaultReport;

  constructor(report: FaultReport) {
    this.#report = report;
  }

  get isLenient(): boolean {
    return this.#report.isDisabled;
  }

  /** A value that does not fit. Unless validation is off, the record fails. */
  fault(code: number, field: string | null, message: string): void {
    if (!this.#report.isDisabled) this.reject(code, field, message);
  }

  /** Something that no setting can excuse. */
  reject(code: number, field: string | null, message: string): void {
    this.hasFailed = true;
    this.#report.reject(this.line, code, field, message);
  }

  /** Code 400: whether the record has more columns than a record may have. */
  checkWidth(): void {
    const { keys } = this;
    const { recordKeysError: most, recordKeysWarning: many } = budgets;
    if (keys >= most)
      this.fault(
        400,
        null,
        `the record has ${keys} columns, ${most} are too many (budget recordKeysError)`,
      );
    else if (keys >= many)
      this.warn(
        400,
        null,
        `the record has ${keys} columns, ${most} would be too many (budget recordKeysError)`,
      );
  }

  warn(code: number, field: string | null, message: string): void {
    if (this.#report.warn(this.line, code, field, message)) this.hasFailed = true;
  }
}

/**
 * A column that takes values of any kind as a reader meets them, and stores, converts or refuses them.
 * Rows are filled sparsely: `padTo(row)` first, then one `add…` per value. Stores lag behind `length` until then.
 */
export abstract class ValueColumn extends ColumnBuilder {
  readonly name: string;
  /** Dotted, for messages. */
  readonly path: string;
  /** The name in UTF-8 as it stands in a JSON text; what matches nothing when it would need an escape. */
  readonly key: Uint8Array;
  /** The column whose key came after this one's last time: a guess that saves looking it up. */
  next: ValueColumn | null = null;
  /** The last record that this column was met in. */
  metIn = -1;
  protected readonly recording: Recording;

  constructor(name: string, path: string, recording: Recording) {
    super();
    this.name = name;
    this.path = path;
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    this.key = /["\\\u0000-\u001f]/.test(name) ? Uint8Array.of(0xff) : encoder.encode(name);
    this.recording = recording;
  }

  /** Whether values are wanted as JSON text, whatever they are: then only `addText` and `appendNull` are called. */
  get takesJson(): boolean {
    return false;
  }

  /** Whether values are wanted as lists; one that comes alone is worth a warning then. */
  get takesLists(): boolean {
    return false;
  }

  /**
   * The store of a column that takes texts or numbers as they are, for whoever has whole runs of them: it is padded to the row
   * first, and this column to its length afterwards. Null when each value has to be looked at.
   */
  get store(): Utf8Builder | DoubleBuilder | LongBuilder | null {
    return null;
  }

  abstract addBoolean(value: boolean): void;
  /** A whole number within +-2^53. */
  abstract addInteger(value: number): void;
  abstract addBigint(value: bigint): void;
  abstract addDouble(value: number): void;
  /** A text: `bytes[from..to)`, valid UTF-8. */
  abstract addText(bytes: Uint8Array, from: number, to: number): void;
  /** The fields to fill before `endObject`; null when the value is already dealt with and has only to be read past. */
  abstract beginObject(): ObjectFields | null;
  abstract endObject(): void;
  /** The column that takes the elements before `endList`; null as for `beginObject`. */
  abstract beginList(): ValueColumn | null;
  abstract endList(): void;

  override appendNull(): void {
    this.length++;
  }

  override padTo(length: number): void {
    if (this.length < length) this.length = length;
  }
}

const encoder = new TextEncoder();
