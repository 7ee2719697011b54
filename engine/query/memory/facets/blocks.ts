import type { MemoryColumn, NumberDictionary, SelectionBytes } from '../match/column.js';
import type { FacetOverflow } from './facet-overflow.js';

/**
 * Number of values that are processed together: few enough for the L1 and L2 caches, and many enough that the cost of a call does not
 * matter.
 */
export const blockLength = 8192;

const doublesBuffer = new Float64Array(blockLength);
const compactedBuffer = new Float64Array(blockLength);
const indicesBuffer = new Uint32Array(blockLength);

/**
 * Returns one byte for each value of a column: 1 if the value is present and its row is selected. Returns undefined if `selection` is `all`
 * and `column.present` is undefined, and null if `selection` is `none` or the column has no rows.
 */
export function selectedValues(
  column: MemoryColumn,
  selection: SelectionBytes,
): Uint8Array | undefined | null {
  const { offsets, present, rows } = column;
  if (selection === 'none' || rows === 0) return null;
  if (offsets) return selection === 'all' ? undefined : selectValues(selection, offsets);
  if (selection === 'all') return present;
  return present ? intersectSelections(selection, present) : selection;
}

/**
 * Writes the selected indices between `from` and `to`, at most a block, to the beginning of `into`, as offsets that count from `from`;
 * returns their number. The loop has no branch that depends on the selection, because selections are unpredictable.
 */
export function listSelected(
  selected: Uint8Array | undefined,
  from: number,
  to: number,
  into: Uint32Array,
): number {
  let count = 0;
  for (let i = from; i < to; i++) {
    into[count] = i - from;
    count += selected === undefined ? 1 : selected[i]!;
  }
  return count;
}

/** Returns the length of a column's array of values, in which rows without a value have meaningless elements, too. */
export function valueCount({ rows, offsets }: MemoryColumn): number {
  return offsets ? offsets[rows]! : rows;
}

/**
 * Returns the values from `from` to `to`, at most a block, as doubles. If the column holds anything but finite numbers and flags, sets the
 * reason in `overflow` instead. The next call overwrites the array.
 */
export function doublesOf(
  { values }: MemoryColumn,
  from: number,
  to: number,
  overflow: FacetOverflow,
): Float64Array {
  if (values.kind === 'flags') doublesBuffer.set(values.flags.subarray(from, to));
  else if (values.kind === 'number-dictionary' && !values.entries.hasNonFinite)
    gatherDictionaryNumbers(values, from, to);
  else if (values.kind === 'numbers' && !values.hasNonFinite)
    doublesBuffer.set(values.numbers.subarray(from, to));
  else
    overflow.setReason(
      values.kind === 'numbers' || values.kind === 'number-dictionary'
        ? 'NaN or an infinity'
        : `${values.kind} in a column of numbers`,
    );
  return doublesBuffer;
}

function gatherDictionaryNumbers(
  { indices, entries }: NumberDictionary,
  from: number,
  to: number,
): void {
  const { numbers } = entries;
  const block = indicesOf(indices, from, to);
  for (let i = 0; i < to - from; i++) doublesBuffer[i] = numbers[block[i]!]!;
}

/**
 * Calls `visit` with the selected values of a column of numbers or flags, block by block: `count` doubles from index `start` on.
 * The array is valid only during the call.
 */
export function forEachBlock(
  column: MemoryColumn,
  selection: SelectionBytes,
  overflow: FacetOverflow,
  visit: (values: Float64Array, start: number, count: number) => void,
): void {
  const selected = selectedValues(column, selection);
  if (selected === null) return;
  const { values } = column;
  const length = valueCount(column);
  const isDouble =
    values.kind === 'numbers' && !values.hasNonFinite && values.numbers.BYTES_PER_ELEMENT === 8;
  for (let from = 0; from < length; from += blockLength) {
    const to = Math.min(from + blockLength, length);
    if (isDouble && selected === undefined) {
      visit(values.numbers as Float64Array, from, to - from);
      continue;
    }
    const block = doublesOf(column, from, to, overflow);
    if (selected === undefined) visit(block, 0, to - from);
    else visit(compactedBuffer, 0, compactSelected(block, selected, from, to - from));
  }
}

/**
 * Returns the dictionary indices from `from` to `to`, at most a block, as 32-bit numbers, so that one loop serves all widths of indices.
 * The next call overwrites the array.
 */
export function indicesOf(
  indices: Uint8Array | Uint16Array | Uint32Array,
  from: number,
  to: number,
): Uint32Array {
  indicesBuffer.set(indices.subarray(from, to));
  return indicesBuffer;
}

/**
 * Copies the selected values of a block to the start of `compactedBuffer`, and returns their number. The loop has no branch, because a
 * branch on a selection is often mispredicted: every value is written, and the next value overwrites a value that is not selected.
 */
function compactSelected(
  block: Float64Array,
  selected: Uint8Array,
  from: number,
  length: number,
): number {
  let count = 0;
  for (let i = 0; i < length; i++) {
    compactedBuffer[count] = block[i]!;
    count += selected[from + i]!;
  }
  return count;
}

/** Returns the intersection of two arrays of flags, four bytes at a time where both arrays are aligned. */
function intersectSelections(selection: Uint8Array, present: Uint8Array): Uint8Array {
  const { length } = present;
  const selected = new Uint8Array(length);
  let i = 0;
  if ((selection.byteOffset | present.byteOffset) % 4 === 0) {
    const count = length >>> 2;
    const [selectionWords, presentWords, selectedWords] = [selection, present, selected].map(
      ({ buffer, byteOffset }) => new Uint32Array(buffer, byteOffset, count),
    ) as [Uint32Array, Uint32Array, Uint32Array];
    for (let word = 0; word < count; word++)
      selectedWords[word] = selectionWords[word]! & presentWords[word]!;
    i = count << 2;
  }
  for (; i < length; i++) selected[i] = selection[i]! & present[i]!;
  return selected;
}

/** Converts a selection of rows (one byte each) to a selection of the values of their lists. */
function selectValues(selection: Uint8Array, offsets: Int32Array): Uint8Array {
  const rows = selection.length;
  const selected = new Uint8Array(offsets[rows]!);
  for (let row = 0; row < rows; row++)
    if (selection[row] === 1) selected.fill(1, offsets[row], offsets[row + 1]);
  return selected;
}
