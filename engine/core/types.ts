/** The data types that a client sees (specification, "Dataset field"). */
export type DataType =
  | 'auto'
  | 'boolean'
  | 'date'
  | 'double'
  | 'float'
  | 'integer'
  | 'long'
  | 'object'
  | 'string'
  | 'text'
  | 'blob';

/**
 * The type in which a column is stored: the data types of the interface except `auto`, and `json`. An `object` is a struct with typed
 * `children`. `json` is the JSON text of values that no other type holds (lists of lists, values of mixed types, deeply nested objects);
 * clients see it as data type `object`.
 */
export type StoredType = Exclude<DataType, 'auto'> | 'json';

/** True for types whose values are numbers. */
export function isNumeric(type: DataType | StoredType): boolean {
  return type === 'integer' || type === 'long' || type === 'double' || type === 'float';
}

/** A stored column: a tree, because objects nest. */
export interface Column {
  readonly name: string;
  /**
   * The name in Parquet: `name`, unless that is empty, contains control characters or byte order marks, or differs at most in letter case
   * from the name of a sibling or, at the top level, of a reserved, internal or virtual column (engines compare column names
   * case-insensitively).
   */
  readonly physical: string;
  readonly type: StoredType;
  /** Whether the column is a list of `type`. */
  readonly isList: boolean;
  readonly children?: readonly Column[];
  /**
   * Only for the column of a chunk, as inferred from its values: `null` if all values were nulls or empty lists, so that any type fits;
   * `missing` if all values were texts that mean null in a column of numbers and are text in any other column; `mixed` if the values can be
   * stored only in a second pass. The chunk's segment does not store such a column.
   */
  readonly seen?: 'null' | 'missing' | 'mixed';
  /**
   * Only for a column of doubles that a chunk of a delimited text file inferred: all its values are whole numbers. They are stored as longs
   * if another chunk has whole numbers that doubles cannot represent.
   */
  readonly isWhole?: true;
  /**
   * Only for the column of a declared field without data. It says what the first values decide: the type of the field (`type`), whether it
   * is a list (`list`), or both. A column whose type is open has the type `object`, with the members that are declared.
   */
  readonly open?: 'type' | 'list' | 'both';
  /**
   * Set for a column whose type was declared: a value that does not fit the type is an error, instead of widening the type or becoming
   * null.
   */
  readonly isDeclared?: true;
}

/*
 * Choice: an undeclared type of a field is widened, with a warning, when a later import needs it: a whole number becomes a double, a string
 * a text. Segments with the narrower type stay unchanged, and their values are read as the wider type.
 */
const widerTypes: Readonly<Partial<Record<StoredType, readonly StoredType[]>>> = {
  integer: ['long', 'double'],
  long: ['double'],
  float: ['double'],
  string: ['text'],
};

/** Whether values of the type `from` can be read as values of the type `to`, if later values have widened their column to that type. */
export function mayWiden(from: StoredType, to: StoredType): boolean {
  return widerTypes[from]?.includes(to) === true;
}

/** The columns of a dataset or a segment, without the reserved columns `_id` and `_commit`. */
export type Columns = readonly Column[];

/** A JSON value; an integer beyond ±(2^53 - 1) is a bigint. */
export type Value =
  null | boolean | number | bigint | string | readonly Value[] | { readonly [key: string]: Value };

/** A JSON object that is stored and passed on without interpreting its members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A single record as an object, where there are no columns: an inline record, or a record on the page of a result. */
export type Row = Record<string, Value>;

/** The entity types of the interface. */
export const entityTypes = [
  'dataset',
  'gene',
  'genomic_region',
  'literature',
  'sample',
  'variant',
] as const;
export type EntityType = (typeof entityTypes)[number];

/** The genome builds, as answers spell them. */
export const genomeBuilds = ['GRCh37', 'GRCh38', 'T2T-CHM13'] as const;
export type GenomeBuild = (typeof genomeBuilds)[number];
