import { ByteCursor } from './bytes.js';

/** The texts that contain a term or phrase, ascending, and the number of occurrences in each. */
export interface Hits {
  readonly texts: Uint32Array;
  readonly times: Uint32Array;
}

/**
 * Returns the score of a text with `times` occurrences among `tokens` tokens. It must not be lower for more occurrences, nor for fewer
 * tokens.
 */
export type ScoreFunction = (times: number, tokens: number) => number;

/** Collects texts with their scores; implemented by `Ranking` (ranking.ts). */
export interface ScoreCollector {
  /** Returns whether a text with this score may still be part of the result. */
  wants(score: number): boolean;
  add(text: number, score: number): void;
}

/** The number of tokens of each text; a byte each if all numbers are small. */
export type TextLengths = Uint8Array | Uint32Array;

/** The texts of a column and their rows. */
export interface TextTable {
  readonly lengths: TextLengths;
  /** For each text, the number of rows that have it; undefined if every row has its own text. */
  readonly counts: Uint32Array | undefined;
  /** For each text, the position of its list of rows in the part `rows`; undefined if every row has its own text. */
  readonly begins: Uint32Array | undefined;
}

/** Number of postings in a block; the last block of a posting list may have fewer. `BlockMaxBounds` has score limits for each block. */
export const postingsPerBlock = 128;

/**
 * Maximum number of occurrences in a text up to which the limits of its block are used: with more, rounding errors can exceed the
 * difference between the scores of n and n + 1 occurrences.
 */
const maxExactOccurrences = 1_000_000;

/** Number of classes of the texts in a block: those with 1, 2, 3, and at least 4 occurrences of the term. */
const occurrenceClasses = 4;

/**
 * Limits for the scores in each block of a term's postings, with which blocks that cannot contribute to a page are skipped (block-max
 * pruning). The limits are separate for texts with few and with many occurrences: in almost every block, a frequent term occurs in some
 * short text, and several times in some long text, so that one limit over all texts would skip few blocks.
 */
export interface BlockMaxBounds {
  /** For each block, the position in the postings at which it begins. */
  readonly begins: Uint32Array;
  /** For each block, the number of the last text before it; 0 for the first block. */
  readonly before: Uint32Array;
  /** For each block and class (texts with 1, 2, 3, or at least 4 occurrences of the term), the smallest token count of a text. */
  readonly minTokenCounts: Uint32Array;
  /** For each block, the greatest number of occurrences of the term in one text. */
  readonly most: Uint32Array;
}

/** Stands for a missing token count: the block has no text of the class. It is greater than the number of tokens of any text. */
const noTextOfClass = 0xffffffff;

/** Decodes the postings of a term that `count` texts contain. */
export function decodePostings(bytes: Uint8Array, count: number): Hits {
  const cursor = new ByteCursor(bytes);
  const texts = new Uint32Array(count);
  const frequencies = new Uint32Array(count);
  let text = 0;
  let at = 0;
  for (let i = 0; i < count; i++) {
    // Most numbers have one byte. Reading them inline takes 3 ms for a million numbers; reading them with the cursor takes 15 ms.
    let gap = bytes[at++]!;
    if (!(gap < 0x80)) {
      cursor.at = at - 1;
      gap = cursor.readVarint();
      at = cursor.at;
    }
    let number = bytes[at++]!;
    if (!(number < 0x80)) {
      cursor.at = at - 1;
      number = cursor.readVarint();
      at = cursor.at;
    }
    text += gap;
    texts[i] = text;
    frequencies[i] = number;
  }
  return { texts, times: frequencies };
}

/**
 * Returns the score limits of the postings of a term that `count` texts contain; `lengths` has the number of tokens of each text of the
 * column.
 */
export function blockMaxBounds(
  bytes: Uint8Array,
  count: number,
  lengths: TextLengths,
): BlockMaxBounds {
  const blocks = Math.ceil(count / postingsPerBlock);
  const begins = new Uint32Array(blocks);
  const before = new Uint32Array(blocks);
  const fewest = new Uint32Array(blocks * occurrenceClasses).fill(noTextOfClass);
  const maxFrequencies = new Uint32Array(blocks);
  const cursor = new ByteCursor(bytes);
  let text = 0;
  let at = 0;
  for (let block = 0; block < blocks; block++) {
    begins[block] = at;
    before[block] = text;
    let frequency = 1;
    const end = Math.min(count, (block + 1) * postingsPerBlock);
    for (let i = block * postingsPerBlock; i < end; i++) {
      let gap = bytes[at++]!;
      if (!(gap < 0x80)) {
        cursor.at = at - 1;
        gap = cursor.readVarint();
        at = cursor.at;
      }
      let number = bytes[at++]!;
      if (!(number < 0x80)) {
        cursor.at = at - 1;
        number = cursor.readVarint();
        at = cursor.at;
      }
      text += gap;
      if (text >= lengths.length) throw new Error('a posting names a text that does not exist');
      if (number > frequency) frequency = number;
      const kind =
        block * occurrenceClasses + (number < occurrenceClasses ? number : occurrenceClasses) - 1;
      const length = lengths[text]!;
      if (length < fewest[kind]!) fewest[kind] = length;
    }
    maxFrequencies[block] = frequency;
  }
  return { begins, before, minTokenCounts: fewest, most: maxFrequencies };
}

/** Returns the first block, from `block` on, that may contain a text that the collector wants; the number of blocks if there is none. */
export function nextCompetitiveBlock(
  bounds: BlockMaxBounds,
  block: number,
  score: ScoreFunction,
  collector: ScoreCollector,
): number {
  const { begins, minTokenCounts, most: maxOccurrenceCounts } = bounds;
  for (let i = block; i < begins.length; i++) {
    const maxFrequency = maxOccurrenceCounts[i]!;
    if (maxFrequency > maxExactOccurrences) return i;
    const at = i * occurrenceClasses;
    for (let kind = 1; kind <= occurrenceClasses && kind <= maxFrequency; kind++) {
      const tokens = minTokenCounts[at + kind - 1]!;
      if (collector.wants(score(kind < occurrenceClasses ? kind : maxFrequency, tokens))) return i;
    }
  }
  return begins.length;
}

/**
 * Adds `count` postings to the collector, beginning at position `at` of `bytes`; `before` is the number of the text of the previous
 * posting, or 0.
 */
export function rankTexts(
  bytes: Uint8Array,
  at: number,
  before: number,
  count: number,
  lengths: TextLengths,
  score: ScoreFunction,
  collector: ScoreCollector,
): void {
  const cursor = new ByteCursor(bytes);
  cursor.at = at;
  let text = before;
  for (let i = 0; i < count; i++) {
    text += cursor.readVarint();
    const frequency = cursor.readVarint();
    if (text >= lengths.length) throw new Error('a posting names a text that does not exist');
    collector.add(text, score(frequency, lengths[text]!));
  }
}
