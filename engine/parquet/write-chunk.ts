import { chooseEncoder, type Encoder } from './encoding.js';
import { bitWidth, writeHybrid, writeRun } from './hybrid.js';
import type { LeafLevels } from './levels.js';
import {
  codecId,
  compressed,
  tryCompression,
  uncompressed,
  writeDataPage,
  writeDictionaryPage,
} from './write-page.js';
import type { ParquetLeaf } from './schema.js';
import type { ByteSink } from './byte-sink.js';
import type { Range } from './statistics.js';
import type { Values } from './values.js';

/** What the footer says of a column chunk: the values of one leaf in one row group. */
export interface ChunkMeta {
  readonly leaf: ParquetLeaf;
  readonly encoding: number;
  readonly codec: number;
  readonly slots: number;
  readonly nulls: number;
  /** Headers included, as if nothing were compressed. */
  readonly plainBytes: number;
  readonly storedBytes: number;
  readonly dictionaryOffset: number | undefined;
  readonly dataOffset: number;
  readonly pages: readonly PagePlace[];
  readonly range: Range;
  /** Of text: its bytes, without lengths. */
  readonly textBytes: number | undefined;
}

/** Where a data page is, and the first of its rows, counted from the row group's. */
export interface PagePlace {
  readonly offset: number;
  /** Header included. */
  readonly bytes: number;
  readonly firstRow: number;
}

/** Where pages are put together, and where they go. */
export interface Sinks {
  readonly file: ByteSink;
  readonly dictionary: ByteSink;
  readonly page: ByteSink;
  /** How far the file had got where `file` begins. */
  offset: number;
}

/** Writes the dictionary and the pages of one column chunk. */
export function writeChunk(
  sinks: Sinks,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: Values,
  rowsPerPage: number,
): ChunkMeta {
  const encoder = chooseEncoder(leaf, values);
  try {
    return writePages(sinks, leaf, levels, values, rowsPerPage, encoder);
  } finally {
    encoder.release();
  }
}

function writePages(
  { file, dictionary, page, offset }: Sinks,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: Values,
  rowsPerPage: number,
  encoder: Encoder,
): ChunkMeta {
  const begin = file.end;
  const cuts = cutPages(leaf, levels, values.count, rowsPerPage);
  dictionary.end = 0;
  encoder.writeDictionary(dictionary);
  // The first page may be unlike the others: what values are rare at first, say.
  const middle = cuts.length >> 1;
  const sample = pageBody(page, leaf, levels, encoder, cuts[middle]!);
  const tried = tryCompression(dictionary.written(), sample, cuts.length);
  let plainBytes = 0;
  if (encoder.entries > 0) {
    const body = tried?.dictionary ?? uncompressed(dictionary.written());
    plainBytes += writeDictionaryPage(file, body, encoder);
  }
  const dataOffset = file.end;
  const pages: PagePlace[] = [];
  for (const [i, cut] of cuts.entries()) {
    const from = file.end;
    let body = i === middle ? tried?.page : undefined;
    if (body === undefined) {
      const plain = pageBody(page, leaf, levels, encoder, cut);
      body = tried === undefined ? uncompressed(plain) : compressed(plain);
    }
    plainBytes += writeDataPage(file, body, cut.end - cut.slot, encoder);
    pages.push({ offset: offset + from, bytes: file.end - from, firstRow: i * rowsPerPage });
  }
  return {
    leaf,
    encoding: encoder.encoding,
    codec: tried === undefined ? codecId.none : codecId.zstd,
    slots: levels.slots,
    nulls: levels.slots - values.count,
    plainBytes,
    storedBytes: file.end - begin,
    dictionaryOffset: encoder.entries > 0 ? offset + begin : undefined,
    dataOffset: offset + dataOffset,
    pages,
    range: encoder.range,
    textBytes:
      values.kind === 'texts' ? values.offsets[values.count]! - values.offsets[0]! : undefined,
  };
}

/** The slots of one page, and the values among them. */
interface PageCut {
  readonly slot: number;
  readonly end: number;
  readonly value: number;
  readonly valueEnd: number;
}

/** All leaves of a row group are cut at the same rows. */
function cutPages(
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: number,
  rowsPerPage: number,
): readonly PageCut[] {
  const { slots, repetition } = levels;
  const pages: PageCut[] = [];
  let value = 0;
  for (let slot = 0; slot < slots;) {
    let end = Math.min(slots, slot + rowsPerPage);
    if (repetition !== undefined) end = rowsBehind(repetition, slot, slots, rowsPerPage);
    const valueEnd = end === slots ? values : value + valuesAmong(leaf, levels, slot, end, value);
    pages.push({ slot, end, value, valueEnd });
    slot = end;
    value = valueEnd;
  }
  return pages;
}

/** The slot behind so many rows from `slot` on, where a row begins. */
function rowsBehind(repetition: Int32Array, slot: number, slots: number, rows: number): number {
  let left = rows;
  let end = slot + 1;
  for (; end < slots; end++) if (repetition[end] === 0 && --left === 0) break;
  return end;
}

/** How many of the slots have a value; `before` is how many have one before them. */
function valuesAmong(
  { maxDefinition, maxRepetition }: ParquetLeaf,
  { definition, picks, first, values }: LeafLevels,
  slot: number,
  end: number,
  before: number,
): number {
  if (definition === undefined) return end - slot;
  if (maxRepetition > 0 || picks === undefined) {
    let count = 0;
    for (let i = slot; i < end; i++) if (definition[i] === maxDefinition) count++;
    return count;
  }
  // Outside lists there is one item for each slot, so that the picks tell.
  let low = before;
  let high = values;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (picks[middle]! < first + end) low = middle + 1;
    else high = middle;
  }
  return low - before;
}

/** Repetition levels, definition levels, values: "Data Pages" of the format. */
function pageBody(
  page: ByteSink,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  encoder: Encoder,
  { slot, end, value, valueEnd }: PageCut,
): Uint8Array {
  page.end = 0;
  const { maxDefinition, maxRepetition } = leaf;
  if (maxRepetition > 0) writeLevels(page, levels.repetition, 0, slot, end, maxRepetition);
  writeLevels(page, levels.definition, maxDefinition, slot, end, maxDefinition);
  encoder.write(page, value, valueEnd);
  return page.written();
}

/** Levels behind their length; without an array, all are `constant`. */
function writeLevels(
  page: ByteSink,
  levels: Int32Array | undefined,
  constant: number,
  from: number,
  to: number,
  most: number,
): void {
  const start = page.startLength();
  if (levels === undefined) writeRun(page, constant, to - from, bitWidth(most));
  else writeHybrid(page, levels, from, to, bitWidth(most));
  page.endLength(start);
}
