import { boundBytes, type WrittenBounds } from './bounds.js';
import { encodingId } from './page-encodings.js';
import { pageType } from './write-page.js';
import type { LogicalType, ParquetLeaf, ParquetSchema, SchemaElement } from './parquet-schema.js';
import type { ByteSink } from './byte-sink.js';
import { ThriftWriter, thriftType } from './thrift.js';
import type { ChunkIndexLocation } from './page-index.js';
import type { MinMax } from './statistics.js';
import type { ChunkMeta } from './write-chunk.js';

/** A row group: its column chunks in the order of the schema. */
export interface RowGroupMeta {
  readonly rows: number;
  readonly chunks: readonly ChunkMeta[];
}

/** An entry of the key-value metadata of a file. */
export type KeyValue = readonly [key: string, value: string];

/** The first and the last four bytes of a Parquet file. */
export const magicBytes = Buffer.from('PAR1');

/** The value of `FileMetaData.version`: 2, because of the delta and RLE_DICTIONARY encodings. */
const formatVersion = 2;
const repetitionId = { required: 0, optional: 1, repeated: 2 } as const;

/**
 * Writes the end of a Parquet file: `FileMetaData` (parquet.thrift), its length and the magic bytes. `indexes` locates the
 * indexes of every column chunk, row group by row group; `createdBy` is the `created_by` of the footer.
 */
export function writeFooter(
  sink: ByteSink,
  schema: ParquetSchema,
  groups: readonly RowGroupMeta[],
  indexes: readonly ChunkIndexLocation[],
  createdBy: string,
  metadata: readonly KeyValue[] = [],
): void {
  const begin = sink.endOffset;
  const thrift = new ThriftWriter(sink);
  thrift.start();
  thrift.i32(1, formatVersion);
  writeSchema(thrift, schema);
  thrift.i64(
    3,
    groups.reduce((sum, group) => sum + group.rows, 0),
  );
  thrift.list(4, thriftType.struct, groups.length);
  let chunks = 0;
  for (const group of groups) {
    writeRowGroup(thrift, group, indexes.slice(chunks, (chunks += group.chunks.length)));
  }
  if (metadata.length > 0) thrift.list(5, thriftType.struct, metadata.length);
  for (const [key, value] of metadata) {
    thrift.start();
    thrift.string(1, key);
    thrift.string(2, value);
    thrift.endStruct();
  }
  thrift.string(6, createdBy);
  // Readers ignore the bounds of a column without a `ColumnOrder`, so `TYPE_ORDER` (field 1) is written for every leaf.
  thrift.list(7, thriftType.struct, schema.leaves.length);
  for (const _ of schema.leaves) {
    thrift.start();
    thrift.startStruct(1);
    thrift.endStruct();
    thrift.endStruct();
  }
  thrift.endStruct();
  const length = sink.endOffset - begin;
  sink.reserve(4);
  sink.view.setInt32(sink.endOffset, length, true);
  sink.endOffset += 4;
  sink.append(magicBytes);
}

function writeSchema(thrift: ThriftWriter, { elements, nodes }: ParquetSchema): void {
  thrift.list(2, thriftType.struct, elements.length + 1);
  thrift.start();
  thrift.string(4, 'schema');
  thrift.i32(5, nodes.length);
  thrift.endStruct();
  for (const element of elements) writeElement(thrift, element);
}

/** Per logical type: the older annotation (`ConvertedType`), the newer one (`LogicalType`, a union), and the fields of the newer one. */
const annotations: Readonly<
  Record<
    LogicalType,
    { converted: number; logical: number; write?: (thrift: ThriftWriter) => void }
  >
> = {
  string: { converted: 0, logical: 1 },
  list: { converted: 3, logical: 3 },
  map: { converted: 1, logical: 2 },
  timestamp: {
    converted: 10, // TIMESTAMP_MICROS
    logical: 8,
    write(thrift) {
      thrift.bool(1, true); // isAdjustedToUTC
      thrift.startStruct(2);
      thrift.startStruct(2); // MICROS
      thrift.endStruct();
      thrift.endStruct();
    },
  },
};

function writeElement(thrift: ThriftWriter, element: SchemaElement): void {
  thrift.start();
  if (element.physical !== undefined) thrift.i32(1, element.physical);
  thrift.i32(3, repetitionId[element.repetition]);
  thrift.string(4, element.name);
  if (element.children !== undefined) thrift.i32(5, element.children);
  if (element.logical !== undefined) {
    const { converted, logical, write } = annotations[element.logical];
    thrift.i32(6, converted);
    thrift.startStruct(10);
    thrift.startStruct(logical);
    write?.(thrift);
    thrift.endStruct();
    thrift.endStruct();
  }
  thrift.endStruct();
}

function writeRowGroup(
  thrift: ThriftWriter,
  { rows, chunks }: RowGroupMeta,
  indexes: readonly ChunkIndexLocation[],
): void {
  thrift.start();
  thrift.list(1, thriftType.struct, chunks.length);
  for (const [i, chunk] of chunks.entries()) writeColumnChunk(thrift, chunk, indexes[i]!);
  thrift.i64(
    2,
    chunks.reduce((sum, chunk) => sum + chunk.plainBytes, 0),
  );
  thrift.i64(3, rows);
  thrift.i64(5, chunks[0]!.dictionaryOffset ?? chunks[0]!.dataOffset);
  thrift.i64(
    6,
    chunks.reduce((sum, chunk) => sum + chunk.storedBytes, 0),
  );
  thrift.endStruct();
}

function writeColumnChunk(
  thrift: ThriftWriter,
  chunk: ChunkMeta,
  { filter, offsetIndex, columnIndex }: ChunkIndexLocation,
): void {
  const { leaf, dictionaryOffset, stringBytes } = chunk;
  thrift.start();
  thrift.i64(2, 0); // `file_offset`, deprecated
  thrift.startStruct(3);
  thrift.i32(1, leaf.physical);
  const encodings = encodingsOf(chunk);
  thrift.list(2, thriftType.i32, encodings.length);
  for (const encoding of encodings) thrift.writeI32Item(encoding);
  thrift.list(3, thriftType.binary, leaf.path.length);
  for (const name of leaf.path) thrift.writeBinaryItem(Buffer.from(name));
  thrift.i32(4, chunk.codec);
  thrift.i64(5, chunk.slots);
  thrift.i64(6, chunk.plainBytes);
  thrift.i64(7, chunk.storedBytes);
  thrift.i64(9, chunk.dataOffset);
  if (dictionaryOffset !== undefined) thrift.i64(11, dictionaryOffset);
  writeStatistics(thrift, chunk);
  writePageCounts(thrift, chunk);
  if (filter.bytes > 0) {
    thrift.i64(14, filter.offset);
    thrift.i32(15, filter.bytes);
  }
  if (stringBytes !== undefined) {
    thrift.startStruct(16); // SizeStatistics
    thrift.i64(1, stringBytes);
    thrift.endStruct();
  }
  thrift.endStruct();
  thrift.i64(4, offsetIndex.offset);
  thrift.i32(5, offsetIndex.bytes);
  if (columnIndex.bytes > 0) {
    thrift.i64(6, columnIndex.offset);
    thrift.i32(7, columnIndex.bytes);
  }
  thrift.endStruct();
}

function encodingsOf({ encoding, dictionaryOffset }: ChunkMeta): readonly number[] {
  const dictionary = dictionaryOffset === undefined ? [] : [encodingId.plain];
  return [...new Set([...dictionary, encodingId.rle, encoding])];
}

function writeStatistics(thrift: ThriftWriter, chunk: ChunkMeta): void {
  const { leaf, nulls, range } = chunk;
  // NaN lies outside any bounds, so with bounds readers would skip row groups that contain NaN.
  const { min, max } = range.hasNaN
    ? noBounds
    : (chunk.copiedBounds ?? boundsOf(leaf, range.minMax));
  thrift.startStruct(12);
  thrift.i64(3, nulls);
  if (max !== undefined) thrift.binary(5, max.bytes);
  if (min !== undefined) thrift.binary(6, min.bytes);
  if (max !== undefined) thrift.bool(7, max.isExact);
  if (min !== undefined) thrift.bool(8, min.isExact);
  thrift.endStruct();
}

const noBounds: WrittenBounds = { min: undefined, max: undefined };

function boundsOf(leaf: ParquetLeaf, minMax: MinMax | undefined): WrittenBounds {
  if (minMax === undefined) return noBounds;
  return { min: boundBytes(leaf, minMax.min, false), max: boundBytes(leaf, minMax.max, true) };
}

/** Writes the number of pages of each encoding (`encoding_stats`), from which readers see whether all data pages use the dictionary. */
function writePageCounts(thrift: ThriftWriter, chunk: ChunkMeta): void {
  const hasDictionary = chunk.dictionaryOffset !== undefined;
  thrift.list(13, thriftType.struct, hasDictionary ? 2 : 1);
  if (hasDictionary) writePageCount(thrift, pageType.dictionary, encodingId.plain, 1);
  writePageCount(thrift, pageType.data, chunk.encoding, chunk.pages.length);
}

function writePageCount(thrift: ThriftWriter, type: number, encoding: number, count: number): void {
  thrift.start();
  thrift.i32(1, type);
  thrift.i32(2, encoding);
  thrift.i32(3, count);
  thrift.endStruct();
}
