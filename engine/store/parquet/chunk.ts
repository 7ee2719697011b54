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
} from './page.js';
import type { ParquetLeaf } from './schema.js';
import type { ByteSink } from './sink.js';
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
  readonly dataPages: number;
  readonly range: Range;
  /** Of text: its bytes, without lengths. */
  readonly textBytes: number | undefined;
}

/** Where pages are put together, and where they go. */
export interface Sinks {
  readonly file: ByteSink;
  readonly dictionary: ByteSink;
  readonly page: ByteSink;
  /** How far the file had got where `file` begins. */
  offset: number;
}

const pageBytes = 1 << 20;
const pageSlots = 65_536;

/** Writes the dictionary and the pages of one column chunk. */
export function writeChunk(
  sinks: Sinks,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: Values,
): ChunkMeta {
  const encoder = chooseEncoder(leaf, values);
  try {
    return writePages(sinks, leaf, levels, values, encoder);
  } finally {
    encoder.release();
  }
}

function writePages(
  { file, dictionary, page, offset }: Sinks,
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: Values,
  encoder: Encoder,
): ChunkMeta {
  const begin = file.end;
  const pages = cutPages(leaf, levels, values.count, encoder.valueBytes);
  dictionary.end = 0;
  encoder.writeDictionary(dictionary);
  const plain = [dictionary.written(), pageBody(page, leaf, levels, encoder, pages[0]!)];
  const tried = tryCompression(plain);
  const stored = tried === undefined ? uncompressed : compressed;
  const [entries, first] = tried ?? plain.map(uncompressed);
  let plainBytes = 0;
  if (encoder.entries > 0) plainBytes += writeDictionaryPage(file, entries!, encoder);
  const dataOffset = file.end;
  for (const [i, cut] of pages.entries()) {
    const body = i === 0 ? first! : stored(pageBody(page, leaf, levels, encoder, cut));
    plainBytes += writeDataPage(file, body, cut.end - cut.slot, encoder);
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
    dataPages: pages.length,
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

/** Pages of about `pageBytes`; each begins with a row (parquet.thrift, `DataPageHeaderV2` and page indexes ask for it). */
function cutPages(
  leaf: ParquetLeaf,
  levels: LeafLevels,
  values: number,
  valueBytes: number,
): readonly PageCut[] {
  const { slots, definition, repetition } = levels;
  const step = Math.min(pageSlots, Math.ceil(pageBytes / (valueBytes + 0.25)));
  const pages: PageCut[] = [];
  let value = 0;
  for (let slot = 0; slot < slots;) {
    let end = Math.min(slots, slot + step);
    if (repetition !== undefined) while (end < slots && repetition[end] !== 0) end++;
    let valueEnd = value;
    if (end === slots) valueEnd = values;
    else if (definition === undefined) valueEnd += end - slot;
    else for (let i = slot; i < end; i++) if (definition[i] === leaf.maxDefinition) valueEnd++;
    pages.push({ slot, end, value, valueEnd });
    slot = end;
    value = valueEnd;
  }
  return pages;
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
