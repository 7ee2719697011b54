import type { Data } from 'apache-arrow';
import type { Column } from '../../../../engine/core/types.js';
import { ValueTable } from '../../../expressions/value-table.js';

/** Rows after which a column with mostly different values is given up, and the most different values of one that is not. */
const trialRows = 2048;
const maxCodes = 1 << 15;

/**
 * Small numbers that stand for the values of a column of texts, or of lists of texts: the same one for equal values, from 1 on, 0 for None,
 * and -1 for lists with None. Null for other columns, and for those with too many different values.
 */
export function columnCodes(column: Column, data: Data): Int32Array | null {
  return texts.has(column.type) ? codesOf(column, data, new ValueTable(), true) : null;
}

/** The same by a table, for numbers and dates, too, however many different values there are. Values of one type alone go into a table. */
export function tableCodes(column: Column, data: Data, table: ValueTable): Int32Array | null {
  const { type } = column;
  return texts.has(type) || numbers.has(type) ? codesOf(column, data, table, false) : null;
}

const texts: ReadonlySet<string> = new Set(['string', 'text']);
const numbers: ReadonlySet<string> = new Set(['integer', 'long', 'float', 'double', 'date']);

function codesOf(
  column: Column,
  data: Data,
  table: ValueTable,
  givesUp: boolean,
): Int32Array | null {
  const inner = column.isList ? data.children[0]! : data;
  const { values } = inner;
  if (values === undefined) return null;
  const { buffer, byteOffset, byteLength } = values as Int32Array;
  const bytes = new DataView(buffer, byteOffset, byteLength);
  const offsets = (inner.valueOffsets as Int32Array | undefined) ?? numberOffsets(inner);
  const lists = column.isList ? (data.valueOffsets as Int32Array) : null;
  const [isThere, isText] = [validity(data), validity(inner)];
  const codes = new Int32Array(data.length);
  for (let i = 0; i < codes.length; i++) {
    if (isThere !== null && !isThere(i)) continue;
    const from = lists === null ? i : lists[i]!;
    const to = lists === null ? i + 1 : lists[i + 1]!;
    codes[i] =
      lists !== null && hasNull(isText, from, to) ? -1 : table.code(bytes, offsets, from, to);
    if (givesUp && (table.size > maxCodes || (i === trialRows && table.size > trialRows / 2)))
      return null;
  }
  return codes;
}

/** Where the values of a column of numbers begin, and where the last one ends. */
function numberOffsets({ values, length }: Data): Int32Array {
  const width = (values as Int32Array).BYTES_PER_ELEMENT;
  const offsets = new Int32Array(length + 1);
  for (let i = 1; i <= length; i++) offsets[i] = i * width;
  return offsets;
}

/** Whether a row has a value, for many rows of a column: the properties of `Data` are computed anew each time. */
export function validity({ nullCount, nullBitmap, offset }: Data): ((i: number) => boolean) | null {
  if (nullCount === 0) return null;
  const bits = nullBitmap;
  return (i) => ((bits[(offset + i) >> 3]! >> ((offset + i) & 7)) & 1) === 1;
}

function hasNull(isText: ((k: number) => boolean) | null, from: number, to: number): boolean {
  if (isText === null) return false;
  for (let k = from; k < to; k++) if (!isText(k)) return true;
  return false;
}
