import { valueCount, type DecodedValues } from './decode-values.js';
import type { DecodedLeaf } from './read-column-chunk.js';

/** A part of a leaf without the dropped rows, and the number and size of the dropped values. */
interface ReducedPart {
  readonly part: DecodedLeaf;
  /** The number of dropped values. */
  readonly droppedValueCount: number;
  /** The number of bytes of the dropped strings. */
  readonly stringBytes: number;
}

/**
 * Returns a part of a leaf without some rows. The dropped rows are given by ascending numbers; the first row of the part has the number
 * `first`. `maxDefinition` is the definition level of a slot that has a value.
 */
export function withoutRows(
  part: DecodedLeaf,
  maxDefinition: number,
  rows: Int32Array,
  first: number,
): ReducedPart {
  const nothing = { part, droppedValueCount: 0, stringBytes: 0 };
  if (rows.length === 0) return nothing;
  const { slots, definition, repetition } = part;
  const keptDefinition = new Uint16Array(slots);
  const keptRepetition = repetition && new Uint16Array(slots);
  /** One byte per value: 1 for a value that is kept, 0 for a dropped value. */
  const stays = new Uint8Array(slots);
  let next = lowerBound(rows, first);
  let [keptSlots, value, dropped] = [0, 0, 0];
  let row = first - 1;
  let isDropped = false;
  for (let slot = 0; slot < slots; slot++) {
    if (repetition === undefined || repetition[slot] === 0) {
      row++;
      isDropped = rows[next] === row;
      if (isDropped) next++;
    }
    const hasValue = definition[slot] === maxDefinition;
    if (isDropped) {
      if (hasValue) {
        value++;
        dropped++;
      }
      continue;
    }
    keptDefinition[keptSlots] = definition[slot]!;
    if (keptRepetition) keptRepetition[keptSlots] = repetition![slot]!;
    keptSlots++;
    if (hasValue) stays[value++] = 1;
  }
  if (keptSlots === slots) return nothing;
  let stringBytes = 0;
  let begin = 0;
  const values = part.values.map((page) => {
    const count = valueCount(page);
    const reduced = selectValues(page, stays.subarray(begin, begin + count));
    begin += count;
    if (page.kind === 'strings' && reduced.kind === 'strings')
      stringBytes += totalStringBytes(page.offsets) - totalStringBytes(reduced.offsets);
    return reduced;
  });
  const reducedPart = {
    slots: keptSlots,
    definition: truncateArray(keptDefinition, keptSlots),
    repetition: keptRepetition && truncateArray(keptRepetition, keptSlots),
    values,
  };
  return { part: reducedPart, droppedValueCount: dropped, stringBytes };
}

/** Returns the index of the first element that is not less than `least`. */
export function lowerBound(ascending: Int32Array, least: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

function totalStringBytes(offsets: Int32Array): number {
  return offsets[offsets.length - 1]! - offsets[0]!;
}

function selectValues(values: DecodedValues, stays: Uint8Array): DecodedValues {
  switch (values.kind) {
    case 'booleans':
      return { kind: 'booleans', booleans: values.booleans.filter((_, i) => stays[i] === 1) };
    case 'int32s':
      return { kind: 'int32s', int32s: selectedWords(values.int32s, stays, 1) };
    case 'int64s':
      return { kind: 'int64s', int32s: selectedWords(values.int32s, stays, 2) };
    case 'strings':
      return selectedStrings(values.bytes, values.offsets, stays);
  }
}

/** Returns the kept values, which have one or two 32-bit words each. */
function selectedWords(from: Int32Array, stays: Uint8Array, words: 1 | 2): Int32Array {
  const keptWords = new Int32Array(from.length);
  let count = 0;
  for (let i = 0; i < stays.length; i++) {
    if (stays[i] === 0) continue;
    keptWords[count++] = from[words * i]!;
    if (words === 2) keptWords[count++] = from[2 * i + 1]!;
  }
  return truncateArray(keptWords, count);
}

function selectedStrings(from: Uint8Array, starts: Int32Array, stays: Uint8Array): DecodedValues {
  const bytes = new Uint8Array(totalStringBytes(starts));
  const offsets = new Int32Array(stays.length + 1);
  let [stringCount, end] = [0, 0];
  for (let i = 0; i < stays.length; i++) {
    if (stays[i] === 0) continue;
    const last = starts[i + 1]!;
    // For a short text, creating a view would take longer than copying the bytes.
    if (last - starts[i]! > 64) {
      bytes.set(from.subarray(starts[i]!, last), end);
      end += last - starts[i]!;
    } else for (let at = starts[i]!; at < last; at++) bytes[end++] = from[at]!;
    offsets[++stringCount] = end;
  }
  return {
    kind: 'strings',
    bytes: truncateArray(bytes, end),
    offsets: truncateArray(offsets, stringCount + 1),
  };
}

/**
 * Returns the first elements of an array. A short prefix is copied, so that it does not keep the memory of the whole array: parts of many
 * files may be collected.
 */
function truncateArray<T extends Uint8Array | Uint16Array | Int32Array>(
  array: T,
  length: number,
): T {
  const isMost = length > array.length / 2;
  return (isMost ? array.subarray(0, length) : array.slice(0, length)) as T;
}
