import { AppError } from '../../core/errors.js';
import { acquireBuffer, releaseBuffer } from '../../core/buffers.js';
import { withPages, type DecompressedPage } from '../../parquet/read-pages.js';
import type { RowGroup, SegmentChunk, SegmentFile } from '../../store/segment-file.js';
import type { LeafCursor, LeafPages } from './leaf-cursor.js';
import { convertLeafValues } from './converted.js';
import { unpackRow, unpackPage, type LeafPage } from './leaf-page.js';
import { readLeafValues, type LeafValues } from './leaf-values.js';
import { pageLocations } from './page-locations.js';

/** Caches decompressed pages (whose keys satisfy `isPageKey`) and dictionaries; it may drop them at any time. */
export interface PageCache {
  get(key: string): unknown;
  set(key: string, value: unknown, bytes: number): void;
  /** Present if the requested records are scattered, so that most pages are not worth caching. */
  readonly rows?: SingleRowSource;
}

/** Provides single rows, so that whole pages need not be decoded. */
interface SingleRowSource {
  /** Returns whether a page, given by a key, is worth decoding and caching as a whole; if not, only the requested rows are decoded. */
  isWorthKeeping(key: string): boolean;
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
  /** The row groups that were read, by file: the same few pages are requested repeatedly. */
  readonly #known = new Map<SegmentFile, (readonly LeafPages[] | undefined)[]>();
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
    const inGroup = row - group.first;
    let isLoaded = true;
    for (let i = 0; i < cursors.length; i++) {
      const cursor = cursors[i]!;
      if (
        (inGroup < cursor.firstPageRow || inGroup >= cursor.endPageRow) &&
        !cursor.selectPageOfRow(inGroup)
      )
        isLoaded = false;
    }
    try {
      if (!isLoaded) this.#load(file, group, inGroup);
    } catch (error) {
      // No row group counts as current, so that rows that failed to load are not mistaken for loaded ones.
      this.#group = undefined;
      throw unreadableRecordsError(file, error);
    }
    for (let i = 0; i < cursors.length; i++) {
      const cursor = cursors[i]!;
      cursor.moveTo(inGroup - cursor.firstPageRow);
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
      const ofFile = this.#known.get(file) ?? [];
      this.#known.set(file, ofFile);
      const pages = (ofFile[index] ??= this.#cursors.map(({ leaf }) => ({
        locations: pageLocations(file, group, leaf),
        pages: [],
        singleRows: new Map<number, number>(),
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
    if (isWhole) return this.#loadPages(file, group);
    for (const cursor of this.#cursors) {
      if (cursor.isLoaded) continue;
      const chunk = group.chunks[cursor.leaf.index]!;
      const page = rows.row(file, group, cursor, row) ?? readRow(file, chunk, cursor, row);
      cursor.setRowPage(row, page);
    }
  }

  /**
   * Returns whether the current pages are worth decoding as a whole, because they are requested often enough to be cached, or because this
   * reader has read several rows of them. The decision about the first page that is not loaded is applied to all pages.
   */
  #areWorthReading(file: SegmentFile, group: RowGroup, rows: SingleRowSource): boolean {
    const cursor = this.#cursors.find(({ isLoaded }) => !isLoaded)!;
    const { pageNumber, pages } = cursor;
    const { name } = this.#keysOf(file, group.chunks[cursor.leaf.index]!, cursor);
    const key = `rows ${name} ${pageNumber}`;
    const singleRows = pages.singleRows.get(pageNumber) ?? 0;
    pages.singleRows.set(pageNumber, singleRows + 1);
    return rows.isWorthKeeping(key) || singleRows >= maxSingleRows;
  }

  /** Loads the current pages that are not cached, all together. */
  #loadPages(file: SegmentFile, group: RowGroup): void {
    const wanted: (StoredBytes & { accept(plain: DecompressedPage): void })[] = [];
    for (const cursor of this.#cursors) {
      if (cursor.isLoaded) continue;
      const { leaf, type, pageNumber, pages } = cursor;
      const { locations } = pages;
      const chunk = group.chunks[leaf.index]!;
      const keys = this.#keysOf(file, chunk, cursor);
      const pageKey = (keys.pages[pageNumber] ??= `page ${keys.name} ${pageNumber}`);
      const known = this.#cache.get(pageKey) as LeafPage | undefined;
      if (known !== undefined) {
        cursor.setLoadedPage(known);
        continue;
      }
      const { isCompressed, dictionaryOffset, dataOffset } = chunk;
      let dictionary: LeafValues | undefined;
      if (dictionaryOffset !== undefined) {
        const key = `dictionary ${keys.name}`;
        dictionary = this.#cache.get(key) as LeafValues | undefined;
        if (dictionary === undefined)
          wanted.push({
            at: dictionaryOffset,
            bytes: dataOffset - dictionaryOffset,
            isCompressed,
            accept: (plain) => {
              const stored = readLeafValues(plain, leaf.physical, plain.count);
              dictionary = convertLeafValues(stored, leaf, type);
              this.#cache.set(key, dictionary, dictionary.memorySize);
            },
          });
      }
      wanted.push({
        at: locations.offsets[pageNumber]!,
        bytes: locations.bytes[pageNumber]!,
        isCompressed,
        accept: (plain) => {
          const page = unpackPage(
            plain,
            leaf,
            type,
            cursor.endPageRow - cursor.firstPageRow,
            dictionary,
          );
          cursor.setLoadedPage(page);
          this.#cache.set(pageKey, page, page.bytes);
        },
      });
    }
    if (wanted.length === 0) return;
    readPages(file, wanted, (plain) => {
      for (const [i, page] of plain.entries()) wanted[i]!.accept(page);
    });
  }

  #keysOf(file: SegmentFile, chunk: SegmentChunk, { leaf, type }: LeafCursor): PageCacheKeys {
    let keys = cacheKeysByChunk.get(chunk);
    if (keys === undefined || keys.type !== type) {
      keys = { type, name: `${file.path} ${this.#groupIndex} ${leaf.index} ${type}`, pages: [] };
      cacheKeysByChunk.set(chunk, keys);
    }
    return keys;
  }
}

/** Number of rows of a page that are read one by one before the page is decoded as a whole, which takes as long as some of its rows. */
const maxSingleRows = 4;

/** A row of the current page of a cursor. */
function readRow(
  file: SegmentFile,
  { dictionaryOffset, dataOffset, isCompressed }: SegmentChunk,
  { leaf, type, pageNumber: number, firstPageRow, pages: { locations } }: LeafCursor,
  row: number,
): LeafPage {
  const { offsets, bytes } = locations;
  const stored = [{ at: offsets[number]!, bytes: bytes[number]!, isCompressed }];
  if (dictionaryOffset !== undefined)
    stored.push({ at: dictionaryOffset, bytes: dataOffset - dictionaryOffset, isCompressed });
  return readPages(file, stored, ([page, dictionary]) =>
    unpackRow(page!, leaf, type, row - firstPageRow, dictionary),
  );
}

/** A page in a file: its offset and its size. */
interface StoredBytes {
  readonly at: number;
  readonly bytes: number;
  readonly isCompressed: boolean;
}

/** Calls `use` with pages of a file, which are valid until it returns. Their memory is reused: a block of records needs some thirty pages. */
function readPages<T>(
  file: SegmentFile,
  pages: readonly StoredBytes[],
  use: (plain: readonly DecompressedPage[]) => T,
): T {
  const buffer = acquireBuffer(Uint8Array, pages.reduce((sum, { bytes }) => sum + bytes, 0)); // prettier-ignore
  try {
    let end = 0;
    const stored = pages.map(({ at, bytes: size, isCompressed }) => {
      const bytes = buffer.subarray(end, (end += size));
      file.readInto(bytes, at);
      return { bytes, isCompressed };
    });
    return withPages(stored, use);
  } finally {
    releaseBuffer(buffer);
  }
}

/** The cache keys of the pages of a chunk whose values are read as a given type. */
interface PageCacheKeys {
  readonly type: LeafCursor['type'];
  readonly name: string;
  readonly pages: string[];
}

/**
 * The cache keys of each chunk's pages. They are stored and reused, because a page of results uses a thousand keys, mostly the same ones,
 * and a reused string is hashed only once.
 */
const cacheKeysByChunk = new WeakMap<SegmentChunk, PageCacheKeys>();

/** Returns the error for a file whose records cannot be read. */
export function unreadableRecordsError(file: SegmentFile, error: unknown): AppError {
  return error instanceof AppError
    ? error
    : file.damagedError('has records that cannot be read', error);
}
