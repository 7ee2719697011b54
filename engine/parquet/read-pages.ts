import { acquireBuffer, growBuffer, releaseBuffer } from '../core/buffers.js';
import { ByteSource } from './byte-source.js';
import { encodingId } from './page-encodings.js';
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
  let slotsRead = 0;
  while (slotsRead < slots) {
    const page = readStoredPage(source, isCompressed);
    if (page.type === pageType.data) slotsRead += page.count;
    yield page;
  }
  if (slotsRead > slots || source.readOffset !== bytes.length)
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
  for (let slotsRead = 0; slotsRead < chunk.slots;) {
    const begin = source.readOffset;
    const { type, count, encoding } = readStoredPage(source, chunk.isCompressed);
    const isDictionary = type === pageType.dictionary;
    if (!isDictionary) slotsRead += count;
    yield { begin, end: source.readOffset, isDictionary, count, encoding };
  }
}

/** Decompresses a page to memory of its own. The body of an uncompressed page is a view of its stored bytes. */
export function decompressPage(page: SinglePage): DecompressedPage {
  return decompressStored(readSinglePage(page));
}

/**
 * Yields the decompressed pages one by one, each as `PageDecompressor` returns it: it is valid until the next page is requested.
 */
export function decompressOneByOne(pages: Iterable<SinglePage>): Generator<DecompressedPage> {
  return decompressIntoSharedBuffer(splitSinglePages(pages));
}

function* splitSinglePages(pages: Iterable<SinglePage>): Generator<StoredPage> {
  for (const page of pages) yield readSinglePage(page);
}

function* decompressIntoSharedBuffer(pages: Iterable<StoredPage>): Generator<DecompressedPage> {
  const decompressor = new PageDecompressor();
  try {
    for (const page of pages) yield decompressor.decompressStored(page);
  } finally {
    decompressor.release();
  }
}

/**
 * Decompresses pages one after the other to the same memory, which stays in the processor's cache and causes no garbage collection. Call
 * `release` after use.
 */
export class PageDecompressor {
  #buffer = acquireBuffer(Uint8Array, 1 << 16);

  /** Returns a page that is valid until the next call, or until its stored bytes change. */
  decompress(page: SinglePage): DecompressedPage {
    return this.decompressStored(readSinglePage(page));
  }

  decompressStored(page: StoredPage): DecompressedPage {
    const { plainBytes } = page;
    if (plainBytes >= this.#buffer.length) this.#buffer = growBuffer(this.#buffer, plainBytes + 1);
    return decompressStored(page, this.#buffer);
  }

  release(): void {
    releaseBuffer(this.#buffer);
  }
}

/** Decompresses a compressed page into `output`, which must have one byte more than the page needs, or else to memory of its own. */
function decompressStored(
  { type, body, isCompressed, plainBytes, count, encoding }: StoredPage,
  output?: Uint8Array,
): DecompressedPage {
  const plain = isCompressed ? decompressFrames([body], plainBytes, output) : body;
  const isDictionary = type === pageType.dictionary;
  return { isDictionary, count, encoding, body: new ByteSource(plain) };
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

/** Replaces PLAIN_DICTIONARY, the older name that some writers give the encodings of dictionary pages and of pages that use them. */
function encodingOf(encoding: number, type: number): number {
  if (encoding !== plainDictionaryEncoding) return encoding;
  return type === pageType.dictionary ? encodingId.plain : encodingId.rleDictionary;
}

const plainDictionaryEncoding = 2;
