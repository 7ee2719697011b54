import { writeBloomFilter } from './bloom-filter.js';
import { boundBytes } from './bounds.js';
import type { ByteSink } from './byte-sink.js';
import { compareBounds } from './statistics.js';
import { ThriftWriter, thriftType } from './thrift.js';
import type { ChunkMeta, PageMeta } from './write-chunk.js';

/** The position of an index in the file; `bytes` is 0 if the column chunk does not have the index. */
interface IndexLocation {
  readonly offset: number;
  readonly bytes: number;
}

/** The locations in the file of a column chunk's Bloom filter and page index. */
export interface ChunkIndexLocation {
  readonly filter: IndexLocation;
  readonly columnIndex: IndexLocation;
  readonly offsetIndex: IndexLocation;
}

/**
 * Writes the Bloom filters of all column chunks, then their ColumnIndexes (the bounds of their pages), then their OffsetIndexes (the
 * locations of their pages), as PageIndex.md of the Parquet format describes. A chunk may lack a filter or a ColumnIndex. `offset` is the
 * position in the file of the sink's first byte.
 */
export function writeIndexes(
  sink: ByteSink,
  offset: number,
  chunks: readonly ChunkMeta[],
): readonly ChunkIndexLocation[] {
  const placed = (write: () => void): IndexLocation => {
    const from = sink.endOffset;
    write();
    return { offset: offset + from, bytes: sink.endOffset - from };
  };
  const filters = chunks.map(({ filter }) =>
    placed(() => filter && writeBloomFilter(sink, filter)),
  );
  const columnIndexes = chunks.map((chunk) => placed(() => writeColumnIndex(sink, chunk)));
  return chunks.map(({ pages }, i) => ({
    filter: filters[i]!,
    columnIndex: columnIndexes[i]!,
    offsetIndex: placed(() => writeOffsetIndex(sink, pages)),
  }));
}

/** Writes the `ColumnIndex` of a chunk; writes nothing if it has no pages or contains NaN, or if some page has values but no bounds. */
function writeColumnIndex(sink: ByteSink, { leaf, pages, range }: ChunkMeta): void {
  // NaN lies outside any bounds, so with bounds readers would skip pages that contain NaN.
  if (range.hasNaN || pages.length === 0) return;
  if (pages.some(({ bounds, slots, nulls }) => bounds === undefined && slots > nulls)) return;
  const thrift = new ThriftWriter(sink);
  thrift.start();
  thrift.list(1, thriftType.bool, pages.length);
  for (const { bounds } of pages) thrift.writeBoolItem(bounds === undefined);
  const write = (id: number, end: 'min' | 'max'): void => {
    thrift.list(id, thriftType.binary, pages.length);
    for (const { bounds } of pages)
      thrift.writeBinaryItem(bounds ? boundBytes(leaf, bounds[end], false)!.bytes : noBytes);
  };
  write(2, 'min');
  write(3, 'max');
  thrift.i32(4, boundaryOrder(pages));
  thrift.list(5, thriftType.i64, pages.length);
  for (const { nulls } of pages) thrift.writeI64Item(nulls);
  thrift.endStruct();
}

const noBytes = new Uint8Array(0);

/** Returns the `BoundaryOrder`: 1 if both bounds of the pages ascend, 2 if both descend, 0 otherwise. Pages without values are ignored. */
function boundaryOrder(pages: readonly PageMeta[]): number {
  const bounds = pages.flatMap((page) => page.bounds ?? []);
  const signs = new Set<number>();
  for (let i = 1; i < bounds.length; i++)
    for (const end of ['min', 'max'] as const)
      signs.add(Math.sign(compareBounds(bounds[i]![end], bounds[i - 1]![end])));
  if (!signs.has(-1)) return 1;
  return signs.has(1) ? 0 : 2;
}

/** Writes the locations of the data pages of one column chunk: `OffsetIndex`. */
function writeOffsetIndex(sink: ByteSink, pages: readonly PageMeta[]): void {
  const thrift = new ThriftWriter(sink);
  thrift.start();
  thrift.list(1, thriftType.struct, pages.length);
  for (const { offset, bytes, firstRow } of pages) {
    thrift.start();
    thrift.i64(1, offset);
    thrift.i32(2, bytes);
    thrift.i64(3, firstRow);
    thrift.endStruct();
  }
  thrift.endStruct();
}
