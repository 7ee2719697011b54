import { bloomFilter } from './bloom-filter.js';
import { pageBounds } from './bounds.js';
import {
  encodingId,
  plainEncoder,
  plainEncoderMembers,
  type Encoder,
  type PageValues,
} from './encoding.js';
import { bitWidth, writeRleBitPacked, writeRun } from './hybrid.js';
import type { LeafLevels } from './levels.js';
import {
  codecId,
  compressedBody,
  tryCompression,
  uncompressedBody,
  writeDataPage,
  writeDictionaryPage,
} from './write-page.js';
import type { ParquetLeaf } from './schema.js';
import type { ByteSink } from './byte-sink.js';
import { numberEncoder } from './number-encoder.js';
import {
  compareBounds,
  joinedRange,
  noValues,
  rangeOf,
  type Extremes,
  type Range,
} from './statistics.js';
import { stringEncoder, unsharedEncoder } from './string-encoder.js';
import type { Booleans, Strings, Values } from './values.js';

/** The footer's metadata of a column chunk, which holds the values of one leaf in one row group. */
export interface ChunkMeta {
  readonly leaf: ParquetLeaf;
  readonly encoding: number;
  readonly codec: number;
  readonly slots: number;
  readonly nulls: number;
  /** Bytes with page headers, before compression. */
  readonly plainBytes: number;
  /** Bytes with page headers, as they are in the file. */
  readonly storedBytes: number;
  readonly dictionaryOffset: number | undefined;
  readonly dataOffset: number;
  readonly pages: readonly PageMeta[];
  readonly range: Range;
  /** Strings only: bytes of all values, without their lengths. */
  readonly stringBytes: number | undefined;
  /** The blocks of the bloom filter of a chunk that has one. */
  readonly filter: Uint8Array | undefined;
}

/** A data page: its position in the file, and what the page index says of its values. `firstRow` counts from the start of the row group. */
export interface PageMeta {
  readonly offset: number;
  /** The size in bytes, page header included. */
  readonly bytes: number;
  readonly firstRow: number;
  readonly slots: number;
  readonly nulls: number;
  readonly bounds: Extremes | undefined;
}

/** The output, and scratch space for the pages. */
export interface ChunkOutput {
  readonly file: ByteSink;
  readonly dictionary: ByteSink;
  readonly page: ByteSink;
  /** True if chunks of strings in no order get bloom filters. */
  readonly hasFilters: boolean;
  /** True if values are stored as they are, without compression, and without extremes. */
  readonly isPlain: boolean;
  /** Position in the file of the first byte of `file`. */
  offset: number;
}

/** The rows of a row group, and the number of rows in each page of its chunks. */
export interface RowPages {
  readonly rows: number;
  readonly rowsPerPage: number;
}

/** Appends the dictionary page and the data pages of one column chunk to `output.file`. */
export function writeChunk(
  output: ChunkOutput,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: Values,
  rowPages: RowPages,
): ChunkMeta {
  const cuts = cutPages(leaf, levels, values.count, rowPages);
  const encoder = output.isPlain
    ? fastEncoder(leaf, values, cuts)
    : chooseEncoder(leaf, values, cuts);
  try {
    return writePages(output, leaf, levels, values, cuts, rowPages.rowsPerPage, encoder);
  } finally {
    encoder.release();
  }
}

/** The encoding that is fastest to write and to read. */
function fastEncoder(leaf: ParquetLeaf, values: Values, pages: readonly PageValues[]): Encoder {
  if (values.kind === 'booleans') return booleanEncoder(leaf, values, pages);
  const ranges = pages.map(() => noValues);
  return values.kind === 'strings' ? unsharedEncoder(values, ranges) : plainEncoder(values, ranges);
}

/** Chooses the encoding from the values. */
function chooseEncoder(leaf: ParquetLeaf, values: Values, pages: readonly PageValues[]): Encoder {
  if (values.kind === 'booleans') return booleanEncoder(leaf, values, pages);
  return values.kind === 'strings'
    ? stringEncoder(values, pages)
    : numberEncoder(leaf, values, pages);
}

/** RLE (Encodings.md, allowed for booleans): a column that is always true takes a few bytes. */
function booleanEncoder(
  leaf: ParquetLeaf,
  values: Booleans,
  pages: readonly PageValues[],
): Encoder {
  return {
    ...plainEncoderMembers,
    encoding: encodingId.rle,
    ranges: pages.map(({ value, valueEnd }) => rangeOf(leaf, values, value, valueEnd)),
    write(sink, from, to) {
      const start = sink.startLength();
      writeRleBitPacked(sink, values.booleans, from, to, 1);
      sink.endLength(start);
    },
  };
}

function writePages(
  { file, dictionary, page, hasFilters, isPlain, offset }: ChunkOutput,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: Values,
  cuts: readonly PageCut[],
  rowsPerPage: number,
  encoder: Encoder,
): ChunkMeta {
  const begin = file.end;
  dictionary.end = 0;
  encoder.writeDictionary(dictionary);
  // Compression is tried on a page of the middle, because the first one is often not typical.
  const middle = cuts.length >> 1;
  const sample = pageBody(page, leaf, levels, encoder, cuts[middle]!);
  const tried = isPlain ? undefined : tryCompression(dictionary.written(), sample, cuts.length);
  let plainBytes = 0;
  if (encoder.entries > 0) {
    const body = tried?.dictionary ?? uncompressedBody(dictionary.written());
    plainBytes += writeDictionaryPage(file, body, encoder);
  }
  const dataOffset = file.end;
  const pages: PageMeta[] = [];
  let range = noValues;
  for (const [i, cut] of cuts.entries()) {
    const from = file.end;
    let body = i === middle ? tried?.page : undefined;
    if (body === undefined) {
      const plain = pageBody(page, leaf, levels, encoder, cut);
      body = tried === undefined ? uncompressedBody(plain) : compressedBody(plain);
    }
    const pageRange = encoder.ranges[i]!;
    range = joinedRange(range, pageRange);
    const slots = cut.end - cut.slot;
    plainBytes += writeDataPage(file, body, slots, encoder);
    pages.push({
      offset: offset + from,
      bytes: file.end - from,
      firstRow: i * rowsPerPage,
      slots,
      nulls: slots - (cut.valueEnd - cut.value),
      bounds: pageBounds(leaf, pageRange),
    });
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
    range,
    stringBytes: values.kind === 'strings' ? bytesOf(values) : undefined,
    filter: hasFilters && encoder.entries === 0 ? filterOf(values, pages) : undefined,
  };
}

/** Chunks of fewer pages are read as fast as a filter. */
const fewPages = 8;
/** Maximum mean length of strings that get a bloom filter: longer ones are texts, which queries do not look up as a whole. */
const mostMeanBytes = 128;

/** The bloom filter of strings of which the bounds of pages rule out few; undefined for others. */
function filterOf(values: Values, pages: readonly PageMeta[]): Uint8Array | undefined {
  if (values.kind !== 'strings' || pages.length < fewPages) return undefined;
  if (bytesOf(values) > mostMeanBytes * values.count || areOrdered(pages)) return undefined;
  return bloomFilter(values);
}

/** Whether the bounds of the pages overlap so little that a string lies within those of less than an eighth, judged by samples. */
function areOrdered(pages: readonly PageMeta[]): boolean {
  const bounds = pages.flatMap((one) => one.bounds ?? []);
  const probes = bounds.filter((_, i) => i % Math.ceil(bounds.length / 16) === 0);
  let hits = 0;
  for (const { min: probe } of probes)
    for (const { min, max } of bounds)
      if (compareBounds(min, probe) <= 0 && compareBounds(probe, max) <= 0) hits++;
  return hits * 8 < probes.length * bounds.length;
}

function bytesOf({ offsets, count }: Strings): number {
  return offsets[count]! - offsets[0]!;
}

/** A data page: slots `slot` to `end`, which hold the values `value` to `valueEnd`. */
interface PageCut extends PageValues {
  readonly slot: number;
  readonly end: number;
}

/** The pages of a leaf. All leaves of a row group are cut at the same rows, so that page i of each holds the same records. */
function cutPages(
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: number,
  { rows, rowsPerPage }: RowPages,
): readonly PageCut[] {
  const { slots, repetition } = levels;
  if (rows <= rowsPerPage && slots > 0)
    return [{ slot: 0, end: slots, value: 0, valueEnd: values }];
  const pages: PageCut[] = [];
  let value = 0;
  for (let slot = 0; slot < slots;) {
    let end = Math.min(slots, slot + rowsPerPage);
    if (repetition !== undefined) end = slotAfterRows(repetition, slot, slots, rowsPerPage);
    const valueEnd = end === slots ? values : value + countValues(leaf, levels, slot, end, value);
    pages.push({ slot, end, value, valueEnd });
    slot = end;
    value = valueEnd;
  }
  return pages;
}

/** The slot that follows `rows` rows, counted from the row that begins at `slot`. */
function slotAfterRows(repetition: Int32Array, slot: number, slots: number, rows: number): number {
  let left = rows;
  let end = slot + 1;
  for (; end < slots; end++) if (repetition[end] === 0 && --left === 0) break;
  return end;
}

/** Number of values in the slots `slot` to `end`; `before` is the number of values in the slots before them. */
function countValues(
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
  // Outside lists each slot is one item, so a binary search in `picks` finds the count.
  let low = before;
  let high = values;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (picks[middle]! < first + end) low = middle + 1;
    else high = middle;
  }
  return low - before;
}

/** The body of a data page: repetition levels, definition levels, values (parquet-format README, "Data Pages"). */
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

/** Writes levels, prefixed with their length in bytes; without an array, every level is `constant`. */
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
  else writeRleBitPacked(page, levels, from, to, bitWidth(most));
  page.endLength(start);
}
