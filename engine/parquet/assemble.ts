import {
  DataType as ArrowType,
  makeData,
  type Data,
  type Field,
  type List,
  type Struct,
  type Utf8,
} from 'apache-arrow';
import type { DecodedValues } from './decode-values.js';
import type { LeafPart } from './read-chunk.js';
import type { Node, ParquetSchema } from './schema.js';

/*
 * From Parquet's levels back to Arrow's offsets and validity bits: the counterpart of levels.ts. A slot belongs to an item
 * of a node when it repeats no deeper than the node does and when every list above the node has an element there.
 */

/** Where a node is in the tree, as far as levels go. */
interface Place {
  /** How many optional or repeated elements are above: an item is null at this definition level, and present above it. */
  readonly depth: number;
  readonly repetition: number;
  /** Slots below this definition level have no item here. */
  readonly floor: number;
}

/** The columns of a schema as Arrow data of these fields; `parts` has the parts of every leaf, in order. */
export function assemble(
  schema: ParquetSchema,
  parts: readonly (readonly LeafPart[])[],
  fields: readonly Field[],
): readonly Data[] {
  const top = { depth: 0, repetition: 0, floor: 0 };
  return schema.nodes.map((node, i) => build(node, fields[i]!.type, parts, top));
}

function build(
  node: Node,
  type: ArrowType,
  parts: readonly (readonly LeafPart[])[],
  place: Place,
): Data {
  const own = parts[node.leaf]!; // of an object, any leaf below tells its levels
  if (node.column.isList) return listData(node, type as List, parts, place);
  if (node.column.type !== 'object') return leafData(type, own, place);
  const { length, nullCount, nullBitmap } = validity(own, place);
  const inside = { ...place, depth: place.depth + 1 };
  const { children: fields } = type as Struct;
  const children = node.members.map((member, i) => build(member, fields[i]!.type, parts, inside));
  return makeData({ type: type as Struct, length, nullCount, nullBitmap, children });
}

function listData(
  node: Node,
  type: List,
  parts: readonly (readonly LeafPart[])[],
  place: Place,
): Data {
  const own = parts[node.leaf]!;
  const { length, nullCount, nullBitmap } = validity(own, place);
  const elements = {
    depth: place.depth + 2,
    repetition: place.repetition + 1,
    floor: place.depth + 2,
  };
  const valueOffsets = new Int32Array(length + 1);
  let item = -1;
  let end = 0;
  for (const { slots, definition, repetition } of own) {
    for (let slot = 0; slot < slots; slot++) {
      const level = definition[slot]!;
      const repeated = repetition?.[slot] ?? 0;
      if (level < place.floor || repeated > elements.repetition) continue;
      if (repeated <= place.repetition) item++;
      if (level >= elements.floor) end++;
      valueOffsets[item + 1] = end;
    }
  }
  const inner = { ...node, column: { ...node.column, isList: false } };
  const child = build(inner, type.children[0]!.type, parts, elements);
  return makeData({ type, length, nullCount, nullBitmap, valueOffsets, child });
}

interface Validity {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap: Uint8Array | null;
}

/** The items of a node and which of them are there. */
function validity(parts: readonly LeafPart[], { depth, repetition: most, floor }: Place): Validity {
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

function leafData(type: ArrowType, parts: readonly LeafPart[], place: Place): Data {
  const whole = validity(parts, place);
  const { length, nullBitmap } = whole;
  const isThere = (item: number): boolean =>
    nullBitmap === null || ((nullBitmap[item >> 3]! >> (item & 7)) & 1) === 1;
  const pages = parts.flatMap((part) => part.values);
  if (ArrowType.isUtf8(type)) return textData(type, pages, whole, isThere);
  if (ArrowType.isBool(type)) {
    const data = new Uint8Array((length + 7) >> 3);
    scatter(pages, length, isThere, (item, page, i) => {
      if ((page as Flags).flags[i] === 1) data[item >> 3]! |= 1 << (item & 7);
    });
    return makeData({ type, ...whole, data });
  }
  const isPair = pages.some(({ kind }) => kind === 'pairs') || isWide(type);
  const words = new Int32Array(isPair ? 2 * length : length);
  scatter(pages, length, isThere, (item, page, i) => {
    const { words: from } = page as Numbers;
    if (!isPair) words[item] = from[i]!;
    else {
      words[2 * item] = from[2 * i]!;
      words[2 * item + 1] = from[2 * i + 1]!;
    }
  });
  return makeData({ type: type as never, ...whole, data: typed(type, words) as never });
}

type Flags = Extract<DecodedValues, { kind: 'flags' }>;
type Numbers = Extract<DecodedValues, { kind: 'words' | 'pairs' }>;
type Texts = Extract<DecodedValues, { kind: 'texts' }>;

function textData(
  type: Utf8,
  pages: readonly DecodedValues[],
  whole: Validity,
  isThere: (item: number) => boolean,
): Data {
  const size = pages.reduce((sum, page) => sum + (page as Texts).offsets.at(-1)!, 0);
  const data = new Uint8Array(size);
  const valueOffsets = new Int32Array(whole.length + 1);
  let end = 0;
  for (const page of pages) {
    const { bytes, offsets } = page as Texts;
    data.set(bytes.subarray(0, offsets.at(-1)!), end);
    end += offsets.at(-1)!;
  }
  end = 0;
  let item = 0;
  const close = (to: number): void => {
    for (; item < to; item++) valueOffsets[item + 1] = end;
  };
  scatter(pages, whole.length, isThere, (at, page, i) => {
    const { offsets } = page as Texts;
    close(at); // nulls before it
    end += offsets[i + 1]! - offsets[i]!;
    close(at + 1);
  });
  close(whole.length);
  return makeData({ type, ...whole, valueOffsets, data });
}

/** Calls `put` with every item that is there, and where its value is. */
function scatter(
  pages: readonly DecodedValues[],
  length: number,
  isThere: (item: number) => boolean,
  put: (item: number, page: DecodedValues, i: number) => void,
): void {
  let item = 0;
  for (const page of pages) {
    const count = countOf(page);
    for (let i = 0; i < count; i++, item++) {
      while (item < length && !isThere(item)) item++;
      if (item >= length) throw new RangeError('a leaf has more values than slots for them');
      put(item, page, i);
    }
  }
  while (item < length && !isThere(item)) item++;
  if (item < length) throw new RangeError('a leaf has fewer values than slots for them');
}

function countOf(page: DecodedValues): number {
  if (page.kind === 'texts') return page.offsets.length - 1;
  if (page.kind === 'flags') return page.flags.length;
  return page.kind === 'pairs' ? page.words.length / 2 : page.words.length;
}

function isWide(type: ArrowType): boolean {
  return (
    ArrowType.isTimestamp(type) ||
    (ArrowType.isInt(type) && type.bitWidth === 64) ||
    (ArrowType.isFloat(type) && type.precision === 2)
  );
}

function typed(
  type: ArrowType,
  words: Int32Array,
): Int32Array | Float32Array | Float64Array | BigInt64Array {
  if (ArrowType.isFloat(type))
    return type.precision === 2 ? new Float64Array(words.buffer) : new Float32Array(words.buffer);
  return isWide(type) ? new BigInt64Array(words.buffer) : words;
}
