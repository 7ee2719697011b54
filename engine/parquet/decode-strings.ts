import { acquire, release } from '../core/buffers.js';
import type { ByteSource } from './byte-source.js';
import { readDeltaInts } from './decode-delta.js';

/** Where texts are put, one behind the other: text i ends at `offsets[i + 1]`. What does not fit is a `RangeError`. */
export interface StringTarget {
  readonly bytes: Uint8Array;
  /** A word longer than the bytes. */
  readonly view: DataView;
  /** Unsigned numbers, whatever the array says: all callers give the same kind. */
  readonly offsets: Int32Array;
}

const wordBytes = 8;

/** A target for so many texts with so many bytes together. */
export function stringTarget(count: number, textBytes: number): StringTarget {
  const room = Buffer.allocUnsafeSlow(textBytes + wordBytes);
  const view = new DataView(room.buffer, room.byteOffset, room.byteLength);
  return { bytes: room.subarray(0, textBytes), view, offsets: new Int32Array(count + 1) };
}

/** Reads `count` texts in PLAIN as those from `to` on; their bytes go to `end`, and where they end is returned. */
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
    const size = source.length();
    const { at } = source;
    source.skip(size);
    copyText(source, at, size, target, end);
    end += size;
    offsets[i + 1] = end;
  }
  return end;
}

/** The same for DELTA_BYTE_ARRAY (Encodings.md): what each text shares with the one before, and what is new behind that. */
export function readDeltaStrings(
  source: ByteSource,
  count: number,
  target: StringTarget,
  to: number,
  end: number,
): number {
  const { offsets } = target;
  const prefixes = acquire(Int32Array, count);
  const sizes = acquire(Int32Array, count);
  readDeltaInts(source, count, prefixes, 0);
  readDeltaInts(source, count, sizes, 0);
  let before = end;
  let sizeBefore = 0;
  for (let i = 0; i < count; i++) {
    const shared = prefixes[i]!;
    const size = sizes[i]!;
    if (shared < 0 || shared > sizeBefore) throw new RangeError(`a text shares ${shared} bytes`);
    const { at } = source;
    source.skip(size);
    copyText(target, before, shared, target, end);
    copyText(source, at, size, target, end + shared);
    before = end;
    sizeBefore = shared + size;
    end += sizeBefore;
    offsets[to + i + 1] = end;
  }
  release(prefixes);
  release(sizes);
  return end;
}

/** Picks texts of a dictionary likewise. */
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
    if (index < 0 || index >= entries) throw new RangeError(`a dictionary has no entry ${index}`);
    const from = dictionary.offsets[index]! >>> 0;
    const size = (dictionary.offsets[index + 1]! >>> 0) - from;
    copyText(dictionary, from, size, target, end);
    end += size;
    offsets[to + i + 1] = end;
  }
  return end;
}

/** Longer texts are copied by `set`, which needs a view of each: 40 ns and little more for each byte. */
const longText = 256;

/**
 * Copies eight bytes at once, as engines do with such numbers without ever making one, and the last of them beyond the end,
 * where the next text comes: 10 ns for 25 bytes. In words of four and then bytes it takes twice as long.
 */
function copyText(
  source: { readonly bytes: Uint8Array; readonly view: DataView },
  from: number,
  size: number,
  target: StringTarget,
  to: number,
): void {
  const { bytes, view: out } = target;
  const end = to + size;
  if (end > bytes.length) throw new RangeError('more texts than there is room');
  if (size > longText) {
    bytes.set(source.bytes.subarray(from, from + size), to);
    return;
  }
  const { view } = source;
  if (from + size + wordBytes > view.byteLength) {
    for (; to < end; to++, from++) bytes[to] = source.bytes[from]!;
    return;
  }
  for (; to < end; to += wordBytes, from += wordBytes) {
    out.setBigInt64(to, view.getBigInt64(from, true), true);
  }
}
