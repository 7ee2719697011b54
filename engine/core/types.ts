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
 * The type in which a column is stored: the data types of the interface and `json`. An `object` is a struct with typed `children`. `json`
 * is the JSON text of values of irregular shape (lists of lists, lists of mixed types); clients see it as data type `object`.
 */
export type StoredType = Exclude<DataType, 'auto'> | 'json';

/** A stored column: a tree, because objects nest. */
export interface Column {
  readonly name: string;
  /**
   * The name in Parquet: `name`, unless that is empty or differs from a sibling's in case only (engines compare column names
   * case-insensitively).
   */
  readonly physical: string;
  readonly type: StoredType;
  /** Whether the column is a list of `type`. */
  readonly isList: boolean;
  readonly children?: readonly Column[];
  /**
   * Only on a column as one chunk found it: `null` if all values were nulls or empty lists, so that any type fits; `mixed` if the values
   * can be stored only in a second pass. The chunk's segment lacks such a column.
   */
  readonly seen?: 'null' | 'mixed';
  /**
   * Only on an object for whose members a request gives types: the values determine whether it is an object or a list of objects, and
   * values that are not objects are stored as they are.
   */
  readonly isOpen?: true;
}

/** The columns of a dataset or a segment, without the reserved columns `_id` and `_commit`. */
export type Columns = readonly Column[];

/** A JSON value; a `long` beyond 2^53 is a bigint. */
export type Value =
  null | boolean | number | bigint | string | readonly Value[] | { readonly [key: string]: Value };

/** A JSON object that is stored and passed on without a look at its members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** One record at the edges: inline records, the page of a result. */
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
export type GenomeBuild = 'GRCh37' | 'GRCh38';
