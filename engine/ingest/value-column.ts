import { ColumnBuilder } from './column-builder.js';
import type {
  BooleanBuilder,
  DoubleBuilder,
  IntegerBuilder,
  LongBuilder,
} from './fixed-width-builders.js';
import type { ListBuilder } from './nested-builders.js';
import type { RecordContext } from './record-context.js';
import type { Utf8Builder } from './utf8-builder.js';

/** The fields of a record, or the members of an object, while a row of them is filled. */
export interface ObjectFields {
  /** The index of the row that is being filled. */
  row: number;
  /** The field that came first in the row before: the first guess for this row. */
  first: ValueColumn | null;
  /** Returns the column of a field, created on first use; null when the import has too many fields, which fails the record. */
  field(name: string): ValueColumn | null;
}

/** Appends a run of objects to a column. */
export interface ObjectRun {
  /** The columns of the members, to which the caller appends their values of all rows of the run. */
  readonly fields: ObjectFields;
  /** Ends the run of `count` rows; `isPresent` is false for rows whose object is null. */
  endObjects(count: number, isPresent: (i: number) => boolean): void;
}

/**
 * The values of a run of numbers: booleans as 0 and 1, integers of 32 bits, integers within ±2^53, or finite doubles. NaN stands for null.
 */
export type NumberRunKind = 'boolean' | 'integer' | 'long' | 'double';

/** The builders that take runs of numbers. */
export type NumberRunBuilder = BooleanBuilder | IntegerBuilder | LongBuilder | DoubleBuilder;

/**
 * A column that accepts values of any type and stores, casts or rejects them. Rows are sparse: call `padTo(row)`, then one
 * `add…`, `appendNull`, `beginObject` or `beginList`. The underlying builders are padded only when a value is stored.
 */
export abstract class ValueColumn extends ColumnBuilder {
  readonly name: string;
  /** The dotted name, for messages. */
  readonly path: string;
  /** The name as JSON writes it, in UTF-8; a byte that matches nothing if JSON would have to escape the name. */
  readonly key: Uint8Array;
  /** The column that followed this one in the row before: the guess that saves a lookup by name. */
  next: ValueColumn | null = null;
  /** The last record (`RecordContext.record`) that had this field. */
  lastRecord = -1;
  protected readonly context: RecordContext;

  constructor(name: string, path: string, context: RecordContext) {
    super();
    this.name = name;
    this.path = path;
    // oxlint-disable-next-line no-control-regex -- JSON has to escape control characters
    this.key = /["\\\u0000-\u001f]/.test(name) ? Uint8Array.of(0xff) : encoder.encode(name);
    this.context = context;
  }

  /** The column stores JSON text: callers serialize every value and use `addString` and `appendNull` alone. */
  get storesJson(): boolean {
    return false;
  }

  /** The column stores lists; a single value is stored as a list of one, with a warning. */
  get storesLists(): boolean {
    return false;
  }

  /**
   * The builder behind a column that stores text or numbers unchanged, for callers that append whole runs of values; null when
   * each value has to be checked. Callers pad the builder to the row first and this column to the builder's length afterwards.
   */
  get builder(): Utf8Builder | DoubleBuilder | LongBuilder | null {
    return null;
  }

  /**
   * Starts a run of numbers, of which one is not null: returns the builder that stores them unchanged, padded to this column; null when
   * each value has to be checked. The caller pads this column to the builder's length afterwards.
   */
  startNumbers(_kind: NumberRunKind): NumberRunBuilder | null {
    return null;
  }

  /** Like `startNumbers`, for texts that are no longer than a string may be. `hasPlain` tells whether one of them is not a date. */
  startTexts(_hasPlain: () => boolean): Utf8Builder | null {
    return null;
  }

  /** Like `startNumbers`, for objects. The caller pads this column to the end of the run afterwards. */
  startObjects(): ObjectRun | null {
    return null;
  }

  /** Like `startNumbers`, for lists, at least one of which is not null; their elements are a run of the builder's items. */
  startLists(): ListBuilder<ValueColumn> | null {
    return null;
  }

  abstract addBoolean(value: boolean): void;
  /** Adds an integer within ±2^53. */
  abstract addInteger(value: number): void;
  abstract addBigint(value: bigint): void;
  abstract addDouble(value: number): void;
  /** Adds the text `bytes[from..to)`, which must be valid UTF-8. */
  abstract addString(bytes: Uint8Array, from: number, to: number): void;
  /** Returns the members to fill before `endObject`; null when the column has dealt with the value and the caller skips it. */
  abstract beginObject(): ObjectFields | null;
  abstract endObject(): void;
  /** Returns the column of the elements, to be filled before `endList`; null as for `beginObject`. */
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
