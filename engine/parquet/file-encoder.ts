import type { Data, RecordBatch } from 'apache-arrow';
import {
  writeChunk,
  type BloomFilterChoice,
  type ChunkMeta,
  type ChunkOutput,
  type RowPaging,
} from './write-chunk.js';
import { writeIndexes } from './page-index.js';
import { magicBytes, writeFooter, type KeyValue, type RowGroupMeta } from './write-footer.js';
import {
  leafLevels,
  listFrame,
  groupFrame,
  releaseFrame,
  releaseLevels,
  rowFrame,
  type LeafLevels,
  type SlotFrame,
} from './levels.js';
import { rowsPerPage } from './page-rows.js';
import {
  parquetSchema,
  type SchemaNode,
  type ParquetColumn,
  type ParquetLeaf,
  type ParquetSchema,
} from './parquet-schema.js';
import { ByteSink } from './byte-sink.js';
import { compareBounds, type Bound } from './statistics.js';
import { leafValues, releaseValues } from './encoder-values.js';

/** Maximum number of rows in a row group, the same as in DuckDB. A column chunk is encoded in memory before it is written. */
export const rowsPerRowGroup = 122_880;

/** Approximate size in bytes of the pieces in which a file is yielded. */
const flushBytes = 1 << 20;

/** Statistics of a leaf over all row groups, counted from the batches while they are encoded. */
export interface EncodedLeafStatistics {
  readonly leaf: ParquetLeaf;
  /** The null count of Parquet's statistics: the entries of the leaf without a value, empty lists included. */
  nulls: number;
  min: Bound | undefined;
  max: Bound | undefined;
  hasNaN: boolean;
  /** Only for strings: the bytes of all values, without their lengths. */
  stringBytes: number;
}

/** The number of nulls in a column of lists that is not itself inside a list. */
export interface ListNullCount {
  readonly path: readonly string[];
  nulls: number;
}

/** A row group and its bytes; offsets are counted from its first byte. */
export interface EncodedRowGroup {
  readonly bytes: Uint8Array;
  readonly meta: RowGroupMeta;
}

/** Encodes a batch of these columns as one row group, for a file that `joinRowGroups` writes. */
export function encodeRowGroup(
  columns: readonly ParquetColumn[],
  batch: RecordBatch,
): EncodedRowGroup {
  return new ParquetEncoder(columns, '').encodeAsRowGroup(batch);
}

/**
 * Yields the bytes of a Parquet file, from row groups that may have been encoded in several threads. `metadata` becomes the key-value
 * metadata of the footer.
 */
export async function* joinRowGroups(
  columns: readonly ParquetColumn[],
  groups: AsyncIterable<EncodedRowGroup>,
  createdBy: string,
  metadata: readonly KeyValue[] = [],
): AsyncGenerator<Uint8Array> {
  yield magicBytes;
  let offset = magicBytes.length;
  const metas: RowGroupMeta[] = [];
  for await (const { bytes, meta } of groups) {
    metas.push({
      rows: meta.rows,
      chunks: meta.chunks.map((chunk) => shiftChunkOffsets(chunk, offset)),
    });
    yield bytes;
    offset += bytes.length;
  }
  const end = new ByteSink(64 << 10);
  try {
    const indexes = writeIndexes(end, offset, chunksOf(metas));
    writeFooter(end, parquetSchema(columns), metas, indexes, createdBy, metadata);
    yield end.writtenBytes().slice();
  } finally {
    end.release();
  }
}

function shiftChunkOffsets(chunk: ChunkMeta, by: number): ChunkMeta {
  const { dictionaryOffset, dataOffset, pages } = chunk;
  return {
    ...chunk,
    dictionaryOffset: dictionaryOffset === undefined ? undefined : dictionaryOffset + by,
    dataOffset: dataOffset + by,
    pages: pages.map((page) => ({ ...page, offset: page.offset + by })),
  };
}

interface EncoderOptions {
  /** True for a file that is read once. It is written fast: without compression and Bloom filters, and with bounds of booleans only. */
  readonly isIntermediate?: boolean;
  /** Which column chunks of strings get Bloom filters; by default those whose page bounds rule out few pages. */
  readonly filters?: BloomFilterChoice;
}

/**
 * Encodes record batches as one Parquet file. Its bytes are yielded while row groups are encoded; only the data of the footer, the page
 * indexes and the Bloom filters stay in memory. `leaves` and `lists` are complete when `encodeBatches` has ended.
 */
export class ParquetEncoder {
  readonly leaves: readonly EncodedLeafStatistics[];
  readonly lists: readonly ListNullCount[];
  readonly #schema: ParquetSchema;
  readonly #listOf = new Map<SchemaNode, ListNullCount>();
  readonly #groups: RowGroupMeta[] = [];
  readonly #createdBy: string;
  readonly #isIntermediate: boolean;
  readonly #filters: BloomFilterChoice;
  #rowPages: RowPaging = { rows: 0, rowsPerPage: 0 };

  /** `createdBy` names the application in the footer. */
  constructor(
    columns: readonly ParquetColumn[],
    createdBy: string,
    { isIntermediate = false, filters = 'unordered' }: EncoderOptions = {},
  ) {
    this.#createdBy = createdBy;
    this.#isIntermediate = isIntermediate;
    this.#filters = isIntermediate ? 'none' : filters;
    this.#schema = parquetSchema(columns);
    const none = { nulls: 0, min: undefined, max: undefined, hasNaN: false, stringBytes: 0 };
    this.leaves = this.#schema.leaves.map((leaf) => ({ leaf, ...none }));
    this.#countLists(this.#schema.nodes);
    this.lists = [...this.#listOf.values()];
  }

  #countLists(nodes: readonly SchemaNode[]): void {
    for (const node of nodes) {
      if (node.isInList) continue;
      if (node.column.isList) this.#listOf.set(node, { path: node.path, nulls: 0 });
      else this.#countLists(node.members);
    }
  }

  /**
   * Yields the bytes of the file, in order. `extra` is called with the number of bytes so far; the bytes that it returns are inserted
   * before the footer, where Parquet readers ignore them. The columns of each batch must be those of the encoder. A piece is valid until
   * the next one is requested.
   */
  *encodeBatches(
    batches: readonly RecordBatch[],
    extra: (bytes: number) => readonly Uint8Array[] = () => [],
  ): Generator<Uint8Array> {
    const file = new ByteSink(2 * flushBytes);
    const output: ChunkOutput = {
      file,
      dictionary: new ByteSink(64 << 10),
      page: new ByteSink(2 * flushBytes),
      filters: this.#filters,
      isPlain: this.#isIntermediate,
      offset: 0,
    };
    try {
      file.append(magicBytes);
      for (const batch of batches) {
        for (let row = 0; row < batch.numRows; row += rowsPerRowGroup) {
          const rows = Math.min(rowsPerRowGroup, batch.numRows - row);
          const chunks: ChunkMeta[] = [];
          for (const chunk of this.#rowGroup(output, batch, row, rows)) {
            chunks.push(chunk);
            if (file.endOffset >= flushBytes) yield* flushOutput(output);
          }
          this.#groups.push({ rows, chunks });
        }
      }
      const indexes = writeIndexes(file, output.offset, chunksOf(this.#groups));
      // The footer is a separate piece: until it is written, the file is recognizably incomplete.
      yield* flushOutput(output);
      yield* extra(output.offset);
      writeFooter(file, this.#schema, this.#groups, indexes, this.#createdBy);
      yield file.writtenBytes();
    } finally {
      for (const sink of [file, output.dictionary, output.page]) sink.release();
    }
  }

  /** Encodes a whole batch as one row group. */
  encodeAsRowGroup(batch: RecordBatch): EncodedRowGroup {
    const output: ChunkOutput = {
      file: new ByteSink(2 * flushBytes),
      dictionary: new ByteSink(64 << 10),
      page: new ByteSink(2 * flushBytes),
      // No Bloom filters are written: they would have to stay in memory until the end of the file, which may have any number of row groups.
      filters: 'none',
      isPlain: false,
      offset: 0,
    };
    try {
      const chunks = [...this.#rowGroup(output, batch, 0, batch.numRows)];
      return { bytes: output.file.writtenBytes().slice(), meta: { rows: batch.numRows, chunks } };
    } finally {
      for (const sink of [output.file, output.dictionary, output.page]) sink.release();
    }
  }

  *#rowGroup(
    output: ChunkOutput,
    batch: RecordBatch,
    row: number,
    rows: number,
  ): Generator<ChunkMeta> {
    const columns = batch.data.children;
    const { leaves } = this.#schema;
    this.#rowPages = { rows, rowsPerPage: rowsPerPage(columns, leaves.length, row, row + rows) };
    for (const [i, node] of this.#schema.nodes.entries())
      yield* this.#column(output, node, columns[i]!, rowFrame(row, row + rows));
  }

  /** Encodes the leaves of a column for the rows of a frame. */
  *#column(
    output: ChunkOutput,
    node: SchemaNode,
    data: Data,
    frame: SlotFrame,
  ): Generator<ChunkMeta> {
    let items = data;
    let below = frame;
    let inside: SlotFrame | undefined;
    if (node.column.isList) {
      const { elements, nulls } = listFrame(frame, data);
      const count = this.#listOf.get(node);
      if (count !== undefined) count.nulls += nulls;
      items = data.children[0]!;
      below = elements;
    }
    try {
      if (node.column.type === 'group') {
        // In a map, the entries have no level of their own, so their frame is that of the list.
        inside = node.column.isMap === true ? below : groupFrame(below, items);
        for (const [i, member] of node.members.entries()) {
          yield* this.#column(output, member, items.children[i]!, inside);
        }
      } else yield this.#leaf(output, node.leaf, items, below);
    } finally {
      // The buffers are released in `finally`, so that they are released also if the caller stops in the middle of a file.
      if (inside !== undefined && inside !== below) releaseFrame(inside, below);
      releaseFrame(below, frame);
    }
  }

  #leaf(output: ChunkOutput, index: number, data: Data, frame: SlotFrame): ChunkMeta {
    const leaf = this.#schema.leaves[index]!;
    const levels = leafLevels(frame, data);
    if (leaf.maxDefinition === frame.depth) clampLevels(levels, leaf.maxDefinition);
    const values = leafValues(leaf, data, levels);
    try {
      const chunk = writeChunk(output, leaf, levels, values, this.#rowPages);
      addChunkStatistics(this.leaves[index]!, chunk);
      return chunk;
    } finally {
      releaseValues(values, levels);
      releaseLevels(levels, frame);
    }
  }
}

/** Limits definition levels to those of a leaf that cannot be null, such as the key of a map. */
function clampLevels({ definition: levels }: LeafLevels, most: number): void {
  if (levels === undefined || 'bits' in levels) return;
  for (let slot = 0; slot < levels.length; slot++) if (levels[slot]! > most) levels[slot] = most;
}

function chunksOf(groups: readonly RowGroupMeta[]): readonly ChunkMeta[] {
  return groups.flatMap(({ chunks }) => chunks);
}

/** Yields the bytes written since the last piece was yielded. */
function* flushOutput(output: ChunkOutput): Generator<Uint8Array> {
  const { file } = output;
  yield file.writtenBytes();
  output.offset += file.endOffset;
  file.endOffset = 0;
}

function addChunkStatistics(leaf: EncodedLeafStatistics, chunk: ChunkMeta): void {
  const { minMax, hasNaN } = chunk.range;
  leaf.nulls += chunk.nulls;
  leaf.stringBytes += chunk.stringBytes ?? 0;
  if (hasNaN) leaf.hasNaN = true;
  if (minMax === undefined) return;
  const { min, max } = minMax;
  if (leaf.min === undefined || compareBounds(min, leaf.min) < 0) leaf.min = min;
  if (leaf.max === undefined || compareBounds(max, leaf.max) > 0) leaf.max = max;
}
