import type { DecodedValues } from '../../parquet/decode-values.js';
import { ColumnMatcher } from '../../text/column-matcher.js';
import { ColumnReader } from '../../text/column-reader.js';
import { indexedName } from '../../text/index-writer.js';
import { physicalType } from '../../parquet/parquet-schema.js';
import type { FieldRef } from '../predicate/predicate.js';
import type { Unsupported } from '../unsupported.js';
import {
  AdmissionCache,
  cacheStatIndices,
  entryOverheadBytes,
  newCacheStats,
} from './admission-cache.js';
import { fieldCacheKey, fieldKeysOf, type FieldKeys, type FieldKeyCache } from './field-keys.js';
import type { LoadedColumns } from './cached-records.js';
import type {
  DistinctStrings,
  MemoryColumn,
  SegmentView,
  SelectionCache,
  StringHashes,
} from './match/column.js';
import { loadElements, type LoadedElements } from './elements.js';
import { GrowingDictionary } from './growing-dictionary.js';
import {
  loadColumn,
  loadDistinct,
  recordLevel,
  type RowLevel,
  withDoubles,
} from './load-column.js';
import { dictionaryOf, loadPage, decodedByteSize, type RowPage } from './page-column.js';
import { deletedRows } from '../../store/deletion-vector.js';
import { packSelection, unpackSelection, type PackedSelection } from './match/selection-vector.js';
import type { ShardSegment, ShardSnapshot } from './shard-protocol.js';
import { SegmentFile, type SegmentColumnChunk } from '../../store/segment-file.js';
import { logicalPathOf, physicalPath, type SegmentLeaf } from '../../store/segment-leaves.js';
import { stringHashes } from './string-hashes.js';
import { cachedRowOrder } from './row-order.js';

/** Functions that read single pages of a segment through the cache. */
export interface SegmentPages {
  readonly file: SegmentFile;
  /** Whether the cache has the file, with its footer. */
  readonly isFileCached: boolean;
  /** Returns whether the whole column of a field, given by its `fieldCacheKey`, is in memory, or is known to be absent. */
  hasColumn(name: string): boolean;
  /**
   * Returns the whole column of a field if it is in memory, or `absent` if the segment is known not to store it. The call does not count as
   * a use of the column.
   */
  peekColumn(name: string): CachedColumn | undefined;
  /**
   * Returns whether loading the whole column of a field pays: at least two of the latest queries, including the current one, asked for it,
   * and a column of `bytes` bytes would stay in the cache. The call counts as a use of the column.
   */
  isWorthLoading(name: string, bytes: number): boolean;
  /**
   * For a column in memory of strings without a dictionary, returns whether its hash table is in memory, too; otherwise undefined. The call
   * counts as a use of the column.
   */
  hashTableState(name: string): 'made' | 'unmade' | undefined;
  /** Returns the words of a chunk's Bloom filter; undefined if it has none. */
  readonly filter: (chunk: SegmentColumnChunk) => Uint32Array | undefined;
  /** Returns the values of a field in a page; undefined if the segment does not store the field. */
  readonly column: (page: RowPage, field: FieldRef) => MemoryColumn | undefined;
}

/**
 * Everything that a shard caches of its segments: columns and their dictionaries, elements of lists, hashes of strings, single pages, Bloom
 * filters, selections, orders of rows, texts of records, parts of text indexes, footers and page indexes of files, up to a limit in bytes.
 * `AdmissionCache` decides what stays.
 */
export class SegmentCache {
  /**
   * The cached values by key: a member of `FieldKeys` (for a page, after the number of its first row), a key that begins with the kind of
   * the value, such as `filter`, or the path of a file. `absent` stands for something that the segment does not have, such as a column.
   */
  readonly admissionCache: AdmissionCache;
  /**
   * The pages from which records are read, and the dictionaries of these pages. They have a part of the limit of their own, because queries
   * that ask for different records each time would fill the whole cache with pages that save less than half of the time of such a query.
   */
  readonly pageCache: AdmissionCache;
  /** The limit in bytes of `admissionCache`. */
  readonly #bytes: number;
  /** The accessors of the segments that have been requested. */
  readonly #accessors = new WeakMap<ShardSegment, SegmentAccessors>();
  readonly #filterKeys = new WeakMap<SegmentColumnChunk, string>();
  /** The files that have been used since the last call of `releaseIdle`, by path. */
  readonly #usedFiles = new Map<string, SegmentFile>();
  /** The text indexes in which terms may have been looked up. */
  readonly #searchedMatchers = new Set<ColumnMatcher>();

  /** `counts` is that of the thread's predecessor if the thread replaces one that has exited. */
  constructor(bytes: number, counts = newCacheStats()) {
    counts[cacheStatIndices.bytes] = 0;
    const pageBytes = Math.floor(bytes / pageCacheDivisor);
    this.#bytes = bytes - pageBytes;
    this.admissionCache = new AdmissionCache(this.#bytes, counts);
    this.pageCache = new AdmissionCache(pageBytes, counts);
  }

  /** Begins a query, to which the following calls belong. */
  beginQuery(): void {
    this.admissionCache.beginQuery();
    this.pageCache.beginQuery();
  }

  /** Maximum memory in bytes, in total, of the opened files that warming keeps in the cache; the rest is for columns. */
  get maxWarmedFileBytes(): number {
    return this.#bytes / 4;
  }

  /** True while less than 80 % of the limit is used, so that adding a column rarely displaces another one. */
  get hasRoom(): boolean {
    return this.admissionCache.size < this.#bytes * 0.8;
  }

  close(): void {
    this.releaseIdle();
    this.admissionCache.clear();
    this.pageCache.clear();
  }

  /** Returns the columns of a segment, each of which is loaded at its first use. */
  view(snapshot: ShardSnapshot, segment: ShardSegment): SegmentView {
    return this.#segment(snapshot, segment).view;
  }

  /** Returns the functions that access single pages of a segment. */
  pages(snapshot: ShardSnapshot, segment: ShardSegment): SegmentPages {
    return this.#segment(snapshot, segment).pages;
  }

  /** Returns the accessors of a segment, which are created at its first use. A segment object belongs to one snapshot only. */
  #segment(snapshot: ShardSnapshot, segment: ShardSegment): SegmentAccessors {
    const knownAccessors = this.#accessors.get(segment);
    if (knownAccessors !== undefined) return knownAccessors;
    const level = recordLevel(segment.rows);
    const scope = { snapshot, segment, depth: 0, level, keys: new Map<string, FieldKeys>() };
    const texts: OpenedTexts = new WeakMap();
    const view = {
      ...this.#viewOf(scope),
      deleted: segment.deletion && deletedRows(segment.deletion),
      rowOrder: () => cachedRowOrder(this.admissionCache, segment.path, (field) => this.#column(scope, field)), // prettier-ignore
      selections: this.#selections(segment),
      text: (field: FieldRef) => this.#text(scope, texts, field),
    };
    const newAccessors = { view, pages: this.#pagesOf(scope) };
    this.#accessors.set(segment, newAccessors);
    return newAccessors;
  }

  /** Returns a function that finds columns in memory by file, leaf and type. A lookup does not count as a use of the column. */
  columnsOf({ columns }: ShardSnapshot): LoadedColumns {
    return ({ path }, leaf, type) => {
      const key = `0\n${path}\n${type}\n${logicalPathOf(columns, leaf)}`;
      const cachedColumn = this.admissionCache.peek(key) as CachedColumn | undefined;
      return cachedColumn === 'absent' ? undefined : cachedColumn;
    };
  }

  #selections({ path, rows }: ShardSegment): SelectionCache {
    const keyOfCondition = (key: string): string => `selection\n${path}\n${key}`;
    return {
      get: (key) => {
        const cachedSelection = this.admissionCache.get(keyOfCondition(key)) as
          PackedSelection | undefined;
        return cachedSelection && unpackSelection(cachedSelection, rows);
      },
      set: (key, selection) => {
        const packedSelection = packSelection(selection);
        const bytes = packedSelection === 'all' ? 0 : packedSelection.byteLength;
        this.admissionCache.set(keyOfCondition(key), packedSelection, bytes + entryOverheadBytes);
      },
    };
  }

  #pagesOf(scope: RowScope): SegmentPages {
    const fileOf = (): SegmentFile => this.file(scope.segment);
    const isFileCached = (): boolean => this.admissionCache.has(scope.segment.path);
    return {
      get file() {
        return fileOf();
      },
      get isFileCached() {
        return isFileCached();
      },
      hasColumn: (name) => this.admissionCache.has(fieldKeysOf(scope, name).column),
      peekColumn: (name) =>
        this.admissionCache.peek(fieldKeysOf(scope, name).column) as CachedColumn | undefined,
      isWorthLoading: (name, bytes) => {
        const { column: columnKey } = fieldKeysOf(scope, name);
        this.admissionCache.get(columnKey);
        return (
          this.admissionCache.useCountOf(columnKey) > 1 &&
          this.admissionCache.wouldStay(columnKey, bytes)
        );
      },
      hashTableState: (name) => {
        const { column: columnKey, hashes: hashesKey } = fieldKeysOf(scope, name);
        const cachedColumn = this.admissionCache.get(columnKey) as CachedColumn | undefined;
        if (typeof cachedColumn !== 'object' || cachedColumn.values.kind !== 'strings')
          return undefined;
        return this.admissionCache.has(hashesKey) ? 'made' : 'unmade';
      },
      filter: (chunk) => this.#filter(fileOf(), chunk),
      column: (page, field) => this.#pageColumn(fileOf(), scope, page, field),
    };
  }

  #filter(file: SegmentFile, chunk: SegmentColumnChunk): Uint32Array | undefined {
    let key = this.#filterKeys.get(chunk);
    if (key === undefined)
      this.#filterKeys.set(chunk, (key = `filter\n${file.path}\n${chunk.begin}`));
    const cachedWords = this.admissionCache.get(key) as Uint32Array | undefined;
    if (cachedWords !== undefined) return cachedWords;
    const filterWords = file.filter(chunk);
    if (filterWords !== undefined)
      this.admissionCache.set(key, filterWords, filterWords.byteLength + entryOverheadBytes);
    return filterWords;
  }

  #pageColumn(
    file: SegmentFile,
    scope: RowScope,
    page: RowPage,
    field: FieldRef,
  ): MemoryColumn | undefined {
    const path = physicalPath(scope.snapshot.columns, field.path);
    const leaf = path && file.leaf(path);
    if (leaf === undefined) return undefined;
    const key = `${page.first}\n${fieldKeysOf(scope, fieldCacheKey(field)).column}`;
    const cachedColumn = this.admissionCache.get(key) as MemoryColumn | undefined;
    if (cachedColumn !== undefined) return cachedColumn;
    const loadedColumn = loadPage(file, leaf, page, this.#entries(file, leaf, page));
    const column = field.type === 'double' ? withDoubles(loadedColumn) : loadedColumn;
    this.admissionCache.set(key, column, column.bytes + entryOverheadBytes);
    return column;
  }

  /** Returns the dictionary of the chunk to which a page belongs; undefined if it has none. */
  #entries(file: SegmentFile, leaf: SegmentLeaf, { group }: RowPage): DecodedValues | undefined {
    const chunk = group.chunks[leaf.index]!;
    if (chunk.dictionaryOffset === undefined) return undefined;
    const key = `entries\n${file.path}\n${chunk.dictionaryOffset}`;
    const cachedEntries = this.admissionCache.get(key) as DecodedValues | undefined;
    if (cachedEntries !== undefined) return cachedEntries;
    const entries = dictionaryOf(file, leaf, group)!;
    this.admissionCache.set(key, entries, decodedByteSize(entries) + entryOverheadBytes);
    return entries;
  }

  #viewOf(scope: RowScope): SegmentView {
    return {
      rows: scope.level.rows,
      column: (field) => this.#column(scope, field),
      distinct: (field) => this.#distinct(scope, field),
      hashes: (field) => this.#hashes(scope, field),
      elements: (list) => {
        const elements = this.#elements(scope, list);
        if (elements === undefined) return undefined;
        const { offsets, level } = elements;
        const keys = new Map<string, FieldKeys>();
        return { offsets, view: this.#viewOf({ ...scope, depth: list.path.length, level, keys }) };
      },
    };
  }

  #text({ snapshot, segment }: RowScope, texts: OpenedTexts, field: FieldRef): SegmentText {
    const file = this.file(segment);
    const textsOfFile = texts.get(file) ?? new Map<string, SegmentText>();
    texts.set(file, textsOfFile);
    const name = fieldCacheKey(field);
    const text = textsOfFile.get(name) ?? this.#openText(file, snapshot, field);
    textsOfFile.set(name, text);
    if (text instanceof ColumnMatcher) this.#searchedMatchers.add(text);
    return text;
  }

  #openText(file: SegmentFile, { columns }: ShardSnapshot, field: FieldRef): SegmentText {
    const path = physicalPath(columns, field.path);
    if (path === undefined || file.leaf(path) === undefined) return 'absent';
    const location = file.textIndex?.columns.get(indexedName(path));
    return location === undefined
      ? { unsupported: `a segment has no index of the terms of ${field.name}` }
      : new ColumnMatcher(new ColumnReader(file.textIndex!, location, this.admissionCache));
  }

  #column(scope: RowScope, field: FieldRef): MemoryColumn | undefined {
    const { column: key, dictionary } = fieldKeysOf(scope, fieldCacheKey(field));
    const cachedColumn = this.admissionCache.get(key) as CachedColumn | undefined;
    if (cachedColumn !== undefined) return cachedColumn === 'absent' ? undefined : cachedColumn;
    const column = this.#load(scope, field);
    const bytes = (column?.bytes ?? 0) + entryOverheadBytes;
    const base = column && hasDictionary(column) ? dictionary : undefined;
    this.admissionCache.set(key, column ?? 'absent', bytes, base);
    return column;
  }

  #load(scope: RowScope, field: FieldRef): MemoryColumn | undefined {
    const { snapshot, segment, level } = scope;
    const path = physicalPath(snapshot.columns, field.path);
    const leaf = path && this.file(segment).leaf(path);
    if (leaf === undefined) return undefined;
    const load = (dictionary?: GrowingDictionary): MemoryColumn =>
      loadColumn(this.file(segment), leaf.columns, dictionary, level)!;
    const isOfStrings = leaf.physical === physicalType.byteArray;
    const column = isOfStrings ? this.#withDictionary(scope, field, load, hasDictionary) : load();
    return field.type === 'double' ? withDoubles(column) : column;
  }

  #distinct(scope: RowScope, field: FieldRef): DistinctStrings | undefined {
    const {
      column: columnKey,
      distinct: key,
      dictionary: base,
    } = fieldKeysOf(scope, fieldCacheKey(field));
    if (this.admissionCache.has(columnKey)) return undefined;
    const cachedDistinct = this.admissionCache.get(key) as DistinctStrings | 'absent' | undefined;
    if (cachedDistinct !== undefined)
      return cachedDistinct === 'absent' ? undefined : cachedDistinct;
    const { snapshot, segment } = scope;
    const path = physicalPath(snapshot.columns, field.path);
    // The file is opened before the room for the dictionary is computed, because opening it takes some.
    if (path === undefined || this.file(segment).leaf(path) === undefined) return undefined;
    const readDistinct = (dictionary: GrowingDictionary): DistinctStrings | undefined => {
      const distinct = loadDistinct(this.file(segment), path, dictionary);
      return distinct && { dictionary, distinct };
    };
    const distinctStrings = this.#withDictionary(
      scope,
      field,
      readDistinct,
      (result) => result !== undefined,
    );
    const bytes = (distinctStrings?.distinct.byteLength ?? 0) + entryOverheadBytes;
    this.admissionCache.set(key, distinctStrings ?? 'absent', bytes, distinctStrings && base);
    return distinctStrings;
  }

  /**
   * Calls `read` with the dictionary of a field, to which it may add strings: as many as there is room for in the cache, and at most half
   * of the limit, because a dictionary is of no use without columns. A new dictionary stays in memory if `isUsed` returns true for the
   * result.
   */
  #withDictionary<T>(
    scope: RowScope,
    field: FieldRef,
    read: (dictionary: GrowingDictionary) => T,
    isUsed: (result: T) => boolean,
  ): T {
    const cache = this.admissionCache;
    const key = fieldKeysOf(scope, fieldCacheKey(field)).dictionary;
    const cachedDictionary = cache.get(key) as GrowingDictionary | undefined;
    const dictionary = cachedDictionary ?? new GrowingDictionary();
    dictionary.maxBytes = Math.min(cache.maxBytesOf(key), this.#bytes / 2) - entryOverheadBytes;
    let isKept = cachedDictionary !== undefined;
    try {
      const result = read(dictionary);
      isKept ||= isUsed(result);
      return result;
    } finally {
      if (isKept) cache.set(key, dictionary, dictionary.bytes + entryOverheadBytes);
    }
  }

  #elements(scope: RowScope, list: FieldRef): LoadedElements | undefined {
    const key = fieldKeysOf(scope, fieldCacheKey(list)).elements;
    const cachedElements = this.admissionCache.get(key) as LoadedElements | 'absent' | undefined;
    if (cachedElements !== undefined)
      return cachedElements === 'absent' ? undefined : cachedElements;
    const path = physicalPath(scope.snapshot.columns, list.path);
    const elements = path && loadElements(this.file(scope.segment), path, scope.level);
    const bytes = (elements?.offsets.byteLength ?? 0) + entryOverheadBytes;
    this.admissionCache.set(key, elements ?? 'absent', bytes);
    return elements;
  }

  #hashes(scope: RowScope, field: FieldRef): StringHashes | undefined {
    const key = fieldKeysOf(scope, fieldCacheKey(field)).hashes;
    const cachedHashes = this.admissionCache.get(key) as StringHashes | undefined;
    if (cachedHashes !== undefined) return cachedHashes;
    const column = this.#column(scope, field);
    if (column?.values.kind !== 'strings') return undefined;
    const hashes = stringHashes(column);
    this.admissionCache.set(key, hashes, hashes.bytes + entryOverheadBytes);
    return hashes;
  }

  /**
   * Closes all files and drops the hits of looked-up terms, so that no file stays open and no hits in memory while other work runs. What
   * was read of a file that is not in the cache yet is cached only if `keepsFiles` is true.
   */
  releaseIdle(keepsFiles = true): void {
    for (const [path, file] of this.#usedFiles) {
      file.closeDescriptor();
      if (keepsFiles || this.admissionCache.has(path))
        this.admissionCache.set(path, file, file.memoryBytes + entryOverheadBytes);
    }
    this.#usedFiles.clear();
    for (const text of this.#searchedMatchers) text.dropCachedHits();
    this.#searchedMatchers.clear();
  }

  file(segment: ShardSegment): SegmentFile {
    const { path } = segment;
    const usedFile = this.#usedFiles.get(path);
    if (usedFile !== undefined) return usedFile;
    const cachedFile = this.admissionCache.get(path) as SegmentFile | undefined;
    const file = cachedFile ?? new SegmentFile(segment);
    this.#usedFiles.set(path, file);
    return file;
  }
}

/** The pages from which records are read take `1 / pageCacheDivisor` of the limit. */
const pageCacheDivisor = 32;

/** The rows of the requested columns: the records of a segment, or the elements of a list of objects in it. */
interface RowScope extends FieldKeyCache {
  readonly snapshot: ShardSnapshot;
  readonly segment: ShardSegment;
  readonly level: RowLevel;
}

interface SegmentAccessors {
  readonly view: SegmentView;
  readonly pages: SegmentPages;
}

/** Returns whether the values of a column are indices of the field's dictionary. */
export function hasDictionary({ values }: MemoryColumn): boolean {
  return values.kind === 'dictionary';
}

/** The cached column of a field; `absent` if the segment does not store it. */
export type CachedColumn = MemoryColumn | 'absent';

/** The text index of a field in a segment (`SegmentView.text`). */
type SegmentText = ColumnMatcher | 'absent' | Unsupported;

/** The opened text indexes of the segment's file by `fieldCacheKey`, which are forgotten with the file. */
type OpenedTexts = WeakMap<SegmentFile, Map<string, SegmentText>>;
