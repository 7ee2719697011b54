import { acquire, growBuffer, release } from '../core/buffers.js';
import { ByteSource } from './byte-source.js';
import { encodingId } from './encoding.js';
import { ThriftReader } from './thrift.js';
import { codecId, pageType } from './write-page.js';
import { decompressFrames } from './zstd.js';

/** A page of a column chunk after decompression. */
export interface DecompressedPage {
  readonly isDictionary: boolean;
  /** Slots of a data page, entries of a dictionary. */
  readonly count: number;
  readonly encoding: number;
  /** Levels, then values; of a dictionary page, the entries. */
  readonly body: ByteSource;
}

/**
 * The pages of a column chunk that this encoder wrote, in turn, as `pagesInTurn` gives them. `bytes` is the chunk from its first byte to its last.
 */
export function chunkPages(
  bytes: Uint8Array,
  chunk: { readonly slots: number; readonly isCompressed: boolean },
): Generator<DecompressedPage> {
  return inTurn(storedPages(bytes, chunk));
}

function* storedPages(
  bytes: Uint8Array,
  { slots, isCompressed }: { readonly slots: number; readonly isCompressed: boolean },
): Generator<StoredPage> {
  const source = new ByteSource(bytes);
  let done = 0;
  while (done < slots) {
    const page = storedPage(source, isCompressed);
    if (page.type === pageType.data) done += page.count;
    yield page;
  }
  if (done > slots || source.at !== bytes.length)
    throw new RangeError('pages do not end with their column chunk');
}

/** The position of a page in the bytes of its chunk, header included, and its number of slots or dictionary entries. */
export interface PageExtent {
  readonly begin: number;
  readonly end: number;
  readonly isDictionary: boolean;
  readonly count: number;
  readonly encoding: number;
}

/** The pages of a column chunk by their headers alone, from its first byte to its last: nothing is unpacked. */
export function* pageExtents(
  bytes: Uint8Array,
  chunk: { readonly slots: number; readonly isCompressed: boolean },
): Generator<PageExtent> {
  const source = new ByteSource(bytes);
  for (let done = 0; done < chunk.slots;) {
    const begin = source.at;
    const { type, count, encoding } = storedPage(source, chunk.isCompressed);
    const isDictionary = type === pageType.dictionary;
    if (!isDictionary) done += count;
    yield { begin, end: source.at, isDictionary, count, encoding };
  }
}

/** Decompresses single pages of any chunks; the bytes of each begin with its header. */
export function decompressPages(pages: readonly SinglePage[]): readonly DecompressedPage[] {
  return [...decompressedPages(pages.map(singlePage))];
}

/** Calls `use` with pages that are decompressed to memory of the pool: they are valid until it returns. */
export function withPages<T>(
  pages: readonly SinglePage[],
  use: (pages: readonly DecompressedPage[]) => T,
): T {
  const stored = pages.map(singlePage);
  const plain = acquire(Uint8Array, plainBytesOf(stored) + 1);
  try {
    return use([...decompressedPages(stored, plain)]);
  } finally {
    release(plain);
  }
}

/**
 * The pages one by one. The body of a page is valid until the next page is taken: all are decompressed to the same memory, which stays in the cache
 * of the processor and is no garbage.
 */
export function pagesInTurn(pages: Iterable<SinglePage>): Generator<DecompressedPage> {
  return inTurn(singlePages(pages));
}

function* singlePages(pages: Iterable<SinglePage>): Generator<StoredPage> {
  for (const page of pages) yield singlePage(page);
}

function* inTurn(pages: Iterable<StoredPage>): Generator<DecompressedPage> {
  let buffer = acquire(Uint8Array, 1 << 16);
  try {
    for (const { type, body, isCompressed, plainBytes, count, encoding } of pages) {
      if (plainBytes >= buffer.length) buffer = growBuffer(buffer, plainBytes + 1);
      const plain = isCompressed ? decompressFrames([body], plainBytes, buffer) : body;
      const isDictionary = type === pageType.dictionary;
      yield { isDictionary, count, encoding, body: new ByteSource(plain) };
    }
  } finally {
    release(buffer);
  }
}

/** A page of any chunk; its bytes begin with its header. */
interface SinglePage {
  readonly bytes: Uint8Array;
  readonly isCompressed: boolean;
}

function singlePage({ bytes, isCompressed }: SinglePage): StoredPage {
  const source = new ByteSource(bytes);
  const page = storedPage(source, isCompressed);
  if (source.at !== bytes.length)
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

/** The bytes of all compressed pages after decompression. */
function plainBytesOf(pages: readonly StoredPage[]): number {
  return pages.reduce((sum, { isCompressed, plainBytes }) => sum + (isCompressed ? plainBytes : 0), 0); // prettier-ignore
}

/** `output` has one byte more than they need, if it is given. */
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

/** Whether a chunk is compressed with zstd; throws a `RangeError` for a codec other than zstd and none. */
export function isZstd(codec: string | number): boolean {
  if (codec === 'ZSTD' || codec === codecId.zstd) return true;
  if (codec === 'UNCOMPRESSED' || codec === codecId.none) return false;
  throw new RangeError(`codec ${codec} is not supported`);
}

function storedPage(source: ByteSource, isCompressed: boolean): StoredPage {
  const { storedBytes, ...header } = pageHeader(source);
  return { ...header, isCompressed, body: source.take(storedBytes) };
}

interface PageHeader {
  readonly type: number;
  readonly plainBytes: number;
  readonly storedBytes: number;
  readonly count: number;
  readonly encoding: number;
}

/** Reads a `PageHeader` (parquet.thrift) of a dictionary page or a data page of version 1; the source is then at the body. */
function pageHeader(source: ByteSource): PageHeader {
  const reader = new ThriftReader(source);
  let [type, plainBytes, storedBytes, count, encoding] = [-1, -1, -1, -1, -1];
  reader.start();
  for (let id = reader.next(); id !== 0; id = reader.next()) {
    if (id === 1) type = reader.integer();
    else if (id === 2) plainBytes = reader.integer();
    else if (id === 3) storedBytes = reader.integer();
    else if (id === (type === pageType.dictionary ? 7 : 5)) {
      reader.start();
      for (let inner = reader.next(); inner !== 0; inner = reader.next()) {
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

/** Other writers use the older name of the dictionary encoding on both kinds of pages (PLAIN_DICTIONARY). */
function encodingOf(encoding: number, type: number): number {
  if (encoding !== plainDictionary) return encoding;
  return type === pageType.dictionary ? encodingId.plain : encodingId.rleDictionary;
}

const plainDictionary = 2;
