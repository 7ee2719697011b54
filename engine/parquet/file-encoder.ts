import type { Data, RecordBatch } from 'apache-arrow';
import type { Columns } from '../core/types.js';
import { writeChunk, type ChunkMeta, type Sinks } from './write-chunk.js';
import { magic, writeFooter, type IndexPlace, type RowGroupMeta } from './write-footer.js';
import {
  leafLevels,
  listFrame,
  objectFrame,
  releaseFrame,
  releaseLevels,
  rowFrame,
  type Frame,
} from './levels.js';
import { writeOffsetIndex } from './offset-index.js';
import { rowsPerPage } from './page-rows.js';
import {
  parquetSchema,
  schemaOf,
  type Node,
  type ParquetLeaf,
  type ParquetSchema,
} from './schema.js';
import { ByteSink } from './byte-sink.js';
import { compareBounds, type Bound } from './statistics.js';
import { leafValues, releaseValues } from './values.js';

/** DuckDB's own vector group; also bounds what is in memory at once. */
export const rowGroupRows = 122_880;

/** The file is handed over in pieces of about this size. */
const pieceBytes = 1 << 20;

/** What a leaf holds in all row groups, counted from the batch while it was encoded. */
export interface LeafCount {
  readonly leaf: ParquetLeaf;
  /** Of the slots, those without a value. */
  nulls: number;
  min: Bound | undefined;
  max: Bound | undefined;
  hasNaN: boolean;
  /** Of all values of text, without their lengths. */
  textBytes: number;
}

/** A list that is in no other list: how many of its values are null. */
export interface ListCount {
  readonly path: readonly string[];
  nulls: number;
}

/** A row group and its bytes; offsets are counted from its first byte. */
export interface EncodedRowGroup {
  readonly bytes: Uint8Array;
  readonly meta: RowGroupMeta;
}

/** Encodes a batch of these columns as one row group of a file that `joinRowGroups` makes. */
export function encodeRowGroup(columns: Columns, batch: RecordBatch): EncodedRowGroup {
  return new ParquetEncoder(schemaOf(columns)).rowGroup(batch);
}

/** The bytes of a Parquet file of these columns, from row groups that may have been encoded in several threads. */
export async function* joinRowGroups(
  columns: Columns,
  groups: AsyncIterable<EncodedRowGroup>,
): AsyncGenerator<Uint8Array> {
  yield magic;
  let offset = magic.length;
  const metas: RowGroupMeta[] = [];
  for await (const { bytes, meta } of groups) {
    metas.push({ rows: meta.rows, chunks: meta.chunks.map((chunk) => moved(chunk, offset)) });
    yield bytes;
    offset += bytes.length;
  }
  const end = new ByteSink(64 << 10);
  try {
    const places = writeIndexes(end, offset, metas);
    writeFooter(end, schemaOf(columns), metas, places);
    yield end.written().slice();
  } finally {
    end.release();
  }
}

function moved(chunk: ChunkMeta, by: number): ChunkMeta {
  const { dictionaryOffset, dataOffset, pages } = chunk;
  return {
    ...chunk,
    dictionaryOffset: dictionaryOffset === undefined ? undefined : dictionaryOffset + by,
    dataOffset: dataOffset + by,
    pages: pages.map((page) => ({ ...page, offset: page.offset + by })),
  };
}

/**
 * Writes batches of the reserved columns and then `columns` as one Parquet file. Row groups are written as they are encoded,
 * and nothing of the file is kept but its footer; the counts are complete when the pieces are.
 */
export class ParquetEncoder {
  readonly leaves: readonly LeafCount[];
  readonly lists: readonly ListCount[];
  readonly #schema: ParquetSchema;
  readonly #listOf = new Map<Node, ListCount>();
  readonly #groups: RowGroupMeta[] = [];
  #rowsPerPage = 0;

  /** `columns` without the reserved ones, or a schema of its own. */
  constructor(columns: Columns | ParquetSchema) {
    this.#schema = 'nodes' in columns ? columns : parquetSchema(columns);
    const none = { nulls: 0, min: undefined, max: undefined, hasNaN: false, textBytes: 0 };
    this.leaves = this.#schema.leaves.map((leaf) => ({ leaf, ...none }));
    this.#countLists(this.#schema.nodes);
    this.lists = [...this.#listOf.values()];
  }

  #countLists(nodes: readonly Node[]): void {
    for (const node of nodes) {
      if (node.isInList) continue;
      if (node.column.isList) this.#listOf.set(node, { path: node.path, nulls: 0 });
      else this.#countLists(node.members);
    }
  }

  /**
   * The bytes of the file, in order, with `extra` ones that only we know between the last row group and the footer. A piece is
   * valid until the next one is asked for.
   */
  *pieces(
    batches: readonly RecordBatch[],
    extra: readonly Uint8Array[] = [],
  ): Generator<Uint8Array> {
    const file = new ByteSink(2 * pieceBytes);
    const sinks: Sinks = {
      file,
      dictionary: new ByteSink(64 << 10),
      page: new ByteSink(2 * pieceBytes),
      offset: 0,
    };
    try {
      file.append(magic);
      for (const batch of batches) {
        for (let row = 0; row < batch.numRows; row += rowGroupRows) {
          const rows = Math.min(rowGroupRows, batch.numRows - row);
          const chunks: ChunkMeta[] = [];
          for (const chunk of this.#rowGroup(sinks, batch, row, rows)) {
            chunks.push(chunk);
            if (file.end >= pieceBytes) yield* piece(sinks);
          }
          this.#groups.push({ rows, chunks });
        }
      }
      const places = writeIndexes(file, sinks.offset, this.#groups);
      // The footer comes by itself: until then the file is a torn one.
      yield* piece(sinks);
      yield* extra;
      writeFooter(file, this.#schema, this.#groups, places);
      yield file.written();
    } finally {
      for (const sink of [file, sinks.dictionary, sinks.page]) sink.release();
    }
  }

  /** A whole batch as one row group. */
  rowGroup(batch: RecordBatch): EncodedRowGroup {
    const sinks: Sinks = {
      file: new ByteSink(2 * pieceBytes),
      dictionary: new ByteSink(64 << 10),
      page: new ByteSink(2 * pieceBytes),
      offset: 0,
    };
    try {
      const chunks = [...this.#rowGroup(sinks, batch, 0, batch.numRows)];
      return { bytes: sinks.file.written().slice(), meta: { rows: batch.numRows, chunks } };
    } finally {
      for (const sink of [sinks.file, sinks.dictionary, sinks.page]) sink.release();
    }
  }

  *#rowGroup(sinks: Sinks, batch: RecordBatch, row: number, rows: number): Generator<ChunkMeta> {
    const columns = batch.data.children;
    this.#rowsPerPage = rowsPerPage(columns, this.#schema.leaves.length, row, row + rows);
    for (const [i, node] of this.#schema.nodes.entries())
      yield* this.#column(sinks, node, columns[i]!, rowFrame(row, row + rows));
  }

  /** Encodes the leaves of a column, whose rows are those of the frame. */
  *#column(sinks: Sinks, node: Node, data: Data, frame: Frame): Generator<ChunkMeta> {
    let items = data;
    let below = frame;
    if (node.column.isList) {
      const { elements, nulls } = listFrame(frame, data);
      const count = this.#listOf.get(node);
      if (count !== undefined) count.nulls += nulls;
      items = data.children[0]!;
      below = elements;
    }
    if (node.column.type === 'object') {
      const inside = objectFrame(below, items);
      for (const [i, member] of node.members.entries()) {
        yield* this.#column(sinks, member, items.children[i]!, inside);
      }
      releaseFrame(inside, below);
    } else {
      yield this.#leaf(sinks, node.leaf, items, below);
    }
    releaseFrame(below, frame);
  }

  #leaf(sinks: Sinks, index: number, data: Data, frame: Frame): ChunkMeta {
    const leaf = this.#schema.leaves[index]!;
    const levels = leafLevels(frame, data);
    const values = leafValues(leaf, data, levels);
    const chunk = writeChunk(sinks, leaf, levels, values, this.#rowsPerPage);
    add(this.leaves[index]!, chunk);
    releaseValues(values, levels);
    releaseLevels(levels, frame);
    return chunk;
  }
}

/** Writes where the pages are, behind the last row group as other writers do; returns where that is written. */
function writeIndexes(
  file: ByteSink,
  offset: number,
  groups: readonly RowGroupMeta[],
): readonly IndexPlace[] {
  return groups.flatMap(({ chunks }) =>
    chunks.map(({ pages }) => {
      const from = file.end;
      writeOffsetIndex(file, pages);
      return { offset: offset + from, bytes: file.end - from };
    }),
  );
}

/** Hands over what has been written. */
function* piece(sinks: Sinks): Generator<Uint8Array> {
  const { file } = sinks;
  yield file.written();
  sinks.offset += file.end;
  file.end = 0;
}

function add(leaf: LeafCount, chunk: ChunkMeta): void {
  const { extremes, hasNaN } = chunk.range;
  leaf.nulls += chunk.nulls;
  leaf.textBytes += chunk.textBytes ?? 0;
  if (hasNaN) leaf.hasNaN = true;
  if (extremes === undefined) return;
  const { min, max } = extremes;
  if (leaf.min === undefined || compareBounds(min, leaf.min) < 0) leaf.min = min;
  if (leaf.max === undefined || compareBounds(max, leaf.max) > 0) leaf.max = max;
}
