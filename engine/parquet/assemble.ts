import {
  DataType as ArrowType,
  makeData,
  type Data,
  type Field,
  type List,
  type Struct,
  type Utf8,
} from 'apache-arrow';
import { freeMemory } from '../core/buffers.js';
import { valueCount, type DecodedValues } from './decode-values.js';
import type { DecodedLeaf } from './read-column-chunk.js';
import type { SchemaNode, ParquetSchema } from './parquet-schema.js';

/*
 * Turns Parquet's levels back into Arrow's offsets and validity bits: the counterpart of levels.ts. A slot begins an item of a node if its
 * repetition level is not greater than the node's, and if every enclosing list has an element in this slot.
 */

/** The repetition and definition levels of a node of the schema. */
interface NodeLevels {
  /** Number of optional and repeated ancestors of the node: an item is null up to this definition level, and present above it. */
  readonly depth: number;
  readonly repetition: number;
  /** The lowest definition level at which a slot can have an item of the node. */
  readonly floor: number;
}

/** Builds the columns of a schema as Arrow data; `parts` holds the parts of every leaf, in row order. */
export function assemble(
  schema: ParquetSchema,
  parts: readonly (readonly DecodedLeaf[])[],
  fields: readonly Field[],
): readonly Data[] {
  const top = { depth: 0, repetition: 0, floor: 0 };
  return schema.nodes.map((node, i) => buildData(node, fields[i]!.type, parts, top));
}

/** Frees the memory of parts that have been assembled. It includes the bytes of a file that was read, if a page of it is not compressed. */
export function freeParts(parts: readonly (readonly DecodedLeaf[])[]): void {
  for (const { definition, repetition, values } of parts.flat()) {
    freeMemory(definition.buffer);
    if (repetition) freeMemory(repetition.buffer);
    for (const page of values) {
      if (page.kind === 'booleans') freeMemory(page.booleans.buffer);
      else if (page.kind === 'strings') {
        freeMemory(page.bytes.buffer);
        freeMemory(page.offsets.buffer);
      } else freeMemory(page.int32s.buffer);
    }
  }
}

/** Frees the memory of Arrow data that `assemble` has built. */
export function freeData({ buffers, children }: Data): void {
  for (const array of Object.values(buffers)) if (array) freeMemory(array.buffer);
  for (const child of children) freeData(child);
}

function buildData(
  node: SchemaNode,
  type: ArrowType,
  parts: readonly (readonly DecodedLeaf[])[],
  levels: NodeLevels,
): Data {
  const ownParts = parts[node.leaf]!; // the levels of any leaf in a group show where the group is null or repeated, too
  if (node.column.isList) return listDataOf(node, type as List, parts, levels);
  if (node.column.type !== 'group') return leafData(type, ownParts, levels);
  const { length, nullCount, nullBitmap } = validityOfParts(ownParts, levels);
  const inside = { ...levels, depth: levels.depth + 1 };
  const { children: fields } = type as Struct;
  const children = node.members.map((member, i) =>
    buildData(member, fields[i]!.type, parts, inside),
  );
  return makeData({ type: type as Struct, length, nullCount, nullBitmap, children });
}

function listDataOf(
  node: SchemaNode,
  type: List,
  parts: readonly (readonly DecodedLeaf[])[],
  levels: NodeLevels,
): Data {
  const ownParts = parts[node.leaf]!;
  const { length, nullCount, nullBitmap } = validityOfParts(ownParts, levels);
  const elements = {
    depth: levels.depth + 2,
    repetition: levels.repetition + 1,
    floor: levels.depth + 2,
  };
  const valueOffsets = new Int32Array(length + 1);
  let item = -1;
  let end = 0;
  for (const { slots, definition, repetition } of ownParts) {
    for (let slot = 0; slot < slots; slot++) {
      const level = definition[slot]!;
      const repeated = repetition?.[slot] ?? 0;
      if (level < levels.floor || repeated > elements.repetition) continue;
      if (repeated <= levels.repetition) item++;
      if (level >= elements.floor) end++;
      valueOffsets[item + 1] = end;
    }
  }
  const inner = { ...node, column: { ...node.column, isList: false } };
  const child = buildData(inner, type.children[0]!.type, parts, elements);
  return makeData({ type, length, nullCount, nullBitmap, valueOffsets, child });
}

interface Validity {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap: Uint8Array | null;
}

/** Returns the number of items of a node, and the bitmap of the items that are not null. */
function validityOfParts(
  parts: readonly DecodedLeaf[],
  { depth, repetition: most, floor }: NodeLevels,
): Validity {
  const slots = parts.reduce((sum, part) => sum + part.slots, 0);
  const bits = new Uint8Array((slots + 7) >> 3);
  let length = 0;
  let present = 0;
  for (const { slots: count, definition, repetition } of parts) {
    for (let slot = 0; slot < count; slot++) {
      const level = definition[slot]!;
      if (level < floor || (repetition !== undefined && repetition[slot]! > most)) continue;
      if (level > depth) {
        bits[length >> 3]! |= 1 << (length & 7);
        present++;
      }
      length++;
    }
  }
  const nullCount = length - present;
  return { length, nullCount, nullBitmap: nullCount === 0 ? null : bits };
}

function leafData(type: ArrowType, parts: readonly DecodedLeaf[], levels: NodeLevels): Data {
  const whole = validityOfParts(parts, levels);
  const { length, nullBitmap } = whole;
  const isPresent = (item: number): boolean =>
    nullBitmap === null || ((nullBitmap[item >> 3]! >> (item & 7)) & 1) === 1;
  const pages = parts.flatMap((part) => part.values);
  if (nullBitmap === null && sumOf(pages, valueCount) !== length)
    throw new RangeError(`a leaf has ${sumOf(pages, valueCount)} values for ${length} slots`);
  if (ArrowType.isUtf8(type)) return stringData(type, pages, whole, isPresent);
  if (ArrowType.isBool(type)) {
    const data = new Uint8Array((length + 7) >> 3);
    scatter(pages, length, isPresent, (item, page, i) => {
      if ((page as DecodedBooleans).booleans[i] === 1) data[item >> 3]! |= 1 << (item & 7);
    });
    return makeData({ type, ...whole, data });
  }
  const is64Bit = pages.some(({ kind }) => kind === 'int64s') || isStoredIn64Bits(type);
  const int32s = new Int32Array(is64Bit ? 2 * length : length);
  if (nullBitmap === null) concatenateIntegers(pages, int32s);
  else
    scatter(pages, length, isPresent, (item, page, i) => {
      const { int32s: from } = page as DecodedIntegers;
      if (!is64Bit) int32s[item] = from[i]!;
      else {
        int32s[2 * item] = from[2 * i]!;
        int32s[2 * item + 1] = from[2 * i + 1]!;
      }
    });
  return makeData({ type: type as never, ...whole, data: typedData(type, int32s) as never });
}

type DecodedBooleans = Extract<DecodedValues, { kind: 'booleans' }>;
type DecodedIntegers = Extract<DecodedValues, { kind: 'int32s' | 'int64s' }>;
type DecodedStrings = Extract<DecodedValues, { kind: 'strings' }>;

function stringData(
  type: Utf8,
  pages: readonly DecodedValues[],
  whole: Validity,
  isPresent: (item: number) => boolean,
): Data {
  const size = sumOf(pages, (page) => (page as DecodedStrings).offsets.at(-1)!);
  const data = new Uint8Array(size);
  const valueOffsets = new Int32Array(whole.length + 1);
  let end = 0;
  for (const page of pages) {
    const { bytes, offsets } = page as DecodedStrings;
    data.set(bytes.subarray(0, offsets.at(-1)!), end);
    end += offsets.at(-1)!;
  }
  if (whole.nullBitmap === null) {
    concatenateOffsets(pages as readonly DecodedStrings[], valueOffsets);
    return makeData({ type, ...whole, valueOffsets, data });
  }
  end = 0;
  let item = 0;
  const close = (to: number): void => {
    for (; item < to; item++) valueOffsets[item + 1] = end;
  };
  scatter(pages, whole.length, isPresent, (at, page, i) => {
    const { offsets } = page as DecodedStrings;
    close(at); // ends the null items before item `at`
    end += offsets[i + 1]! - offsets[i]!;
    close(at + 1);
  });
  close(whole.length);
  return makeData({ type, ...whole, valueOffsets, data });
}

/** Concatenates the values of all pages; every item must have a value. */
function concatenateIntegers(pages: readonly DecodedValues[], into: Int32Array): void {
  let at = 0;
  for (const page of pages) {
    const { int32s } = page as DecodedIntegers;
    into.set(int32s, at);
    at += int32s.length;
  }
}

function concatenateOffsets(pages: readonly DecodedStrings[], into: Int32Array): void {
  let [at, end] = [1, 0];
  for (const { offsets } of pages) {
    for (let i = 1; i < offsets.length; i++) into[at++] = end + offsets[i]!;
    end += offsets.at(-1)!;
  }
}

function sumOf<T>(values: readonly T[], number: (value: T) => number): number {
  return values.reduce((sum, value) => sum + number(value), 0);
}

/** Calls `put` for every item that is not null, with the page of its value and the index of the value in the page. */
function scatter(
  pages: readonly DecodedValues[],
  length: number,
  isPresent: (item: number) => boolean,
  put: (item: number, page: DecodedValues, i: number) => void,
): void {
  let item = 0;
  for (const page of pages) {
    const count = valueCount(page);
    for (let i = 0; i < count; i++, item++) {
      while (item < length && !isPresent(item)) item++;
      if (item >= length) throw new RangeError('a leaf has more values than slots for them');
      put(item, page, i);
    }
  }
  while (item < length && !isPresent(item)) item++;
  if (item < length) throw new RangeError('a leaf has fewer values than slots for them');
}

function isStoredIn64Bits(type: ArrowType): boolean {
  return (
    ArrowType.isTimestamp(type) ||
    (ArrowType.isInt(type) && type.bitWidth === 64) ||
    (ArrowType.isFloat(type) && type.precision === 2)
  );
}

function typedData(
  type: ArrowType,
  int32s: Int32Array,
): Int32Array | Float32Array | Float64Array | BigInt64Array {
  if (ArrowType.isFloat(type))
    return type.precision === 2 ? new Float64Array(int32s.buffer) : new Float32Array(int32s.buffer);
  return isStoredIn64Bits(type) ? new BigInt64Array(int32s.buffer) : int32s;
}
