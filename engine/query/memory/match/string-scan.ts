import { dataViewOf } from '../../../core/buffers.js';
import type { Utf8Strings } from './column.js';
import { rowOfValue } from './row-test.js';
import type { SelectionVector } from './selection-vector.js';
import { stringAt } from './string-test.js';

/** If consecutive hits are fewer bytes than this apart on average, the remaining values are searched one by one. */
const denseHitDistanceBytes = 100;

/** Selects the values that contain a string: searches the bytes of all values at once and maps hits to values, in 30 to 40 ms for 55 MB. */
export function scanContaining(values: Utf8Strings, count: number, part: Buffer): SelectionVector {
  const { offsets } = values;
  if (part.length === 0) return 'all';
  const matchingValues: number[] = [];
  const start = offsets[0]!;
  const bytes = values.bytes.subarray(0, offsets[count]);
  let at = start;
  let value = 0;
  for (let calls = 1; ; calls++) {
    const hit = bytes.indexOf(part, at);
    if (hit < 0) break;
    value = rowOfValue(hit, offsets, value, count);
    at = offsets[value + 1]!;
    // A hit that extends into the next value is no match, and later hits in the same value would extend into it, too.
    if (hit + part.length <= at) matchingValues.push(value);
    value += 1;
    if (calls % 1024 === 0 && (at - start) / calls < denseHitDistanceBytes) {
      return scanRemainingValues(values, count, part, matchingValues, value);
    }
  }
  return matchingValues.length === 0 ? 'none' : Int32Array.from(matchingValues);
}

function scanRemainingValues(
  { bytes, offsets }: Utf8Strings,
  count: number,
  part: Buffer,
  matchingValues: readonly number[],
  from: number,
): Uint8Array {
  const selected = new Uint8Array(count);
  for (const value of matchingValues) selected[value] = 1;
  let start = offsets[from]!;
  for (let value = from; value < count; value++) {
    const end = offsets[value + 1]!;
    selected[value] = containsBytes(bytes, start, end, part) ? 1 : 0;
    start = end;
  }
  return selected;
}

/** Returns true if `bytes[start..end)` contains `part`. */
export function containsBytes(bytes: Buffer, start: number, end: number, part: Buffer): boolean {
  const { length } = part;
  if (length === 0) return true;
  const first = part[0]!;
  for (let at = start; at + length <= end; at++) {
    if (bytes[at] !== first) continue;
    let same = 1;
    while (same < length && bytes[at + same] === part[same]) same++;
    if (same === length) return true;
  }
  return false;
}

/** Selects the values that start with the string `start`. */
export function scanForPrefix(
  { bytes, offsets }: Utf8Strings,
  count: number,
  start: Buffer,
): SelectionVector {
  const { length } = start;
  if (length === 0) return 'all';
  const selected = new Uint8Array(count);
  if (length < 4) {
    const last = start[length - 1]!;
    for (let value = 0; value < count; value++) {
      const from = offsets[value]!;
      if (bytes[from + length - 1] === last)
        selected[value] = startsWithBytes(bytes, from, offsets[value + 1]!, start) ? 1 : 0;
    }
    return selected;
  }
  // The last four bytes of the prefix are compared first, because many strings start alike. The bytes with which they are compared may lie
  // past the end of a value: checking its length first would be a mispredicted branch.
  const view = dataViewOf(bytes);
  const last = start.readInt32LE(length - 4);
  const end = bytes.length - length;
  for (let value = 0; value < count; value++) {
    const from = offsets[value]!;
    if (from > end) break;
    if (view.getInt32(from + length - 4, true) === last)
      selected[value] = startsWithBytes(bytes, from, offsets[value + 1]!, start) ? 1 : 0;
  }
  return selected;
}

/** Returns true if `bytes[from..to)` starts with `start`. */
export function startsWithBytes(bytes: Buffer, from: number, to: number, start: Buffer): boolean {
  const { length } = start;
  if (to - from < length) return false;
  let same = 0;
  while (same < length && bytes[from + same] === start[same]) same++;
  return same === length;
}

/**
 * Calls `each` with every value whose last bytes do not rule out that it equals `text`, which is in lower case if case is ignored: the last
 * eight, or four if `text` is shorter than eight. For a `text` of fewer than four bytes, calls it with every value. The last four bytes
 * exclude most values with one comparison; the four before them, most of those that end alike, as variants do.
 */
export function scanEnding(
  { bytes, offsets }: Utf8Strings,
  count: number,
  text: Buffer,
  ignoreCase: boolean,
  each: (value: number) => void,
): void {
  if (text.length < 4) {
    for (let value = 0; value < count; value++) each(value);
    return;
  }
  const view = dataViewOf(bytes);
  const fold = ignoreCase ? asciiCaseBits : 0;
  const wantedEnd = text.readInt32LE(text.length - 4) | fold;
  const wantedBeforeEnd = text.length < 8 ? undefined : text.readInt32LE(text.length - 8) | fold;
  let end = offsets[0]!;
  for (let value = 0; value < count; value++) {
    const start = end;
    end = offsets[value + 1]!;
    // Four bytes that are not all ASCII always pass, because the lower case of other characters may have other bytes and another length;
    // values that are too short have -1 in their place, and pass, too.
    const lastBytes = end - start < 4 ? -1 : view.getInt32(end - 4, true);
    if ((lastBytes & asciiHighBits) === 0) {
      if ((lastBytes | fold) !== wantedEnd) continue;
      if (wantedBeforeEnd !== undefined) {
        const bytesBefore = end - start < 8 ? -1 : view.getInt32(end - 8, true);
        if ((bytesBefore | fold) !== wantedBeforeEnd && (bytesBefore & asciiHighBits) === 0)
          continue;
      }
    }
    each(value);
  }
}

/**
 * Returns a function that selects the values that equal one of the wanted strings, for columns without a hash table. The wanted strings are
 * in the form to which `form` converts values. The last eight bytes of a value exclude most values.
 */
export function scanForEqualStrings(
  wantedStrings: ReadonlySet<string>,
  form: (value: string) => string,
): (values: Utf8Strings, count: number) => SelectionVector {
  let size = 1 << 12;
  while (size < 64 * wantedStrings.size) size *= 2;
  const mayBeWanted = new Uint8Array(size);
  const mask = size - 1;
  for (const text of wantedStrings) {
    const bytes = Buffer.from(text);
    mayBeWanted[hashOfLastBytes(dataViewOf(bytes), 0, bytes.length) & mask] = 1;
  }
  return (values, count) => {
    const { bytes, offsets } = values;
    const view = dataViewOf(bytes);
    const matchingValues: number[] = [];
    let start = offsets[0]!;
    for (let value = 0; value < count; value++) {
      const end = offsets[value + 1]!;
      const hash = hashOfLastBytes(view, start, end);
      start = end;
      if (hash >= 0 && mayBeWanted[hash & mask] === 0) continue;
      if (wantedStrings.has(form(stringAt(values, value)))) matchingValues.push(value);
    }
    return matchingValues.length === 0 ? 'none' : Int32Array.from(matchingValues);
  };
}

/** The bit in which the two cases of an ASCII letter differ, in each of four bytes. */
const asciiCaseBits = 0x20202020;
/** The bit that only bytes of characters outside ASCII have, in each of four bytes. */
const asciiHighBits = 0x80808080;

/**
 * Returns a hash of the last eight bytes that ignores letter case; -1 if a byte is not ASCII, because its lower case may have other bytes.
 */
function hashOfLastBytes(view: DataView, start: number, end: number): number {
  if (end - start < 8) return hashOfShortString(view, start, end);
  const low = view.getInt32(end - 8, true);
  const high = view.getInt32(end - 4, true);
  if (((low | high) & asciiHighBits) !== 0) return -1;
  const hash = Math.imul(
    Math.imul(low | asciiCaseBits, 0x9e3779b1) ^ (high | asciiCaseBits),
    0x85ebca6b,
  );
  return (hash ^ (hash >>> 15)) & 0x7fff_ffff;
}

/** Returns the result of `hashOfLastBytes` for a string of less than eight bytes: a hash of the whole string, or -1. */
function hashOfShortString(view: DataView, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at++) {
    const byte = view.getUint8(at);
    if (byte >= 0x80) return -1;
    hash = Math.imul(hash ^ (byte | 0x20), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) & 0x7fff_ffff;
}
