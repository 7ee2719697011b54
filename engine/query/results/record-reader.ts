import { AppError } from '../../core/errors.js';
import { acquireBuffer, growBuffer, releaseBuffer } from '../../core/buffers.js';
import { PageDecompressor, type DecompressedPage } from '../../parquet/read-pages.js';
import type { RowGroup, SegmentColumnChunk, SegmentFile } from '../../store/segment-file.js';
import type { LeafCursor, LeafPages } from './leaf-cursor.js';
import { convertLeafValues } from './convert-leaf-values.js';
import { unpackRow, unpackPage, type LeafPage } from './leaf-page.js';
import { readLeafValues, type LeafValues } from './leaf-values.js';
import { pageLocations } from './page-locations.js';

/** Caches decoded pages (whose keys satisfy `isPageKey`) and dictionaries; it may drop them at any time. */
export interface PageCache {
  get(key: string): unknown;
  set(key: string, value: unknown, bytes: number): void;
  /** Present if the requested records are scattered, so that most pages are not worth caching. */
  readonly rows?: SingleRowSource;
}

/** Provides single rows, so that whole pages need not be decoded. */
interface SingleRowSource {
  /**
   * Returns how many earlier queries requested rows of the page with this key; 0 if the page would not stay in the cache. Unless it is 0,
   * the page is cached once it has been decoded as a whole.
   */
  earlierRequests(key: string): number;
  /** Returns the leaf's value in a row of a row group as a page of one row; undefined if no column in memory has the value. */
  row(file: SegmentFile, group: RowGroup, cursor: LeafCursor, row: number): LeafPage | undefined;
}

/** Returns whether a key of a `PageCache` belongs to a page. */
export function isPageKey(key: string): boolean {
  return key.startsWith('page ');
}

/** Moves the cursors of a tree to single records of segments that have the tree's shape, and reads the pages that contain the records. */
export class RecordReader {
  readonly #cursors: readonly LeafCursor[];
  readonly #cache: PageCache;
  /**
   * The pages of each row group that was entered, by file and row group. They are kept because the same few pages are requested repeatedly.
   */
  readonly #pagesByFile = new Map<SegmentFile, (readonly LeafPages[] | undefined)[]>();
  #file: SegmentFile | undefined;
  #group: RowGroup | undefined;
  #groupIndex = 0;

  constructor(cursors: readonly LeafCursor[], cache: PageCache) {
    this.#cursors = cursors;
    this.#cache = cache;
  }

  /** Moves to a row of a segment. Throws `damaged` if the file cannot be read. */
  moveTo(file: SegmentFile, row: number): void {
    let group = this.#group;
    if (
      file !== this.#file ||
      group === undefined ||
      row < group.first ||
      row >= group.first + group.rows
    )
      group = this.#enter(file, row);
    const cursors = this.#cursors;
    const groupRow = row - group.first;
    let isLoaded = true;
    for (let i = 0; i < cursors.length; i++) {
      const cursor = cursors[i]!;
      if (
        (groupRow < cursor.firstPageRow || groupRow >= cursor.endPageRow) &&
        !cursor.selectPageOfRow(groupRow)
      )
        isLoaded = false;
    }
    try {
      if (!isLoaded) this.#load(file, group, groupRow);
    } catch (error) {
      // No row group counts as current, so that rows that failed to load are not mistaken for loaded ones.
      this.#group = undefined;
      throw unreadableRecordsError(file, error);
    }
    for (let i = 0; i < cursors.length; i++) {
      const cursor = cursors[i]!;
      cursor.moveTo(groupRow - cursor.firstPageRow);
    }
  }

  /**
   * Returns the rows of the segment that are in the current pages of all cursors: from `begin` to `end` (exclusive). `first` is the first
   * row of the row group.
   */
  rowRangeInMemory(): { readonly first: number; readonly begin: number; readonly end: number } {
    const { first, rows } = this.#group!;
    let begin = 0;
    let end = rows;
    for (const cursor of this.#cursors) {
      if (cursor.firstPageRow > begin) begin = cursor.firstPageRow;
      if (cursor.endPageRow < end) end = cursor.endPageRow;
    }
    return { first, begin: first + begin, end: first + end };
  }

  #enter(file: SegmentFile, row: number): RowGroup {
    const { groups } = file;
    let index = 0;
    while (index < groups.length - 1 && row >= groups[index + 1]!.first) index++;
    const group = groups[index];
    if (group === undefined || !(row >= 0 && row < group.first + group.rows))
      throw new AppError('internal', `segment ${file.path} has no row ${row}`);
    try {
      const pagesOfFile = this.#pagesByFile.get(file) ?? [];
      this.#pagesByFile.set(file, pagesOfFile);
      const pages = (pagesOfFile[index] ??= this.#cursors.map(({ leaf }) => ({
        locations: pageLocations(file, group, leaf),
        pages: [],
        rowRequestCounts: new Map<number, number>(),
      })));
      for (const [i, cursor] of this.#cursors.entries()) cursor.enterRowGroup(pages[i]!);
    } catch (error) {
      throw unreadableRecordsError(file, error);
    }
    this.#file = file;
    this.#group = group;
    this.#groupIndex = index;
    return group;
  }

  /** Loads the current pages; if they are not worth decoding as a whole, loads only the row. */
  #load(file: SegmentFile, group: RowGroup, row: number): void {
    const { rows } = this.#cache;
    const isWhole = rows === undefined || this.#areWorthReading(file, group, rows);
    const pages = new PageReader(file);
    try {
      for (const cursor of this.#cursors) {
        if (cursor.isLoaded) continue;
        if (isWhole) cursor.setLoadedPage(this.#page(pages, group, cursor));
        else cursor.setRowPage(row, rows.row(file, group, cursor, row) ?? this.#row(pages, group, cursor, row)); // prettier-ignore
      }
    } finally {
      pages.release();
    }
  }

  /**
   * Returns whether the current pages are worth decoding as a whole, because earlier queries and this reader have requested several of
   * their rows. The decision about the first page that is not loaded is applied to all pages.
   */
  #areWorthReading(file: SegmentFile, group: RowGroup, rows: SingleRowSource): boolean {
    const cursor = this.#cursors.find(({ isLoaded }) => !isLoaded)!;
    const { pageNumber, pages } = cursor;
    const { name } = this.#keysOf(file, group.chunks[cursor.leaf.index]!, cursor);
    const rowRequestCounts = pages.rowRequestCounts.get(pageNumber) ?? 0;
    pages.rowRequestCounts.set(pageNumber, rowRequestCounts + 1);
    return rows.earlierRequests(`rows ${name} ${pageNumber}`) + rowRequestCounts >= maxSingleRows;
  }

  /** Returns the current page of a cursor, from the cache or the file. */
  #page(pages: PageReader, group: RowGroup, cursor: LeafCursor): LeafPage {
    const { leaf, type, pageNumber, firstPageRow, endPageRow } = cursor;
    const chunk = group.chunks[leaf.index]!;
    const keys = this.#keysOf(pages.file, chunk, cursor);
    const key = (keys.pages[pageNumber] ??= `page ${keys.name} ${pageNumber}`);
    const cachedPage = this.#cache.get(key) as LeafPage | undefined;
    if (cachedPage !== undefined) return cachedPage;
    const { page, dictionary } = this.#readStored(pages, chunk, cursor);
    const unpackedPage = unpackPage(page, leaf, type, endPageRow - firstPageRow, dictionary);
    this.#cache.set(key, unpackedPage, unpackedPage.bytes);
    return unpackedPage;
  }

  /** Reads the current page of a cursor, and the dictionary of its chunk, if it has one, from the cache or the file. */
  #readStored(
    pages: PageReader,
    chunk: SegmentColumnChunk,
    cursor: LeafCursor,
  ): PageWithDictionary {
    const { leaf, type, pageNumber } = cursor;
    const { dictionaryOffset, dataOffset } = chunk;
    let dictionary: LeafValues | undefined;
    if (dictionaryOffset !== undefined) {
      const key = this.#keysOf(pages.file, chunk, cursor).dictionary;
      dictionary = this.#cache.get(key) as LeafValues | undefined;
      if (dictionary === undefined) {
        const page = pages.read(chunk, dictionaryOffset, dataOffset - dictionaryOffset);
        dictionary = convertLeafValues(readLeafValues(page, leaf.physical, page.count), leaf, type);
        this.#cache.set(key, dictionary, dictionary.memorySize);
      }
    }
    const { offsets, bytes } = cursor.pages.locations;
    return { page: pages.read(chunk, offsets[pageNumber]!, bytes[pageNumber]!), dictionary };
  }

  /** Returns one row of the current page of a cursor. */
  #row(pages: PageReader, group: RowGroup, cursor: LeafCursor, row: number): LeafPage {
    const { leaf, type, firstPageRow } = cursor;
    const { page, dictionary } = this.#readStored(pages, group.chunks[leaf.index]!, cursor);
    return unpackRow(page, leaf, type, row - firstPageRow, dictionary);
  }

  #keysOf(file: SegmentFile, chunk: SegmentColumnChunk, { leaf, type }: LeafCursor): PageCacheKeys {
    let keys = cacheKeysByChunk.get(chunk);
    if (keys === undefined || keys.type !== type) {
      const name = `${file.path} ${this.#groupIndex} ${leaf.index} ${type}`;
      keys = { type, name, dictionary: `dictionary ${name}`, pages: [] };
      cacheKeysByChunk.set(chunk, keys);
    }
    return keys;
  }
}

/**
 * Number of requests for rows of a page, by earlier queries and by this reader, after which the page is decoded as a whole. That takes as
 * long as two of its rows one by one, but hundreds of kilobytes of memory, and most pages are not requested so often.
 */
const maxSingleRows = 4;

/** A page, and the dictionary of its column chunk, converted to the type of the column; undefined if it has none. */
interface PageWithDictionary {
  readonly page: DecompressedPage;
  readonly dictionary: LeafValues | undefined;
}

/** Reads pages of a file one after the other into the same memory: a record needs some thirty pages. Call `release` after use. */
class PageReader {
  readonly file: SegmentFile;
  readonly #decompressor = new PageDecompressor();
  #buffer = acquireBuffer(Uint8Array, 1 << 16);

  constructor(file: SegmentFile) {
    this.file = file;
  }

  /** Returns the page of a chunk that begins at offset `at` of the file and has `bytes` bytes. It is valid until the next call. */
  read({ isCompressed }: SegmentColumnChunk, at: number, bytes: number): DecompressedPage {
    if (bytes > this.#buffer.length) this.#buffer = growBuffer(this.#buffer, bytes);
    const storedBytes = this.#buffer.subarray(0, bytes);
    this.file.readInto(storedBytes, at);
    return this.#decompressor.decompress({ bytes: storedBytes, isCompressed });
  }

  release(): void {
    this.#decompressor.release();
    releaseBuffer(this.#buffer);
  }
}

/** The cache keys of the pages of a chunk whose values are read as a given type. */
interface PageCacheKeys {
  readonly type: LeafCursor['type'];
  readonly name: string;
  readonly dictionary: string;
  readonly pages: string[];
}

/**
 * The cache keys of each chunk's pages. They are stored and reused, because a page of results uses a thousand keys, mostly the same ones,
 * and a reused string is hashed only once.
 */
const cacheKeysByChunk = new WeakMap<SegmentColumnChunk, PageCacheKeys>();

/** Returns the error for a file whose records cannot be read. */
export function unreadableRecordsError(file: SegmentFile, error: unknown): AppError {
  return error instanceof AppError
    ? error
    : file.damagedError('has records that cannot be read', error);
}
