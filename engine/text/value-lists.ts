import { ByteCursor } from './bytes.js';
import type { ColumnSummary } from './column-writer.js';
import type { Hits } from './postings.js';

/** The texts of the values of a column that is a list or lies in one. */
export interface RowValueLists {
  /** Row r has the values `starts[r]` to `starts[r + 1]` (exclusive). */
  readonly starts: Uint32Array;
  /** The text of each value; undefined if value i has text i. */
  readonly textOf: Uint16Array | Uint32Array | undefined;
  /** Number of tokens of each text. */
  readonly lengths: Uint32Array;
}

/** Decodes the parts `texts` and `rows` of a column of lists. */
export function decodeLists(
  texts: Uint8Array,
  rows: Uint8Array,
  { texts: count, isShared }: ColumnSummary,
  rowCount: number,
): RowValueLists {
  const lengths = new Uint32Array(count);
  const ofTexts = new ByteCursor(texts);
  for (let i = 0; i < count; i++) lengths[i] = ofTexts.readVarint();
  const starts = new Uint32Array(rowCount + 1);
  // The length of `rows` is an upper bound of the number of values, because every value takes at least one byte.
  const numbers = new (count <= 0x10000 ? Uint16Array : Uint32Array)(isShared ? rows.length : 0);
  const cursor = new ByteCursor(rows);
  let [end, at] = [0, 0];
  // Most numbers have one byte; reading them inline takes a third of the time.
  const next = (): number => {
    cursor.at = at - 1;
    const number = cursor.readVarint();
    at = cursor.at;
    return number;
  };
  for (let row = 0; row < rowCount; row++) {
    let values = rows[at++]!;
    if (!(values < 0x80)) values = next();
    const to = end + values;
    if (isShared) {
      for (; end < to; end++) {
        let text = rows[at++]!;
        if (!(text < 0x80)) text = next();
        if (text >= count) throw new Error('a row names a text that does not exist');
        numbers[end] = text;
      }
    }
    starts[row + 1] = end = to;
  }
  if (isShared) return { starts, textOf: numbers.slice(0, end), lengths };
  if (end !== count) throw new Error(`${count} texts are of ${end} values`);
  return { starts, textOf: undefined, lengths };
}

/** Returns the number of tokens of each row. */
export function tokenCountOfRows({ starts, textOf, lengths }: RowValueLists): Uint32Array {
  const tokens = new Uint32Array(starts.length - 1);
  for (let row = 0, at = 0; row < tokens.length; row++) {
    const to = starts[row + 1]!;
    let sum = 0;
    if (textOf) for (; at < to; at++) sum += lengths[textOf[at]!]!;
    else for (; at < to; at++) sum += lengths[at]!;
    tokens[row] = sum;
  }
  return tokens;
}

/**
 * Returns the rows that have one of these texts, as hits whose text numbers are row numbers; the occurrences in several values of a row are
 * added up.
 */
export function hitsOfRows(
  { starts, textOf, lengths }: RowValueLists,
  { texts, times }: Hits,
): Hits {
  const rows = starts.length - 1;
  const hitRows = new Uint32Array(Math.min(rows, textOf ? rows : texts.length));
  const sums = new Uint32Array(hitRows.length);
  let end = 0;
  if (textOf === undefined) {
    let row = -1;
    for (let i = 0; i < texts.length; i++) {
      const ownRow = rowOfValue(starts, texts[i]!, row);
      if (ownRow !== row) hitRows[end++] = row = ownRow;
      sums[end - 1]! += times[i]!;
    }
  } else {
    const ofText = new Uint32Array(lengths.length);
    for (let i = 0; i < texts.length; i++) ofText[texts[i]!] = times[i]!;
    for (let row = 0, at = 0; row < rows; row++) {
      const to = starts[row + 1]!;
      let sum = 0;
      for (; at < to; at++) sum += ofText[textOf[at]!]!;
      if (sum === 0) continue;
      hitRows[end] = row;
      sums[end++] = sum;
    }
  }
  return { texts: hitRows.slice(0, end), times: sums.slice(0, end) };
}

/** Returns the row of a value; it must not be before row `from`. */
function rowOfValue(starts: Uint32Array, value: number, from: number): number {
  let low = Math.max(0, from);
  if (starts[low + 1]! > value) return low;
  let high = starts.length - 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle + 1]! <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns whether any row has a value with one of the texts `last` that is followed by a value with one of the texts `first`; values
 * without tokens are ignored.
 */
export function areInConsecutiveValues(
  { starts, textOf, lengths }: RowValueLists,
  last: Uint32Array,
  first: Uint32Array,
): boolean {
  if (last.length === 0 || first.length === 0) return false;
  const ends = new Uint8Array(lengths.length);
  const begins = new Uint8Array(lengths.length);
  for (const text of last) ends[text] = 1;
  for (const text of first) begins[text] = 1;
  for (let row = 0; row + 1 < starts.length; row++) {
    let isAfter = false;
    for (let at = starts[row]!; at < starts[row + 1]!; at++) {
      const text = textOf ? textOf[at]! : at;
      if (lengths[text] === 0) continue;
      if (isAfter && begins[text] === 1) return true;
      isAfter = ends[text] === 1;
    }
  }
  return false;
}
