import { acquireBuffer, growBuffer, releaseBuffer } from '../core/buffers.js';
import { ByteSource } from './byte-source.js';
import { encodingId } from './encoding.js';
import { ThriftReader } from './thrift.js';
import { codecId, pageType } from './write-page.js';
import { decompressFrames } from './zstd.js';

/** A page of a column chunk after decompression. */
export interface DecompressedPage {
  readonly isDictionary: boolean;
  /** Number of slots of a data page, or of entries of a dictionary page. */
  readonly count: number;
  readonly encoding: number;
  /** The levels and then the values of a data page, or the entries of a dictionary page. */
  readonly body: ByteSource;
}

/**
 * Returns the pages of a column chunk that Strandlake's encoder wrote, one by one as in `decompressOneByOne`. `bytes` is the whole chunk.
 */
export function decompressChunkPages(
  bytes: Uint8Array,
  chunk: { readonly slots: number; readonly isCompressed: boolean },
): Generator<DecompressedPage> {
  return decompressIntoSharedBuffer(splitChunkPages(bytes, chunk));
}

function* splitChunkPages(
  bytes: Uint8Array,
  { slots, isCompressed }: { readonly slots: number; readonly isCompressed: boolean },
): Generator<StoredPage> {
  const source = new ByteSource(bytes);
  let done = 0;
  while (done < slots) {
    const page = readStoredPage(source, isCompressed);
    if (page.type === pageType.data) done += page.count;
    yield page;
  }
  if (done > slots || source.readOffset !== bytes.length)
    throw new RangeError('pages do not end with their column chunk');
}

/** The position of a page in the bytes of its chunk, header included, and its number of slots or dictionary entries. */
interface PageExtent {
  readonly begin: number;
  readonly end: number;
  readonly isDictionary: boolean;
  readonly count: number;
  readonly encoding: number;
}

/** Yields the position of every page of a whole column chunk. Only the page headers are read; nothing is decompressed. */
export function* pageExtents(
  bytes: Uint8Array,
  chunk: { readonly slots: number; readonly isCompressed: boolean },
): Generator<PageExtent> {
  const source = new ByteSource(bytes);
  for (let done = 0; done < chunk.slots;) {
    const begin = source.readOffset;
    const { type, count, encoding } = readStoredPage(source, chunk.isCompressed);
    const isDictionary = type === pageType.dictionary;
    if (!isDictionary) done += count;
    yield { begin, end: source.readOffset, isDictionary, count, encoding };
  }
}

/** Decompresses single pages, which may belong to different chunks. The bytes of each begin with its header. */
export function decompressPages(pages: readonly SinglePage[]): readonly DecompressedPage[] {
  return [...decompressedPages(pages.map(readSinglePage))];
}

/** Calls `use` with decompressed pages. Their memory belongs to a pool, so they are valid only until `use` returns. */
export function withPages<T>(
  pages: readonly SinglePage[],
  use: (pages: readonly DecompressedPage[]) => T,
): T {
  const stored = pages.map(readSinglePage);
  const plain = acquireBuffer(Uint8Array, plainBytesOf(stored) + 1);
  try {
    return use([...decompressedPages(stored, plain)]);
  } finally {
    releaseBuffer(plain);
  }
}

/**
 * Yields the decompressed pages one by one. The body of a page is valid until the next page is requested: all are decompressed into the
 * same memory, which stays in the processor's cache and causes no garbage collection.
 */
export function decompressOneByOne(pages: Iterable<SinglePage>): Generator<DecompressedPage> {
  return decompressIntoSharedBuffer(splitSinglePages(pages));
}

function* splitSinglePages(pages: Iterable<SinglePage>): Generator<StoredPage> {
  for (const page of pages) yield readSinglePage(page);
}

function* decompressIntoSharedBuffer(pages: Iterable<StoredPage>): Generator<DecompressedPage> {
  let buffer = acquireBuffer(Uint8Array, 1 << 16);
  try {
    for (const { type, body, isCompressed, plainBytes, count, encoding } of pages) {
      if (plainBytes >= buffer.length) buffer = growBuffer(buffer, plainBytes + 1);
      const plain = isCompressed ? decompressFrames([body], plainBytes, buffer) : body;
      const isDictionary = type === pageType.dictionary;
      yield { isDictionary, count, encoding, body: new ByteSource(plain) };
    }
  } finally {
    releaseBuffer(buffer);
  }
}

/** A page by itself; its bytes begin with its header. */
interface SinglePage {
  readonly bytes: Uint8Array;
  readonly isCompressed: boolean;
}

function readSinglePage({ bytes, isCompressed }: SinglePage): StoredPage {
  const source = new ByteSource(bytes);
  const page = readStoredPage(source, isCompressed);
  if (source.readOffset !== bytes.length)
    throw new RangeError('a page does not have the length that the offset index gives');
  return page;
}

interface StoredPage {
  readonly type: number;
  readonly body: Uint8Array;
  readonly isCompressed: boolean;
  readonly plainBytes: number;
  readonly count: number;
  readonly encoding: number;
}

/** Returns the total size of all compressed pages after decompression. */
function plainBytesOf(pages: readonly StoredPage[]): number {
  return pages.reduce((sum, { isCompressed, plainBytes }) => sum + (isCompressed ? plainBytes : 0), 0); // prettier-ignore
}

/** Yields the decompressed pages. `output`, if given, must have one byte more than they need. */
function* decompressedPages(
  pages: readonly StoredPage[],
  output?: Uint8Array,
): Generator<DecompressedPage> {
  const frames = pages.flatMap(({ isCompressed, body }) => (isCompressed ? [body] : []));
  const plain = decompressFrames(frames, plainBytesOf(pages), output);
  let at = 0;
  for (const { type, body, isCompressed, plainBytes, count, encoding } of pages) {
    const source = new ByteSource(isCompressed ? plain.subarray(at, at + plainBytes) : body);
    if (isCompressed) at += plainBytes;
    yield { isDictionary: type === pageType.dictionary, count, encoding, body: source };
  }
}

/** Returns whether a chunk is compressed with zstd; false if it is uncompressed. Throws a `RangeError` for any other codec. */
export function isZstd(codec: string | number): boolean {
  if (codec === 'ZSTD' || codec === codecId.zstd) return true;
  if (codec === 'UNCOMPRESSED' || codec === codecId.none) return false;
  throw new RangeError(`codec ${codec} is not supported`);
}

function readStoredPage(source: ByteSource, isCompressed: boolean): StoredPage {
  const { storedBytes, ...header } = readPageHeader(source);
  return { ...header, isCompressed, body: source.readBytes(storedBytes) };
}

interface PageHeader {
  readonly type: number;
  readonly plainBytes: number;
  readonly storedBytes: number;
  readonly count: number;
  readonly encoding: number;
}

/** Reads the `PageHeader` (parquet.thrift) of a dictionary page or a data page of version 1. The source then points at the body. */
function readPageHeader(source: ByteSource): PageHeader {
  const reader = new ThriftReader(source);
  let [type, plainBytes, storedBytes, count, encoding] = [-1, -1, -1, -1, -1];
  reader.start();
  for (let id = reader.nextFieldId(); id !== 0; id = reader.nextFieldId()) {
    if (id === 1) type = reader.integer();
    else if (id === 2) plainBytes = reader.integer();
    else if (id === 3) storedBytes = reader.integer();
    else if (id === (type === pageType.dictionary ? 7 : 5)) {
      reader.start();
      for (let inner = reader.nextFieldId(); inner !== 0; inner = reader.nextFieldId()) {
        if (inner === 1) count = reader.integer();
        else if (inner === 2) encoding = reader.integer();
        else reader.skip();
      }
    } else reader.skip();
  }
  if (plainBytes < 0 || storedBytes < 0) throw new RangeError('a page header has no size');
  if (count < 0 || encoding < 0) throw new RangeError(`page type ${type} is not supported`);
  return { type, plainBytes, storedBytes, count, encoding: encodingOf(encoding, type) };
}

/** Other writers give dictionary pages and dictionary-encoded data pages the older encoding name PLAIN_DICTIONARY. */
function encodingOf(encoding: number, type: number): number {
  if (encoding !== plainDictionaryEncoding) return encoding;
  return type === pageType.dictionary ? encodingId.plain : encodingId.rleDictionary;
}

const plainDictionaryEncoding = 2;
