import { ByteCursor, compareBytes } from './bytes.js';
import { RecentMap } from '../core/recent-map.js';
import { damagedIndex, readPart, type ColumnLocation, type TextIndex } from './index-file.js';
import type { ColumnSummary } from './column-writer.js';
import {
  blockTexts,
  boundsOf,
  decodePostings,
  nextWanted,
  rankTexts,
  type Bounds,
  type Hits,
  type ScoreOf,
  type TextTable,
} from './postings.js';
import type { Ranking } from './ranking.js';

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

const maxDecoded = 128 << 20;
const tables = new RecentMap<string, TextTable>(maxDecoded);
const directories = new RecentMap<string, Blocks>(maxDecoded);
/** For shared texts: the text of each row, in most columns two bytes per row. */
const textsOfRows = new RecentMap<string, Uint16Array | Uint32Array>(64 << 20);
/** About a quarter of a byte per posting. */
const bounds = new RecentMap<string, Bounds>(32 << 20);

/** Reads the index of one column of one segment. What cannot be decoded is `damaged`. */
export class ColumnReader {
  readonly summary: ColumnSummary;
  readonly #index: TextIndex;
  readonly #location: ColumnLocation;
  readonly #key: string;

  /** Number of rows of the segment, including those without a text. */
  get rows(): number {
    return this.#index.rows;
  }

  constructor(index: TextIndex, location: ColumnLocation) {
    this.#index = index;
    this.#location = location;
    this.summary = location.summary;
    this.#key = `${index.number} ${location.summary.name}`;
  }

  /** The entry of a term; undefined if no text contains it. */
  async find(term: Uint8Array): Promise<TermEntry | undefined> {
    const { terms, begins, postings, positions } = await this.#blocks();
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
    const bytes = await readPart(
      this.#index,
      this.#location,
      'words',
      from,
      begins[block + 1]! - from,
    );
    return this.#checked(() => findIn(bytes, term, postings[block]!, positions[block]!));
  }

  /** The texts that contain a term. */
  async hits({ texts: count, postings: [from, length] }: TermEntry): Promise<Hits> {
    const bytes = await readPart(this.#index, this.#location, 'postings', from, length);
    return this.#checked(() => {
      const hits = decodePostings(bytes, count);
      if (count > 0 && hits.texts[count - 1]! >= this.summary.texts)
        throw new Error('a posting names a text that does not exist');
      return hits;
    });
  }

  /** Adds the texts that contain a term to the ranking, except blocks that cannot contribute. `segment` is the segment's number in the ranking. */
  async rank(entry: TermEntry, segment: number, score: ScoreOf, ranking: Ranking): Promise<void> {
    const [from, length] = entry.postings;
    const table = await this.texts();
    ranking.begin(segment, table);
    const known = await this.#bounds(entry, table);
    if (known === undefined) {
      const bytes = await readPart(this.#index, this.#location, 'postings', from, length);
      this.#checked(() => rankTexts(bytes, 0, 0, entry.texts, table.lengths, score, ranking));
      return;
    }
    const { begins, before } = known;
    let block = nextWanted(known, 0, score, ranking);
    while (block < begins.length) {
      const at = begins[block]!;
      const size = (begins[block + 1] ?? length) - at;
      const bytes = await readPart(this.#index, this.#location, 'postings', from + at, size);
      const texts = Math.min(blockTexts, entry.texts - block * blockTexts);
      this.#checked(() =>
        rankTexts(bytes, 0, before[block]!, texts, table.lengths, score, ranking),
      );
      block = nextWanted(known, block + 1, score, ranking);
    }
  }

  /** The score limits of a term's postings; undefined if they are a single block. */
  async #bounds(entry: TermEntry, { lengths }: TextTable): Promise<Bounds | undefined> {
    if (entry.texts <= blockTexts) return undefined;
    const [from, length] = entry.postings;
    const key = `${this.#key} ${from}`;
    const known = bounds.get(key);
    if (known !== undefined) return known;
    const bytes = await readPart(this.#index, this.#location, 'postings', from, length);
    const found = this.#checked(() => boundsOf(bytes, entry.texts, lengths));
    bounds.set(key, found, 7 * found.begins.byteLength);
    return found;
  }

  /** The positions of a term in its texts: those in text i of the hits are `list[starts[i]..starts[i + 1])`. */
  async positions(
    { positions: [from, length] }: TermEntry,
    { times }: Hits,
  ): Promise<{ readonly starts: Uint32Array; readonly list: Uint32Array }> {
    const bytes = await readPart(this.#index, this.#location, 'positions', from, length);
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
    const bytes = await readPart(this.#index, this.#location, 'texts');
    const table = this.#checked(() => decodeTexts(bytes, this.summary));
    tables.set(this.#key, table, table.lengths.byteLength * (table.counts ? 3 : 1));
    return table;
  }

  /** The rows of these texts, ascending. */
  async rowsOf(texts: Uint32Array): Promise<Uint32Array> {
    const { counts, begins } = await this.texts();
    if (counts === undefined || begins === undefined) return texts;
    const total = texts.reduce((sum, text) => sum + counts[text]!, 0);
    const rows = new Uint32Array(total);
    const first = begins[texts[0] ?? 0] ?? 0;
    const last = begins[(texts.at(-1) ?? 0) + 1] ?? first;
    const bytes = await readPart(this.#index, this.#location, 'rows', first, last - first);
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
   * For shared texts: by row, 1 + the number of its text, or 0 for null. For many texts, a scan of it finds their rows in a tenth of the
   * time that their lists take.
   */
  async textOfRows(): Promise<Uint16Array | Uint32Array> {
    const known = textsOfRows.get(this.#key);
    if (known !== undefined) return known;
    const { counts } = await this.texts();
    const { texts } = this.summary;
    const { rows } = this.#index;
    const bytes = await readPart(this.#index, this.#location, 'rows');
    const textOf = texts < 0xffff ? new Uint16Array(rows) : new Uint32Array(rows);
    this.#checked(() => fillTextOfRows(bytes, counts!, textOf));
    textsOfRows.set(this.#key, textOf, textOf.byteLength);
    return textOf;
  }

  async #blocks(): Promise<Blocks> {
    const known = directories.get(this.#key);
    if (known !== undefined) return known;
    const bytes = await readPart(this.#index, this.#location, 'blocks');
    const blocks = this.#checked(() => decodeBlocks(bytes));
    directories.set(this.#key, blocks, 2 * bytes.length + 120 * blocks.terms.length);
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
): TermEntry | undefined {
  const cursor = new ByteCursor(bytes);
  let postings = postingsAt;
  let positions = positionsAt;
  // Bytes of the wanted term that the previous term starts with. With it terms are compared without being reconstructed.
  let same = 0;
  while (!cursor.isAtEnd) {
    const shared = cursor.varint();
    const suffix = cursor.take(cursor.varint());
    const texts = cursor.varint();
    const rows = cursor.varint();
    const postingBytes = cursor.varint();
    const positionBytes = cursor.varint();
    if (shared < same) return undefined; // it differs from the previous term in a byte that was equal, so it sorts after the wanted term
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
  const lengths = new Uint32Array(texts);
  if (!isShared) {
    for (let i = 0; i < texts; i++) {
      const length = bytes[cursor.at]!;
      if (length < 0x80) cursor.at += 1; // nearly every length fits one byte
      lengths[i] = length < 0x80 ? length : cursor.varint();
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
