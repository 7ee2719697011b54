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

/** The fields of a record, or the members of an object, while a row is filled with them. */
export interface ObjectFields {
  /** The index of the row that is being filled. */
  row: number;
  /** The field that came first in the preceding row, which is tried first in this row. */
  firstField: ValueColumn | null;
  /** Returns the column of a field, which is created on first use; null if the import has too many fields, which makes the record fail. */
  field(name: string): ValueColumn | null;
}

/** Appends a run of objects to a column. */
export interface ObjectRun {
  /** The columns of the members, to which the caller appends their values of all rows of the run. */
  readonly fields: ObjectFields;
  /** Ends the run of `count` rows; `isPresent` returns false for rows whose object is null. */
  endObjects(count: number, isPresent: (i: number) => boolean): void;
}

/**
 * The kinds of numbers in a run: booleans as 0 and 1, integers of 32 bits, integers within ±2^53, or finite doubles. NaN stands for null.
 */
export type NumberRunKind = 'boolean' | 'integer' | 'long' | 'double';

/** The builders to which runs of numbers can be appended. */
export type NumberRunBuilder = BooleanBuilder | IntegerBuilder | LongBuilder | DoubleBuilder;

/**
 * A column that accepts values of any type and stores, casts or rejects them. Rows are sparse: for a row with a value, call `padTo(row)`,
 * then one of `add…`, `appendNull`, `beginObject` or `beginList`. The underlying builders are padded only when a value is stored.
 */
export abstract class ValueColumn extends ColumnBuilder {
  readonly name: string;
  /** The dotted name, for messages. */
  readonly path: string;
  /** The name as JSON writes it, in UTF-8; if JSON would have to escape the name, a byte that matches nothing. */
  readonly jsonKeyBytes: Uint8Array;
  /** The column that followed this one in the preceding row; trying it first saves a lookup by name. */
  nextColumnGuess: ValueColumn | null = null;
  /** The number of the last record that had this field (`RecordContext.recordNumber`). */
  lastRecordNumber = -1;
  protected readonly context: RecordContext;

  constructor(name: string, path: string, context: RecordContext) {
    super();
    this.name = name;
    this.path = path;
    // oxlint-disable-next-line no-control-regex -- JSON has to escape control characters
    this.jsonKeyBytes = /["\\\u0000-\u001f]/.test(name)
      ? Uint8Array.of(0xff)
      : encoder.encode(name);
    this.context = context;
  }

  /** Whether the column stores JSON text: callers then serialize every value and call only `addString` and `appendNull`. */
  get storesJson(): boolean {
    return false;
  }

  /** Whether the column has a known list type; a single value is then stored as a list of one, with a warning. */
  get storesLists(): boolean {
    return false;
  }

  /**
   * The builder of a column that stores text or numbers unchanged, for callers that append whole runs of values; null if each value has to
   * be checked. Callers first pad the builder to the row, and afterwards this column to the length of the builder.
   */
  get builder(): Utf8Builder | DoubleBuilder | LongBuilder | null {
    return null;
  }

  /**
   * Starts a run of numbers, at least one of which is not null. Returns the builder that stores them unchanged, padded to the length of
   * this column; null if each value has to be checked. The caller afterwards pads this column to the length of the builder.
   */
  startNumbers(_kind: NumberRunKind): NumberRunBuilder | null {
    return null;
  }

  /**
   * Starts a run of texts that are no longer than the type `string` allows; `hasPlain` returns whether one of them is not a date. Returns
   * the builder, padded to the length of this column; null if each text has to be checked.
   */
  startTexts(_hasPlain: () => boolean): Utf8Builder | null {
    return null;
  }

  /** Starts a run of objects; null if each has to be checked. The caller afterwards pads this column to the end of the run. */
  startObjects(): ObjectRun | null {
    return null;
  }

  /** Starts a run of lists, not all of them null, whose elements are a run of the builder's items; null if each list has to be checked. */
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
  /** Returns the members to fill before `endObject`; null if the column has already handled the value and the caller must skip it. */
  abstract beginObject(): ObjectFields | null;
  abstract endObject(): void;
  /** Returns the column of the elements, to be filled before `endList`; null if the caller must skip the value. */
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
