import { bloomFilter } from './bloom-filter.js';
import { pageBounds, type WrittenBounds } from './bounds.js';
import {
  encodingId,
  plainEncoder,
  plainEncoderMembers,
  type Encoder,
  type PageValueRange,
} from './page-encodings.js';
import {
  bitWidth,
  writeBitNumbers,
  writeRleBitPacked,
  writeRun,
  type BitNumbers,
} from './hybrid.js';
import type { LeafLevels } from './levels.js';
import {
  codecId,
  compressedBody,
  tryCompression,
  uncompressedBody,
  writeDataPage,
  writeDictionaryPage,
} from './write-page.js';
import type { ParquetLeaf } from './parquet-schema.js';
import type { ByteSink } from './byte-sink.js';
import { numberEncoder } from './number-encoder.js';
import {
  compareBounds,
  joinedStatistics,
  noStatistics,
  statisticsOf,
  type MinMax,
  type RangeStatistics,
} from './statistics.js';
import { stringEncoder, unsharedEncoder } from './string-encoder.js';
import type { Booleans, Strings, EncoderValues } from './encoder-values.js';

/** The footer's metadata of a column chunk, which holds the values of one leaf in one row group. */
export interface ChunkMeta {
  readonly leaf: ParquetLeaf;
  readonly encoding: number;
  readonly codec: number;
  readonly slots: number;
  readonly nulls: number;
  /** Size in bytes before compression, page headers included. */
  readonly plainBytes: number;
  /** Size in bytes in the file, page headers included. */
  readonly storedBytes: number;
  readonly dictionaryOffset: number | undefined;
  readonly dataOffset: number;
  readonly pages: readonly PageMeta[];
  readonly range: RangeStatistics;
  /** For a chunk that is copied from another file, the bounds in the footer of that file, which may be truncated. */
  readonly copiedBounds?: WrittenBounds;
  /** Total size of all strings in bytes, without their lengths; undefined for other types. */
  readonly stringBytes: number | undefined;
  /** The blocks of the chunk's Bloom filter; undefined if it has none. */
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
  readonly bounds: MinMax | undefined;
}

/**
 * Which chunks of strings get Bloom filters: none, those whose page bounds rule out few pages, or also those whose page bounds are ordered.
 * Chunks with a dictionary, few pages or long strings never get one.
 */
export type BloomFilterChoice = 'none' | 'unordered' | 'all';

/** The output, and scratch space for the pages. */
export interface ChunkOutput {
  readonly file: ByteSink;
  readonly dictionary: ByteSink;
  readonly page: ByteSink;
  readonly filters: BloomFilterChoice;
  /** True if values are stored in the fastest encodings, uncompressed and, except booleans, without bounds. */
  readonly isPlain: boolean;
  /** Position in the Parquet file of the first byte of the sink `file`. */
  offset: number;
}

/** The rows of a row group, and the number of rows in each page of its chunks. */
export interface RowPaging {
  readonly rows: number;
  readonly rowsPerPage: number;
}

/** Appends the dictionary page and the data pages of one column chunk to `output.file`. */
export function writeChunk(
  output: ChunkOutput,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: EncoderValues,
  rowPages: RowPaging,
): ChunkMeta {
  const cuts = splitIntoPages(leaf, levels, values.count, rowPages);
  const encoder = output.isPlain
    ? fastEncoder(leaf, values, cuts)
    : chooseEncoder(leaf, values, cuts);
  try {
    return writePages(output, leaf, levels, values, cuts, rowPages.rowsPerPage, encoder);
  } finally {
    encoder.release();
  }
}

/** Returns the encoder whose encoding is written and read fastest. */
function fastEncoder(
  leaf: ParquetLeaf,
  values: EncoderValues,
  pages: readonly PageValueRange[],
): Encoder {
  if (values.kind === 'booleans') return booleanEncoder(leaf, values, pages);
  const ranges = pages.map(() => noStatistics);
  return values.kind === 'strings' ? unsharedEncoder(values, ranges) : plainEncoder(values, ranges);
}

/** Returns the encoder for the encoding that suits the values best. */
function chooseEncoder(
  leaf: ParquetLeaf,
  values: EncoderValues,
  pages: readonly PageValueRange[],
): Encoder {
  if (values.kind === 'booleans') return booleanEncoder(leaf, values, pages);
  return values.kind === 'strings'
    ? stringEncoder(values, pages)
    : numberEncoder(leaf, values, pages);
}

/** Returns an encoder that writes RLE (Encodings.md, allowed for booleans): a column that is always true takes a few bytes. */
function booleanEncoder(
  leaf: ParquetLeaf,
  values: Booleans,
  pages: readonly PageValueRange[],
): Encoder {
  return {
    ...plainEncoderMembers,
    encoding: encodingId.rle,
    ranges: pages.map(({ value, valueEnd }) => statisticsOf(leaf, values, value, valueEnd)),
    write(sink, from, to) {
      const start = sink.reserveLengthPrefix();
      writeRleBitPacked(sink, values.booleans, from, to, 1);
      sink.writeLengthPrefix(start);
    },
  };
}

function writePages(
  { file, dictionary, page, filters, isPlain: isIntermediate, offset }: ChunkOutput,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: EncoderValues,
  cuts: readonly PageSlotRange[],
  rowsPerPage: number,
  encoder: Encoder,
): ChunkMeta {
  const begin = file.endOffset;
  dictionary.endOffset = 0;
  encoder.writeDictionary(dictionary);
  // Compression is tried on a page in the middle of the chunk, because the first page is often not typical.
  const middle = cuts.length >> 1;
  const sample = writePageBody(page, leaf, levels, encoder, cuts[middle]!);
  const tried = isIntermediate
    ? undefined
    : tryCompression(dictionary.writtenBytes(), sample, cuts.length);
  let plainBytes = 0;
  if (encoder.entries > 0) {
    const body = tried?.dictionary ?? uncompressedBody(dictionary.writtenBytes());
    plainBytes += writeDictionaryPage(file, body, encoder);
  }
  const dataOffset = file.endOffset;
  const pages: PageMeta[] = [];
  let range = noStatistics;
  for (const [i, cut] of cuts.entries()) {
    const from = file.endOffset;
    let body = i === middle ? tried?.page : undefined;
    if (body === undefined) {
      const plain = writePageBody(page, leaf, levels, encoder, cut);
      body = tried === undefined ? uncompressedBody(plain) : compressedBody(plain);
    }
    const pageRange = encoder.ranges[i]!;
    range = joinedStatistics(range, pageRange);
    const slots = cut.end - cut.slot;
    plainBytes += writeDataPage(file, body, slots, encoder);
    pages.push({
      offset: offset + from,
      bytes: file.endOffset - from,
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
    storedBytes: file.endOffset - begin,
    dictionaryOffset: encoder.entries > 0 ? offset + begin : undefined,
    dataOffset: offset + dataOffset,
    pages,
    range,
    stringBytes: values.kind === 'strings' ? totalStringBytes(values) : undefined,
    filter: encoder.entries === 0 ? bloomFilterOf(values, pages, filters) : undefined,
  };
}

/** A chunk of fewer pages gets no Bloom filter: reading the chunk is as fast as reading the filter. */
const minFilteredPages = 8;
/** Maximum mean length in bytes of strings that get a Bloom filter: longer strings are texts, which queries do not look up as a whole. */
const maxMeanFilteredBytes = 128;

/** Returns the Bloom filter of a chunk; undefined if it gets none, for example because its values are no strings. */
function bloomFilterOf(
  values: EncoderValues,
  pages: readonly PageMeta[],
  filters: BloomFilterChoice,
): Uint8Array | undefined {
  if (filters === 'none' || values.kind !== 'strings') return undefined;
  if (pages.length < minFilteredPages) return undefined;
  if (totalStringBytes(values) > maxMeanFilteredBytes * values.count) return undefined;
  return filters === 'all' || !arePageBoundsOrdered(pages) ? bloomFilter(values) : undefined;
}

/**
 * Returns whether the pages are nearly sorted: on average, a sampled minimum of a page lies within the bounds of less than an eighth of the
 * pages.
 */
function arePageBoundsOrdered(pages: readonly PageMeta[]): boolean {
  const bounds = pages.flatMap((one) => one.bounds ?? []);
  const probes = bounds.filter((_, i) => i % Math.ceil(bounds.length / 16) === 0);
  let hits = 0;
  for (const { min: probe } of probes)
    for (const { min, max } of bounds)
      if (compareBounds(min, probe) <= 0 && compareBounds(probe, max) <= 0) hits++;
  return hits * 8 < probes.length * bounds.length;
}

function totalStringBytes({ offsets, count }: Strings): number {
  return offsets[count]! - offsets[0]!;
}

/** A data page: the slots (level entries) `slot` to `end`, which hold the values `value` to `valueEnd`. */
interface PageSlotRange extends PageValueRange {
  readonly slot: number;
  readonly end: number;
}

/** Cuts a leaf into pages. All leaves of a row group are cut at the same rows, so page i of each leaf holds the same records. */
function splitIntoPages(
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: number,
  { rows, rowsPerPage }: RowPaging,
): readonly PageSlotRange[] {
  const { slots, repetition } = levels;
  if (rows <= rowsPerPage && slots > 0)
    return [{ slot: 0, end: slots, value: 0, valueEnd: values }];
  const pages: PageSlotRange[] = [];
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

/** Returns the slot (level entry) that follows the `rows` rows that begin at `slot`. */
function slotAfterRows(repetition: Int32Array, slot: number, slots: number, rows: number): number {
  let rowsLeft = rows;
  let end = slot + 1;
  for (; end < slots; end++) if (repetition[end] === 0 && --rowsLeft === 0) break;
  return end;
}

/** Returns the number of values in the slots `slot` to `end`; `before` is the number of values in the slots before them. */
function countValues(
  { maxDefinition, maxRepetition }: ParquetLeaf,
  { definition, picks, first, values }: LeafLevels,
  slot: number,
  end: number,
  before: number,
): number {
  if (definition === undefined) return end - slot;
  if (!('bits' in definition) && (maxRepetition > 0 || picks === undefined)) {
    let count = 0;
    for (let i = slot; i < end; i++) if (definition[i] === maxDefinition) count++;
    return count;
  }
  // Outside lists, and where the levels follow from a bitmap, each slot is one Arrow item, so a binary search in `picks` finds the number
  // of values.
  let low = before;
  let high = values;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (picks![middle]! < first + end) low = middle + 1;
    else high = middle;
  }
  return low - before;
}

/** Returns the body of a data page: repetition levels, definition levels, values (parquet-format README, "Data Pages"). */
function writePageBody(
  page: ByteSink,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  encoder: Encoder,
  { slot, end, value, valueEnd }: PageSlotRange,
): Uint8Array {
  page.endOffset = 0;
  const { maxDefinition, maxRepetition } = leaf;
  if (maxRepetition > 0) writeLevels(page, levels.repetition, 0, slot, end, maxRepetition);
  writeLevels(page, levels.definition, maxDefinition, slot, end, maxDefinition);
  encoder.write(page, value, valueEnd);
  return page.writtenBytes();
}

/** Writes levels, preceded by their length in bytes; if no array is given, every level is `constant`. */
function writeLevels(
  page: ByteSink,
  levels: Int32Array | BitNumbers | undefined,
  constant: number,
  from: number,
  to: number,
  most: number,
): void {
  const start = page.reserveLengthPrefix();
  if (levels === undefined) writeRun(page, constant, to - from, bitWidth(most));
  else if ('bits' in levels) writeBitNumbers(page, levels, from, to, bitWidth(most));
  else writeRleBitPacked(page, levels, from, to, bitWidth(most));
  page.writeLengthPrefix(start);
}
