import { zstdDecompressSync } from 'node:zlib';
import { ByteSource } from './byte-source.js';
import { codecId, pageType } from './page.js';

/** A page of a column chunk, unpacked: levels, then values; or the entries of the dictionary. */
export interface PlainPage {
  readonly isDictionary: boolean;
  /** Slots of a data page, entries of a dictionary. */
  readonly count: number;
  readonly encoding: number;
  readonly body: ByteSource;
}

/** Pages of so many plain bytes are unpacked in one call, and are in memory at once. */
const batchBytes = 8 << 20;

/** The pages of a column chunk that our encoder wrote, from its first byte to its last. */
export function* chunkPages(
  bytes: Uint8Array,
  chunk: { readonly slots: number; readonly isCompressed: boolean },
): Generator<PlainPage> {
  const source = new ByteSource(bytes);
  let done = 0;
  let batch: StoredPage[] = [];
  let plainBytes = 0;
  while (done < chunk.slots) {
    const page = storedPage(source);
    if (page.type === pageType.data) done += page.count;
    if (plainBytes + page.plainBytes > batchBytes && batch.length > 0) {
      yield* unpacked(bytes, batch, chunk.isCompressed);
      batch = [];
      plainBytes = 0;
    }
    batch.push(page);
    plainBytes += page.plainBytes;
  }
  if (done > chunk.slots || source.at !== bytes.length) {
    throw new RangeError('pages do not end with their column chunk');
  }
  yield* unpacked(bytes, batch, chunk.isCompressed);
}

interface StoredPage {
  readonly type: number;
  readonly begin: number;
  readonly end: number;
  readonly plainBytes: number;
  readonly count: number;
  readonly encoding: number;
}

/**
 * The bodies of neighbouring pages. They are unpacked in one call: zstd's frames one behind the other are a stream (RFC 8878,
 * 3), and a call takes 4 to 8 µs, as long as unpacking a page of 4 KB.
 */
function* unpacked(
  bytes: Uint8Array,
  pages: readonly StoredPage[],
  isCompressed: boolean,
): Generator<PlainPage> {
  const plain = isCompressed ? inflated(bytes, pages) : bytes;
  let at = 0;
  for (const { type, begin, end, plainBytes, count, encoding } of pages) {
    const body = isCompressed ? plain.subarray(at, at + plainBytes) : plain.subarray(begin, end);
    at += plainBytes;
    yield {
      isDictionary: type === pageType.dictionary,
      count,
      encoding,
      body: new ByteSource(body),
    };
  }
}

function inflated(bytes: Uint8Array, pages: readonly StoredPage[]): Uint8Array {
  const stored = pages.reduce((sum, { begin, end }) => sum + end - begin, 0);
  const plainBytes = pages.reduce((sum, page) => sum + page.plainBytes, 0);
  if (stored === 0) return new Uint8Array(0);
  let frames = bytes.subarray(pages[0]!.begin, pages[0]!.end);
  if (pages.length > 1) {
    frames = Buffer.allocUnsafe(stored);
    let at = 0;
    for (const { begin, end } of pages) {
      frames.set(bytes.subarray(begin, end), at);
      at += end - begin;
    }
  }
  // With one byte more than needed, the result is the first buffer that is tried.
  const chunkSize = Math.max(64, plainBytes + 1);
  const plain = zstdDecompressSync(frames, { maxOutputLength: chunkSize, chunkSize });
  if (plain.length !== plainBytes) throw new RangeError('a page is not as long as it says');
  return plain;
}

/** The codec numbers that can be read; true for zstd. */
export function isZstd(codec: string | number): boolean {
  if (codec === 'ZSTD' || codec === codecId.zstd) return true;
  if (codec === 'UNCOMPRESSED' || codec === codecId.none) return false;
  throw new RangeError(`codec ${codec} is not one of ours`);
}

function storedPage(source: ByteSource): StoredPage {
  const header = pageHeader(source);
  const begin = source.at;
  source.skip(header.storedBytes);
  return { ...header, begin, end: source.at };
}

interface PageHeader {
  readonly type: number;
  readonly plainBytes: number;
  readonly storedBytes: number;
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
