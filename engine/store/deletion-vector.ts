import { dataViewOf } from '../core/buffers.js';
import { unionSorted } from '../core/sorted-sets.js';
import { AppError } from '../core/errors.js';

/*
 * The deleted rows of a segment, as an inline deletion vector of Delta (Delta protocol, "Deletion Vectors"): a magic number, then a 64-bit
 * Roaring bitmap in its portable format (RoaringFormatSpec), in Z85 (ZeroMQ RFC 32). A segment has fewer than 2^31 rows, so there is only
 * one 32-bit bitmap, which has the key 0.
 */

/** The deleted rows of a segment: at least one. */
export interface DeletionVector {
  /** The bitmap as Z85 text. */
  readonly encoded: string;
  /** Number of bytes before encoding; the text encodes up to three more bytes, which are zero. */
  readonly bytes: number;
  /** The number of deleted rows. */
  readonly rows: number;
}

const bitmapMagicNumber = 1_681_511_377;
/** The first word of a 32-bit bitmap without run containers, and the lower half of the first word of one that may have run containers. */
const cookieWithoutRuns = 12_346;
const cookieWithRuns = 12_347;
/** A container that is not stored as runs is a bitmap if it has more values than this, otherwise a list. */
const maxArrayContainerValues = 4_096;
const bitmapContainerBytes = 8_192;
/** If some containers are runs, the header has the offsets of the containers only if there are at least this many. */
const minContainersForOffsets = 4;

/** Returns the vector of ascending, distinct row numbers, of which there must be at least one. */
export function deletionVector(rows: Int32Array): DeletionVector {
  const bytes = serialisedBitmap(rows);
  const vector = { encoded: encodeZ85(bytes), bytes: bytes.length, rows: rows.length };
  rowsByVector.set(vector, rows);
  return vector;
}

/** The decoded rows of each vector. They are shared and must not be changed. */
const rowsByVector = new WeakMap<DeletionVector, Int32Array>();

/** Returns the deleted rows, ascending. The array is shared: the caller must not change it. Throws `damaged` for an invalid vector. */
export function deletedRows(vector: DeletionVector): Int32Array {
  const cachedRows = rowsByVector.get(vector);
  if (cachedRows !== undefined) return cachedRows;
  const rows = parseBitmap(decodeZ85(vector.encoded).subarray(0, vector.bytes));
  if (rows.length !== vector.rows)
    throw damagedVectorError(`has ${rows.length} rows instead of ${vector.rows}`);
  rowsByVector.set(vector, rows);
  return rows;
}

/** Returns a segment with more deleted rows; `rows` ascends. */
export function withMoreDeleted<S extends { readonly deletion?: DeletionVector | undefined }>(
  segment: S,
  rows: Int32Array,
): S {
  const earlierRows = segment.deletion ? deletedRows(segment.deletion) : new Int32Array(0);
  return { ...segment, deletion: deletionVector(unionSorted(earlierRows, rows)) };
}

/** Returns the row numbers of the records `from` to `end` (exclusive) of a segment; records are counted without deleted rows. */
export function rowsOfRecords(
  vector: DeletionVector | undefined,
  from: number,
  end: number,
): Int32Array {
  const rows = new Int32Array(Math.max(0, end - from));
  if (vector === undefined) return rows.map((_, i) => from + i);
  const deletedRowList = deletedRows(vector);
  let next = 0;
  for (let row = 0, record = 0; record < end; row++) {
    if (deletedRowList[next] === row) {
      next++;
      continue;
    }
    if (record >= from) rows[record - from] = row;
    record++;
  }
  return rows;
}

/** A container of a Roaring bitmap: the lower 16 bits of the rows whose numbers share their upper 16 bits. */
interface BitmapContainer {
  readonly key: number;
  readonly values: Int32Array;
  readonly runs: number;
}

function containersOf(rows: Int32Array): readonly BitmapContainer[] {
  const containers: BitmapContainer[] = [];
  for (let from = 0; from < rows.length;) {
    const key = rows[from]! >>> 16;
    let to = from;
    let runs = 0;
    while (to < rows.length && rows[to]! >>> 16 === key) {
      if (to === from || rows[to]! !== rows[to - 1]! + 1) runs++;
      to++;
    }
    containers.push({ key, values: rows.subarray(from, to).map((row) => row & 0xffff), runs });
    from = to;
  }
  return containers;
}

function sizeWithoutRuns({ values }: BitmapContainer): number {
  return values.length > maxArrayContainerValues ? bitmapContainerBytes : 2 * values.length;
}

function isSmallerAsRuns(container: BitmapContainer): boolean {
  return 2 + 4 * container.runs < sizeWithoutRuns(container);
}

function serialisedBitmap(rows: Int32Array): Uint8Array {
  const containers = containersOf(rows);
  const count = containers.length;
  const hasRuns = containers.some(isSmallerAsRuns);
  const hasOffsets = !hasRuns || count >= minContainersForOffsets;
  const sizes = containers.map((each) =>
    isSmallerAsRuns(each) ? 2 + 4 * each.runs : sizeWithoutRuns(each),
  );
  const flagBytes = hasRuns ? (count + 7) >> 3 : 4;
  const headerBytes = 4 + flagBytes + 4 * count + (hasOffsets ? 4 * count : 0);
  const start = 4 + 8 + 4;
  const bytes = new Uint8Array(start + headerBytes + sizes.reduce((sum, size) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  view.setInt32(0, bitmapMagicNumber, true);
  view.setBigInt64(4, 1n, true);
  // The key of the only bitmap, 0, need not be written, because the array is filled with zeros.
  let at = start;
  if (hasRuns) {
    view.setUint32(at, cookieWithRuns | ((count - 1) << 16), true);
    for (const [i, each] of containers.entries())
      if (isSmallerAsRuns(each)) bytes[at + 4 + (i >> 3)]! |= 1 << (i & 7);
  } else {
    view.setUint32(at, cookieWithoutRuns, true);
    view.setUint32(at + 4, count, true);
  }
  at += 4 + flagBytes;
  for (const { key, values } of containers) {
    view.setUint16(at, key, true);
    view.setUint16(at + 2, values.length - 1, true);
    at += 4;
  }
  let bodyAt = start + headerBytes;
  for (const [i, container] of containers.entries()) {
    if (hasOffsets) view.setUint32(at + 4 * i, bodyAt - start, true);
    writeContainer(view, bytes, bodyAt, container);
    bodyAt += sizes[i]!;
  }
  return bytes;
}

function writeContainer(
  view: DataView,
  bytes: Uint8Array,
  from: number,
  container: BitmapContainer,
): void {
  const { values, runs } = container;
  if (isSmallerAsRuns(container)) {
    view.setUint16(from, runs, true);
    let at = from + 2;
    for (let i = 0; i < values.length;) {
      let last = i;
      while (last + 1 < values.length && values[last + 1] === values[last]! + 1) last++;
      view.setUint16(at, values[i]!, true);
      view.setUint16(at + 2, last - i, true);
      at += 4;
      i = last + 1;
    }
  } else if (values.length > maxArrayContainerValues) {
    for (const value of values) bytes[from + (value >> 3)]! |= 1 << (value & 7);
  } else {
    for (let i = 0; i < values.length; i++) view.setUint16(from + 2 * i, values[i]!, true);
  }
}

function parseBitmap(bytes: Uint8Array): Int32Array {
  try {
    const view = dataViewOf(bytes);
    if (view.getInt32(0, true) !== bitmapMagicNumber)
      throw new RangeError('has another magic number');
    const bitmapCount = Number(view.getBigInt64(4, true));
    if (bitmapCount !== 1 || view.getUint32(12, true) !== 0)
      throw new RangeError('has rows beyond those of any segment');
    return bitmapRows(view, bytes, 16);
  } catch (error) {
    if (error instanceof RangeError)
      throw damagedVectorError(`cannot be read: ${error.message}`, error);
    throw error;
  }
}

/** Returns the values of a 32-bit bitmap that begins at `start`. */
function bitmapRows(view: DataView, bytes: Uint8Array, start: number): Int32Array {
  const cookie = view.getUint32(start, true);
  const hasRuns = (cookie & 0xffff) === cookieWithRuns;
  if (!hasRuns && cookie !== cookieWithoutRuns) throw new RangeError('has an unknown cookie');
  const count = hasRuns ? (cookie >>> 16) + 1 : view.getUint32(start + 4, true);
  const flagsAt = start + 4;
  const keysAt = flagsAt + (hasRuns ? (count + 7) >> 3 : 4);
  const hasOffsets = !hasRuns || count >= minContainersForOffsets;
  let at = keysAt + (hasOffsets ? 8 : 4) * count;
  let totalRows = 0;
  for (let i = 0; i < count; i++) totalRows += view.getUint16(keysAt + 4 * i + 2, true) + 1;
  const rows = new Int32Array(totalRows);
  let rowCount = 0;
  for (let i = 0; i < count; i++) {
    const high = view.getUint16(keysAt + 4 * i, true) << 16;
    const cardinality = view.getUint16(keysAt + 4 * i + 2, true) + 1;
    if (hasRuns && (bytes[flagsAt + (i >> 3)]! & (1 << (i & 7))) !== 0) {
      const runs = view.getUint16(at, true);
      at += 2;
      for (let run = 0; run < runs; run++, at += 4) {
        const first = view.getUint16(at, true);
        const runLength = view.getUint16(at + 2, true);
        for (let value = first; value <= first + runLength; value++)
          rows[rowCount++] = high | value;
      }
    } else if (cardinality > maxArrayContainerValues) {
      for (let value = 0; value < 65_536; value += 32) {
        // `word & -word` is the lowest bit that is left.
        for (let word = view.getInt32(at + (value >> 3), true); word !== 0; word &= word - 1)
          rows[rowCount++] = high | (value + 31 - Math.clz32(word & -word));
      }
      at += bitmapContainerBytes;
    } else {
      for (let value = 0; value < cardinality; value++, at += 2)
        rows[rowCount++] = high | view.getUint16(at, true);
    }
  }
  return rows;
}

const z85Alphabet = Buffer.from(
  '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#',
);
const noZ85Digit = 255;
/** The value of each digit by its character code; `noZ85Digit` for all other characters. */
const valueByCharacter = new Uint8Array(128).fill(noZ85Digit);
for (const [value, character] of z85Alphabet.entries()) valueByCharacter[character] = value;

/** Encodes bytes in Z85: four bytes become five characters; missing bytes at the end count as zero. */
function encodeZ85(bytes: Uint8Array): string {
  const wholeWords = bytes.length % 4 === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(4)]);
  const view = dataViewOf(wholeWords);
  const text = Buffer.alloc(5 * Math.ceil(bytes.length / 4));
  for (let at = 0, to = 0; to < text.length; at += 4, to += 5) {
    let value = view.getUint32(at);
    for (let i = 4; i >= 0; i--) {
      const quotient = Math.floor(value / 85);
      text[to + i] = z85Alphabet[value - 85 * quotient]!;
      value = quotient;
    }
  }
  return text.toString('latin1');
}

function decodeZ85(text: string): Uint8Array {
  const bytes = new Uint8Array(4 * Math.ceil(text.length / 5));
  const view = new DataView(bytes.buffer);
  for (let at = 0, to = 0; at < text.length; at += 5, to += 4) {
    let value = 0;
    for (let i = at; i < at + 5; i++) {
      const digit = valueByCharacter[text.charCodeAt(i)] ?? noZ85Digit;
      if (digit === noZ85Digit) throw damagedVectorError('is no Z85 text');
      value = value * 85 + digit;
    }
    view.setUint32(to, value); // modulo 2^32
  }
  return bytes;
}

function damagedVectorError(what: string, cause?: unknown): AppError {
  return new AppError('damaged', `a deletion vector ${what}`, undefined, cause);
}
