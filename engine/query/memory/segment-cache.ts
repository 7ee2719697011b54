import type { DecodedValues } from '../../parquet/decode-values.js';
import { unpackBitmap } from '../../text/bitmap.js';
import { ColumnMatcher } from '../../text/column-matcher.js';
import { ColumnReader } from '../../text/column-reader.js';
import { indexedName } from '../../text/index-writer.js';
import { RecentMap } from '../../core/recent-map.js';
import type { RowSet } from '../plan/executor.js';
import type { FieldRef } from '../predicate/predicate.js';
import type { Unsupported } from '../unsupported.js';
import { AdmissionCache, type CacheCounts } from './admission-cache.js';
import type { LoadedColumns } from './cached-records.js';
import type {
  DistinctStrings,
  MemoryColumn,
  SegmentView,
  SelectionCache,
  StringHashes,
} from './column.js';
import { loadElements, type LoadedElements } from './elements.js';
import { GrowingDictionary } from './growing-dictionary.js';
import { loadColumn, loadDistinct, recordLevel, type RowLevel, withDoubles } from './load.js';
import { dictionaryOf, loadPage, sizeOf, type RowPage } from './page-column.js';
import { deletedRows } from '../../store/deletion-vector.js';
import { sendableRows, type ShardSegment, type ShardSnapshot } from './protocol.js';
import { SegmentFile, type SegmentChunk } from './segment-file.js';
import { pathOf, physicalPath, type SegmentLeaf } from './segment-leaves.js';
import { stringHashes } from './string-hashes.js';

/** Maximum number of files whose footer is cached. */
export const maxFiles = 512;

/** Estimated size of a cache entry beyond its value, in bytes. */
const entryBytes = 256;

/** Maximum number of fields whose keys are kept for a segment. */
const maxKeptFields = 32;

/** The functions that read single pages of a segment through the cache. */
export interface SegmentPages {
  readonly file: SegmentFile;
  /** Whether the whole column of a field, given by its `fieldName`, is in memory. */
  hasColumn(name: string): boolean;
  /** Whether several of the latest queries, this one included, asked for the whole column of a field, which makes it worth loading. */
  isAskedAgain(name: string): boolean;
  /**
   * For a column of strings in memory without a dictionary: whether the hash table that finds its values is also in memory, or would have to be
   * made. Undefined for other columns.
   */
  hashes(name: string): 'made' | 'unmade' | undefined;
  /** The words of a chunk's bloom filter; undefined if it has none. */
  readonly filter: (chunk: SegmentChunk) => Uint32Array | undefined;
  /** The values of a field in a page; undefined if the segment does not store the field. */
  readonly column: (page: RowPage, field: FieldRef) => MemoryColumn | undefined;
}

/**
 * Everything that a shard keeps of its segments: columns, elements of lists, hashes of strings, single pages, bloom filters, selections and
 * parts of text indexes within a limit of bytes (`AdmissionCache` decides which), dictionaries within a quarter of it, and the footers of files.
 */
export class SegmentCache {
  /** The entries by `FieldKeys` and other keys, which begin with another word; `absent` where a segment has none. */
  readonly entries: AdmissionCache;
  readonly #bytes: number;
  readonly #dictionaries = new Map<string, GrowingDictionary>();
  readonly #files = new RecentMap<string, SegmentFile>(maxFiles, (file) => file.close());
  /** The state of the segments that have been requested. */
  readonly #known = new WeakMap<ShardSegment, KnownSegment>();
  readonly #filterKeys = new WeakMap<SegmentChunk, string>();
  /** The files that may have an open descriptor. */
  readonly #mayBeOpen = new Set<SegmentFile>();
  /** The indexes in which terms may have been looked up. */
  readonly #searched = new Set<ColumnMatcher>();

  constructor(bytes: number, counts?: CacheCounts) {
    this.#bytes = bytes;
    this.entries = new AdmissionCache(bytes, counts);
  }

  /** A query begins, of which the next calls are part. */
  beginQuery(): void {
    this.entries.beginQuery();
  }

  /** False if another column might displace one. */
  get hasRoom(): boolean {
    return this.entries.size < this.#bytes * 0.8;
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
    this.entries.clear();
    this.#dictionaries.clear();
  }

  /** The columns of a segment, which are loaded at their first use. */
  view(snapshot: ShardSnapshot, segment: ShardSegment): SegmentView {
    return this.#segment(snapshot, segment).view;
  }

  /** Access to single pages of a segment. */
  pages(snapshot: ShardSnapshot, segment: ShardSegment): SegmentPages {
    return this.#segment(snapshot, segment).pages;
  }

  /** A segment object belongs to one snapshot. */
  #segment(snapshot: ShardSnapshot, segment: ShardSegment): KnownSegment {
    const known = this.#known.get(segment);
    if (known !== undefined) return known;
    const level = recordLevel(segment.rows);
    const scope = { snapshot, segment, depth: 0, level, keys: new Map<string, FieldKeys>() };
    const texts = new Map<string, OpenedText>();
    const view = {
      ...this.#viewOf(scope),
      deleted: segment.deletion && deletedRows(segment.deletion),
      selections: this.#selections(segment),
      text: (field: FieldRef) => this.#text(scope, texts, field),
    };
    const made = { view, pages: this.#pagesOf(scope) };
    this.#known.set(segment, made);
    return made;
  }

  /** The columns of segments that are in memory, by file, leaf and type; to ask for one does not count as its use. */
  columnsOf({ columns }: ShardSnapshot): LoadedColumns {
    return ({ path }, leaf, type) => {
      const key = `0\n${path}\n${type}\n${pathOf(columns, leaf)}`;
      const known = this.entries.peek(key) as KnownColumn | undefined;
      return known === 'absent' ? undefined : known;
    };
  }

  #selections({ path, rows }: ShardSegment): SelectionCache {
    const keyOfCondition = (key: string): string => `selection\n${path}\n${key}`;
    return {
      get: (key) => {
        const known = this.entries.get(keyOfCondition(key)) as RowSet | undefined;
        if (known === undefined || known === 'all') return known;
        return known.BYTES_PER_ELEMENT === 4 ? known.slice() : unpackBitmap(known as Uint8Array, rows); // prettier-ignore
      },
      set: (key, selection) => {
        const kept = sendableRows(selection);
        const bytes = kept === 'all' ? 0 : kept.byteLength;
        this.entries.set(keyOfCondition(key), kept, bytes + entryBytes);
      },
    };
  }

  #pagesOf(scope: Scope): SegmentPages {
    const fileOf = (): SegmentFile => this.file(scope.segment);
    return {
      get file() {
        return fileOf();
      },
      hasColumn: (name) => this.entries.has(keysOf(scope, name).column),
      isAskedAgain: (name) => {
        const { column } = keysOf(scope, name);
        this.entries.get(column);
        return this.entries.uses(column) > 1;
      },
      hashes: (name) => {
        const { column, hashes } = keysOf(scope, name);
        const known = this.entries.get(column) as KnownColumn | undefined;
        if (typeof known !== 'object' || known.values.kind !== 'strings') return undefined;
        return this.entries.has(hashes) ? 'made' : 'unmade';
      },
      filter: (chunk) => this.#filter(fileOf(), chunk),
      column: (page, field) => this.#pageColumn(fileOf(), scope, page, field),
    };
  }

  #filter(file: SegmentFile, chunk: SegmentChunk): Uint32Array | undefined {
    let key = this.#filterKeys.get(chunk);
    if (key === undefined)
      this.#filterKeys.set(chunk, (key = `filter\n${file.path}\n${chunk.begin}`));
    const known = this.entries.get(key) as Uint32Array | undefined;
    if (known !== undefined) return known;
    const words = file.filter(chunk);
    if (words !== undefined) this.entries.set(key, words, words.byteLength + entryBytes);
    return words;
  }

  #pageColumn(
    file: SegmentFile,
    scope: Scope,
    page: RowPage,
    field: FieldRef,
  ): MemoryColumn | undefined {
    const path = physicalPath(scope.snapshot.columns, field.path);
    const leaf = path && file.leaf(path);
    if (leaf === undefined) return undefined;
    const key = `${page.first}\n${keysOf(scope, fieldName(field)).column}`;
    const known = this.entries.get(key) as MemoryColumn | undefined;
    if (known !== undefined) return known;
    const read = loadPage(file, leaf, page, this.#entries(file, leaf, page));
    const column = field.type === 'double' ? withDoubles(read) : read;
    this.entries.set(key, column, column.bytes + entryBytes);
    return column;
  }

  /** The dictionary of the chunk that a page belongs to; undefined if it has none. */
  #entries(file: SegmentFile, leaf: SegmentLeaf, { group }: RowPage): DecodedValues | undefined {
    const chunk = group.chunks[leaf.index]!;
    if (chunk.dictionaryOffset === undefined) return undefined;
    const key = `entries\n${file.path}\n${chunk.dictionaryOffset}`;
    const known = this.entries.get(key) as DecodedValues | undefined;
    if (known !== undefined) return known;
    const entries = dictionaryOf(file, leaf, group)!;
    this.entries.set(key, entries, sizeOf(entries) + entryBytes);
    return entries;
  }

  #viewOf(scope: Scope): SegmentView {
    return {
      rows: scope.level.rows,
      column: (field) => this.#column(scope, field),
      distinct: (field) => this.#distinct(scope, field),
      hashes: (field) => this.#hashes(scope, field),
      elements: (list) => {
        const found = this.#elements(scope, list);
        if (found === undefined) return undefined;
        const { offsets, level } = found;
        const keys = new Map<string, FieldKeys>();
        return { offsets, view: this.#viewOf({ ...scope, depth: list.path.length, level, keys }) };
      },
    };
  }

  #text(
    { snapshot, segment }: Scope,
    texts: Map<string, OpenedText>,
    field: FieldRef,
  ): SegmentText {
    const file = this.file(segment);
    const name = fieldName(field);
    let opened = texts.get(name);
    if (opened?.file !== file) {
      opened = { file, text: this.#openText(file, snapshot, field) };
      texts.set(name, opened);
    }
    const { text } = opened;
    if (text instanceof ColumnMatcher) this.#searched.add(text);
    return text;
  }

  #openText(file: SegmentFile, { columns }: ShardSnapshot, field: FieldRef): SegmentText {
    const path = physicalPath(columns, field.path);
    if (path === undefined || file.leaf(path) === undefined) return 'absent';
    const location = file.textIndex?.columns.get(indexedName(path));
    return location === undefined
      ? { unsupported: `a segment has no index of the terms of ${field.name}` }
      : new ColumnMatcher(new ColumnReader(file.textIndex!, location, this.entries));
  }

  #column(scope: Scope, field: FieldRef): MemoryColumn | undefined {
    const key = keysOf(scope, fieldName(field)).column;
    const known = this.entries.get(key) as KnownColumn | undefined;
    if (known !== undefined) return known === 'absent' ? undefined : known;
    const column = this.#load(scope, field);
    this.entries.set(key, column ?? 'absent', (column?.bytes ?? 0) + entryBytes);
    return column;
  }

  #load(scope: Scope, field: FieldRef): MemoryColumn | undefined {
    const { snapshot, segment, level } = scope;
    const found = physicalPath(snapshot.columns, field.path);
    if (found === undefined) return undefined;
    const dictionary = this.#dictionaryOf(scope, field);
    const column = loadColumn(this.file(segment), found, dictionary, level);
    return column && field.type === 'double' ? withDoubles(column) : column;
  }

  #distinct(scope: Scope, field: FieldRef): DistinctStrings | undefined {
    const { column, distinct: key } = keysOf(scope, fieldName(field));
    if (this.entries.has(column)) return undefined;
    const { snapshot, segment } = scope;
    const path = physicalPath(snapshot.columns, field.path);
    if (path === undefined) return undefined;
    const dictionary = this.#dictionaryOf(scope, field);
    let distinct = this.entries.get(key) as Int32Array | 'absent' | undefined;
    if (distinct === undefined) {
      distinct = loadDistinct(this.file(segment), path, dictionary) ?? 'absent';
      const bytes = distinct === 'absent' ? 0 : distinct.byteLength;
      this.entries.set(key, distinct, bytes + entryBytes);
    }
    return distinct === 'absent' ? undefined : { dictionary, distinct };
  }

  #dictionaryOf({ snapshot }: Scope, field: FieldRef): GrowingDictionary {
    return this.#dictionary(`${snapshot.datasetId}\n${field.path.join('\n')}`);
  }

  #elements(scope: Scope, list: FieldRef): LoadedElements | undefined {
    const key = keysOf(scope, fieldName(list)).elements;
    const known = this.entries.get(key) as LoadedElements | 'absent' | undefined;
    if (known !== undefined) return known === 'absent' ? undefined : known;
    const path = physicalPath(scope.snapshot.columns, list.path);
    const found = path && loadElements(this.file(scope.segment), path, scope.level);
    this.entries.set(key, found ?? 'absent', (found?.offsets.byteLength ?? 0) + entryBytes);
    return found;
  }

  /**
   * Returns the dictionary of a field. Dictionaries only grow: when they take too much memory, all are dropped, with every column
   * that uses them.
   */
  #dictionary(key: string): GrowingDictionary {
    let bytes = 0;
    for (const each of this.#dictionaries.values()) bytes += each.bytes;
    if (bytes > this.#bytes / 4) {
      this.#dictionaries.clear();
      this.entries.clear();
    }
    const known = this.#dictionaries.get(key) ?? new GrowingDictionary();
    this.#dictionaries.set(key, known);
    return known;
  }

  #hashes(scope: Scope, field: FieldRef): StringHashes | undefined {
    const key = keysOf(scope, fieldName(field)).hashes;
    const known = this.entries.get(key) as StringHashes | undefined;
    if (known !== undefined) return known;
    const column = this.#column(scope, field);
    if (column?.values.kind !== 'strings') return undefined;
    const made = stringHashes(column);
    this.entries.set(key, made, made.bytes + entryBytes);
    return made;
  }

  /** Closes all descriptors, and forgets the terms that were looked up: none stays while other work runs. */
  rest(): void {
    for (const file of this.#mayBeOpen) file.rest();
    this.#mayBeOpen.clear();
    for (const text of this.#searched) text.forget();
    this.#searched.clear();
  }

  file(segment: ShardSegment): SegmentFile {
    const known = this.#files.get(segment.path);
    const file = known ?? new SegmentFile(segment);
    this.#mayBeOpen.add(file);
    if (known === undefined) this.#files.set(segment.path, file);
    return file;
  }
}

/** The rows whose columns are asked for: the records of a segment, or the elements of a list of objects in it. */
interface Scope {
  readonly snapshot: ShardSnapshot;
  readonly segment: ShardSegment;
  /** Length of the path of the list; 0 for records. */
  readonly depth: number;
  readonly level: RowLevel;
  /** The keys of fields by `fieldName`. */
  readonly keys: Map<string, FieldKeys>;
}

/** Access to the columns and pages of a segment. */
interface KnownSegment {
  readonly view: SegmentView;
  readonly pages: SegmentPages;
}

/** The cached column of a field. */
type KnownColumn = MemoryColumn | 'absent';

/** The text index of a field in a segment (`SegmentView.text`). */
type SegmentText = ColumnMatcher | 'absent' | Unsupported;

/** A text index, and the file that it was read from. */
interface OpenedText {
  readonly file: SegmentFile;
  readonly text: SegmentText;
}

/** The cache keys of what belongs to a field: its column, its distinct strings, its hashes, and the elements of a list. */
type FieldKeys = Readonly<Record<'column' | 'distinct' | 'hashes' | 'elements', string>>;

/**
 * The keys of a field, given by its `fieldName`; the list of a scope is the beginning of the field's path. Queries ask for the same few
 * fields in every segment: a string that is kept is hashed once.
 */
function keysOf({ segment, depth, keys }: Scope, name: string): FieldKeys {
  const known = keys.get(name);
  if (known !== undefined) return known;
  const key = `${depth}\n${segment.path}\n${name}`;
  const made = { column: key, distinct: `~${key}`, hashes: `#${key}`, elements: `[]${key}` };
  if (keys.size === maxKeptFields) keys.clear();
  keys.set(name, made);
  return made;
}

/** The name of a field in the keys of the cache: its type, since a field may be read as another type than before, and its path. */
export function fieldName(field: FieldRef): string {
  let name = names.get(field);
  if (name === undefined) names.set(field, (name = `${field.type}\n${field.path.join('\n')}`));
  return name;
}

const names = new WeakMap<FieldRef, string>();
