import { acquireBuffer, releaseBuffer } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { readHybrid } from '../../parquet/decode-hybrid.js';
import { pickRow } from '../../parquet/pick-rows.js';
import { encodingId } from '../../parquet/page-encodings.js';
import { readLevels } from '../../parquet/read-column-chunk.js';
import type { SegmentLeaf } from '../../store/segment-leaves.js';
import { convertLeafValues, type ScalarType } from './convert-leaf-values.js';
import { LeafValues, objectOverheadBytes, readLeafValues } from './leaf-values.js';

/** The values of a leaf in all rows of one page, or in one of these rows, with random access. */
export interface LeafPage {
  /** The first slot of row i, followed by the number of slots; undefined only if every row is one slot. */
  readonly rowSlots: Int32Array | undefined;
  /** The repetition level of each slot; undefined only if the leaf is in at most one list, or every row is one slot. */
  readonly repetition: Uint8Array | undefined;
  /** Definition level of each slot; undefined only if all slots have the level `level`. */
  readonly definition: Uint8Array | undefined;
  readonly level: number;
  /** The index in `values` or `indices` of each slot's value; undefined if that is the number of the slot. */
  readonly valueIndexes: Uint16Array | Int32Array | undefined;
  /** For each value, the index of its entry in the dictionary; undefined if `values` are the values themselves. */
  readonly indices: Uint16Array | Int32Array | undefined;
  readonly values: LeafValues;
  /** Size in memory without the dictionary, in bytes. */
  readonly bytes: number;
}

/** Decodes all rows of a page. `dictionary` must already have been converted to `type`. */
export function unpackPage(
  page: DecompressedPage,
  leaf: SegmentLeaf,
  type: ScalarType | undefined,
  rows: number,
  dictionary?: LeafValues,
): LeafPage {
  const { body, count, encoding } = page;
  const { maxDefinition, maxRepetition } = leaf;
  const levels = acquireBuffer(Int32Array, count);
  let repetition: Uint8Array | undefined;
  let rowSlots: Int32Array | undefined;
  if (maxRepetition > 0) {
    const constant = readLevels(body, maxRepetition, count, levels);
    if (constant === undefined) {
      rowSlots = firstSlotsOfRows(levels, count, rows);
      if (maxRepetition > 1) repetition = Uint8Array.from(levels.subarray(0, count));
    }
  }
  if (rowSlots === undefined && count !== rows)
    throw new RangeError(`a page has ${count} values for ${rows} rows`);
  const level = readLevels(body, maxDefinition, count, levels);
  const slotLevels = definedSlots(levels, level, count, maxDefinition);
  releaseBuffer(levels);
  if (encoding !== encodingId.rleDictionary) {
    const values = convertLeafValues(
      readLeafValues(page, leaf.physical, slotLevels.valueCount),
      leaf,
      type,
    );
    return leafPage(rowSlots, repetition, slotLevels, undefined, values);
  }
  if (dictionary === undefined) throw new RangeError('a page needs a dictionary');
  const indices = readDictionaryIndices(page, slotLevels.valueCount, dictionary.count);
  return leafPage(rowSlots, repetition, slotLevels, indices, dictionary);
}

/** Decodes one row of a page, which becomes row 0 of the result. `dictionary` must already have been converted to `type`. */
export function unpackRow(
  page: DecompressedPage,
  leaf: SegmentLeaf,
  type: ScalarType | undefined,
  row: number,
  dictionary: LeafValues | undefined,
): LeafPage {
  const { slots, definition, repetition, values } = pickRow(page, leaf, row);
  const { maxDefinition, maxRepetition } = leaf;
  const isConstant = definition.every((level) => level === definition[0]);
  const level = isConstant ? definition[0] : undefined;
  const rowSlots = maxRepetition > 0 && slots !== 1 ? Int32Array.of(0, slots) : undefined;
  const listLevels = maxRepetition > 1 && slots !== 1 ? Uint8Array.from(repetition!) : undefined;
  const slotLevels = definedSlots(definition, level, slots, maxDefinition);
  const pickedValues = new LeafValues(values[0]!);
  if (page.encoding !== encodingId.rleDictionary)
    return leafPage(rowSlots, listLevels, slotLevels, undefined, convertLeafValues(pickedValues, leaf, type)); // prettier-ignore
  if (dictionary === undefined) throw new RangeError('a page needs a dictionary');
  for (const index of pickedValues.int32s)
    if (index < 0 || index >= dictionary.count)
      throw new RangeError(`a dictionary has no entry ${index}`);
  return leafPage(rowSlots, listLevels, slotLevels, pickedValues.int32s, dictionary);
}

/** Returns a page of one row, with or without a value; `level` is the row's definition level. */
export function singleRowPage(level: number, values: LeafValues): LeafPage {
  const slots = { definition: undefined, level, valueIndexes: undefined, valueCount: values.count };
  return leafPage(undefined, undefined, slots, undefined, values);
}

function leafPage(
  rowSlots: Int32Array | undefined,
  repetition: Uint8Array | undefined,
  { definition, level, valueIndexes }: DefinedSlots,
  indices: Uint16Array | Int32Array | undefined,
  values: LeafValues,
): LeafPage {
  const valueBytes = indices === undefined ? values.memorySize : indices.byteLength;
  const arrays = [rowSlots, repetition, definition, valueIndexes];
  const bytes = arrays.reduce(
    (sum, array) => sum + (array?.byteLength ?? 0),
    valueBytes + objectOverheadBytes,
  );
  return { rowSlots, repetition, definition, level, valueIndexes, indices, values, bytes };
}

interface DefinedSlots extends Pick<LeafPage, 'definition' | 'level' | 'valueIndexes'> {
  /** The number of slots that have a value. */
  readonly valueCount: number;
}

/**
 * Returns the definition levels of the first `count` slots, with the indexes and the number of their values; all levels are `constant` if
 * that is given.
 */
function definedSlots(
  levels: Int32Array | Uint16Array,
  constant: number | undefined,
  count: number,
  maxDefinition: number,
): DefinedSlots {
  if (constant !== undefined) {
    const values = constant === maxDefinition ? count : 0;
    return { definition: undefined, level: constant, valueIndexes: undefined, valueCount: values };
  }
  const definition = new Uint8Array(count);
  const valueIndexes = count <= 1 << 16 ? new Uint16Array(count) : new Int32Array(count);
  const values = valueIndexesOf(levels, maxDefinition, definition, valueIndexes);
  return { definition, level: 0, valueIndexes, valueCount: values };
}

function firstSlotsOfRows(repetition: Int32Array, count: number, rows: number): Int32Array {
  const firstSlots = new Int32Array(rows + 1);
  let row = 0;
  for (let slot = 0; slot < count; slot++) {
    if (repetition[slot] !== 0) continue;
    if (row === rows) throw new RangeError(`a page has more than ${rows} rows`);
    firstSlots[row++] = slot;
  }
  if (row !== rows || firstSlots[0] !== 0)
    throw new RangeError(`a page has ${row} of ${rows} rows`);
  firstSlots[rows] = count;
  return firstSlots;
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

function readDictionaryIndices(
  { body }: DecompressedPage,
  count: number,
  entryCount: number,
): Uint16Array | Int32Array {
  const wideIndices = acquireBuffer(Int32Array, count);
  readHybrid(body, body.readByte(), count, wideIndices);
  const indices = entryCount <= 1 << 16 ? new Uint16Array(count) : new Int32Array(count);
  let greatestIndex = 0;
  for (let i = 0; i < count; i++) {
    const index = wideIndices[i]!;
    // A damaged page may have indices of 32 bits, which an Int32Array holds as negative numbers.
    if (index >>> 0 > greatestIndex) greatestIndex = index >>> 0;
    indices[i] = index;
  }
  releaseBuffer(wideIndices);
  if (count > 0 && greatestIndex >= entryCount)
    throw new RangeError(`a dictionary has no entry ${greatestIndex}`);
  return indices;
}
