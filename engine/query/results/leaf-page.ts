import { acquire, release } from '../../core/buffers.js';
import type { DecompressedPage } from '../../parquet/read-pages.js';
import { readHybrid } from '../../parquet/decode-hybrid.js';
import { encodingId } from '../../parquet/encoding.js';
import { readLevels } from '../../parquet/read-chunk.js';
import type { SegmentLeaf } from '../memory/segment-leaves.js';
import { convertedTo, type ScalarType } from './converted.js';
import { objectBytes, valuesOf, type LeafValues } from './leaf-values.js';

/** The values of a leaf in the rows of one page, with random access. */
export class LeafPage {
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

  /** `dictionary` has been converted to `type` already. */
  constructor(
    page: DecompressedPage,
    leaf: SegmentLeaf,
    type: ScalarType | undefined,
    rows: number,
    dictionary?: LeafValues,
  ) {
    const { body, count, encoding } = page;
    const { maxDefinition, maxRepetition } = leaf;
    const levels = acquire(Int32Array, count);
    this.repetition = undefined;
    this.rowSlots = undefined;
    this.definition = undefined;
    this.valueIndexes = undefined;
    if (maxRepetition > 0) {
      const constant = readLevels(body, maxRepetition, count, levels);
      if (constant === undefined) {
        this.rowSlots = slotsOfRows(levels, count, rows);
        if (maxRepetition > 1) this.repetition = Uint8Array.from(levels.subarray(0, count));
      }
    }
    if (this.rowSlots === undefined && count !== rows)
      throw new RangeError(`a page has ${count} values for ${rows} rows`);
    let values = count;
    const level = readLevels(body, maxDefinition, count, levels);
    this.level = level ?? 0;
    if (level !== undefined && level !== maxDefinition) values = 0;
    if (level === undefined) {
      this.definition = new Uint8Array(count);
      this.valueIndexes = count <= 1 << 16 ? new Uint16Array(count) : new Int32Array(count);
      values = valueIndexesOf(levels, maxDefinition, this.definition, this.valueIndexes);
    }
    release(levels);
    if (encoding === encodingId.rleDictionary) {
      if (dictionary === undefined) throw new RangeError('a page needs a dictionary');
      this.indices = indicesOf(page, values, dictionary.count);
      this.values = dictionary;
    } else {
      this.indices = undefined;
      this.values = convertedTo(valuesOf(page, leaf.physical, values), leaf, type);
    }
    const own = this.indices === undefined ? this.values.bytes : this.indices.byteLength;
    const arrays = [this.rowSlots, this.repetition, this.definition, this.valueIndexes];
    this.bytes = arrays.reduce((sum, array) => sum + (array?.byteLength ?? 0), own + objectBytes);
  }
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
  levels: Int32Array,
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
