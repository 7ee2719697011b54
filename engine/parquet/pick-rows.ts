import { acquireBuffer, growBuffer, releaseBuffer } from '../core/buffers.js';
import { ValuePicker } from './pick-values.js';
import { fillLevels, readLevels, type LeafPart } from './read-chunk.js';
import type { DecompressedPage } from './read-pages.js';
import type { ParquetLeaf } from './schema.js';

/**
 * Reads some rows from the pages of one column chunk. `rows` are ascending numbers, counted from the first row of the first page. The
 * chunk's dictionary page, if any, comes first. Only the values of these rows are copied, and a page with none of them is not decoded.
 * Throws a `RangeError` for a page that cannot be decoded, and for rows that the pages do not have. `areLasting` says that no page
 * overwrites the one before it.
 */
export function pickRows(
  pages: Iterable<DecompressedPage>,
  leaf: PickedLeaf,
  rows: Int32Array,
  areLasting = false,
): LeafPart {
  const { physical, maxRepetition } = leaf;
  const levels: PickedLevels = {
    definition: new Uint16Array(rows.length),
    repetition: maxRepetition > 0 ? new Uint16Array(rows.length) : undefined,
    slots: 0,
  };
  const values = new ValuePicker(physical, rows.length);
  let picks = acquireBuffer(Int32Array, 1);
  let [first, next] = [0, 0];
  try {
    for (const page of pages) {
      if (page.isDictionary) {
        values.setDictionary(page, areLasting);
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
    releaseBuffer(picks);
    values.release();
  }
}

/** The properties of a leaf on which decoding depends. */
type PickedLeaf = Pick<ParquetLeaf, 'physical' | 'maxDefinition' | 'maxRepetition'>;

/** The numbers of the requested rows. Those before index `next` were found in earlier pages; the current page begins at row `first`. */
interface WantedRows {
  readonly rows: Int32Array;
  readonly next: number;
  readonly first: number;
}

/** The levels collected so far for the requested rows: `slots` entries. */
interface PickedLevels {
  definition: Uint16Array;
  repetition: Uint16Array | undefined;
  slots: number;
}

/** What `pickLevels` finds in one page. */
interface PickedPage {
  /** Number of rows, and of values, in the page. */
  readonly rows: number;
  readonly present: number;
  /** Number of requested values. */
  readonly picked: number;
  /** Index in `WantedRows.rows` of the first row that lies in a later page. */
  readonly next: number;
}

/**
 * Reads the levels of a page, and adds those of the requested rows to `levels`. Writes the numbers of the requested values, counted from
 * the page's first value, to the start of `picks`.
 */
function pickLevels(
  { body, count }: DecompressedPage,
  leaf: PickedLeaf,
  wanted: WantedRows,
  picks: Int32Array,
  levels: PickedLevels,
): PickedPage {
  const { maxDefinition, maxRepetition } = leaf;
  const repetition = maxRepetition > 0 ? acquireBuffer(Int32Array, count) : undefined;
  const definition = acquireBuffer(Int32Array, count);
  try {
    if (repetition !== undefined) fillLevels(body, maxRepetition, count, repetition);
    const constant = readLevels(body, maxDefinition, count, definition);
    if (constant === maxDefinition && repetition === undefined)
      return pickPresentRows(count, maxDefinition, wanted, picks, levels);
    if (constant !== undefined) definition.fill(constant, 0, count);
    return scanLevels(definition, repetition, count, maxDefinition, wanted, picks, levels);
  } finally {
    releaseBuffer(definition);
    if (repetition !== undefined) releaseBuffer(repetition);
  }
}

/** Does the same as `pickLevels` for a page in which each slot is a row with a value. Nearly all pages are of this kind. */
function pickPresentRows(
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
  let [slot, value, picked] = [0, 0, 0];
  let row = first;
  for (; next < rows.length; next++) {
    // Skips the slots before the requested row.
    const wanted = rows[next]!;
    if (repetition === undefined) {
      const end = Math.min(count, slot + wanted - row);
      for (; slot < end; slot++) value += definition[slot] === maxDefinition ? 1 : 0;
      row = first + slot;
    } else {
      for (; slot < count && row < wanted; slot++) {
        value += definition[slot] === maxDefinition ? 1 : 0;
        if (slot + 1 === count || repetition[slot + 1] === 0) row++;
      }
    }
    if (slot === count) break;
    let end = slot + 1;
    if (repetition !== undefined) while (end < count && repetition[end] !== 0) end++;
    reserveSlots(levels, end - slot);
    for (; slot < end; slot++) {
      levels.definition[levels.slots] = definition[slot]!;
      if (levels.repetition !== undefined) levels.repetition[levels.slots] = repetition![slot]!;
      levels.slots++;
      if (definition[slot] === maxDefinition) picks[picked++] = value++;
    }
    row++;
  }
  for (; slot < count; slot++) {
    value += definition[slot] === maxDefinition ? 1 : 0;
    row += repetition === undefined || repetition[slot] === 0 ? 1 : 0;
  }
  return { rows: row - first, present: value, picked, next };
}

/** Makes room for `count` more level entries: a row of a list has any number of them. */
function reserveSlots(levels: PickedLevels, count: number): void {
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
