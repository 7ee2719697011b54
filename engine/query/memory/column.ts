import type { FieldRef } from '../predicate/predicate.js';
import type { FoundTerms } from './terms.js';

/**
 * One leaf of the records of a segment in memory, whole and without levels: what queries are answered from. Made of a Parquet
 * file's pages when a query first asks for it, and forgotten again; the file stays the only copy that is kept.
 */
export interface Column {
  readonly rows: number;
  /**
   * Of a leaf that is a list or lies in one: row r has the values offsets[r] to offsets[r + 1], nulls left out, of whatever depth.
   * Undefined: value r is that of row r.
   */
  readonly offsets: Int32Array | undefined;
  /** Without offsets: 1 for each row that has a value, 0 for a row without; undefined if all have one. */
  readonly present: Uint8Array | undefined;
  /** Where `present` is 0 there is a value all the same, of no meaning. */
  readonly values: ColumnValues;
  /** How much memory it takes, its dictionary left out. */
  readonly bytes: number;
}

/** The values, one behind the other. */
export type ColumnValues = Numbers | Longs | Flags | DictionaryValues | Strings;

/** Whole numbers and dates (microseconds since 1970) as far as doubles hold them exactly, doubles and floats. */
export interface Numbers {
  readonly kind: 'numbers';
  readonly numbers: Int32Array | Float64Array | Float32Array;
  /** NaN, which the engine takes for the largest number of all, or an infinity is among them. */
  readonly hasNonFinite: boolean;
}

/** Whole numbers or dates of which some lie beyond 2^53. */
export interface Longs {
  readonly kind: 'longs';
  readonly longs: BigInt64Array;
}

/** Booleans as 0 and 1. */
export interface Flags {
  readonly kind: 'flags';
  readonly flags: Uint8Array;
}

/** Strings that repeat themselves: numbers of the entries of a dictionary, which all segments of the dataset share in this thread. */
export interface DictionaryValues {
  readonly kind: 'dictionary';
  readonly indices: Uint8Array | Uint16Array | Uint32Array;
  readonly dictionary: Dictionary;
  /** The different indices there are, if they are few: most conditions on a text are answered by looking at these. */
  readonly distinct?: Int32Array | undefined;
}

/** Strings as UTF-8: value i is bytes[offsets[i]] to bytes[offsets[i + 1]]. */
export interface Strings {
  readonly kind: 'strings';
  readonly bytes: Buffer;
  readonly offsets: Uint32Array;
}

/** The distinct strings of a field of a dataset as far as they have been seen; entries are only ever added. */
export interface Dictionary {
  readonly strings: readonly string[];
}

/** The records of one segment, as conditions and facets look at them. */
export interface SegmentView {
  readonly rows: number;
  /** The column of a field; undefined if the segment does not have it, so that every record misses it. */
  column(field: FieldRef): Column | undefined;
  /** Which rows may hold a text, from a table of hashes (text-hashes.ts); undefined where there is none for this column. */
  hashes?(field: FieldRef): StringHashes | undefined;
  /** The rows that the index of terms found for this query. */
  readonly terms?: FoundTerms | undefined;
}

/** Finds the rows of a text by its hash. */
export interface StringHashes {
  /** Values (not rows, if the column is a list) whose text may be this one in lower case, ascending: compare before use. */
  find(lowerCase: string): readonly number[];
  /** The same of many: calls `add` with the number of a hash, which is that of a text in lower case, and a value that may be it. */
  findAll(hashes: Int32Array, add: (hash: number, value: number) => void): void;
  readonly bytes: number;
}

/** One byte for each row of a segment, 1 for a match and 0 for none; `all` and `none` stand for masks that are the same throughout. */
export type SelectionBytes = Uint8Array | 'all' | 'none';
