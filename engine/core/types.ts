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
 * What a column is stored as. All but the last two are the data types of the interface.
 * `object` is a struct with typed `children`; `json` is an object or a mixed value whose shape is not regular (lists of
 * lists, lists of mixed kinds): its JSON text, shown to clients as data type `object`.
 */
export type StoredType = Exclude<DataType, 'auto'> | 'json';

/**
 * One stored column: a tree, because objects nest.
 * `isList` makes it a list of `type`. `physical` is the name in Parquet, equal to `name` unless that would be empty or
 * differ from a sibling's by letter case alone (engines compare column names case-insensitively).
 */
export interface Column {
  readonly name: string;
  readonly physical: string;
  readonly type: StoredType;
  readonly isList: boolean;
  readonly children?: readonly Column[];
  /**
   * Only on a column as one chunk saw it: `null` when it held nothing but nulls or empty lists (any type fits), `mixed` when
   * its values can be stored only in a second pass. Such a column is not in the chunk's segment.
   */
  readonly seen?: 'null' | 'mixed';
  /**
   * Only on an object that an import is asked to give members their types: whether it is one object or a list of them is found
   * from the values, and those that are no objects are taken as they come.
   */
  readonly isOpen?: true;
}

/** The columns of a dataset or a segment, without the reserved `_id` and `_commit`. */
export type Columns = readonly Column[];

/** One value as it stands in JSON; a `long` beyond 2^53 is a bigint. */
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

/** The two genome builds of the interface, as answers spell them. */
export type GenomeBuild = 'GRCh37' | 'GRCh38';
