import { acquireBuffer, releaseBuffer } from '../core/buffers.js';
import type { ByteSource } from './byte-source.js';
import { decompressChunkPages, type DecompressedPage } from './read-pages.js';
import { readConstant, readHybrid } from './decode-hybrid.js';
import { readValues, type DecodedValues } from './decode-values.js';
import { bitWidth } from './hybrid.js';
import type { ParquetLeaf } from './parquet-schema.js';

/** Slots of a leaf, such as all those in one row group: their levels, and the values that are not null. */
export interface DecodedLeaf {
  readonly slots: number;
  readonly definition: Uint16Array;
  /** Repetition levels; undefined for a leaf that is in no list. */
  readonly repetition: Uint16Array | undefined;
  /** The values of each page. */
  readonly values: readonly DecodedValues[];
}

/** Decodes a column chunk that Strandlake's encoder wrote. `bytes` is the whole chunk. */
export function readChunk(
  bytes: Uint8Array,
  leaf: ParquetLeaf,
  chunk: { readonly slots: number; readonly isCompressed: boolean },
): DecodedLeaf {
  return decodeLeaf(decompressChunkPages(bytes, chunk), leaf, chunk.slots);
}

function decodeLeaf(
  pages: Iterable<DecompressedPage>,
  leaf: ParquetLeaf,
  slots: number,
): DecodedLeaf {
  const { maxDefinition, maxRepetition, physical } = leaf;
  const definition = new Uint16Array(slots);
  const repetition = maxRepetition > 0 ? new Uint16Array(slots) : undefined;
  const values: DecodedValues[] = [];
  let dictionary: DecodedValues | undefined;
  let done = 0;
  for (const { isDictionary, body, count, encoding } of pages) {
    if (isDictionary) {
      dictionary = readValues(body, physical, encoding, count, undefined);
      continue;
    }
    const levels = acquireBuffer(Int32Array, count);
    let present = 0;
    try {
      if (repetition !== undefined) {
        fillLevels(body, maxRepetition, count, levels);
        for (let i = 0; i < count; i++) repetition[done + i] = levels[i]!;
      }
      fillLevels(body, maxDefinition, count, levels);
      for (let i = 0; i < count; i++) {
        const level = levels[i]!;
        definition[done + i] = level;
        if (level === maxDefinition) present++;
      }
    } finally {
      releaseBuffer(levels);
    }
    values.push(readValues(body, physical, encoding, present, dictionary));
    done += count;
  }
  return { slots, definition, repetition, values };
}

/** Fills `out` with the levels of a page, `count` numbers from 0 to `most`, which are stored after their length. */
function fillLevels(page: ByteSource, most: number, count: number, out: Int32Array): void {
  const constant = readLevels(page, most, count, out);
  if (constant !== undefined) out.fill(constant, 0, count);
}

/**
 * Reads the levels of a page, `count` numbers from 0 to `most`, which are stored after their length. If they are stored as one run, returns
 * their common level and leaves `out` unchanged; otherwise fills `out` and returns undefined.
 */
export function readLevels(
  page: ByteSource,
  most: number,
  count: number,
  out: Int32Array,
): number | undefined {
  const end = page.readLength() + page.readOffset;
  const width = bitWidth(most);
  const constant = readConstant(page, width, count);
  if (constant === undefined) readHybrid(page, width, count, out);
  if (page.readOffset !== end)
    throw new RangeError('the levels of a page do not have the length that it gives');
  return constant;
}
