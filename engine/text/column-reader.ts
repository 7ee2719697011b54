import { ByteCursor } from './bytes.js';
import { damagedIndexError, readPart, type ColumnLocation, type TextIndex } from './index-file.js';
import { AppError } from '../core/errors.js';
import type { ColumnSummary, IndexPartName } from './column-writer.js';
import {
  postingsPerBlock,
  blockMaxBounds,
  decodePostings,
  nextCompetitiveBlock,
  rankTexts,
  type BlockMaxBounds,
  type Hits,
  type ScoreFunction,
  type TextLengths,
  type TextTable,
} from './postings.js';
import type { Ranking } from './ranking.js';
import {
  blockOfTerm,
  blocksOfPrefix,
  decodeBlocks,
  findTermInBlock,
  findTermsInBlocks,
  type TermBlocks,
  type TermEntry,
} from './term-blocks.js';
import { patternText, type FoldedPattern } from './wildcard-patterns.js';
import { decodeLists, tokenCountOfRows, type RowValueLists } from './value-lists.js';

/** Caches what readers have read or decoded; keys begin with `text`, and `bytes` is the estimated size of an entry. */
interface TextCache {
  get(key: string): unknown;
  set(key: string, value: unknown, bytes: number): void;
}

/** Estimated size in bytes of a cache entry in addition to its value. */
const entryOverheadBytes = 256;
/** If a pattern matches more terms than this, their postings are not cached. */
const maxCachedTerms = 64;
/** Estimated size in bytes of a `TermEntry`. */
const termEntryBytes = 160;
/**
 * Reads the text index of one column of one segment. Throws `damaged` for bytes that cannot be decoded. In a column that is a list or lies
 * in one, texts are single values, except in `texts` and `rowsOf`, for which all values of a row are one text, whose number is that of the
 * row.
 */
export class ColumnReader {
  readonly summary: ColumnSummary;
  readonly #index: TextIndex;
  readonly #location: ColumnLocation;
  readonly #cache: TextCache;
  readonly #key: string;

  /** Number of rows of the segment, including those without a text. */
  get rows(): number {
    return this.#index.rows;
  }

  /** Whether a row may have several values. */
  get isList(): boolean {
    return this.summary.isList === true;
  }

  /** Whether several rows may share a text; if false, text i belongs to row i. */
  get sharesTexts(): boolean {
    return this.summary.isShared && !this.isList;
  }

  constructor(index: TextIndex, location: ColumnLocation, cache: TextCache) {
    this.#index = index;
    this.#location = location;
    this.#cache = cache;
    this.summary = location.summary;
    this.#key = `text\n${index.file.path}\n${location.summary.name}\n`;
  }

  /** Decodes the tables that every search needs. */
  load(): void {
    this.#blocks();
    this.texts();
  }

  /** The number of bytes that `load` reads. */
  get loadedBytes(): number {
    const { blocks, texts, rows } = this.summary.sizes;
    return blocks + texts + (this.isList ? rows : 0);
  }

  /** Returns the entry of a term; undefined if no text contains it. */
  find(term: Uint8Array): TermEntry | undefined {
    const blocks = this.#blocks();
    const block = blockOfTerm(blocks, term);
    if (block < 0) return undefined;
    const from = blocks.begins[block]!;
    const bytes = this.#bytes('words', from, blocks.begins[block + 1]! - from);
    return this.#checked(() => findTermInBlock(bytes, term, blocks, block));
  }

  /** Returns the entries of the terms that match a pattern, in order; `many` if that takes too long (term-blocks.ts). */
  findMatching(pattern: FoldedPattern): readonly TermEntry[] | 'many' {
    return this.#cached(
      `terms ${patternText(pattern)}`,
      () => {
        const blocks = this.#blocks();
        const [prefix] = pattern;
        const [first, end] =
          typeof prefix === 'object' ? blocksOfPrefix(blocks, prefix) : [0, blocks.terms.length];
        const from = blocks.begins[first]!;
        const bytes = this.#bytes('words', from, blocks.begins[end]! - from);
        return findTermsInBlocks(bytes, pattern, blocks, first);
      },
      (entries) => (entries === 'many' ? 0 : entries.length * termEntryBytes),
    );
  }

  /** Returns the texts that contain a term. */
  hits({ textCount, postings: [from, length] }: TermEntry): Hits {
    const bytes = this.#bytes('postings', from, length);
    return this.#checked(() => this.#decodeHits(bytes, textCount));
  }

  /** Returns the texts that contain any of these terms, which are in order, and the number of occurrences of all of them in each. */
  hitsOfAny(entries: readonly TermEntry[]): Hits {
    const timesOf = new Uint32Array(this.summary.texts);
    for (let first = 0; first < entries.length;) {
      // Terms that follow one another in the dictionary have consecutive postings, which are read together.
      const [from] = entries[first]!.postings;
      let end = first;
      let to = from;
      for (; entries[end]?.postings[0] === to; end++) to += entries[end]!.postings[1];
      // The cache keeps the key of each part until the next query, so the parts of many terms are not cached.
      const bytes =
        entries.length > maxCachedTerms
          ? readPart(this.#index, this.#location, 'postings', from, to - from)
          : this.#bytes('postings', from, to - from);
      for (const { textCount, postings } of entries.slice(first, end)) {
        const { texts, times } = this.#checked(() =>
          this.#decodeHits(bytes.subarray(postings[0] - from), textCount),
        );
        for (let i = 0; i < texts.length; i++) timesOf[texts[i]!]! += times[i]!;
      }
      first = end;
    }
    const texts = positiveIndices(timesOf);
    return { texts, times: texts.map((text) => timesOf[text]!) };
  }

  #decodeHits(bytes: Uint8Array, count: number): Hits {
    const textHits = decodePostings(bytes, count);
    if (count > 0 && textHits.texts[count - 1]! >= this.summary.texts)
      throw new Error('a posting names a text that does not exist');
    return textHits;
  }

  /** Adds the texts that contain a term to the ranking, where `segment` is the segment's number, without blocks that cannot contribute. */
  rankTextsWithTerm(
    entry: TermEntry,
    segment: number,
    score: ScoreFunction,
    ranking: Ranking,
  ): void {
    const table = this.texts();
    const { lengths } = table;
    ranking.beginSegment(segment, table);
    const bytes = this.#bytes('postings', ...entry.postings);
    if (entry.textCount <= postingsPerBlock) {
      this.#checked(() => rankTexts(bytes, 0, 0, entry.textCount, lengths, score, ranking));
      return;
    }
    const entryBounds = this.#bounds(entry, bytes, lengths);
    const { begins, before } = entryBounds;
    let block = nextCompetitiveBlock(entryBounds, 0, score, ranking);
    while (block < begins.length) {
      const texts = Math.min(postingsPerBlock, entry.textCount - block * postingsPerBlock);
      this.#checked(() =>
        rankTexts(bytes, begins[block]!, before[block]!, texts, lengths, score, ranking),
      );
      block = nextCompetitiveBlock(entryBounds, block + 1, score, ranking);
    }
  }

  /** Returns the score limits of the blocks of a term's postings; they take about a quarter of a byte per posting. */
  #bounds(
    { textCount, postings: [from] }: TermEntry,
    bytes: Uint8Array,
    lengths: TextLengths,
  ): BlockMaxBounds {
    return this.#cached(
      `bounds ${from}`,
      () => blockMaxBounds(bytes, textCount, lengths),
      ({ begins }) => 7 * begins.byteLength,
    );
  }

  /** Returns the positions of a term in its texts: those in text i of the hits are `list[starts[i]..starts[i + 1])`. */
  positions(
    { positionsOfTerm: [from, length] }: TermEntry,
    { times }: Hits,
  ): { readonly starts: Uint32Array; readonly list: Uint32Array } {
    const bytes = this.#bytes('positions', from, length);
    return this.#checked(() => {
      const cursor = new ByteCursor(bytes);
      const starts = new Uint32Array(times.length + 1);
      for (let i = 0; i < times.length; i++) starts[i + 1] = starts[i]! + times[i]!;
      const list = new Uint32Array(starts[times.length]!);
      for (let i = 0; i < times.length; i++) {
        let position = 0;
        for (let at = starts[i]!; at < starts[i + 1]!; at++) {
          position += cursor.readVarint();
          list[at] = position;
        }
      }
      return { starts, list };
    });
  }

  /** Returns the table of texts, which is cached like the other tables that every search reads. */
  texts(): TextTable {
    return this.#cached(
      'texts',
      () =>
        this.isList
          ? { lengths: tokenCountOfRows(this.valueLists()), counts: undefined, begins: undefined }
          : decodeTexts(this.#part('texts'), this.summary),
      ({ lengths, counts }) => lengths.byteLength * (counts ? 3 : 1),
    );
  }

  /**
   * Returns, for a column that is a list or lies in one, which values belong to each row, the number of each value's text, and the number of
   * tokens of each text.
   */
  valueLists(): RowValueLists {
    return this.#cached(
      'lists',
      () => decodeLists(this.#part('texts'), this.#part('rows'), this.summary, this.rows),
      ({ starts, textOf, lengths }) =>
        starts.byteLength + lengths.byteLength + (textOf?.byteLength ?? 0),
    );
  }

  /** Returns the rows that have these texts, ascending; the texts must be ascending. */
  rowsOf(texts: Uint32Array): Uint32Array {
    const { counts, begins } = this.texts();
    if (counts === undefined || begins === undefined) return texts;
    const total = texts.reduce((sum, text) => sum + counts[text]!, 0);
    const rows = new Uint32Array(total);
    const first = begins[texts[0] ?? 0] ?? 0;
    const last = begins[(texts.at(-1) ?? 0) + 1] ?? first;
    const bytes = this.#bytes('rows', first, last - first);
    return this.#checked(() => {
      const cursor = new ByteCursor(bytes);
      let end = 0;
      for (const text of texts) {
        cursor.at = begins[text]! - first;
        let row = 0;
        for (let i = 0; i < counts[text]!; i++) {
          row += cursor.readVarint();
          rows[end++] = row;
        }
      }
      return texts.length > 1 ? rows.sort() : rows;
    });
  }

  /**
   * Returns, for each row, 1 + the number of its text, or 0 for null; only if rows share texts. To find the rows of many texts, scanning
   * this array takes a tenth of the time of reading the lists of rows.
   */
  textOfRows(): Uint16Array | Uint32Array {
    return this.#cached(
      'rows',
      () => this.#textOfRows(),
      ({ byteLength }) => byteLength,
    );
  }

  /** Decodes the array that `textOfRows` caches. It has two bytes per row if that suffices, as for most columns. */
  #textOfRows(): Uint16Array | Uint32Array {
    const { counts } = this.texts();
    const { rows } = this.#index;
    const textOf = this.summary.texts < 0xffff ? new Uint16Array(rows) : new Uint32Array(rows);
    decodeTextIndices(this.#part('rows'), counts!, textOf);
    return textOf;
  }

  #blocks(): TermBlocks {
    return this.#cached(
      'blocks',
      () => decodeBlocks(this.#part('blocks')),
      ({ terms }) => 200 * terms.length,
    );
  }

  /** Returns the result of `decode` for this key of the column, from the cache if possible. */
  #cached<T>(key: string, decode: () => T, sizeOf: (value: T) => number): T {
    const wholeKey = `${this.#key}${key}`;
    const cachedValue = this.#cache.get(wholeKey) as T | undefined;
    if (cachedValue !== undefined) return cachedValue;
    const value = this.#checked(decode);
    this.#cache.set(wholeKey, value, sizeOf(value) + entryOverheadBytes);
    return value;
  }

  /** Returns bytes of a part of the index. They are cached for the next search for the same terms. */
  #bytes(part: IndexPartName, from: number, length: number): Uint8Array {
    return this.#cached(
      `${part} ${from} ${length}`,
      () => readPart(this.#index, this.#location, part, from, length),
      (bytes) => bytes.byteLength,
    );
  }

  #part(part: IndexPartName): Uint8Array {
    return readPart(this.#index, this.#location, part);
  }

  #checked<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw damagedIndexError(this.#index.file, `cannot be read: ${String(error)}`, error);
    }
  }
}

/** Inverts the lists of rows: sets `textOf[row]` to 1 + the number of the row's text. */
function decodeTextIndices(
  bytes: Uint8Array,
  counts: Uint32Array,
  textOf: Uint16Array | Uint32Array,
): void {
  const cursor = new ByteCursor(bytes);
  for (let text = 0; text < counts.length; text++) {
    let row = 0;
    for (let i = 0; i < counts[text]!; i++) {
      row += cursor.readVarint();
      if (row >= textOf.length) throw new Error('a text names a row that does not exist');
      textOf[row] = text + 1;
    }
  }
}

function decodeTexts(bytes: Uint8Array, { texts, isShared }: ColumnSummary): TextTable {
  const cursor = new ByteCursor(bytes);
  if (!isShared)
    return { lengths: decodeLengths(bytes, texts), counts: undefined, begins: undefined };
  const lengths = new Uint32Array(texts);
  const counts = new Uint32Array(texts);
  const begins = new Uint32Array(texts + 1);
  for (let i = 0; i < texts; i++) {
    lengths[i] = cursor.readVarint();
    counts[i] = cursor.readVarint();
    begins[i + 1] = begins[i]! + cursor.readVarint();
  }
  return { lengths, counts, begins };
}

/** Returns the number of tokens of each text: the stored bytes themselves if no text has more than 127, as in most columns. */
function decodeLengths(bytes: Uint8Array, texts: number): TextLengths {
  let all = 0;
  if (bytes.length === texts) for (let i = 0; i < texts; i++) all |= bytes[i]!;
  if (bytes.length === texts && all < 0x80) return bytes;
  const cursor = new ByteCursor(bytes);
  const lengths = new Uint32Array(texts);
  for (let i = 0; i < texts; i++) {
    const length = bytes[cursor.at]!;
    if (length < 0x80) cursor.at += 1; // nearly every length is one byte, which needs no decoding
    lengths[i] = length < 0x80 ? length : cursor.readVarint();
  }
  return lengths;
}

function positiveIndices(numbers: Uint32Array): Uint32Array {
  const indices = new Uint32Array(numbers.length);
  let count = 0;
  for (let i = 0; i < numbers.length; i++) if (numbers[i]! > 0) indices[count++] = i;
  return indices.slice(0, count);
}
