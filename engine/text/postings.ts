import { ByteCursor } from './bytes.js';

/** The texts that contain a term or phrase, ascending, and the number of occurrences in each. */
export interface Hits {
  readonly texts: Uint32Array;
  readonly times: Uint32Array;
}

/**
 * The score of a text with `times` occurrences among `words` tokens. It must not decrease with more occurrences, nor with fewer tokens.
 */
export type ScoreOf = (times: number, words: number) => number;

/** Collects texts with their scores (`Ranking` of ranking.ts). */
export interface Collector {
  /** Whether a text with this score may still be part of the result. */
  wants(score: number): boolean;
  add(text: number, score: number): void;
}

/** The number of tokens of each text; bytes if all numbers are small. */
export type TextLengths = Uint8Array | Uint32Array;

/** The texts of a column and their rows. */
export interface TextTable {
  readonly lengths: TextLengths;
  /** For each text, its number of rows; undefined if every row has its own text. */
  readonly counts: Uint32Array | undefined;
  /** For each text, the position of its list of rows; undefined if every row has its own text. */
  readonly begins: Uint32Array | undefined;
}

/** Number of postings in a block, for which `Bounds` holds limits. */
export const blockTexts = 128;

/** Maximum number of occurrences: with more, rounding errors can exceed the difference between the scores of n and n + 1 occurrences. */
const maxTimes = 1_000_000;

/** Number of classes of the texts in a block: those with 1, 2, 3, or more occurrences of the term. */
const kinds = 4;

/**
 * Limits for the scores in each block of a term's postings, so that blocks which cannot contribute to a page are skipped (block-max
 * pruning). A frequent term occurs in a short text, and several times in a long one, of almost every block: one limit over all texts
 * would skip few blocks.
 */
export interface Bounds {
  /** For each block, its position in the postings. */
  readonly begins: Uint32Array;
  /** For each block, the last text before it. */
  readonly before: Uint32Array;
  /** For each block and class (texts with 1, 2, 3 or more occurrences of the term), the smallest token count of a text. */
  readonly fewest: Uint32Array;
  /** For each block, the most occurrences in a text. */
  readonly most: Uint32Array;
}

/** A greater number of tokens than any text has: the block has no text of the class. */
const noTerm = 0xffffffff;

/** Decodes the postings of a term that `count` texts contain. */
export function decodePostings(bytes: Uint8Array, count: number): Hits {
  const cursor = new ByteCursor(bytes);
  const texts = new Uint32Array(count);
  const frequencies = new Uint32Array(count);
  let text = 0;
  let at = 0;
  for (let i = 0; i < count; i++) {
    // Most numbers have one byte. Read inline, a million of them take 3 ms; through the cursor, 15 ms.
    let gap = bytes[at++]!;
    if (!(gap < 0x80)) {
      cursor.at = at - 1;
      gap = cursor.varint();
      at = cursor.at;
    }
    let number = bytes[at++]!;
    if (!(number < 0x80)) {
      cursor.at = at - 1;
      number = cursor.varint();
      at = cursor.at;
    }
    text += gap;
    texts[i] = text;
    frequencies[i] = number;
  }
  return { texts, times: frequencies };
}

/** The limits of the postings of a term that `count` texts contain; `lengths` holds the number of tokens of each text of the column. */
export function boundsOf(bytes: Uint8Array, count: number, lengths: TextLengths): Bounds {
  const blocks = Math.ceil(count / blockTexts);
  const begins = new Uint32Array(blocks);
  const before = new Uint32Array(blocks);
  const fewest = new Uint32Array(blocks * kinds).fill(noTerm);
  const maxFrequencies = new Uint32Array(blocks);
  const cursor = new ByteCursor(bytes);
  let text = 0;
  let at = 0;
  for (let block = 0; block < blocks; block++) {
    begins[block] = at;
    before[block] = text;
    let frequency = 1;
    const end = Math.min(count, (block + 1) * blockTexts);
    for (let i = block * blockTexts; i < end; i++) {
      let gap = bytes[at++]!;
      if (!(gap < 0x80)) {
        cursor.at = at - 1;
        gap = cursor.varint();
        at = cursor.at;
      }
      let number = bytes[at++]!;
      if (!(number < 0x80)) {
        cursor.at = at - 1;
        number = cursor.varint();
        at = cursor.at;
      }
      text += gap;
      if (text >= lengths.length) throw new Error('a posting names a text that does not exist');
      if (number > frequency) frequency = number;
      const kind = block * kinds + (number < kinds ? number : kinds) - 1;
      const length = lengths[text]!;
      if (length < fewest[kind]!) fewest[kind] = length;
    }
    maxFrequencies[block] = frequency;
  }
  return { begins, before, fewest, most: maxFrequencies };
}

/** The first block from `block` on that may contain a text which the collector wants; the number of blocks if none does. */
export function nextWanted(
  bounds: Bounds,
  block: number,
  score: ScoreOf,
  collector: Collector,
): number {
  const { begins, fewest, most } = bounds;
  for (let i = block; i < begins.length; i++) {
    const maxFrequency = most[i]!;
    if (maxFrequency > maxTimes) return i;
    const at = i * kinds;
    for (let kind = 1; kind <= kinds && kind <= maxFrequency; kind++) {
      const words = fewest[at + kind - 1]!;
      if (collector.wants(score(kind < kinds ? kind : maxFrequency, words))) return i;
    }
  }
  return begins.length;
}

/** Adds `count` postings to the collector, from position `at` of `bytes` on; `before` is the text of the posting before them. */
export function rankTexts(
  bytes: Uint8Array,
  at: number,
  before: number,
  count: number,
  lengths: TextLengths,
  score: ScoreOf,
  collector: Collector,
): void {
  const cursor = new ByteCursor(bytes);
  cursor.at = at;
  let text = before;
  for (let i = 0; i < count; i++) {
    text += cursor.varint();
    const frequency = cursor.varint();
    if (text >= lengths.length) throw new Error('a posting names a text that does not exist');
    collector.add(text, score(frequency, lengths[text]!));
  }
}
