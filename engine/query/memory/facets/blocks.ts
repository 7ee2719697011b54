import type { Column, Mask } from '../column.js';
import type { Overflow } from './overflow.js';

/** Values that are looked at together: few enough for the processor's nearest caches, many enough to pay for a call. */
export const blockLength = 8192;

const doubles = new Float64Array(blockLength);
const dense = new Float64Array(blockLength);
const words = new Uint32Array(blockLength);

/**
 * Which values of a column belong to records of the mask: a byte for each value; undefined if all do, null if none does. A record
 * without a value has none.
 */
export function keptValues(column: Column, mask: Mask): Uint8Array | undefined | null {
  const { offsets, present, rows } = column;
  if (mask === 'none' || rows === 0) return null;
  if (offsets) return mask === 'all' ? undefined : spread(mask, offsets);
  if (mask === 'all') return present;
  return present ? both(mask, present) : mask;
}

/** How many values a column has, those without meaning included. */
export function valueCount({ rows, offsets }: Column): number {
  return offsets ? offsets[rows]! : rows;
}

/** Values as doubles, from `from` to `to` at most a block: in the array that is returned, from the place that `at` tells. */
export function doublesOf(
  { values }: Column,
  from: number,
  to: number,
  overflow: Overflow,
): Float64Array {
  if (values.kind === 'flags') doubles.set(values.flags.subarray(from, to));
  else if (values.kind === 'numbers' && !values.hasNonFinite)
    doubles.set(values.numbers.subarray(from, to));
  else
    overflow.set(
      values.kind === 'numbers' ? 'NaN or an infinity' : `${values.kind} in a column of numbers`,
    );
  return doubles;
}

/**
 * Hands the kept values of a column of numbers or flags over, without gaps: `count` of them in an array from `start` on, which
 * is theirs only until the call returns.
 */
export function eachBlock(
  column: Column,
  mask: Mask,
  overflow: Overflow,
  take: (values: Float64Array, start: number, count: number) => void,
): void {
  const kept = keptValues(column, mask);
  if (kept === null) return;
  const { values } = column;
  const length = valueCount(column);
  const isDouble =
    values.kind === 'numbers' && !values.hasNonFinite && values.numbers.BYTES_PER_ELEMENT === 8;
  for (let from = 0; from < length; from += blockLength) {
    const to = Math.min(from + blockLength, length);
    if (isDouble && kept === undefined) {
      take(values.numbers as Float64Array, from, to - from);
      continue;
    }
    const block = doublesOf(column, from, to, overflow);
    if (kept === undefined) take(block, 0, to - from);
    else take(dense, 0, squeeze(block, kept, from, to - from));
  }
}

/** Codes of a vocabulary, from `from` to `to` at most a block, as 32 bits each: one loop for all widths. */
export function wordsOf(
  codes: Uint8Array | Uint16Array | Uint32Array,
  from: number,
  to: number,
): Uint32Array {
  words.set(codes.subarray(from, to));
  return words;
}

/** Without a branch, because nobody can foretell a mask: every value is written, and the next one over it if it was none. */
function squeeze(block: Float64Array, kept: Uint8Array, from: number, length: number): number {
  let count = 0;
  for (let i = 0; i < length; i++) {
    dense[count] = block[i]!;
    count += kept[from + i]!;
  }
  return count;
}

/** Four bytes at a time, where they begin at words. */
function both(mask: Uint8Array, present: Uint8Array): Uint8Array {
  const { length } = present;
  const kept = new Uint8Array(length);
  let i = 0;
  if ((mask.byteOffset | present.byteOffset) % 4 === 0) {
    const count = length >>> 2;
    const [some, others, all] = [mask, present, kept].map(
      ({ buffer, byteOffset }) => new Uint32Array(buffer, byteOffset, count),
    ) as [Uint32Array, Uint32Array, Uint32Array];
    for (let word = 0; word < count; word++) all[word] = some[word]! & others[word]!;
    i = count << 2;
  }
  for (; i < length; i++) kept[i] = mask[i]! & present[i]!;
  return kept;
}

function spread(mask: Uint8Array, offsets: Int32Array): Uint8Array {
  const rows = mask.length;
  const kept = new Uint8Array(offsets[rows]!);
  for (let row = 0; row < rows; row++)
    if (mask[row] === 1) kept.fill(1, offsets[row], offsets[row + 1]);
  return kept;
}
