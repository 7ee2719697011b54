/** Physical types by their number in parquet.thrift (`Type`). */
export const physicalType = { boolean: 0, int32: 1, int64: 2, float: 4, double: 5, byteArray: 6 };

/** The logical type of a group or a leaf, beyond its physical type (parquet.thrift, `LogicalType`). */
export type LogicalType = 'string' | 'timestamp' | 'list' | 'map';

/** The types of values: a physical type, or a logical type that stands for one; `timestamp` is in microseconds, UTC. */
export type LeafType = keyof typeof leafPhysicalTypes;

const leafPhysicalTypes = {
  boolean: [physicalType.boolean],
  int32: [physicalType.int32],
  int64: [physicalType.int64],
  float: [physicalType.float],
  double: [physicalType.double],
  timestamp: [physicalType.int64, 'timestamp'],
  string: [physicalType.byteArray, 'string'],
} as const satisfies Record<string, readonly [number, LogicalType?]>;

/** A column of a file. All columns, list elements and members of groups may be null, except the entries and keys of maps. */
export interface ParquetColumn {
  readonly name: string;
  readonly type: LeafType | 'group';
  /** Whether the column is a list, whose elements are of the type `type`. */
  readonly isList: boolean;
  /** Whether the column, a list of groups with two members, `key` and `value`, is annotated as a map. */
  readonly isMap?: boolean;
  /** The members of a group: at least one. */
  readonly children?: readonly ParquetColumn[];
}

/** An element of the flat schema in the footer, which lists the tree in depth-first order. */
export interface SchemaElement {
  readonly name: string;
  readonly repetition: 'required' | 'optional' | 'repeated';
  /** For a leaf, one of `physicalType`; absent for a group. */
  readonly physical?: number;
  /** For a group, the number of direct children; absent for a leaf. */
  readonly children?: number;
  readonly logical?: LogicalType;
}

/** A leaf of the schema tree, with its maximum levels (parquet-format README, "Nested Encoding"). */
export interface ParquetLeaf {
  readonly column: ParquetColumn;
  /** The names from the root to the leaf, including those of the LIST levels. */
  readonly path: readonly string[];
  /** The id of the physical type, one of `physicalType`. */
  readonly physical: number;
  /** The definition level of a slot (level entry) that has a value. */
  readonly maxDefinition: number;
  readonly maxRepetition: number;
}

/** A column in the schema tree: a leaf or a group; its column tells whether it is a list. */
export interface SchemaNode {
  readonly column: ParquetColumn;
  readonly path: readonly string[];
  /** Index in `ParquetSchema.leaves` of the leaf, or of the first leaf below the group. */
  readonly leaf: number;
  readonly members: readonly SchemaNode[];
  /** Whether a list lies above this node. */
  readonly isInList: boolean;
}

/** A schema in the three forms that reading and writing need: as a tree, as its leaves, and as the flat list of the footer. */
export interface ParquetSchema {
  readonly elements: readonly SchemaElement[];
  readonly leaves: readonly ParquetLeaf[];
  /** The top-level columns. */
  readonly nodes: readonly SchemaNode[];
}

/** Returns the physical type of a scalar type: one of `physicalType`. */
export function physicalOf(type: LeafType): number {
  return leafPhysicalTypes[type][0];
}

/** Returns the schema of a file with these columns. Throws a `RangeError` for a group without members and an invalid map. */
export function parquetSchema(columns: readonly ParquetColumn[]): ParquetSchema {
  const schema: GrowingSchema = { elements: [], leaves: [] };
  const root: ParentLevels = { path: [], definition: 0, repetition: 0 };
  const nodes = columns.map((column) => addColumn(schema, column, column.name, root));
  return { ...schema, nodes };
}

interface GrowingSchema {
  readonly elements: SchemaElement[];
  readonly leaves: ParquetLeaf[];
}

/** The path of a column's parent, and the maximum definition and repetition level there. */
interface ParentLevels {
  readonly path: readonly string[];
  readonly definition: number;
  readonly repetition: number;
}

/** Appends the schema elements and leaves of a column. A list has the three levels that LogicalTypes.md ("Lists") prescribes. */
function addColumn(
  schema: GrowingSchema,
  column: ParquetColumn,
  name: string,
  above: ParentLevels,
): SchemaNode {
  const { elements, leaves } = schema;
  const path = [...above.path, name];
  const leaf = leaves.length;
  const definition = above.definition + 1;
  const { repetition } = above;
  const isInList = repetition > 0;
  if (column.isMap === true) return addMap(schema, column, path, above);
  if (column.isList) {
    elements.push({ name, repetition: 'optional', children: 1, logical: 'list' });
    elements.push({ name: 'list', repetition: 'repeated', children: 1 });
    const below = {
      path: [...path, 'list'],
      definition: definition + 1,
      repetition: repetition + 1,
    };
    const { members } = addColumn(schema, { ...column, isList: false }, 'element', below);
    return { column, path, leaf, members, isInList };
  }
  if (column.type === 'group') {
    const { children = [] } = column;
    if (children.length === 0) throw new RangeError(`group ${path.join('.')} has no members`);
    elements.push({ name, repetition: 'optional', children: children.length });
    const below = { path, definition, repetition };
    const members = children.map((child) => addColumn(schema, child, child.name, below));
    return { column, path, leaf, members, isInList };
  }
  const [physical, logical] = leafPhysicalTypes[column.type] as readonly [number, LogicalType?];
  elements.push({ name, repetition: 'optional', physical, ...(logical && { logical }) });
  leaves.push({ column, path, physical, maxDefinition: definition, maxRepetition: repetition });
  return { column, path, leaf, members: [], isInList };
}

/** Appends the schema elements and leaves of a map: a list whose entries and keys are never null (LogicalTypes.md, "Maps"). */
function addMap(
  schema: GrowingSchema,
  column: ParquetColumn,
  path: readonly string[],
  { definition, repetition }: ParentLevels,
): SchemaNode {
  const [key, value] = column.children ?? [];
  if (key === undefined || value === undefined || key.type === 'group' || !column.isList)
    throw new RangeError(`map ${path.join('.')} needs a key and a value`);
  const leaf = schema.leaves.length;
  schema.elements.push({ name: column.name, repetition: 'optional', children: 1, logical: 'map' });
  schema.elements.push({ name: 'key_value', repetition: 'repeated', children: 2 });
  const below = { path: [...path, 'key_value'], definition: definition + 2, repetition: repetition + 1 }; // prettier-ignore
  const keyNode = addColumn(schema, key, key.name, below);
  schema.elements.push({ ...schema.elements.pop()!, repetition: 'required' });
  schema.leaves.push({ ...schema.leaves.pop()!, maxDefinition: below.definition });
  const valueNode = addColumn(schema, value, value.name, below);
  return { column, path, leaf, members: [keyNode, valueNode], isInList: repetition > 0 };
}
