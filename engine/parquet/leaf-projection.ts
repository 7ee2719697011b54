import type { DecodedValues } from './decode-values.js';
import type { DecodedLeaf } from './read-column-chunk.js';
import type { SchemaNode, ParquetSchema } from './parquet-schema.js';

/** Reads one leaf of the source file; `leaf` is its index. */
type ReadLeaf = (leaf: number) => DecodedLeaf;

/**
 * Describes how the levels of a leaf that a file lacks follow from those of a stored leaf: one below the innermost group around the missing
 * leaf that the file has.
 */
interface LevelSource {
  /** The index of the stored leaf in the file. */
  readonly storedLeaf: number;
  /** The definition level at which that group is present. */
  readonly depth: number;
  /** Number of lists around that group's members. */
  readonly lists: number;
}

/**
 * Returns all leaves of `schema`, read from one row group of a file with the schema `source`. Columns and members of groups that the file
 * lacks are null, and numbers of a narrower type are widened. Throws a `RangeError` if a column has an incompatible type in the file.
 */
export function readProjectedLeaves(
  schema: ParquetSchema,
  source: ParquetSchema,
  rows: number,
  read: ReadLeaf,
): readonly DecodedLeaf[] {
  const parts: DecodedLeaf[] = [];
  const partsRead = new Map<number, DecodedLeaf>();
  const readOnce = (leaf: number): DecodedLeaf => {
    const part = partsRead.get(leaf) ?? read(leaf);
    partsRead.set(leaf, part);
    return part;
  };
  const fill = (
    node: SchemaNode,
    storedNode: SchemaNode | undefined,
    levelSource: LevelSource | undefined,
    { depth, lists }: { readonly depth: number; readonly lists: number },
  ): void => {
    if (node.column.type !== 'group') {
      if (storedNode !== undefined)
        parts[node.leaf] = widenPart(
          readOnce(storedNode.leaf),
          storedNode.column.type,
          node.column.type,
        );
      else {
        const { maxRepetition } = schema.leaves[node.leaf]!;
        parts[node.leaf] =
          levelSource === undefined
            ? nullLeafPart(rows, maxRepetition)
            : levelsOfMissing(readOnce(levelSource.storedLeaf), levelSource, maxRepetition);
      }
      return;
    }
    // A group adds one definition level; a list adds two more.
    const { isList } = node.column;
    const inside = { depth: depth + (isList ? 3 : 1), lists: lists + (isList ? 1 : 0) };
    const below =
      storedNode === undefined ? levelSource : { storedLeaf: storedNode.leaf, ...inside };
    for (const member of node.members)
      fill(member, matchingNode(storedNode?.members, member), below, inside);
  };
  const top = { depth: 0, lists: 0 };
  for (const node of schema.nodes) fill(node, matchingNode(source.nodes, node), undefined, top);
  return parts;
}

function matchingNode(
  nodes: readonly SchemaNode[] | undefined,
  node: SchemaNode,
): SchemaNode | undefined {
  const sourceNode = nodes?.find(({ column }) => column.name === node.column.name);
  if (sourceNode === undefined) return undefined;
  const [a, b] = [sourceNode.column, node.column];
  const fits = a.type === b.type || valueConversions[`${a.type} ${b.type}`] !== undefined;
  if (fits && a.isList === b.isList) return sourceNode;
  throw new RangeError(`column ${a.name} has another type in this file`);
}

function nullLeafPart(rows: number, maxRepetition: number): DecodedLeaf {
  return {
    slots: rows,
    definition: new Uint16Array(rows),
    repetition: maxRepetition > 0 ? new Uint16Array(rows) : undefined,
    values: [],
  };
}

/**
 * Returns the levels of a leaf that the file lacks, so that all its values are null, from the levels `part` of the stored leaf that
 * `levelSource` names.
 */
function levelsOfMissing(
  part: DecodedLeaf,
  levelSource: LevelSource,
  maxRepetition: number,
): DecodedLeaf {
  const definition = new Uint16Array(part.slots);
  const repetition = maxRepetition > 0 ? new Uint16Array(part.slots) : undefined;
  let slots = 0;
  for (let slot = 0; slot < part.slots; slot++) {
    const repeated = part.repetition?.[slot] ?? 0;
    if (repeated > levelSource.lists) continue;
    definition[slots] = Math.min(part.definition[slot]!, levelSource.depth);
    if (repetition !== undefined) repetition[slots] = repeated;
    slots++;
  }
  return {
    slots,
    definition: definition.subarray(0, slots),
    repetition: repetition?.subarray(0, slots),
    values: [],
  };
}

type ConvertValues = (int32s: Int32Array) => Int32Array;

/** Conversions of values of a narrower type to a wider one; 64-bit values are pairs of 32-bit halves. */
const valueConversions: Readonly<Record<string, ConvertValues>> = {
  'int32 int64': (from) =>
    Int32Array.from({ length: 2 * from.length }, (_, i) => from[i >> 1]! >> (i % 2 === 1 ? 31 : 0)),
  'int32 double': (from) => halvesOf(Float64Array.from(from)),
  'int64 double': (from) =>
    halvesOf(
      Float64Array.from({ length: from.length / 2 }, (_, i) =>
        Number((BigInt(from[2 * i + 1]!) << 32n) | BigInt(from[2 * i]! >>> 0)),
      ),
    ),
  'float double': (from) =>
    halvesOf(Float64Array.from(new Float32Array(from.buffer, from.byteOffset, from.length))),
};

function halvesOf({ buffer }: Float64Array): Int32Array {
  return new Int32Array(buffer);
}

/** Returns `part` with its values converted from the type `from` to the type `to`. */
function widenPart(part: DecodedLeaf, from: string, to: string): DecodedLeaf {
  const convert = valueConversions[`${from} ${to}`];
  if (convert === undefined) return part;
  const values = part.values.map((some): DecodedValues => {
    if (some.kind !== 'int32s' && some.kind !== 'int64s') return some;
    const int32s = convert(some.int32s);
    return { kind: 'int64s', int32s };
  });
  return { ...part, values };
}
