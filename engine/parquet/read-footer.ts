import { dataViewOf } from '../core/buffers.js';
import { ByteSource } from './byte-source.js';
import { physicalType } from './parquet-schema.js';
import type { Bound } from './statistics.js';
import { ThriftReader } from './thrift.js';

/*
 * Parses the metadata of a Parquet file (parquet.thrift): the footer and the page index. The first query of a dataset may need the
 * metadata of all its segments, so parsing has to be fast. The caller reads the bytes, synchronously or not.
 */

/** Number of bytes after the metadata in the footer: its length in four bytes, then `PAR1`. */
export const tailBytes = 8;
const magicNumber = 0x31524150;

/** The parts of `FileMetaData` that queries need. */
export interface FooterMetadata {
  readonly rows: number;
  /** The schema tree in depth-first order, including the root. */
  readonly schema: readonly FooterElement[];
  readonly groups: readonly FooterGroup[];
}

/** The Thrift type `SchemaElement`. */
export interface FooterElement {
  readonly name: string;
  readonly repetition: 'required' | 'optional' | 'repeated';
  /** For a leaf, one of `physicalType`; undefined for a group. */
  readonly physical: number | undefined;
  /** For a group, the number of direct children; undefined for a leaf. */
  readonly childCount: number | undefined;
  readonly isList: boolean;
  /** Whether the values are timestamps: microseconds since 1970, UTC. */
  readonly isTimestamp: boolean;
}

/** The Thrift type `RowGroup`. */
interface FooterGroup {
  readonly rows: number;
  readonly chunks: readonly FooterChunk[];
}

/** `ColumnChunk` with its `ColumnMetaData`; offsets are counted from the start of the file. */
export interface FooterChunk {
  readonly path: readonly string[];
  /** The Thrift type `CompressionCodec`. */
  readonly codec: number;
  readonly slots: number;
  /** Size in bytes of the dictionary page and the data pages in the file, page headers included. */
  readonly storedBytes: number;
  /** Size in bytes of the pages before compression. */
  readonly plainBytes: number;
  readonly dataOffset: number;
  readonly dictionaryOffset: number | undefined;
  readonly nulls: number;
  /** The lower bound of the values in the encoding PLAIN, for strings without the length; undefined if there is none. */
  readonly min: Uint8Array | undefined;
  readonly max: Uint8Array | undefined;
  /** Whether `min` and `max` are exact; false if one of them is a truncated string. */
  readonly areBoundsExact: boolean;
  /** For strings, the total size of all values in bytes. */
  readonly stringBytes: number;
  readonly filter: ByteExtent | undefined;
  readonly offsetIndex: ByteExtent | undefined;
  readonly columnIndex: ByteExtent | undefined;
}

/** A range of bytes of a file. */
export interface ByteExtent {
  readonly begin: number;
  readonly bytes: number;
}

/**
 * Returns the length of the footer, tail included. `end` holds the last bytes of a file of `fileBytes` bytes. Throws a `RangeError` if they
 * are not the end of a Parquet file.
 */
export function footerLength(end: Uint8Array, fileBytes: number): number {
  const at = end.byteLength - tailBytes;
  const view = dataViewOf(end);
  if (at < 0 || view.getUint32(at + 4, true) !== magicNumber) {
    throw new RangeError('does not end as a Parquet file');
  }
  const length = view.getUint32(at, true) + tailBytes;
  if (length > fileBytes) throw new RangeError('has a footer longer than the file');
  return length;
}

/** Parses `FileMetaData` from the last `footerLength` bytes of a file. Throws a `RangeError` if they are invalid. */
export function parseFooter(bytes: Uint8Array): FooterMetadata {
  const reader = readerOf(bytes);
  let [rows, schema, groups] = [0, noElements, noGroups];
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 2) schema = readItems(reader, readElement);
    else if (id === 3) rows = reader.integer();
    else if (id === 4) groups = readItems(reader, readGroup);
    else reader.skip();
  }
  return { rows, schema, groups };
}

const noElements: readonly FooterElement[] = [];
const noGroups: readonly FooterGroup[] = [];
const noChunks: readonly FooterChunk[] = [];

const repetitions = ['required', 'optional', 'repeated'] as const;
/** Values of the Thrift type `ConvertedType`. */
const [listType, timestampMicros] = [3, 10];

function readElement(reader: ThriftReader): FooterElement {
  let name = '';
  let [physical, repetition, children, converted] = [-1, 0, -1, -1];
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 1) physical = reader.integer();
    else if (id === 3) repetition = reader.integer();
    else if (id === 4) name = textOf(reader.binary());
    else if (id === 5) children = reader.integer();
    else if (id === 6) converted = reader.integer();
    else reader.skip();
  }
  return {
    name,
    repetition: repetitions[repetition] ?? 'required',
    physical: physical < 0 ? undefined : physical,
    childCount: children < 0 ? undefined : children,
    isList: converted === listType,
    isTimestamp: converted === timestampMicros,
  };
}

function readGroup(reader: ThriftReader): FooterGroup {
  let [rows, chunks] = [0, noChunks];
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 1) chunks = readItems(reader, readChunk);
    else if (id === 3) rows = reader.integer();
    else reader.skip();
  }
  return { rows, chunks };
}

function readChunk(reader: ThriftReader): FooterChunk {
  let metadata: ChunkMetadata | undefined;
  let [offsetAt, offsetBytes, columnAt, columnBytes] = [0, 0, 0, 0];
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 3) metadata = readChunkMetadata(reader);
    else if (id === 4) offsetAt = reader.integer();
    else if (id === 5) offsetBytes = reader.integer();
    else if (id === 6) columnAt = reader.integer();
    else if (id === 7) columnBytes = reader.integer();
    else reader.skip();
  }
  if (metadata === undefined) throw new RangeError('a column chunk has no metadata');
  const offsetIndex = extentOf(offsetAt, offsetBytes);
  return { ...metadata, offsetIndex, columnIndex: extentOf(columnAt, columnBytes) };
}

type ChunkMetadata = Omit<FooterChunk, 'offsetIndex' | 'columnIndex'>;

function readChunkMetadata(reader: ThriftReader): ChunkMetadata {
  let path: readonly string[] = [];
  let [codec, slots, plainBytes, storedBytes, dataOffset, dictionaryOffset] = [0, 0, 0, 0, 0, 0];
  let [filterAt, filterBytes, stringBytes] = [0, 0, 0];
  let range = noStatistics;
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 3) path = readItems(reader, (from) => textOf(from.binary()));
    else if (id === 4) codec = reader.integer();
    else if (id === 5) slots = reader.integer();
    else if (id === 6) plainBytes = reader.integer();
    else if (id === 7) storedBytes = reader.integer();
    else if (id === 9) dataOffset = reader.integer();
    else if (id === 11) dictionaryOffset = reader.integer();
    else if (id === 12) range = readStatistics(reader);
    else if (id === 14) filterAt = reader.integer();
    else if (id === 15) filterBytes = reader.integer();
    else if (id === 16) stringBytes = readStringBytes(reader);
    else reader.skip();
  }
  return {
    path,
    codec,
    slots,
    plainBytes,
    storedBytes,
    dataOffset,
    stringBytes,
    ...range,
    dictionaryOffset: dictionaryOffset === 0 ? undefined : dictionaryOffset,
    filter: extentOf(filterAt, filterBytes),
  };
}

type Statistics = Pick<FooterChunk, 'nulls' | 'min' | 'max' | 'areBoundsExact'>;

const noStatistics: Statistics = { nulls: 0, min: undefined, max: undefined, areBoundsExact: true };

function readStatistics(reader: ThriftReader): Statistics {
  let nulls = 0;
  let [min, max]: (Uint8Array | undefined)[] = [];
  let areBoundsExact = true;
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 3) nulls = reader.integer();
    else if (id === 5) max = reader.binary();
    else if (id === 6) min = reader.binary();
    else if (id === 7 || id === 8) areBoundsExact = reader.bool() && areBoundsExact;
    else reader.skip();
  }
  return { nulls, min, max, areBoundsExact };
}

/** Reads the Thrift type `SizeStatistics` and returns the total size of the strings. */
function readStringBytes(reader: ThriftReader): number {
  let bytes = 0;
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 1) bytes = reader.integer();
    else reader.skip();
  }
  return bytes;
}

/**
 * The data pages of a column chunk (OffsetIndex in the Parquet format). Page i holds the rows `firstRows[i]` to `firstRows[i + 1]`
 * (exclusive) of its row group.
 */
export interface OffsetIndex {
  readonly offsets: Float64Array;
  /** The size in bytes of each page, page header included. */
  readonly bytes: Int32Array;
  /** The first row of each page, followed by the number of rows in the row group. */
  readonly firstRows: Int32Array;
}

/** Parses the `OffsetIndex` of a column chunk; `rows` is the number of rows of its row group. Throws a `RangeError` for invalid bytes. */
export function parseOffsetIndex(bytes: Uint8Array, rows: number): OffsetIndex {
  const reader = readerOf(bytes);
  let pages = 0;
  let index = newOffsetIndex(0);
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id !== 1) {
      reader.skip();
      continue;
    }
    pages = reader.list();
    if (pages > bytes.length) throw new RangeError(`${pages} pages in ${bytes.length} bytes`);
    index = newOffsetIndex(pages);
    for (let page = 0; page < pages; page++) readLocation(reader, index, page);
  }
  index.firstRows[pages] = rows;
  return index;
}

function newOffsetIndex(pages: number): OffsetIndex {
  return {
    offsets: new Float64Array(pages),
    bytes: new Int32Array(pages),
    firstRows: new Int32Array(pages + 1),
  };
}

/** Reads the Thrift type `PageLocation`. */
function readLocation(
  reader: ThriftReader,
  { offsets, bytes, firstRows }: OffsetIndex,
  page: number,
): void {
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 1) offsets[page] = reader.integer();
    else if (id === 2) bytes[page] = reader.integer();
    else if (id === 3) firstRows[page] = reader.integer();
    else reader.skip();
  }
}

/** The statistics of a page in the `ColumnIndex` of its column chunk. */
export interface PageStatistics {
  readonly nulls: number;
  /**
   * The lower bound; undefined for a page without values. Bounds of strings may be truncated, the minimum downwards and the maximum
   * upwards.
   */
  readonly min: Bound | undefined;
  readonly max: Bound | undefined;
}

/** Parses the `ColumnIndex` of a column chunk of this physical type. Throws a `RangeError` for invalid bytes. */
export function parseColumnIndex(bytes: Uint8Array, physical: number): readonly PageStatistics[] {
  const reader = readerOf(bytes);
  let areEmpty: readonly boolean[] = [];
  let [mins, maxes]: (readonly Uint8Array[])[] = [[], []];
  let nulls: readonly number[] = [];
  const binary = (from: ThriftReader): Uint8Array => from.binary();
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 1) areEmpty = readItems(reader, (from) => from.readBoolItem());
    else if (id === 2) mins = readItems(reader, binary);
    else if (id === 3) maxes = readItems(reader, binary);
    else if (id === 5) nulls = readItems(reader, (from) => from.integer());
    else reader.skip();
  }
  if ([mins, maxes, nulls].some((list) => list?.length !== areEmpty.length))
    throw new RangeError('has not as many bounds as pages');
  return areEmpty.map((isEmpty, i) => ({
    nulls: nulls[i]!,
    min: isEmpty ? undefined : boundOf(mins![i]!, physical),
    max: isEmpty ? undefined : boundOf(maxes![i]!, physical),
  }));
}

/** Returns a bound in the encoding PLAIN as a value; strings are copied. Throws a `RangeError` if there are too few bytes. */
export function boundOf(bytes: Uint8Array, physical: number): Bound {
  const view = dataViewOf(bytes);
  switch (physical) {
    case physicalType.boolean:
      return view.getUint8(0);
    case physicalType.int32:
      return view.getInt32(0, true);
    case physicalType.int64:
      return view.getBigInt64(0, true);
    case physicalType.float:
      return view.getFloat32(0, true);
    case physicalType.double:
      return view.getFloat64(0, true);
    default:
      // `slice` of a Buffer would be a view that keeps the memory of a whole part of the file.
      return new Uint8Array(bytes);
  }
}

function readerOf(bytes: Uint8Array): ThriftReader {
  return new ThriftReader(new ByteSource(bytes));
}

function readItems<T>(reader: ThriftReader, read: (reader: ThriftReader) => T): readonly T[] {
  const size = reader.list();
  const list: T[] = [];
  for (let i = 0; i < size; i++) list.push(read(reader));
  return list;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/** Returns the extent of a part; undefined for the offset or the size 0, which stands for an absent part. */
function extentOf(begin: number, bytes: number): ByteExtent | undefined {
  return begin === 0 || bytes === 0 ? undefined : { begin, bytes };
}
