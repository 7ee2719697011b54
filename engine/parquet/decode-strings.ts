import { acquireBuffer, dataViewOf, releaseBuffer } from '../core/buffers.js';
import type { ByteSource } from './byte-source.js';
import { readDeltaInts } from './decode-delta.js';

/**
 * The destination of decoded strings, or the source of copied ones: string i is `bytes[offsets[i]..offsets[i + 1])`. The functions of this
 * file throw a `RangeError` for a string that does not fit into `bytes`.
 */
export interface StringTarget {
  readonly bytes: Uint8Array;
  /** A view of `bytes`; that of a destination includes the 8 bytes after it, which `copyString` may overwrite. */
  readonly view: DataView;
  /**
   * Offsets, to be read as unsigned numbers (`>>> 0`). All callers use the same type of array, because a loop is slower if it sees two
   * types.
   */
  readonly offsets: Int32Array;
}

const copyStepBytes = 8;

/** Creates a target for `count` strings with `byteLength` bytes in total. */
export function stringTarget(count: number, byteLength: number): StringTarget {
  const room = Buffer.allocUnsafeSlow(byteLength + copyStepBytes);
  const view = dataViewOf(room);
  return { bytes: room.subarray(0, byteLength), view, offsets: new Int32Array(count + 1) };
}

/** Decodes `count` PLAIN strings to the strings `to` and following; appends their bytes at `end` and returns the new end. */
export function readPlainStrings(
  source: ByteSource,
  count: number,
  target: StringTarget,
  to: number,
  end: number,
): number {
  const { offsets } = target;
  const last = to + count;
  for (let i = to; i < last; i++) {
    const size = source.readLength();
    const { readOffset } = source;
    source.skip(size);
    copyString(source, readOffset, size, target, end);
    end += size;
    offsets[i + 1] = end;
  }
  return end;
}

/**
 * Reads strings in the encoding DELTA_BYTE_ARRAY (Encodings.md, "Delta Strings"): for each string, the length of the prefix shared with its
 * predecessor, and the suffix. `targetFor` is called with the total size of the strings before they are decoded. Writes them as
 * `readPlainStrings` does, and returns the new end.
 */
export function readDeltaStrings(
  source: ByteSource,
  count: number,
  targetFor: (byteLength: number) => StringTarget,
  to: number,
  end: number,
): number {
  const prefixes = acquireBuffer(Int32Array, count);
  const suffixes = acquireBuffer(Int32Array, count);
  try {
    readDeltaInts(source, count, prefixes, 0);
    readDeltaInts(source, count, suffixes, 0);
    let shared = 0;
    let byteLength = 0;
    for (let i = 0; i < count; i++) {
      shared |= prefixes[i]!;
      byteLength += prefixes[i]! + suffixes[i]!;
    }
    const target = targetFor(byteLength);
    if (shared === 0) return copyStrings(source, suffixes, count, target, to, end);
    return joinDeltaStrings(source, prefixes, suffixes, count, target, to, end);
  } finally {
    releaseBuffer(prefixes);
    releaseBuffer(suffixes);
  }
}

/** Copies adjacent strings of these lengths; `source` is at the first string. */
function copyStrings(
  source: ByteSource,
  lengths: Int32Array,
  count: number,
  { bytes, offsets }: StringTarget,
  to: number,
  end: number,
): number {
  let size = 0;
  for (let i = 0; i < count; i++) {
    if (lengths[i]! < 0) throw new RangeError(`a string has ${lengths[i]} bytes`);
    size += lengths[i]!;
    offsets[to + i + 1] = end + size;
  }
  const joined = source.readBytes(size);
  if (end + size > bytes.length) throw new RangeError('the strings are longer than announced');
  bytes.set(joined, end);
  return end + size;
}

/** Joins prefixes and suffixes; `source` is at the first suffix. */
function joinDeltaStrings(
  source: ByteSource,
  prefixes: Int32Array,
  suffixes: Int32Array,
  count: number,
  target: StringTarget,
  to: number,
  end: number,
): number {
  const { offsets } = target;
  let before = end;
  let sizeBefore = 0;
  for (let i = 0; i < count; i++) {
    const shared = prefixes[i]!;
    const size = suffixes[i]!;
    if (shared < 0 || shared > sizeBefore)
      throw new RangeError(
        `a string shares ${shared} bytes with the one before, which has ${sizeBefore}`,
      );
    const { readOffset: at } = source;
    source.skip(size);
    copyString(target, before, shared, target, end);
    copyString(source, at, size, target, end + shared);
    before = end;
    sizeBefore = shared + size;
    end += sizeBefore;
    offsets[to + i + 1] = end;
  }
  return end;
}

/** Copies the entries of `dictionary` with these indices. */
export function gatherStrings(
  dictionary: StringTarget,
  indices: Int32Array,
  count: number,
  target: StringTarget,
  to: number,
  end: number,
): number {
  const { offsets } = target;
  const entries = dictionary.offsets.length - 1;
  for (let i = 0; i < count; i++) {
    const index = indices[i]!;
    if (index < 0 || index >= entries) throw new RangeError(`the dictionary has no entry ${index}`);
    const from = dictionary.offsets[index]! >>> 0;
    const size = (dictionary.offsets[index + 1]! >>> 0) - from;
    copyString(dictionary, from, size, target, end);
    end += size;
    offsets[to + i + 1] = end;
  }
  return end;
}

/** Longer strings are copied by `set`, which takes 40 ns for its view and little time per byte. */
const longStringBytes = 256;

/**
 * Copies a string, eight bytes per step unless it is long or near the end of `source`. The last step may write after the end of the string,
 * where the next string follows. This takes 10 ns for 25 bytes, half the time of steps of four bytes and then one; V8 allocates no bigint
 * here.
 */
function copyString(
  source: { readonly bytes: Uint8Array; readonly view: DataView },
  from: number,
  size: number,
  target: StringTarget,
  to: number,
): void {
  const { bytes, view: out } = target;
  const end = to + size;
  if (end > bytes.length) throw new RangeError('the strings are longer than announced');
  if (size > longStringBytes) {
    bytes.set(source.bytes.subarray(from, from + size), to);
    return;
  }
  const { view } = source;
  if (from + size + copyStepBytes > view.byteLength) {
    for (; to < end; to++, from++) bytes[to] = source.bytes[from]!;
    return;
  }
  for (; to < end; to += copyStepBytes, from += copyStepBytes) {
    out.setBigInt64(to, view.getBigInt64(from, true), true);
  }
}
