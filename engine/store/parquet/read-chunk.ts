import { zstdDecompressSync } from 'node:zlib';
import { ByteSource } from './byte-source.js';
import { readHybrid } from './decode-hybrid.js';
import { readValues, type Decoded } from './decode-values.js';
import { bitWidth } from './hybrid.js';
import { codecId, pageType } from './page.js';
import type { ParquetLeaf } from './schema.js';

/** A part of a leaf's column, shredded as the file has it: its slots' levels, and the values of those that have one. */
export interface LeafPart {
  readonly slots: number;
  readonly definition: Uint16Array;
  /** Undefined: every slot begins a row. */
  readonly repetition: Uint16Array | undefined;
  /** Page by page. */
  readonly values: readonly Decoded[];
}

/** Reads the pages of a column chunk that our encoder wrote, from its first byte to its last. */
export function readChunk(
  bytes: Uint8Array,
  leaf: ParquetLeaf,
  chunk: { readonly slots: number; readonly isCompressed: boolean },
): LeafPart {
  const source = new ByteSource(bytes);
  const { maxDefinition, maxRepetition, physical } = leaf;
  const definition = new Uint16Array(chunk.slots);
  const repetition = maxRepetition > 0 ? new Uint16Array(chunk.slots) : undefined;
  const values: Decoded[] = [];
  let dictionary: Decoded | undefined;
  let done = 0;
  while (done < chunk.slots) {
    const header = pageHeader(source);
    const stored = source.take(header.storedBytes);
    const page = new ByteSource(chunk.isCompressed ? inflated(stored, header.plainBytes) : stored);
    if (header.type === pageType.dictionary) {
      dictionary = readValues(page, physical, header.encoding, header.count, undefined);
      continue;
    }
    const end = done + header.count;
    if (repetition !== undefined)
      readLevels(page, maxRepetition, repetition.subarray(done, end), header.count);
    const levels = definition.subarray(done, end);
    readLevels(page, maxDefinition, levels, header.count);
    let present = 0;
    for (const level of levels) if (level === maxDefinition) present++;
    values.push(readValues(page, physical, header.encoding, present, dictionary));
    done = end;
  }
  if (done > chunk.slots || source.at !== bytes.length) {
    throw new RangeError('pages do not end with their column chunk');
  }
  return { slots: chunk.slots, definition, repetition, values };
}

function readLevels(page: ByteSource, most: number, out: Uint16Array, count: number): void {
  const end = page.length() + page.at;
  readHybrid(page, bitWidth(most), count, out);
  if (page.at !== end) throw new RangeError('levels do not end where they should');
}

function inflated(stored: Uint8Array, plainBytes: number): Uint8Array {
  if (stored.length === 0) return stored;
  const plain = zstdDecompressSync(stored, { maxOutputLength: Math.max(1, plainBytes) });
  if (plain.length !== plainBytes) throw new RangeError('a page is not as long as it says');
  return plain;
}

/** The codec numbers that `readChunk` can read; true for zstd. */
export function isZstd(codec: string | number): boolean {
  if (codec === 'ZSTD' || codec === codecId.zstd) return true;
  if (codec === 'UNCOMPRESSED' || codec === codecId.none) return false;
  throw new RangeError(`codec ${codec} is not one of ours`);
}

interface PageHeader {
  readonly type: number;
  readonly plainBytes: number;
  readonly storedBytes: number;
  /** Slots of a data page, entries of a dictionary. */
  readonly count: number;
  readonly encoding: number;
}

/** Thrift's compact protocol, as far as our page headers go: structs of numbers. */
function pageHeader(source: ByteSource): PageHeader {
  const fields = struct(source);
  const type = number(fields, 1);
  const inner = fields.get(type === pageType.dictionary ? 7 : 5);
  if (!(inner instanceof Map)) throw new RangeError(`page type ${type} is not one of ours`);
  return {
    type,
    plainBytes: number(fields, 2),
    storedBytes: number(fields, 3),
    count: number(inner, 1),
    encoding: number(inner, 2),
  };
}

type Fields = Map<number, number | Fields>;
const structType = 12;

function struct(source: ByteSource): Fields {
  const fields: Fields = new Map();
  for (let id = 0; ;) {
    const head = source.byte();
    if (head === 0) return fields;
    id = head >> 4 === 0 ? source.zigzag() : id + (head >> 4);
    const type = head & 15;
    if (type === structType) fields.set(id, struct(source));
    else if (type === 5 || type === 6) fields.set(id, source.zigzag());
    else throw new RangeError(`a page header has a field of type ${type}`);
  }
}

function number(fields: Fields, id: number): number {
  const value = fields.get(id);
  if (typeof value !== 'number') throw new RangeError(`a page header has no field ${id}`);
  return value;
}
