import { dataViewOf } from '../core/buffers.js';
import {
  makeData,
  type Bool,
  type Data,
  type DataType,
  type Int64,
  type List,
  type Struct,
  type Utf8,
} from 'apache-arrow';
import { DataType as ArrowType } from 'apache-arrow';

/** The origin of each row of a new column: row i is row `rows[i]` of the column `from[i]`, or null if `rows[i]` is -1. */
interface InterleaveIndices {
  readonly from: Uint8Array;
  readonly rows: Int32Array;
}

/** Returns the given rows of a column; the column itself if these are all its rows in their order. */
export function takeRows(column: Data, rows: Int32Array): Data {
  if (column.length === rows.length && isIdentityOrder(rows)) return column;
  return interleaveColumns([column], { from: new Uint8Array(rows.length), rows });
}

function isIdentityOrder(rows: Int32Array): boolean {
  for (let i = 0; i < rows.length; i++) if (rows[i] !== i) return false;
  return true;
}

/** Builds one column from rows of several columns of the same type. */
export function interleaveColumns(columns: readonly Data[], picks: InterleaveIndices): Data {
  const { from, rows } = picks;
  const { type } = columns[0]!;
  const validity = validityOf(columns, picks);
  const base = { type, length: rows.length, ...validity };
  if (ArrowType.isStruct(type)) {
    const children = columns[0]!.children.map((_, i) =>
      interleaveColumns(
        columns.map((column) => column.children[i]!),
        picks,
      ),
    );
    return makeArrowData<Struct>({ ...base, children });
  }
  if (ArrowType.isList(type)) {
    const { offsets, elements } = elementIndices(columns, picks);
    const items = columns.map((column) => column.children[0]!);
    return makeArrowData<List>({
      ...base,
      valueOffsets: offsets,
      child: interleaveColumns(items, elements),
    });
  }
  if (ArrowType.isUtf8(type))
    return makeArrowData<Utf8>({ ...base, ...interleaveStrings(columns, picks) });
  if (ArrowType.isBool(type))
    return makeArrowData<Bool>({ ...base, data: interleaveBits(columns, from, rows) });
  return makeArrowData<Int64>({ ...base, data: interleaveFixedWidth(columns, from, rows) });
}

/**
 * Returns the validity bitmap of a column; undefined if no row is null. Call it once before a loop, because each access to `nullCount`
 * takes long.
 */
export function validityBitmap({ nullCount, nullBitmap }: Data): Uint8Array | undefined {
  return nullCount === 0 ? undefined : nullBitmap;
}

/** Whether a row is not null, by the result of `validityBitmap`; false for row -1, which stands for null. */
export function isValid(bits: Uint8Array | undefined, row: number): boolean {
  return row >= 0 && (bits === undefined || (bits[row >> 3]! & (1 << (row & 7))) !== 0);
}

/** Returns an Arrow column with these properties, which must fit its type. */
export function makeArrowData<T extends DataType>(props: object): Data {
  return makeData(props as never) as Data<T> as Data;
}

/** Returns the number of nulls of a new column, and its validity bitmap if a source column has nulls or a row is -1. */
export function validityOf(
  columns: readonly Data[],
  { from, rows }: InterleaveIndices,
): { readonly nullCount: number; readonly nullBitmap?: Uint8Array } {
  const bits = columns.map(validityBitmap);
  if (bits.every((one) => one === undefined) && !rows.includes(-1)) return { nullCount: 0 };
  const nullBitmap = new Uint8Array((rows.length + 7) >> 3);
  let nullCount = 0;
  for (let i = 0; i < rows.length; i++) {
    if (isValid(bits[from[i]!], rows[i]!)) nullBitmap[i >> 3]! |= 1 << (i & 7);
    else nullCount++;
  }
  return { nullCount, nullBitmap };
}

/** Returns the offsets of the lists of the new column, and the origin of their elements. */
function elementIndices(
  columns: readonly Data[],
  { from, rows }: InterleaveIndices,
): { readonly offsets: Int32Array; readonly elements: InterleaveIndices } {
  const offsets = interleavedOffsets(columns, { from, rows });
  const elementCount = offsets[rows.length]!;
  const elements = { from: new Uint8Array(elementCount), rows: new Int32Array(elementCount) };
  for (let i = 0; i < rows.length; i++) {
    const [begin, end] = [offsets[i]!, offsets[i + 1]!];
    if (begin === end) continue;
    const first = columns[from[i]!]!.valueOffsets[rows[i]!]!;
    elements.from.fill(from[i]!, begin, end);
    for (let at = begin; at < end; at++) elements.rows[at] = first + at - begin;
  }
  return { offsets, elements };
}

/** Returns the offsets of the values of a new column of strings or lists. */
function interleavedOffsets(
  columns: readonly Data[],
  { from, rows }: InterleaveIndices,
): Int32Array {
  const bits = columns.map(validityBitmap);
  const starts = columns.map(({ valueOffsets }) => valueOffsets as Int32Array);
  const offsets = new Int32Array(rows.length + 1);
  let end = 0;
  for (let i = 0; i < rows.length; i++) {
    const [source, row] = [from[i]!, rows[i]!];
    if (isValid(bits[source], row)) end += starts[source]![row + 1]! - starts[source]![row]!;
    if (end > 0x7fff_ffff) throw new RangeError('more than 2 GB of strings in one column');
    offsets[i + 1] = end;
  }
  return offsets;
}

function interleaveStrings(
  columns: readonly Data[],
  { from, rows }: InterleaveIndices,
): { readonly valueOffsets: Int32Array; readonly data: Uint8Array } {
  const valueOffsets = interleavedOffsets(columns, { from, rows });
  const data = new Uint8Array(valueOffsets[rows.length]!);
  const target = new CopyableBytes(data);
  const sources = columns.map(({ values }) => new CopyableBytes(values as Uint8Array));
  const starts = columns.map((column) => column.valueOffsets as Int32Array);
  for (let i = 0; i < rows.length;) {
    const next = endOfRun(from, rows, i);
    const [source, ownStarts, first] = [sources[from[i]!]!, starts[from[i]!]!, rows[i]!];
    const [begin, size] = [valueOffsets[i]!, valueOffsets[next]! - valueOffsets[i]!];
    if (size > 0 && ownStarts[first + next - i]! - ownStarts[first]! === size) {
      copyBytes(source, ownStarts[first]!, size, target, begin);
    } else if (size > 0) {
      // A null value may still have bytes, which are not copied.
      for (let at = i; at < next; at++) {
        const length = valueOffsets[at + 1]! - valueOffsets[at]!;
        copyBytes(source, ownStarts[first + at - i]!, length, target, valueOffsets[at]!);
      }
    }
    i = next;
  }
  return { valueOffsets, data };
}

/** Returns the end of the run that starts at new row `i`: rows that follow one another in the same source column, or one null. */
function endOfRun(from: Uint8Array, rows: Int32Array, i: number): number {
  const [source, first] = [from[i]!, rows[i]! - i];
  let end = i + 1;
  if (rows[i]! < 0) return end;
  while (end < rows.length && rows[end] === first + end && from[end] === source) end++;
  return end;
}

/** Bytes, also as a view that reads and writes four of them at any position. */
class CopyableBytes {
  readonly bytes: Uint8Array;
  readonly view: DataView;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = dataViewOf(bytes);
  }
}

/**
 * Copies bytes. For a short string, a loop is faster than a call of `set`, and copying four bytes at a time takes half as long as copying
 * single ones; the last four may overlap those before.
 */
function copyBytes(
  { bytes, view }: CopyableBytes,
  first: number,
  length: number,
  into: CopyableBytes,
  at: number,
): void {
  if (length > 64) into.bytes.set(bytes.subarray(first, first + length), at);
  else if (length < 4) for (let i = 0; i < length; i++) into.bytes[at + i] = bytes[first + i]!;
  else {
    const last = length - 4;
    for (let i = 0; i < last; i += 4) into.view.setInt32(at + i, view.getInt32(first + i));
    into.view.setInt32(at + last, view.getInt32(first + last));
  }
}

function interleaveBits(columns: readonly Data[], from: Uint8Array, rows: Int32Array): Uint8Array {
  const bitmap = new Uint8Array((rows.length + 7) >> 3);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const values = columns[from[i]!]!.values as Uint8Array;
    if (row >= 0 && (values[row >> 3]! & (1 << (row & 7))) !== 0) bitmap[i >> 3]! |= 1 << (i & 7);
  }
  return bitmap;
}

/** Copies values of 4 or 8 bytes as integers of 4 bytes: as doubles, NaNs could lose their bits. */
function interleaveFixedWidth(
  columns: readonly Data[],
  from: Uint8Array,
  rows: Int32Array,
): unknown {
  const sources = columns.map(({ values }) => values as Int32Array);
  const [firstSource] = sources as [Int32Array, ...Int32Array[]];
  const isWide = firstSource.BYTES_PER_ELEMENT === 8;
  const halves = sources.map(
    ({ buffer, byteOffset, byteLength }) => new Int32Array(buffer, byteOffset, byteLength >> 2),
  );
  const width = isWide ? 2 : 1;
  const pickedValues = new Int32Array(width * rows.length);
  for (let i = 0; i < rows.length;) {
    const next = endOfRun(from, rows, i);
    const source = halves[from[i]!]!;
    const row = rows[i]!;
    if (next - i > 8)
      pickedValues.set(source.subarray(width * row, width * (row + next - i)), width * i);
    else if (row >= 0)
      for (let k = 0; k < width * (next - i); k++)
        pickedValues[width * i + k] = source[width * row + k]!;
    i = next;
  }
  const type = firstSource.constructor as new (
    buffer: ArrayBuffer,
    at: number,
    length: number,
  ) => object;
  return new type(pickedValues.buffer, 0, rows.length);
}
