import { acquire, release } from '../core/buffers.js';
import type { ByteSource } from './byte-source.js';
import { chunkPages } from './read-pages.js';
import { readConstant, readHybrid } from './decode-hybrid.js';
import { readValues, type DecodedValues } from './decode-values.js';
import { bitWidth } from './hybrid.js';
import type { ParquetLeaf } from './schema.js';

/** A part of a leaf's column, shredded as the file has it: its slots' levels, and the values of those that have one. */
export interface LeafPart {
  readonly slots: number;
  readonly definition: Uint16Array;
  /** Undefined: every slot begins a row. */
  readonly repetition: Uint16Array | undefined;
  /** Page by page. */
  readonly values: readonly DecodedValues[];
}

/** Reads the pages of a column chunk that our encoder wrote, from its first byte to its last. */
export function readChunk(
  bytes: Uint8Array,
  leaf: ParquetLeaf,
  chunk: { readonly slots: number; readonly isCompressed: boolean },
): LeafPart {
  const { maxDefinition, maxRepetition, physical } = leaf;
  const definition = new Uint16Array(chunk.slots);
  const repetition = maxRepetition > 0 ? new Uint16Array(chunk.slots) : undefined;
  const values: DecodedValues[] = [];
  let dictionary: DecodedValues | undefined;
  let done = 0;
  for (const { isDictionary, body, count, encoding } of chunkPages(bytes, chunk)) {
    if (isDictionary) {
      dictionary = readValues(body, physical, encoding, count, undefined);
      continue;
    }
    const levels = acquire(Int32Array, count);
    if (repetition !== undefined) {
      fillLevels(body, maxRepetition, count, levels);
      for (let i = 0; i < count; i++) repetition[done + i] = levels[i]!;
    }
    fillLevels(body, maxDefinition, count, levels);
    let present = 0;
    for (let i = 0; i < count; i++) {
      const level = levels[i]!;
      definition[done + i] = level;
      if (level === maxDefinition) present++;
    }
    release(levels);
    values.push(readValues(body, physical, encoding, present, dictionary));
    done += count;
  }
  return { slots: chunk.slots, definition, repetition, values };
}

function fillLevels(page: ByteSource, most: number, count: number, out: Int32Array): void {
  const constant = readLevels(page, most, count, out);
  if (constant !== undefined) out.fill(constant, 0, count);
}

/** Reads the levels of a page's slots. If all are the same, it is returned and `out` is left as it is. */
export function readLevels(
  page: ByteSource,
  most: number,
  count: number,
  out: Int32Array,
): number | undefined {
  const end = page.length() + page.at;
  const width = bitWidth(most);
  const constant = readConstant(page, width, count);
  if (constant === undefined) readHybrid(page, width, count, out);
  if (page.at !== end) throw new RangeError('levels do not end where they should');
  return constant;
}
