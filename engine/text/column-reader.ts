import { ByteCursor, compareBytes } from './bytes.js';
import { damagedIndex, readPart, type ColumnLocation, type TextIndex } from './index-file.js';
import { AppError } from '../core/errors.js';
import type { ColumnSummary, IndexPartName } from './column-writer.js';
import {
  blockTexts,
  boundsOf,
  decodePostings,
  nextWanted,
  rankTexts,
  type Bounds,
  type Hits,
  type ScoreOf,
  type TextLengths,
  type TextTable,
} from './postings.js';
import type { Ranking } from './ranking.js';
import { decodeLists, tokensOfRows, type ValueLists } from './value-lists.js';

/** The entry of a term: its counts, and the location of its lists in their parts. */
export interface TermEntry {
  readonly texts: number;
  /** Number of rows whose text contains the term. */
  readonly rows: number;
  readonly postings: readonly [from: number, length: number];
  readonly positions: readonly [from: number, length: number];
}

/** The first term of each block, and the positions at which the block and its lists begin; the arrays have one more element for the end. */
interface Blocks {
  readonly terms: readonly Uint8Array[];
  readonly begins: Float64Array;
  readonly postings: Float64Array;
  readonly positions: Float64Array;
}

/** Keeps what readers have decoded, by keys that begin with `text`; `bytes` is the size of a value. */
export interface TextCache {
  get(key: string): unknown;
  set(key: string, value: unknown, bytes: number): void;
}

/** Estimated size of a cache entry beyond its value, in bytes. */
const entryBytes = 256;

/**
 * Reads the index of one column of one segment. What cannot be decoded is `damaged`. In a column that is or lies in a list, `find`, `hits` and
 * `positions` are about the texts of single values, and `texts` about all values of a row as one text, whose number is that of the row.
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

  /** Whether several rows may share a text; if not, text i belongs to row i. */
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

  /** Decodes what every search needs. */
  load(): void {
    this.#blocks();
    this.texts();
  }

  /** The number of bytes that `load` reads. */
  get loadedBytes(): number {
    const { blocks, texts, rows } = this.summary.sizes;
    return blocks + texts + (this.isList ? rows : 0);
  }

  /** The entry of a term; undefined if no text contains it. */
  find(term: Uint8Array): TermEntry | undefined {
    const { terms, begins, postings, positions } = this.#blocks();
    let low = 0;
    let high = terms.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareBytes(terms[middle]!, term) <= 0) low = middle + 1;
      else high = middle;
    }
    const block = low - 1;
    if (block < 0) return undefined;
    const from = begins[block]!;
    const bytes = this.#bytes('words', from, begins[block + 1]! - from);
    return this.#checked(() => findIn(bytes, term, postings[block]!, positions[block]!));
  }

  /** The texts that contain a term. */
  hits({ texts: count, postings: [from, length] }: TermEntry): Hits {
    const bytes = this.#bytes('postings', from, length);
    return this.#checked(() => {
      const textHits = decodePostings(bytes, count);
      if (count > 0 && textHits.texts[count - 1]! >= this.summary.texts)
        throw new Error('a posting names a text that does not exist');
      return textHits;
    });
  }

  /** Adds the texts that contain a term to the ranking, except blocks that cannot contribute. `segment` is the segment's number in the ranking. */
  rank(entry: TermEntry, segment: number, score: ScoreOf, ranking: Ranking): void {
    const table = this.texts();
    const { lengths } = table;
    ranking.begin(segment, table);
    const bytes = this.#bytes('postings', ...entry.postings);
    if (entry.texts <= blockTexts) {
      this.#checked(() => rankTexts(bytes, 0, 0, entry.texts, lengths, score, ranking));
      return;
    }
    const entryBounds = this.#bounds(entry, bytes, lengths);
    const { begins, before } = entryBounds;
    let block = nextWanted(entryBounds, 0, score, ranking);
    while (block < begins.length) {
      const texts = Math.min(blockTexts, entry.texts - block * blockTexts);
      this.#checked(() =>
        rankTexts(bytes, begins[block]!, before[block]!, texts, lengths, score, ranking),
      );
      block = nextWanted(entryBounds, block + 1, score, ranking);
    }
  }

  /** The score limits of a term's postings, about a quarter of a byte for each. */
  #bounds({ texts, postings: [from] }: TermEntry, bytes: Uint8Array, lengths: TextLengths): Bounds {
    return this.#cached(
      `bounds ${from}`,
      () => boundsOf(bytes, texts, lengths),
      ({ begins }) => 7 * begins.byteLength,
    );
  }

  /** The positions of a term in its texts: those in text i of the hits are `list[starts[i]..starts[i + 1])`. */
  positions(
    { positions: [from, length] }: TermEntry,
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
          position += cursor.varint();
          list[at] = position;
        }
      }
      return { starts, list };
    });
  }

  /** The table of texts, which is cached, like the other tables that every search reads. */
  texts(): TextTable {
    return this.#cached(
      'texts',
      () =>
        this.isList
          ? { lengths: tokensOfRows(this.lists()), counts: undefined, begins: undefined }
          : decodeTexts(this.#part('texts'), this.summary),
      ({ lengths, counts }) => lengths.byteLength * (counts ? 3 : 1),
    );
  }

  /** The values of each row, of a column that is or lies in a list. */
  lists(): ValueLists {
    return this.#cached(
      'lists',
      () => decodeLists(this.#part('texts'), this.#part('rows'), this.summary, this.rows),
      ({ starts, textOf, lengths }) =>
        starts.byteLength + lengths.byteLength + (textOf?.byteLength ?? 0),
    );
  }

  /** The rows with these texts, ascending. */
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
          row += cursor.varint();
          rows[end++] = row;
        }
      }
      return texts.length > 1 ? rows.sort() : rows;
    });
  }

  /**
   * For shared texts: for each row, 1 + the number of its text, or 0 for null. For many texts, scanning it takes a tenth of the time of their lists
   * of rows.
   */
  textOfRows(): Uint16Array | Uint32Array {
    return this.#cached(
      'rows',
      () => this.#textOfRows(),
      ({ byteLength }) => byteLength,
    );
  }

  /** Most columns need two bytes per row. */
  #textOfRows(): Uint16Array | Uint32Array {
    const { counts } = this.texts();
    const { rows } = this.#index;
    const textOf = this.summary.texts < 0xffff ? new Uint16Array(rows) : new Uint32Array(rows);
    fillTextOfRows(this.#part('rows'), counts!, textOf);
    return textOf;
  }

  #blocks(): Blocks {
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
    this.#cache.set(wholeKey, value, sizeOf(value) + entryBytes);
    return value;
  }

  /** Bytes of a part, kept for the next search for the same terms. */
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
      throw damagedIndex(this.#index.file, `cannot be read: ${String(error)}`, error);
    }
  }
}

function findIn(
  bytes: Uint8Array,
  wanted: Uint8Array,
  postingsAt: number,
  positionsAt: number,
): TermEntry | undefined {
  const cursor = new ByteCursor(bytes);
  let postings = postingsAt;
  let positions = positionsAt;
  // Bytes of the wanted term that the previous term starts with. With it terms are compared without being reconstructed.
  let sameLength = 0;
  while (!cursor.isAtEnd) {
    const shared = cursor.varint();
    const size = cursor.varint();
    const suffix = cursor.skip(size);
    const texts = cursor.varint();
    const rows = cursor.varint();
    const postingBytes = cursor.varint();
    const positionBytes = cursor.varint();
    if (shared < sameLength) return undefined; // it differs from the previous term in a byte that was equal, so it sorts after the wanted term
    if (shared === sameLength) {
      let i = 0;
      while (
        i < size &&
        sameLength + i < wanted.length &&
        bytes[suffix + i] === wanted[sameLength + i]
      )
        i += 1;
      if (i === size && sameLength + i === wanted.length) {
        return {
          texts,
          rows,
          postings: [postings, postingBytes],
          positions: [positions, positionBytes],
        };
      }
      if (
        sameLength + i === wanted.length ||
        (i < size && bytes[suffix + i]! > wanted[sameLength + i]!)
      ) {
        return undefined;
      }
      sameLength += i;
    }
    postings += postingBytes;
    positions += positionBytes;
  }
  return undefined;
}

function decodeBlocks(bytes: Uint8Array): Blocks {
  const cursor = new ByteCursor(bytes);
  const terms: Uint8Array[] = [];
  const sums: [number[], number[], number[]] = [[0], [0], [0]];
  while (!cursor.isAtEnd) {
    terms.push(cursor.take(cursor.varint()).slice());
    for (const sum of sums) sum.push(sum.at(-1)! + cursor.varint());
  }
  const [begins, postings, positions] = sums.map((sum) => Float64Array.from(sum));
  return { terms, begins: begins!, postings: postings!, positions: positions! };
}

/** Inverts the lists of rows: sets `textOf[row]` to 1 + the number of the row's text. */
function fillTextOfRows(
  bytes: Uint8Array,
  counts: Uint32Array,
  textOf: Uint16Array | Uint32Array,
): void {
  const cursor = new ByteCursor(bytes);
  for (let text = 0; text < counts.length; text++) {
    let row = 0;
    for (let i = 0; i < counts[text]!; i++) {
      row += cursor.varint();
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
    lengths[i] = cursor.varint();
    counts[i] = cursor.varint();
    begins[i + 1] = begins[i]! + cursor.varint();
  }
  return { lengths, counts, begins };
}

/** The lengths as they are stored, if each is a byte: in most columns no text has more than 127 tokens. */
function decodeLengths(bytes: Uint8Array, texts: number): TextLengths {
  let all = 0;
  if (bytes.length === texts) for (let i = 0; i < texts; i++) all |= bytes[i]!;
  if (bytes.length === texts && all < 0x80) return bytes;
  const cursor = new ByteCursor(bytes);
  const lengths = new Uint32Array(texts);
  for (let i = 0; i < texts; i++) {
    const length = bytes[cursor.at]!;
    if (length < 0x80) cursor.at += 1; // nearly every length fits one byte
    lengths[i] = length < 0x80 ? length : cursor.varint();
  }
  return lengths;
}
