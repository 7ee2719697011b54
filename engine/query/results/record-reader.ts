import { AppError } from '../../core/errors.js';
import { acquire, release } from '../../core/buffers.js';
import { withPages, type DecompressedPage } from '../../parquet/read-pages.js';
import type { RowGroup, SegmentChunk, SegmentFile } from '../memory/segment-file.js';
import type { LeafCursor, LeafPages } from './leaf-cursor.js';
import { convertedTo } from './converted.js';
import { rowOfPage, wholePage, type LeafPage } from './leaf-page.js';
import { valuesOf, type LeafValues } from './leaf-values.js';
import { pageLocations } from './page-locations.js';

/** Keeps unpacked pages (`isPageKey`) and dictionaries for as long as it likes. */
export interface PageCache {
  get(key: string): unknown;
  set(key: string, value: unknown, bytes: number): void;
  /** For records that lie apart, of which most pages are not worth keeping. */
  readonly rows?: SparseRows;
}

/** Where single rows are read from, instead of whole pages. */
export interface SparseRows {
  /** Whether the pages of some rows, given by a key, are worth decoding and keeping as a whole; if not, only the rows that are asked for are. */
  isWorthKeeping(key: string): boolean;
  /** A row of a row group as a page of its own, if that is in memory. */
  row(file: SegmentFile, group: RowGroup, cursor: LeafCursor, row: number): LeafPage | undefined;
}

/** Whether a key of a `PageCache` belongs to a page. */
export function isPageKey(key: string): boolean {
  return key.startsWith('page ');
}

/** Moves the cursors of a tree to single records of segments that have its shape, and reads the pages that hold them. */
export class RecordReader {
  readonly #cursors: readonly LeafCursor[];
  readonly #cache: PageCache;
  /** The row groups that were entered, by file: the same few pages are asked for again and again. */
  readonly #known = new Map<SegmentFile, (readonly LeafPages[] | undefined)[]>();
  #file: SegmentFile | undefined;
  #group: RowGroup | undefined;
  #groupIndex = 0;

  constructor(cursors: readonly LeafCursor[], cache: PageCache) {
    this.#cursors = cursors;
    this.#cache = cache;
  }

  /** Moves to a row of a segment. Throws `damaged` where what is stored cannot be read. */
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
      if ((inGroup < cursor.first || inGroup >= cursor.last) && !cursor.turnTo(inGroup))
        isLoaded = false;
    }
    try {
      if (!isLoaded) this.#load(file, group, inGroup);
    } catch (error) {
      // Rows that were not loaded must not be taken for loaded ones.
      this.#group = undefined;
      throw unreadable(file, error);
    }
    for (let i = 0; i < cursors.length; i++) {
      const cursor = cursors[i]!;
      cursor.moveTo(inGroup - cursor.first);
    }
  }

  /**
   * The rows of the segment around the current one whose pages are the current ones of all cursors: from `begin` up to and not including `end`.
   * `first` is the first row of the row group.
   */
  loadedRows(): { readonly first: number; readonly begin: number; readonly end: number } {
    const { first, rows } = this.#group!;
    let begin = 0;
    let end = rows;
    for (const cursor of this.#cursors) {
      if (cursor.first > begin) begin = cursor.first;
      if (cursor.last < end) end = cursor.last;
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
        visited: new Set<number>(),
      })));
      for (const [i, cursor] of this.#cursors.entries()) cursor.enter(pages[i]!);
    } catch (error) {
      throw unreadable(file, error);
    }
    this.#file = file;
    this.#group = group;
    this.#groupIndex = index;
    return group;
  }

  /** Loads the current pages, or of pages that are not worth it only the row. */
  #load(file: SegmentFile, group: RowGroup, row: number): void {
    const { rows } = this.#cache;
    const isWhole = rows === undefined || this.#areWorthReading(file, group, rows);
    if (isWhole) return this.#loadPages(file, group);
    for (const cursor of this.#cursors) {
      if (cursor.isLoaded) continue;
      const chunk = group.chunks[cursor.leaf.index]!;
      const page = rows.row(file, group, cursor, row) ?? readRow(file, chunk, cursor, row);
      cursor.loadRow(row, page);
    }
  }

  /** Whether the current pages are worth keeping, or this reader has read another row of them; the first of them decides for all. */
  #areWorthReading(file: SegmentFile, group: RowGroup, rows: SparseRows): boolean {
    const cursor = this.#cursors.find(({ isLoaded }) => !isLoaded)!;
    const { number, pages } = cursor;
    const { name } = this.#keysOf(file, group.chunks[cursor.leaf.index]!, cursor);
    const key = `rows ${name} ${number}`;
    const isWorthReading = rows.isWorthKeeping(key) || pages.visited.has(number);
    pages.visited.add(number);
    return isWorthReading;
  }

  /** Loads the current pages that are not cached, all together. */
  #loadPages(file: SegmentFile, group: RowGroup): void {
    const wanted: (StoredBytes & { accept(plain: DecompressedPage): void })[] = [];
    for (const cursor of this.#cursors) {
      if (cursor.isLoaded) continue;
      const { leaf, type, number, pages } = cursor;
      const { locations } = pages;
      const chunk = group.chunks[leaf.index]!;
      const keys = this.#keysOf(file, chunk, cursor);
      const pageKey = (keys.pages[number] ??= `page ${keys.name} ${number}`);
      const known = this.#cache.get(pageKey) as LeafPage | undefined;
      if (known !== undefined) {
        cursor.load(known);
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
              const stored = valuesOf(plain, leaf.physical, plain.count);
              dictionary = convertedTo(stored, leaf, type);
              this.#cache.set(key, dictionary, dictionary.bytes);
            },
          });
      }
      wanted.push({
        at: locations.offsets[number]!,
        bytes: locations.bytes[number]!,
        isCompressed,
        accept: (plain) => {
          const page = wholePage(plain, leaf, type, cursor.last - cursor.first, dictionary);
          cursor.load(page);
          this.#cache.set(pageKey, page, page.bytes);
        },
      });
    }
    if (wanted.length === 0) return;
    readPages(file, wanted, (plain) => {
      for (const [i, page] of plain.entries()) wanted[i]!.accept(page);
    });
  }

  #keysOf(file: SegmentFile, chunk: SegmentChunk, { leaf, type }: LeafCursor): ChunkKeys {
    let keys = knownKeys.get(chunk);
    if (keys === undefined || keys.type !== type) {
      keys = { type, name: `${file.path} ${this.#groupIndex} ${leaf.index} ${type}`, pages: [] };
      knownKeys.set(chunk, keys);
    }
    return keys;
  }
}

/** A row of the current page of a cursor. */
function readRow(
  file: SegmentFile,
  { dictionaryOffset, dataOffset, isCompressed }: SegmentChunk,
  { leaf, type, number, first, pages: { locations } }: LeafCursor,
  row: number,
): LeafPage {
  const { offsets, bytes } = locations;
  const stored = [{ at: offsets[number]!, bytes: bytes[number]!, isCompressed }];
  if (dictionaryOffset !== undefined)
    stored.push({ at: dictionaryOffset, bytes: dataOffset - dictionaryOffset, isCompressed });
  return readPages(file, stored, ([page, dictionary]) =>
    rowOfPage(page!, leaf, type, row - first, dictionary),
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
  const buffer = acquire(Uint8Array, pages.reduce((sum, { bytes }) => sum + bytes, 0)); // prettier-ignore
  try {
    let end = 0;
    const stored = pages.map(({ at, bytes: size, isCompressed }) => {
      const bytes = buffer.subarray(end, (end += size));
      file.readInto(bytes, at);
      return { bytes, isCompressed };
    });
    return withPages(stored, use);
  } finally {
    release(buffer);
  }
}

/** The keys in the cache of the pages of a chunk whose values are read as `type`. */
interface ChunkKeys {
  readonly type: LeafCursor['type'];
  readonly name: string;
  readonly pages: string[];
}

/** The keys of each chunk's pages. A page of records asks for a thousand keys, mostly the same ones: a string that is kept is hashed once. */
const knownKeys = new WeakMap<SegmentChunk, ChunkKeys>();

/** The error for a file whose records cannot be read. */
export function unreadable(file: SegmentFile, error: unknown): AppError {
  return error instanceof AppError ? error : file.damaged('has records that cannot be read', error);
}
