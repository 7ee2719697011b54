import { acquire, growBuffer, release } from '../core/buffers.js';
import { ValuePicker } from './pick-values.js';
import { fillLevels, readLevels, type LeafPart } from './read-chunk.js';
import type { DecompressedPage } from './read-pages.js';
import type { ParquetLeaf } from './schema.js';

/**
 * Some rows of pages of one column chunk: ascending numbers, counted from the first row of the first page. The chunk's dictionary comes first if it
 * has one. Only the values of these rows are copied, and the values of a page without any of them are not decoded. Throws a `RangeError` for a page
 * that cannot be decoded, and for rows that the pages do not have.
 */
export function pickRows(
  pages: Iterable<DecompressedPage>,
  leaf: ParquetLeaf,
  rows: Int32Array,
): LeafPart {
  const { physical, maxRepetition } = leaf;
  const levels: PickedLevels = {
    definition: new Uint16Array(rows.length),
    repetition: maxRepetition > 0 ? new Uint16Array(rows.length) : undefined,
    slots: 0,
  };
  const values = new ValuePicker(physical, rows.length);
  let picks = acquire(Int32Array, 1);
  let [first, next] = [0, 0];
  try {
    for (const page of pages) {
      if (page.isDictionary) {
        values.dictionary(page);
        continue;
      }
      if (page.count > picks.length) picks = growBuffer(picks, page.count);
      const own = pickLevels(page, leaf, { rows, next, first }, picks, levels);
      values.pick(page, own.present, picks, own.picked);
      first += own.rows;
      next = own.next;
    }
    if (next < rows.length) throw new RangeError(`there is no row ${rows[next]} in ${first} rows`);
    const { definition, repetition, slots } = levels;
    return {
      slots,
      definition: definition.subarray(0, slots),
      repetition: repetition?.subarray(0, slots),
      values: [values.finish()],
    };
  } finally {
    release(picks);
    values.release();
  }
}

/** The rows that are wanted: those from index `next` on are not among the pages before, which end at row `first`. */
interface WantedRows {
  readonly rows: Int32Array;
  readonly next: number;
  readonly first: number;
}

/** The levels of the slots of the wanted rows, of which there are `slots` so far. */
interface PickedLevels {
  definition: Uint16Array;
  repetition: Uint16Array | undefined;
  slots: number;
}

/** A page of which the wanted slots were picked. */
interface PickedPage {
  /** Number of rows and of values that the page has. */
  readonly rows: number;
  readonly present: number;
  /** Number of values that are wanted. */
  readonly picked: number;
  /** The index of the first row that is wanted and in a later page. */
  readonly next: number;
}

/**
 * Reads the levels of a page, and adds those that are wanted to `levels`. The numbers of the values that are wanted, counted from its first value, become
 * the first of `picks`.
 */
function pickLevels(
  { body, count }: DecompressedPage,
  leaf: ParquetLeaf,
  wanted: WantedRows,
  picks: Int32Array,
  levels: PickedLevels,
): PickedPage {
  const { maxDefinition, maxRepetition } = leaf;
  const repetition = maxRepetition > 0 ? acquire(Int32Array, count) : undefined;
  const definition = acquire(Int32Array, count);
  try {
    if (repetition !== undefined) fillLevels(body, maxRepetition, count, repetition);
    const constant = readLevels(body, maxDefinition, count, definition);
    if (constant === maxDefinition && repetition === undefined)
      return allPresent(count, maxDefinition, wanted, picks, levels);
    if (constant !== undefined) definition.fill(constant, 0, count);
    return scanLevels(definition, repetition, count, maxDefinition, wanted, picks, levels);
  } finally {
    release(definition);
    if (repetition !== undefined) release(repetition);
  }
}

/** Like `pickLevels`, for a page in which each slot is a row with a value, as in nearly all pages. */
function allPresent(
  count: number,
  level: number,
  { rows, next, first }: WantedRows,
  picks: Int32Array,
  levels: PickedLevels,
): PickedPage {
  const end = first + count;
  let picked = 0;
  for (; next < rows.length && rows[next]! < end; next++) picks[picked++] = rows[next]! - first;
  levels.definition.fill(level, levels.slots, (levels.slots += picked));
  return { rows: count, present: count, picked, next };
}

function scanLevels(
  definition: Int32Array,
  repetition: Int32Array | undefined,
  count: number,
  maxDefinition: number,
  { rows, next, first }: WantedRows,
  picks: Int32Array,
  levels: PickedLevels,
): PickedPage {
  makeRoom(levels, count);
  const { definition: definitions, repetition: repetitions } = levels;
  let [slots, value, picked] = [levels.slots, 0, 0];
  let row = first - 1;
  let isWanted = false;
  for (let slot = 0; slot < count; slot++) {
    if (repetition === undefined || repetition[slot] === 0) {
      row++;
      isWanted = rows[next] === row;
      if (isWanted) next++;
    }
    const hasValue = definition[slot] === maxDefinition;
    if (isWanted) {
      definitions[slots] = definition[slot]!;
      if (repetitions !== undefined) repetitions[slots] = repetition![slot]!;
      slots++;
      if (hasValue) picks[picked++] = value;
    }
    if (hasValue) value++;
  }
  levels.slots = slots;
  return { rows: row + 1 - first, present: value, picked, next };
}

/** Makes room for `count` more slots, because a row of a list has any number of them. */
function makeRoom(levels: PickedLevels, count: number): void {
  const needed = levels.slots + count;
  if (levels.repetition === undefined || needed <= levels.definition.length) return;
  const enlarged = (before: Uint16Array): Uint16Array => {
    const larger = new Uint16Array(Math.max(2 * before.length, needed));
    larger.set(before);
    return larger;
  };
  levels.definition = enlarged(levels.definition);
  levels.repetition = enlarged(levels.repetition);
}
