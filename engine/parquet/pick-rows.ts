import { acquireBuffer, growBuffer, releaseBuffer } from '../core/buffers.js';
import { ByteSource } from './byte-source.js';
import { encodingId } from './page-encodings.js';
import { bitWidth } from './hybrid.js';
import { ValuePicker } from './pick-values.js';
import { HybridCursor } from './hybrid-cursor.js';
import type { DecodedLeaf } from './read-column-chunk.js';
import type { DecompressedPage } from './read-pages.js';
import { physicalType, type ParquetLeaf } from './parquet-schema.js';

/**
 * Reads some rows from the pages of one column chunk. `rows` are ascending numbers, counted from the first row of the first page. The
 * chunk's dictionary page, if any, comes first. Only the values of these rows are copied; of a page with none of them, only the levels
 * are read. Throws a `RangeError` for a page that cannot be decoded, and for rows that the pages do not have.
 */
export function pickRows(
  pages: Iterable<DecompressedPage>,
  leaf: PickedLeaf,
  rows: Int32Array,
): DecodedLeaf {
  const levels = newLevels(leaf, rows.length);
  const values = new ValuePicker(leaf.physical, rows.length);
  let picks = acquireBuffer(Int32Array, 1);
  let [first, next] = [0, 0];
  try {
    for (const page of pages) {
      if (page.isDictionary) {
        values.setDictionary(page);
        continue;
      }
      if (page.count > picks.length) picks = growBuffer(picks, page.count);
      const pickedPage = pickLevels(page, leaf, { rows, next, first }, picks, levels);
      values.pick(page, pickedPage.present, picks, pickedPage.picked);
      first += pickedPage.rows;
      next = pickedPage.next;
    }
    if (next < rows.length) throw new RangeError(`there is no row ${rows[next]} in ${first} rows`);
    return leafPart(levels, values);
  } finally {
    releaseBuffer(picks);
    values.release();
  }
}

/**
 * Reads one row of a data page. The values of a page that needs a dictionary are the indices of the entries. Throws a `RangeError` for a
 * page that cannot be decoded, and for a row that it does not have.
 */
export function pickRow(page: DecompressedPage, leaf: PickedLeaf, row: number): DecodedLeaf {
  const levels = newLevels(leaf, 1);
  const isIndexed = page.encoding === encodingId.rleDictionary;
  const values = new ValuePicker(isIndexed ? physicalType.int32 : leaf.physical, 1);
  const picks = acquireBuffer(Int32Array, page.count);
  try {
    const wantedRow = { rows: Int32Array.of(row), next: 0, first: 0 };
    const { rows, present, picked, next } = pickLevels(page, leaf, wantedRow, picks, levels);
    if (next === 0) throw new RangeError(`there is no row ${row} in ${rows} rows`);
    if (isIndexed) values.pickIndices(page, present, picks, picked);
    else values.pick(page, present, picks, picked);
    return leafPart(levels, values);
  } finally {
    releaseBuffer(picks);
    values.release();
  }
}

function newLevels({ maxRepetition }: PickedLeaf, rows: number): PickedLevels {
  return {
    definition: new Uint16Array(rows),
    repetition: maxRepetition > 0 ? new Uint16Array(rows) : undefined,
    slots: 0,
  };
}

function leafPart(
  { definition, repetition, slots }: PickedLevels,
  values: ValuePicker,
): DecodedLeaf {
  return {
    slots,
    definition: definition.subarray(0, slots),
    repetition: repetition?.subarray(0, slots),
    values: [values.finish()],
  };
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
 * Reads the levels of a page, and adds those of the requested rows to `levels`. Writes the indices of the values of these rows, among the
 * stored values of the page, to the start of `picks`.
 */
function pickLevels(
  { body, count }: DecompressedPage,
  { maxDefinition, maxRepetition }: PickedLeaf,
  wanted: WantedRows,
  picks: Int32Array,
  levels: PickedLevels,
): PickedPage {
  const repetition = maxRepetition > 0 ? levelCursor(body, maxRepetition, count) : undefined;
  const definition = levelCursor(body, maxDefinition, count);
  const page =
    repetition === undefined
      ? pickScalars(definition, count, maxDefinition, wanted, picks, levels)
      : pickLists(repetition, definition, count, maxDefinition, wanted, picks, levels);
  definition.finish();
  repetition?.finish();
  return page;
}

/**
 * Handles a page of a column without lists, in which each row has one slot: adds the definition levels of the requested rows to `levels`,
 * and the indices of their values among the stored values of the page to `picks`.
 */
function pickScalars(
  definition: HybridCursor,
  count: number,
  maxDefinition: number,
  { rows, next, first }: WantedRows,
  picks: Int32Array,
  levels: PickedLevels,
): PickedPage {
  const end = first + count;
  let [value, picked] = [0, 0];
  for (; next < rows.length && rows[next]! < end; next++) {
    value += definition.rank(rows[next]! - first, maxDefinition);
    const level = definition.next();
    levels.definition[levels.slots++] = level;
    if (level === maxDefinition) picks[picked++] = value++;
  }
  return { rows: count, present: value + definition.rank(count, maxDefinition), picked, next };
}

function pickLists(
  repetition: HybridCursor,
  definition: HybridCursor,
  count: number,
  maxDefinition: number,
  { rows, next, first }: WantedRows,
  picks: Int32Array,
  levels: PickedLevels,
): PickedPage {
  let [row, value, picked] = [first, 0, 0];
  for (; next < rows.length; next++) {
    // The first slot of a row has the repetition level 0.
    row += repetition.select(rows[next]! - row, 0);
    if (repetition.index === count) break;
    value += definition.rank(repetition.index, maxDefinition);
    do {
      reserveSlot(levels);
      const level = definition.next();
      levels.repetition![levels.slots] = repetition.next();
      levels.definition[levels.slots++] = level;
      if (level === maxDefinition) picks[picked++] = value++;
    } while (repetition.index < count && repetition.peek() !== 0);
    row++;
  }
  row += repetition.rank(count, 0);
  value += definition.rank(count, maxDefinition);
  return { rows: row - first, present: value, picked, next };
}

/** Returns a cursor over the levels of a page, `count` numbers from 0 to `most`, which are stored after their length. */
function levelCursor(page: ByteSource, most: number, count: number): HybridCursor {
  return new HybridCursor(new ByteSource(page.readBytes(page.readLength())), bitWidth(most), count);
}

/** Makes room for one more level: a row of a list has any number of them. */
function reserveSlot(levels: PickedLevels): void {
  if (levels.slots < levels.definition.length) return;
  const enlarged = (before: Uint16Array): Uint16Array => {
    const larger = new Uint16Array(2 * before.length);
    larger.set(before);
    return larger;
  };
  levels.definition = enlarged(levels.definition);
  levels.repetition = enlarged(levels.repetition!);
}
