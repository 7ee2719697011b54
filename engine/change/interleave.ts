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

/** Where the rows of a new column come from: row i is row `rows[i]` of the column `from[i]`, or null if that is -1. */
export interface RowPicks {
  readonly from: Uint8Array;
  readonly rows: Int32Array;
}

/** Rows of one column, which is the same column if they are all its rows in their order. */
export function pickRowsOf(column: Data, rows: Int32Array): Data {
  let sameCount = 0;
  while (sameCount < rows.length && rows[sameCount] === sameCount) sameCount++;
  if (sameCount === column.length && sameCount === rows.length) return column;
  return interleaveColumns([column], { from: new Uint8Array(rows.length), rows });
}

/** Rows of several columns of the same type as one column. */
export function interleaveColumns(columns: readonly Data[], picks: RowPicks): Data {
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
    const { offsets, elements } = elementPicks(columns, picks);
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
  return makeArrowData<Int64>({ ...base, data: fixedWidth(columns, from, rows) });
}

/** Whether a row of a column has a value. */
export function isValid({ nullCount, nullBitmap }: Data, row: number): boolean {
  return row >= 0 && (nullCount === 0 || (nullBitmap[row >> 3]! & (1 << (row & 7))) !== 0);
}

/** An Arrow column with these properties, which must fit its type. */
export function makeArrowData<T extends DataType>(props: object): Data {
  return makeData(props as never) as Data<T> as Data;
}

/** The validity of the rows of a new column. */
export function validityOf(
  columns: readonly Data[],
  { from, rows }: RowPicks,
): { readonly nullCount: number; readonly nullBitmap?: Uint8Array } {
  const isPlain = columns.every(({ nullCount }) => nullCount === 0) && !rows.includes(-1);
  if (isPlain) return { nullCount: 0 };
  const nullBitmap = new Uint8Array((rows.length + 7) >> 3);
  let nullCount = 0;
  for (let i = 0; i < rows.length; i++) {
    if (isValid(columns[from[i]!]!, rows[i]!)) nullBitmap[i >> 3]! |= 1 << (i & 7);
    else nullCount++;
  }
  return { nullCount, nullBitmap };
}

/** The offsets of the lists of the new column, and where their elements come from. */
function elementPicks(
  columns: readonly Data[],
  { from, rows }: RowPicks,
): { readonly offsets: Int32Array; readonly elements: RowPicks } {
  const offsets = new Int32Array(rows.length + 1);
  for (let i = 0; i < rows.length; i++) {
    const column = columns[from[i]!]!;
    const row = rows[i]!;
    const count = isValid(column, row) ? lengthAt(column, row) : 0;
    offsets[i + 1] = offsets[i]! + count;
  }
  const count = offsets[rows.length]!;
  const elements = { from: new Uint8Array(count), rows: new Int32Array(count) };
  for (let i = 0; i < rows.length; i++) {
    const [begin, end] = [offsets[i]!, offsets[i + 1]!];
    if (begin === end) continue;
    const first = columns[from[i]!]!.valueOffsets[rows[i]!]!;
    elements.from.fill(from[i]!, begin, end);
    for (let at = begin; at < end; at++) elements.rows[at] = first + at - begin;
  }
  return { offsets, elements };
}

function lengthAt({ valueOffsets }: Data, row: number): number {
  return valueOffsets[row + 1]! - valueOffsets[row]!;
}

function interleaveStrings(
  columns: readonly Data[],
  { from, rows }: RowPicks,
): { readonly valueOffsets: Int32Array; readonly data: Uint8Array } {
  const valueOffsets = new Int32Array(rows.length + 1);
  let end = 0;
  for (let i = 0; i < rows.length; i++) {
    const column = columns[from[i]!]!;
    if (isValid(column, rows[i]!)) end += lengthAt(column, rows[i]!);
    if (end > 0x7fff_ffff) throw new RangeError('more than 2 GB of strings in one column');
    valueOffsets[i + 1] = end;
  }
  const data = new Uint8Array(end);
  for (let i = 0; i < rows.length;) {
    const next = runEnd(from, rows, i);
    const { values, valueOffsets: starts } = columns[from[i]!]!;
    const bytes = values as Uint8Array;
    const first = rows[i]!;
    const [begin, size] = [valueOffsets[i]!, valueOffsets[next]! - valueOffsets[i]!];
    if (size > 0 && starts[first + next - i]! - starts[first]! === size) {
      copyBytes(bytes, starts[first]!, size, data, begin);
    } else if (size > 0) {
      // A null value may have bytes.
      for (let at = i; at < next; at++) {
        const length = valueOffsets[at + 1]! - valueOffsets[at]!;
        copyBytes(bytes, starts[first + at - i]!, length, data, valueOffsets[at]!);
      }
    }
    i = next;
  }
  return { valueOffsets, data };
}

/** The end of the rows from `i` on that follow each other in one column. */
function runEnd(from: Uint8Array, rows: Int32Array, i: number): number {
  const [source, first] = [from[i]!, rows[i]! - i];
  let end = i + 1;
  if (rows[i]! < 0) return end;
  while (end < rows.length && rows[end] === first + end && from[end] === source) end++;
  return end;
}

function copyBytes(
  bytes: Uint8Array,
  first: number,
  length: number,
  into: Uint8Array,
  at: number,
): void {
  // A call of `set` costs more than a loop over a short string.
  if (length > 48) into.set(bytes.subarray(first, first + length), at);
  else for (let i = 0; i < length; i++) into[at + i] = bytes[first + i]!;
}

function interleaveBits(columns: readonly Data[], from: Uint8Array, rows: Int32Array): Uint8Array {
  const found = new Uint8Array((rows.length + 7) >> 3);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    const values = columns[from[i]!]!.values as Uint8Array;
    if (row >= 0 && (values[row >> 3]! & (1 << (row & 7))) !== 0) found[i >> 3]! |= 1 << (i & 7);
  }
  return found;
}

/** Values of 4 or 8 bytes each, copied as halves: a double could otherwise lose the bits of a NaN. */
function fixedWidth(columns: readonly Data[], from: Uint8Array, rows: Int32Array): unknown {
  const sources = columns.map(({ values }) => values as Int32Array);
  const [first] = sources as [Int32Array, ...Int32Array[]];
  const isWide = first.BYTES_PER_ELEMENT === 8;
  const halves = sources.map(
    ({ buffer, byteOffset, byteLength }) => new Int32Array(buffer, byteOffset, byteLength >> 2),
  );
  const width = isWide ? 2 : 1;
  const pickedValues = new Int32Array(width * rows.length);
  for (let i = 0; i < rows.length;) {
    const next = runEnd(from, rows, i);
    const source = halves[from[i]!]!;
    const row = rows[i]!;
    if (next - i > 8)
      pickedValues.set(source.subarray(width * row, width * (row + next - i)), width * i);
    else if (row >= 0)
      for (let k = 0; k < width * (next - i); k++)
        pickedValues[width * i + k] = source[width * row + k]!;
    i = next;
  }
  const type = first.constructor as new (buffer: ArrayBuffer, at: number, length: number) => object;
  return new type(pickedValues.buffer, 0, rows.length);
}
