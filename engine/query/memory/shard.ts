import type { RowSet, SegmentRows } from '../plan/executor.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { FieldRef } from '../predicate/predicate.js';
import type { Projected } from '../results/projection.js';
import { packBitmap } from '../../text/bitmap.js';
import { RecentMap } from '../../core/recent-map.js';
import type { MemoryColumn, SegmentView, StringHashes } from './column.js';
import { accumulator } from './facets/accumulator.js';
import { loadElements, type LoadedElements } from './elements.js';
import { loadColumn, recordLevel, type RowLevel, withDoubles } from './load.js';
import { firstRows, releaseBytes } from './selection-bytes.js';
import {
  countOf,
  isSparse,
  selectionBytesOf,
  settled,
  type SelectionVector,
} from './match/selection-vector.js';

import type { DecodedValues } from '../../parquet/decode-values.js';
import { matcher, type Matcher } from './evaluate.js';
import { dictionaryOf, loadPage, sizeOf, type RowPage } from './page-column.js';
import { matchPages, pageQuery, pagesToRead, type PageQuery } from './page-match.js';
import { TopRows } from './top-rows.js';
import type {
  ShardAnswer,
  ShardQuery,
  ShardRecords,
  ShardSegment,
  ShardSnapshot,
} from './protocol.js';
import { materialise, type RowRef } from '../results/materialise.js';
import { SegmentFile } from './segment-file.js';
import { physicalPath, type SegmentLeaf } from './segment-leaves.js';
import { stringHashes } from './string-hashes.js';
import { GrowingDictionary } from './growing-dictionary.js';
import type { FoundTerms } from './terms.js';

/** Maximum number of files whose footer is cached. */
const maxFiles = 512;

/**
 * Answers queries for some of the segments, in one thread, and caches their columns. Each segment is always assigned to the same
 * shard, so that nothing is cached twice.
 */
export class Shard {
  /** Columns, elements and hashes by `keyOf`; `absent` where a segment has none. */
  readonly #cache: RecentMap<string, unknown>;
  readonly #cacheBytes: number;
  readonly #snapshots = new Map<number, ShardSnapshot>();
  readonly #projections = new Map<number, readonly Projected[]>();
  readonly #dictionaries = new Map<string, GrowingDictionary>();
  readonly #files = new RecentMap<string, SegmentFile>(maxFiles, (file) => file.close());
  /** The files that may have an open descriptor. */
  readonly #mayBeOpen = new Set<SegmentFile>();

  constructor(cacheBytes: number) {
    this.#cacheBytes = cacheBytes;
    this.#cache = new RecentMap(cacheBytes);
  }

  learn(snapshot: ShardSnapshot): void {
    this.#snapshots.set(snapshot.key, snapshot);
  }

  forget(key: number): void {
    this.#snapshots.delete(key);
  }

  learnProjection(key: number, projection: readonly Projected[]): void {
    this.#projections.set(key, projection);
  }

  forgetProjection(key: number): void {
    this.#projections.delete(key);
  }

  /** Answers segment by segment, and yields after each one. */
  *select(query: ShardQuery): Generator<void, ShardAnswer | Unsupported> {
    const snapshot = this.#snapshots.get(query.snapshot);
    if (snapshot === undefined) return forgotten;
    const wanted = new Set(query.segments);
    const segments = snapshot.segments.filter(({ number }) => wanted.has(number));
    const match = matcher(query.predicate);
    const sides = (query.sides ?? []).map((side) => matcher(side));
    const paged = sides.length === 0 ? pageQuery(query.predicate, snapshot.columns) : undefined;
    const facets = query.facets ? accumulator(query.facets) : undefined;
    const best = query.ordering.length > 0 ? new TopRows(query.ordering, query.first) : undefined;
    /** True if only the number of selected rows is needed, so that each selection can be released at once. */
    const isCounted = best === undefined && facets === undefined && !query.isListed;
    const counts = new Float64Array(2 * segments.length);
    const rows: number[] = [];
    const listed: SegmentRows[] = [];
    for (const [i, segment] of segments.entries()) {
      const view = this.#view(snapshot, segment, query.terms?.get(segment.number));
      const found = (paged && this.#matchPages({ snapshot, segment }, paged, match)) ?? match(view);
      if (isUnsupported(found)) return this.#refused(found);
      const count = countOf(found, segment.rows);
      counts[2 * i] = segment.number;
      counts[2 * i + 1] = count;
      if (count > 0) {
        if (query.isListed) {
          const ofSides: RowSet[] = [];
          for (const side of sides) {
            const own = side(view);
            if (isUnsupported(own)) return this.#refused(own);
            ofSides.push(sendable(own));
          }
          listed.push({ segment: segment.number, rows: sendable(found), sides: ofSides });
        }
        if (best === undefined) collect(rows, found, segment, query);
        if (best !== undefined || facets !== undefined) {
          const selection = selectionBytesOf(found, segment.rows);
          best?.add(view, selection, segment.number);
          const refusal = facets?.add(view, selection);
          if (refusal) return this.#refused(refusal);
        }
      }
      if (isCounted && typeof found === 'object') releaseBytes(found);
      this.#rest();
      if (query.isUncounted && rows.length === 2 * query.first) break;
      yield;
    }
    const partials = facets?.partial() ?? [];
    if (isUnsupported(partials)) return partials;
    return {
      counts,
      rows: Float64Array.from(rows),
      candidates: best?.list() ?? [],
      facets: partials,
      listed,
    };
  }

  /** The rows that match, from the few pages that may hold one; undefined if the columns are in memory, or many pages may. */
  #matchPages(
    { snapshot, segment }: Pick<Scope, 'snapshot' | 'segment'>,
    paged: PageQuery,
    match: Matcher,
  ): SelectionVector | undefined {
    const scope: Scope = { snapshot, segment, depth: 0, level: recordLevel(segment.rows) };
    if (paged.fields.every(({ field }) => this.#cache.has(keyOf('', scope, field))))
      return undefined;
    const file = this.#file(segment);
    const pages = pagesToRead(file, paged);
    return pages && matchPages(pages, match, (page, field) => this.#pageColumn(file, scope, page, field)); // prettier-ignore
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
    const key = `${page.first}\n${keyOf('', scope, field)}`;
    const known = this.#cache.get(key) as MemoryColumn | undefined;
    if (known !== undefined) return known;
    const read = loadPage(file, leaf, page, this.#entries(file, leaf, page));
    const column = field.type === 'double' ? withDoubles(read) : read;
    this.#cache.set(key, column, column.bytes + entryBytes);
    return column;
  }

  /** The dictionary of the chunk that a page belongs to; undefined if it has none. */
  #entries(file: SegmentFile, leaf: SegmentLeaf, { group }: RowPage): DecodedValues | undefined {
    const chunk = group.chunks[leaf.index]!;
    if (chunk.dictionaryOffset === undefined) return undefined;
    const key = `entries\n${file.path}\n${chunk.dictionaryOffset}`;
    const known = this.#cache.get(key) as DecodedValues | undefined;
    if (known !== undefined) return known;
    const entries = dictionaryOf(file, leaf, group)!;
    this.#cache.set(key, entries, sizeOf(entries) + entryBytes);
    return entries;
  }

  #refused(refusal: Unsupported): Unsupported {
    this.#rest();
    return refusal;
  }

  /** The JSON texts of records, in the order of `asked`. */
  *records(
    key: number,
    asked: readonly ShardRecords[],
    projectionKey: number,
  ): Generator<void, readonly string[] | Unsupported> {
    const snapshot = this.#snapshots.get(key);
    const projection = this.#projections.get(projectionKey);
    if (snapshot === undefined || projection === undefined) return forgotten;
    const byNumber = new Map(snapshot.segments.map((segment) => [segment.number, segment]));
    const source = {
      cache: this.#cache,
      file: (number: number): SegmentFile => {
        const segment = byNumber.get(number);
        if (segment === undefined) throw new Error(`segment ${number} is not of this shard`);
        return this.#file(segment);
      },
    };
    const rows = asked.flatMap((each) => each.rows.map((row): RowRef => [each.segment, row]));
    const texts: string[] = [];
    for (let from = 0; from < rows.length; from += recordsAtOnce) {
      const some = rows.slice(from, from + recordsAtOnce);
      for (const text of materialise(source, some, projection, 'json')) texts.push(text);
      this.#rest();
      yield;
    }
    return texts;
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
    this.#cache.clear();
    this.#dictionaries.clear();
  }

  #view(snapshot: ShardSnapshot, segment: ShardSegment, terms?: FoundTerms): SegmentView {
    const level = recordLevel(segment.rows);
    return { ...this.#viewOf({ snapshot, segment, depth: 0, level }), terms };
  }

  #viewOf(scope: Scope): SegmentView {
    return {
      rows: scope.level.rows,
      column: (field) => this.#column(scope, field),
      hashes: (field) => this.#hashes(scope, field),
      elements: (list) => {
        const found = this.#elements(scope, list);
        if (found === undefined) return undefined;
        const { offsets, level } = found;
        return { offsets, view: this.#viewOf({ ...scope, depth: list.path.length, level }) };
      },
    };
  }

  #column(scope: Scope, field: FieldRef): MemoryColumn | undefined {
    const key = keyOf('', scope, field);
    const known = this.#cache.get(key) as MemoryColumn | 'absent' | undefined;
    if (known !== undefined) return known === 'absent' ? undefined : known;
    const column = this.#load(scope, field);
    this.#cache.set(key, column ?? 'absent', (column?.bytes ?? 0) + entryBytes);
    return column;
  }

  #load({ snapshot, segment, level }: Scope, field: FieldRef): MemoryColumn | undefined {
    const found = physicalPath(snapshot.columns, field.path);
    if (found === undefined) return undefined;
    const dictionary = this.#dictionary(`${snapshot.datasetId}\n${field.path.join('\n')}`);
    const column = loadColumn(this.#file(segment), found, dictionary, level);
    return column && field.type === 'double' ? withDoubles(column) : column;
  }

  #elements(scope: Scope, list: FieldRef): LoadedElements | undefined {
    const key = keyOf('[]', scope, list);
    const known = this.#cache.get(key) as LoadedElements | 'absent' | undefined;
    if (known !== undefined) return known === 'absent' ? undefined : known;
    const path = physicalPath(scope.snapshot.columns, list.path);
    const found = path && loadElements(this.#file(scope.segment), path, scope.level);
    this.#cache.set(key, found ?? 'absent', (found?.offsets.byteLength ?? 0) + entryBytes);
    return found;
  }

  /**
   * Returns the dictionary of a field. Dictionaries only grow: when they take too much memory, all are dropped, with every column
   * that uses them.
   */
  #dictionary(key: string): GrowingDictionary {
    let bytes = 0;
    for (const each of this.#dictionaries.values()) bytes += each.bytes;
    if (bytes > this.#cacheBytes / 4) {
      this.#dictionaries.clear();
      this.#cache.clear();
    }
    const known = this.#dictionaries.get(key) ?? new GrowingDictionary();
    this.#dictionaries.set(key, known);
    return known;
  }

  #hashes(scope: Scope, field: FieldRef): StringHashes | undefined {
    const key = keyOf('#', scope, field);
    const known = this.#cache.get(key) as StringHashes | undefined;
    if (known !== undefined) return known;
    const column = this.#column(scope, field);
    if (column?.values.kind !== 'strings') return undefined;
    const made = stringHashes(column);
    this.#cache.set(key, made, made.bytes + entryBytes);
    return made;
  }

  /** Closes all descriptors: none stays open while other work runs. */
  #rest(): void {
    for (const file of this.#mayBeOpen) file.rest();
    this.#mayBeOpen.clear();
  }

  #file(segment: ShardSegment): SegmentFile {
    const known = this.#files.get(segment.path);
    const file = known ?? new SegmentFile(segment.path);
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
}

/** The cache key of something that belongs to a field. The list of a scope is the beginning of the field's path. */
function keyOf(what: '' | '#' | '[]', { segment, depth }: Scope, { path, type }: FieldRef): string {
  return `${what}${depth}\n${segment.path}\n${type}\n${path.join('\n')}`;
}

/** The caller reads this after a thread was replaced, or when many newer snapshots have come between. */
const forgotten: Unsupported = {
  unsupported: 'a snapshot or projection that its worker thread has forgotten',
};

/** Number of records between two yields. */
const recordsAtOnce = 2_000;

/** Estimated size of a cache entry beyond its value, in bytes. */
const entryBytes = 256;

/** The rows as they are sent to another thread: a copy, since sending a view would send its whole buffer. */
function sendable(found: SelectionVector): RowSet {
  const rows = settled(found);
  if (rows === 'all' || rows === 'none') return rows === 'all' ? rows : new Int32Array(0);
  return isSparse(rows) ? rows.slice() : packBitmap(rows);
}

/** Appends the first selected rows of a segment as pairs of segment and row, up to the size of the page. */
function collect(
  pairs: number[],
  found: SelectionVector,
  { number, rows }: ShardSegment,
  { first, after }: ShardQuery,
): void {
  const room = first - pairs.length / 2;
  if (room <= 0 || (after !== undefined && number < after[0])) return;
  const from = after?.[0] === number ? after[1] + 1 : 0;
  const some = isSparse(found)
    ? found.filter((row) => row >= from).subarray(0, room)
    : firstRows(found, rows, room, from);
  for (const row of some) pairs.push(number, row);
}
