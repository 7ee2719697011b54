import { ByteCursor, compareBytes } from './bytes.js';
import { ByteCache } from './byte-cache.js';
import { damagedIndex, readPart, type ColumnPlace, type TextIndex } from './index-file.js';
import type { ColumnSummary } from './column-writer.js';
import {
  blockTexts,
  boundsOf,
  decodePostings,
  nextWanted,
  rankTexts,
  type Bounds,
  type Hits,
  type Score,
  type TextTable,
} from './postings.js';
import type { Ranking } from './ranking.js';

/** A word of an index, and where its lists are. */
export interface WordEntry {
  readonly texts: number;
  /** Rows whose text has the word. */
  readonly rows: number;
  readonly postings: readonly [from: number, length: number];
  readonly positions: readonly [from: number, length: number];
}

/** The first word of each block, and where the block and its lists begin; one more than there are blocks. */
interface Blocks {
  readonly words: readonly Uint8Array[];
  readonly begins: Float64Array;
  readonly postings: Float64Array;
  readonly positions: Float64Array;
}

const mostDecoded = 128 << 20;
const tables = new ByteCache<TextTable>(mostDecoded);
const directories = new ByteCache<Blocks>(mostDecoded);
/** The texts of rows, where they are shared: two bytes for a row, of most columns. */
const textsOfRows = new ByteCache<Uint16Array | Uint32Array>(64 << 20);
/** A quarter of a byte for each text that a word is in. */
const bounds = new ByteCache<Bounds>(32 << 20);

/** Reads the index of one column of one segment. */
export class ColumnReader {
  readonly summary: ColumnSummary;
  readonly #index: TextIndex;
  readonly #place: ColumnPlace;
  readonly #key: string;

  /** Of the segment, those without a text too. */
  get rows(): number {
    return this.#index.rows;
  }

  constructor(index: TextIndex, place: ColumnPlace) {
    this.#index = index;
    this.#place = place;
    this.summary = place.summary;
    this.#key = `${index.number} ${place.summary.name}`;
  }

  /** A folded word; undefined if no text has it. */
  async find(word: Uint8Array): Promise<WordEntry | undefined> {
    const { words, begins, postings, positions } = await this.#blocks();
    let low = 0;
    let high = words.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareBytes(words[middle]!, word) <= 0) low = middle + 1;
      else high = middle;
    }
    const block = low - 1;
    if (block < 0) return undefined;
    const from = begins[block]!;
    const bytes = await readPart(
      this.#index,
      this.#place,
      'words',
      from,
      begins[block + 1]! - from,
    );
    return this.#checked(() => findIn(bytes, word, postings[block]!, positions[block]!));
  }

  /** The texts with a word. */
  async hits({ texts: count, postings: [from, length] }: WordEntry): Promise<Hits> {
    const bytes = await readPart(this.#index, this.#place, 'postings', from, length);
    return this.#checked(() => {
      const hits = decodePostings(bytes, count);
      if (count > 0 && hits.texts[count - 1]! >= this.summary.texts)
        throw new Error('it names a text too many');
      return hits;
    });
  }

  /** Hands the texts with a word, of segment number `segment`, to the ranking, as far as they may be wanted there. */
  async rank(entry: WordEntry, segment: number, score: Score, ranking: Ranking): Promise<void> {
    const [from, length] = entry.postings;
    const table = await this.texts();
    ranking.begin(segment, table);
    const known = await this.#bounds(entry, table);
    if (known === undefined) {
      const bytes = await readPart(this.#index, this.#place, 'postings', from, length);
      this.#checked(() => rankTexts(bytes, 0, 0, entry.texts, table.lengths, score, ranking));
      return;
    }
    const { begins, before } = known;
    let block = nextWanted(known, 0, score, ranking);
    while (block < begins.length) {
      const at = begins[block]!;
      const size = (begins[block + 1] ?? length) - at;
      const bytes = await readPart(this.#index, this.#place, 'postings', from + at, size);
      const texts = Math.min(blockTexts, entry.texts - block * blockTexts);
      this.#checked(() =>
        rankTexts(bytes, 0, before[block]!, texts, table.lengths, score, ranking),
      );
      block = nextWanted(known, block + 1, score, ranking);
    }
  }

  /** What the blocks of a word's list can come to; undefined if it has but one. */
  async #bounds(entry: WordEntry, { lengths }: TextTable): Promise<Bounds | undefined> {
    if (entry.texts <= blockTexts) return undefined;
    const [from, length] = entry.postings;
    const key = `${this.#key} ${from}`;
    const known = bounds.get(key);
    if (known !== undefined) return known;
    const bytes = await readPart(this.#index, this.#place, 'postings', from, length);
    const found = this.#checked(() => boundsOf(bytes, entry.texts, lengths));
    bounds.set(key, found, 7 * found.begins.byteLength);
    return found;
  }

  /** Where a word stands in each of its texts: those of hit `i` begin at `starts[i]`. */
  async positions(
    { positions: [from, length] }: WordEntry,
    { times }: Hits,
  ): Promise<{ readonly starts: Uint32Array; readonly list: Uint32Array }> {
    const bytes = await readPart(this.#index, this.#place, 'positions', from, length);
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

  async texts(): Promise<TextTable> {
    const known = tables.get(this.#key);
    if (known !== undefined) return known;
    const bytes = await readPart(this.#index, this.#place, 'texts');
    const table = this.#checked(() => decodeTexts(bytes, this.summary));
    tables.set(this.#key, table, table.lengths.byteLength * (table.counts ? 3 : 1));
    return table;
  }

  /** The rows of some texts, ascending. */
  async rowsOf(texts: Uint32Array): Promise<Uint32Array> {
    const { counts, begins } = await this.texts();
    if (counts === undefined || begins === undefined) return texts;
    const total = texts.reduce((sum, text) => sum + counts[text]!, 0);
    const rows = new Uint32Array(total);
    const first = begins[texts[0] ?? 0] ?? 0;
    const last = begins[(texts.at(-1) ?? 0) + 1] ?? first;
    const bytes = await readPart(this.#index, this.#place, 'rows', first, last - first);
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
   * Where texts are shared: the text of each row, its number and one, 0 for rows without. Rows of many texts are found by it in a
   * tenth of the time that their lists take.
   */
  async textOfRows(): Promise<Uint16Array | Uint32Array> {
    const known = textsOfRows.get(this.#key);
    if (known !== undefined) return known;
    const { counts } = await this.texts();
    const { texts } = this.summary;
    const { rows } = this.#index;
    const bytes = await readPart(this.#index, this.#place, 'rows');
    const made = texts < 0xffff ? new Uint16Array(rows) : new Uint32Array(rows);
    this.#checked(() => spread(bytes, counts!, made));
    textsOfRows.set(this.#key, made, made.byteLength);
    return made;
  }

  async #blocks(): Promise<Blocks> {
    const known = directories.get(this.#key);
    if (known !== undefined) return known;
    const bytes = await readPart(this.#index, this.#place, 'blocks');
    const blocks = this.#checked(() => decodeBlocks(bytes));
    directories.set(this.#key, blocks, 2 * bytes.length + 120 * blocks.words.length);
    return blocks;
  }

  #checked<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw damagedIndex(this.#index.file, `cannot be read: ${String(error)}`, error);
    }
  }
}

function findIn(
  bytes: Uint8Array,
  wanted: Uint8Array,
  postingsAt: number,
  positionsAt: number,
): WordEntry | undefined {
  const cursor = new ByteCursor(bytes);
  let postings = postingsAt;
  let positions = positionsAt;
  // How many bytes at the start of the wanted word the word before shares with it: what is compared, and no word is put together.
  let same = 0;
  while (!cursor.isAtEnd) {
    const shared = cursor.varint();
    const suffix = cursor.take(cursor.varint());
    const texts = cursor.varint();
    const rows = cursor.varint();
    const postingBytes = cursor.varint();
    const positionBytes = cursor.varint();
    if (shared < same) return undefined; // the word differs where the one before was the same, so it is beyond
    if (shared === same) {
      let i = 0;
      while (i < suffix.length && same + i < wanted.length && suffix[i] === wanted[same + i])
        i += 1;
      if (i === suffix.length && same + i === wanted.length) {
        return {
          texts,
          rows,
          postings: [postings, postingBytes],
          positions: [positions, positionBytes],
        };
      }
      if (same + i === wanted.length || (i < suffix.length && suffix[i]! > wanted[same + i]!)) {
        return undefined;
      }
      same += i;
    }
    postings += postingBytes;
    positions += positionBytes;
  }
  return undefined;
}

function decodeBlocks(bytes: Uint8Array): Blocks {
  const cursor = new ByteCursor(bytes);
  const words: Uint8Array[] = [];
  const sums: [number[], number[], number[]] = [[0], [0], [0]];
  while (!cursor.isAtEnd) {
    words.push(cursor.take(cursor.varint()).slice());
    for (const sum of sums) sum.push(sum.at(-1)! + cursor.varint());
  }
  const [begins, postings, positions] = sums.map((sum) => Float64Array.from(sum));
  return { words, begins: begins!, postings: postings!, positions: positions! };
}

/** Writes into each row its text, from the lists of the rows of all texts. */
function spread(bytes: Uint8Array, counts: Uint32Array, textOf: Uint16Array | Uint32Array): void {
  const cursor = new ByteCursor(bytes);
  for (let text = 0; text < counts.length; text++) {
    let row = 0;
    for (let i = 0; i < counts[text]!; i++) {
      row += cursor.varint();
      if (row >= textOf.length) throw new Error('it names a row too many');
      textOf[row] = text + 1;
    }
  }
}

function decodeTexts(bytes: Uint8Array, { texts, isShared }: ColumnSummary): TextTable {
  const cursor = new ByteCursor(bytes);
  const lengths = new Uint32Array(texts);
  if (!isShared) {
    for (let i = 0; i < texts; i++) {
      const words = bytes[cursor.at]!;
      if (words < 0x80) cursor.at += 1; // hardly a text has more
      lengths[i] = words < 0x80 ? words : cursor.varint();
    }
    return { lengths, counts: undefined, begins: undefined };
  }
  const counts = new Uint32Array(texts);
  const begins = new Uint32Array(texts + 1);
  for (let i = 0; i < texts; i++) {
    lengths[i] = cursor.varint();
    counts[i] = cursor.varint();
    begins[i + 1] = begins[i]! + cursor.varint();
  }
  return { lengths, counts, begins };
}
