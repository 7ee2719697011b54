import type { FieldRef } from '../../predicate/predicate.js';
import type { ColumnMatcher } from '../../../text/column-matcher.js';
import type { Unsupported } from '../../unsupported.js';

/**
 * The values of one leaf of a segment's schema in memory, without definition or repetition levels. The rows are the records of the segment
 * or of a page, or the elements of a list of objects. A column is loaded from a Parquet file when a query first needs it, or in advance
 * (`load-columns.ts`); the file remains the only durable copy.
 */
export interface MemoryColumn {
  readonly rows: number;
  /**
   * If there is a list between the rows and the values: row r has the values `offsets[r]` to `offsets[r + 1]` (exclusive), without nulls.
   * Undefined otherwise; may be undefined, too, if every row has exactly one value, so that value r belongs to row r.
   */
  readonly offsets: Int32Array | undefined;
  /**
   * If there is no list between the rows and the values: 1 for each row with a value, 0 for a row without; undefined only if all rows have
   * a value. Undefined for lists.
   */
  readonly present: Uint8Array | undefined;
  /** The values; the value at a row whose `present` is 0 has no meaning. */
  readonly values: ColumnValues;
  /** Size in memory in bytes, without a dictionary of strings that other columns share. */
  readonly bytes: number;
}

/** The values of a column in memory, in the order of the rows. */
export type ColumnValues =
  Numbers | NumberDictionary | Longs | Flags | DictionaryValues | Utf8Strings;

/**
 * Integers and dates (microseconds since 1970) that doubles hold exactly, doubles, and floats. In a column that was loaded as a whole and
 * not converted to doubles, integers are in the narrowest array that, by the statistics of the file, holds all of them.
 */
export interface Numbers {
  readonly kind: 'numbers';
  readonly numbers: Uint8Array | Int32Array | Float64Array | Float32Array;
  /** True if the values include an infinity or NaN, which sorts above all numbers. */
  readonly hasNonFinite: boolean;
}

/**
 * Doubles as indices of the column's distinct doubles. The indices take at most a quarter of the memory, and work that depends on the
 * number alone is done once for equal numbers.
 */
export interface NumberDictionary {
  readonly kind: 'number-dictionary';
  readonly indices: Uint8Array | Uint16Array;
  /** The distinct doubles, in no order. */
  readonly entries: Numbers;
}

/** Integers or dates that may not all be exact as doubles. */
interface Longs {
  readonly kind: 'longs';
  readonly longs: BigInt64Array;
}

/** Booleans as 0 and 1. */
interface Flags {
  readonly kind: 'flags';
  readonly flags: Uint8Array;
}

/**
 * Strings as indices of a dictionary: that of the field, which all segments of the dataset share in this thread, or one of a single page.
 */
export interface DictionaryValues {
  readonly kind: 'dictionary';
  readonly indices: Uint8Array | Uint16Array | Uint32Array;
  readonly dictionary: Dictionary;
  /** If they are few, the distinct indices, and possibly others: a condition that all or none of their entries satisfy tests no rows. */
  readonly distinct?: Int32Array | undefined;
}

/** Strings as UTF-8: string i is `bytes[offsets[i]..offsets[i + 1])`. */
export interface Utf8Strings {
  readonly kind: 'strings';
  readonly bytes: Buffer;
  readonly offsets: Uint32Array;
}

/**
 * The distinct strings of a field of a dataset that the thread has loaded so far, or those of a single page. Entries are appended, never
 * changed or removed.
 */
export interface Dictionary {
  readonly strings: readonly string[];
  /** The strings in UTF-8; bytes and offsets may extend beyond the last string. */
  readonly utf8: Utf8Strings;
}

/** The distinct strings of a column, as entries of a dictionary. */
export type DistinctStrings = Pick<DictionaryValues, 'dictionary'> & {
  readonly distinct: Int32Array;
};

/** The columns of a segment, of some of its rows, or of the elements of a list in it, as conditions and facets access them. */
export interface SegmentView {
  readonly rows: number;
  /** Returns the number in the segment of a row of a view that leaves deleted rows out; absent if the numbers are the same. */
  rowOf?(row: number): number;
  /**
   * The deleted rows of the segment, ascending, which matchers leave out of their results (`compileMatchers`); absent if the view has none.
   */
  readonly deleted?: Int32Array | undefined;
  /** Returns the column of a field; undefined if the segment does not store it, so that no row has a value. */
  column(field: FieldRef): MemoryColumn | undefined;
  /**
   * Returns the distinct strings of a column that is not in memory yet, if the file has all of its strings in dictionaries and the cache
   * has room for them; undefined otherwise.
   */
  distinct?(field: FieldRef): DistinctStrings | undefined;
  /** Returns the hash table of a column of strings without a dictionary, which is built at its first use; undefined for other columns. */
  hashes?(field: FieldRef): StringHashes | undefined;
  /**
   * Returns the elements of a list of objects; undefined if the segment does not store the list. A view without this function has no lists
   * of objects.
   */
  elements?(list: FieldRef): ListElements | undefined;
  /**
   * Returns the text index of a field, `absent` if the segment does not store the field, and a reason if it has no index of the field. A
   * view without this function has no text indexes.
   */
  text?(field: FieldRef): ColumnMatcher | 'absent' | Unsupported;
  /** Returns the rows in the order of the row ids that the segment stores; undefined if these ascend. */
  rowOrder?(): Int32Array | undefined;
  /** The cache of selections of earlier queries; absent if the view has none. */
  readonly selections?: SelectionCache;
}

/** A cache of the rows of a segment that satisfy conditions of earlier queries. */
export interface SelectionCache {
  /** Returns a cached selection. The caller may modify it. */
  get(key: string): SelectionBytes | Int32Array | undefined;
  set(key: string, selection: SelectionBytes | Int32Array): void;
}

/** The elements of a list of objects, without nulls. */
interface ListElements {
  /** Row r has the elements `offsets[r]` to `offsets[r + 1]` (exclusive). */
  readonly offsets: Int32Array;
  /** The columns of the fields inside the list, with a row for each element. */
  readonly view: SegmentView;
}

/** Finds strings by the hash of their lower case. */
export interface StringHashes {
  /**
   * Returns the indices of the values (for a list, not of the rows) whose lower case may be this string, in ascending order. Hashes may
   * collide, so the caller compares the values.
   */
  find(lowerCase: string): readonly number[];
  /** For many hashes of strings in lower case: calls `add` with the index of a hash and the index of a value that may have that hash. */
  findAll(hashes: Int32Array, add: (hash: number, value: number) => void): void;
  readonly bytes: number;
}

/** One byte per row of a segment, 1 if it is selected and 0 if not; `all` and `none` stand for arrays of equal bytes. */
export type SelectionBytes = Uint8Array | 'all' | 'none';
