import { acquire, release } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { readHybrid } from '../../parquet/decode-hybrid.js';
import { pickRows } from '../../parquet/pick-rows.js';
import { encodingId } from '../../parquet/encoding.js';
import { readLevels } from '../../parquet/read-chunk.js';
import type { SegmentLeaf } from '../memory/segment-leaves.js';
import { convertedTo, type ScalarType } from './converted.js';
import { LeafValues, objectBytes, valuesOf } from './leaf-values.js';

/** The values of a leaf in the rows of one page, or in one of them, with random access. */
export interface LeafPage {
  /** The first slot of row i, followed by the number of slots; undefined if every row is one slot. */
  readonly rowSlots: Int32Array | undefined;
  /** The repetition levels of lists in lists; undefined if every slot is an element. */
  readonly repetition: Uint8Array | undefined;
  /** Definition level of each slot; undefined: all have `level`. */
  readonly definition: Uint8Array | undefined;
  readonly level: number;
  /** The index of each slot's value, if it has one; undefined if the index is the number of the slot. */
  readonly valueIndexes: Uint16Array | Int32Array | undefined;
  /** Index of a value's entry in the dictionary; undefined: `values` are the values themselves. */
  readonly indices: Uint16Array | Int32Array | undefined;
  readonly values: LeafValues;
  /** Bytes of memory, without the dictionary. */
  readonly bytes: number;
}

/** All rows of a page. `dictionary` has been converted to `type` already. */
export function wholePage(
  page: DecompressedPage,
  leaf: SegmentLeaf,
  type: ScalarType | undefined,
  rows: number,
  dictionary?: LeafValues,
): LeafPage {
  const { body, count, encoding } = page;
  const { maxDefinition, maxRepetition } = leaf;
  const levels = acquire(Int32Array, count);
  let repetition: Uint8Array | undefined;
  let rowSlots: Int32Array | undefined;
  if (maxRepetition > 0) {
    const constant = readLevels(body, maxRepetition, count, levels);
    if (constant === undefined) {
      rowSlots = slotsOfRows(levels, count, rows);
      if (maxRepetition > 1) repetition = Uint8Array.from(levels.subarray(0, count));
    }
  }
  if (rowSlots === undefined && count !== rows)
    throw new RangeError(`a page has ${count} values for ${rows} rows`);
  const level = readLevels(body, maxDefinition, count, levels);
  const defined = definedSlots(levels, level, count, maxDefinition);
  release(levels);
  if (encoding !== encodingId.rleDictionary) {
    const values = convertedTo(valuesOf(page, leaf.physical, defined.values), leaf, type);
    return leafPage(rowSlots, repetition, defined, undefined, values);
  }
  if (dictionary === undefined) throw new RangeError('a page needs a dictionary');
  const indices = indicesOf(page, defined.values, dictionary.count);
  return leafPage(rowSlots, repetition, defined, indices, dictionary);
}

/**
 * One row of a page, which is row 0 of the result: nothing is decoded that this does not need. `dictionary` is the page of the chunk's dictionary,
 * if it has one; both pages stay as they are, and may be read again.
 */
export function rowOfPage(
  page: DecompressedPage,
  leaf: SegmentLeaf,
  type: ScalarType | undefined,
  row: number,
  dictionary: DecompressedPage | undefined,
): LeafPage {
  const pages = dictionary === undefined ? [page] : [dictionary, page];
  for (const { body } of pages) body.at = 0;
  const { slots, definition, repetition, values } = pickRows(pages, leaf, Int32Array.of(row), true);
  const { maxDefinition, maxRepetition } = leaf;
  const isConstant = definition.every((level) => level === definition[0]);
  const level = isConstant ? definition[0] : undefined;
  return leafPage(
    maxRepetition > 0 && slots !== 1 ? Int32Array.of(0, slots) : undefined,
    maxRepetition > 1 && slots !== 1 ? Uint8Array.from(repetition!) : undefined,
    definedSlots(definition, level, slots, maxDefinition),
    undefined,
    convertedTo(new LeafValues(values[0]!), leaf, type),
  );
}

/** One row with a value, or without one, as the only row of a page; `level` is its definition level. */
export function valuePage(level: number, values: LeafValues): LeafPage {
  const slots = { definition: undefined, level, valueIndexes: undefined, values: values.count };
  return leafPage(undefined, undefined, slots, undefined, values);
}

function leafPage(
  rowSlots: Int32Array | undefined,
  repetition: Uint8Array | undefined,
  { definition, level, valueIndexes }: DefinedSlots,
  indices: Uint16Array | Int32Array | undefined,
  values: LeafValues,
): LeafPage {
  const own = indices === undefined ? values.bytes : indices.byteLength;
  const arrays = [rowSlots, repetition, definition, valueIndexes];
  const bytes = arrays.reduce((sum, array) => sum + (array?.byteLength ?? 0), own + objectBytes);
  return { rowSlots, repetition, definition, level, valueIndexes, indices, values, bytes };
}

interface DefinedSlots extends Pick<LeafPage, 'definition' | 'level' | 'valueIndexes'> {
  /** The number of slots that have a value. */
  readonly values: number;
}

/** The first `count` definition levels; all of them are `constant` unless that is undefined. */
function definedSlots(
  levels: Int32Array | Uint16Array,
  constant: number | undefined,
  count: number,
  maxDefinition: number,
): DefinedSlots {
  if (constant !== undefined) {
    const values = constant === maxDefinition ? count : 0;
    return { definition: undefined, level: constant, valueIndexes: undefined, values };
  }
  const definition = new Uint8Array(count);
  const valueIndexes = count <= 1 << 16 ? new Uint16Array(count) : new Int32Array(count);
  const values = valueIndexesOf(levels, maxDefinition, definition, valueIndexes);
  return { definition, level: 0, valueIndexes, values };
}

function slotsOfRows(repetition: Int32Array, count: number, rows: number): Int32Array {
  const slots = new Int32Array(rows + 1);
  let row = 0;
  for (let slot = 0; slot < count; slot++) {
    if (repetition[slot] !== 0) continue;
    if (row === rows) throw new RangeError(`a page has more than ${rows} rows`);
    slots[row++] = slot;
  }
  if (row !== rows || slots[0] !== 0) throw new RangeError(`a page has ${row} of ${rows} rows`);
  slots[rows] = count;
  return slots;
}

/** Fills in the definition level and the value index of each slot, and returns the number of values. */
function valueIndexesOf(
  levels: Int32Array | Uint16Array,
  maxDefinition: number,
  definition: Uint8Array,
  valueIndexes: Uint16Array | Int32Array,
): number {
  let values = 0;
  for (let i = 0; i < definition.length; i++) {
    const level = levels[i]!;
    definition[i] = level;
    valueIndexes[i] = values;
    values += level === maxDefinition ? 1 : 0;
  }
  return values;
}

function indicesOf(
  { body }: DecompressedPage,
  count: number,
  entries: number,
): Uint16Array | Int32Array {
  const wide = acquire(Int32Array, count);
  readHybrid(body, body.byte(), count, wide);
  const indices = entries <= 1 << 16 ? new Uint16Array(count) : new Int32Array(count);
  let most = 0;
  for (let i = 0; i < count; i++) {
    const index = wide[i]!;
    if (index > most) most = index;
    indices[i] = index;
  }
  release(wide);
  if (count > 0 && most >= entries) throw new RangeError(`a dictionary has no entry ${most}`);
  return indices;
}
