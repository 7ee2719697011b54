import { ByteCursor } from './bytes.js';

/** Texts in ascending order, and how often each has what was looked for. */
export interface Hits {
  readonly texts: Uint32Array;
  readonly times: Uint32Array;
}

/** The score of a text with so many occurrences among so many words: more of the ones, or fewer of the others, is never less. */
export type Score = (times: number, words: number) => number;

/** Collects texts with their scores (`Ranking` of ranking.ts). */
export interface Collector {
  /** Whether a text with this score may still be part of the result. */
  wants(score: number): boolean;
  add(text: number, score: number): void;
}

/** All texts of a column. */
export interface TextTable {
  /** Per text its words. */
  readonly lengths: Uint32Array;
  /** Where texts are shared: per text its rows, and where their list begins. */
  readonly counts: Uint32Array | undefined;
  readonly begins: Uint32Array | undefined;
}

/** So many texts of a word's list are looked at together. */
export const blockTexts = 128;

/** Above this the scores of neighbouring numbers of occurrences are too near to each other for their doubles to be in order. */
const mostTimes = 1_000_000;

/** Texts are told apart by whether they have the word once, twice, three times, or more often. */
const kinds = 4;

/**
 * What the blocks of a word's list can come to, so that those that cannot be on a page are not read. A common word is in some short
 * text of any block, and several times in some long one, so one number for all kinds of texts would rule out few blocks.
 */
export interface Bounds {
  /** Bytes before the block, and its last text before it. */
  readonly begins: Uint32Array;
  readonly before: Uint32Array;
  /** By block and kind the fewest words of a text. */
  readonly fewest: Uint32Array;
  /** By block the most times that a text has the word. */
  readonly most: Uint32Array;
}

/** More words than any text has: there is none of that kind. */
const none = 0xffffffff;

/** The list of a word with so many texts. */
export function decodePostings(bytes: Uint8Array, count: number): Hits {
  const cursor = new ByteCursor(bytes);
  const texts = new Uint32Array(count);
  const times = new Uint32Array(count);
  let text = 0;
  let at = 0;
  for (let i = 0; i < count; i++) {
    // Most numbers are one byte. Read here, a million of them take 3 ms; by calls of the cursor alone it is 15.
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
    times[i] = number;
  }
  return { texts, times };
}

/** The bounds of the list of a word with so many texts; `lengths` are the words of each text of the column. */
export function boundsOf(bytes: Uint8Array, count: number, lengths: Uint32Array): Bounds {
  const blocks = Math.ceil(count / blockTexts);
  const begins = new Uint32Array(blocks);
  const before = new Uint32Array(blocks);
  const fewest = new Uint32Array(blocks * kinds).fill(none);
  const most = new Uint32Array(blocks);
  const cursor = new ByteCursor(bytes);
  let text = 0;
  let at = 0;
  for (let block = 0; block < blocks; block++) {
    begins[block] = at;
    before[block] = text;
    let times = 1;
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
      if (text >= lengths.length) throw new Error('it names a text too many');
      if (number > times) times = number;
      const kind = block * kinds + (number < kinds ? number : kinds) - 1;
      const length = lengths[text]!;
      if (length < fewest[kind]!) fewest[kind] = length;
    }
    most[block] = times;
  }
  return { begins, before, fewest, most };
}

/** The first block from `block` on that may have a text which the ranking wants; as many as there are blocks if there is none. */
export function nextWanted(
  bounds: Bounds,
  block: number,
  score: Score,
  collector: Collector,
): number {
  const { begins, fewest, most } = bounds;
  for (let i = block; i < begins.length; i++) {
    const times = most[i]!;
    if (times > mostTimes) return i;
    const at = i * kinds;
    for (let kind = 1; kind <= kinds && kind <= times; kind++) {
      const words = fewest[at + kind - 1]!;
      if (collector.wants(score(kind < kinds ? kind : times, words))) return i;
    }
  }
  return begins.length;
}

/** Hands `count` texts of a list to the ranking: those at `at` in these bytes, behind the text `before`. */
export function rankTexts(
  bytes: Uint8Array,
  at: number,
  before: number,
  count: number,
  lengths: Uint32Array,
  score: Score,
  collector: Collector,
): void {
  const cursor = new ByteCursor(bytes);
  cursor.at = at;
  let text = before;
  for (let i = 0; i < count; i++) {
    text += cursor.varint();
    const times = cursor.varint();
    if (text >= lengths.length) throw new Error('it names a text too many');
    collector.add(text, score(times, lengths[text]!));
  }
}
