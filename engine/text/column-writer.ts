import type { Data } from 'apache-arrow';
import { ByteWriter, compareBytes } from './bytes.js';
import { collectTexts, type ColumnTexts } from './distinct-strings.js';
import type { ListedValues } from './listed-values.js';
import { TermDictionary } from './term-dictionary.js';

/** The parts of a column's index, in the order in which they are stored. */
export const partNames = ['words', 'postings', 'positions', 'texts', 'rows', 'blocks'] as const;

/** The name of a part of a column's index. */
export type IndexPartName = (typeof partNames)[number];

/** The summary of a column's index: stored as JSON, so its property names are part of the format. */
export interface ColumnSummary {
  /** The name of the column, as returned by `indexedName`. */
  readonly name: string;
  /** The number of rows with a text. */
  readonly records: number;
  /** Number of texts: of distinct values if rows share texts, otherwise of rows; in lists without sharing, of values. */
  readonly texts: number;
  /** Whether rows share texts; if not, text i belongs to row i or, in lists, to value i. */
  readonly isShared: boolean;
  /** Present for a column that is a list or lies in one, where a row may have several texts. */
  readonly isList?: true;
  /** The number of tokens in all rows. */
  readonly words: number;
  /** The size of each part in bytes. */
  readonly sizes: Readonly<Record<IndexPartName, number>>;
}

/** A column's index: its summary, and its parts in the order of `partNames`. */
export interface WrittenColumn {
  readonly summary: ColumnSummary;
  readonly parts: readonly Uint8Array[];
}

/** Number of terms per block. A lookup reads one block. */
const termsPerBlock = 64;

/**
 * Writes the inverted index of a column. Every number in it is a varint; *delta* means the difference from the previous number.
 * - `words`: the terms sorted by their bytes, in blocks of 64. Per term: length of the prefix shared with the previous term of the block,
 * length of the suffix, suffix, number of texts, number of rows, size of its postings in bytes, size of its positions in bytes.
 * - `postings`: per term, for each text that contains it: text (delta), number of occurrences.
 * - `positions`: per term and text: the positions of the term among the text's tokens (delta).
 * - `texts`: per text: number of tokens; if texts are shared, also number of rows and size of the list of rows in bytes.
 * - `rows`: if texts are shared, per text the rows that have it (delta).
 * - `blocks`: per block: length of its first term, that term, and the sizes in bytes of the block, of its postings and of its positions.
 */
export function writeColumnIndex(name: string, columns: readonly Data[]): WrittenColumn {
  const texts = collectTexts(columns);
  const { dictionary, lengths } = tokenizeTexts(texts);
  const byText = texts.isShared ? groupRowsByText(texts.count, texts.of) : undefined;
  const rowOfText = byText ? undefined : rowOfEachText(texts);
  const countRows = byText
    ? (text: number): number => byText.starts[text + 1]! - byText.starts[text]!
    : (): number => 1;
  const lists = writeTerms(dictionary, lengths, countRows, rowOfText);
  const {
    list,
    rows,
    total: tokenCount,
  } = byText ? writeSharedTexts(lengths, byText) : writeTextPerRow(lengths, texts.of, rowOfText!);
  const counts = {
    records: texts.of.reduce((sum, number) => sum + (number > 0 ? 1 : 0), 0),
    texts: byText ? texts.count : texts.of.length,
    isShared: byText !== undefined,
    words: tokenCount,
  };
  return assembleColumnIndex({ name, ...counts }, { ...lists, texts: list, rows });
}

/**
 * Writes the inverted index of a column that is a list or lies in one; each value is a text. The parts are the same as in
 * `writeColumnIndex`, except:
 * - `texts`: per text: number of tokens.
 * - `rows`: per row: number of values and, if texts are shared, the texts of the values in their order.
 */
export function writeListIndex(
  name: string,
  { values, starts, slots }: ListedValues,
): WrittenColumn {
  const texts = collectTexts(values, minTextsToCheckInLists);
  const { dictionary, lengths } = tokenizeTexts(texts);
  const numbers = slots.map((slot) => texts.of[slot]! - 1);
  const isShared = numbers.length !== texts.count || numbers.some((number, i) => number !== i);
  const lists = writeTerms(dictionary, lengths, distinctRowCounter(texts.count, starts, numbers), undefined); // prettier-ignore
  const list = new ByteWriter();
  for (const length of lengths) list.writeVarint(length);
  const rows = new ByteWriter();
  let [records, words] = [0, 0];
  for (let row = 0; row + 1 < starts.length; row++) {
    const [from, to] = [starts[row]!, starts[row + 1]!];
    rows.writeVarint(to - from);
    if (to > from) records += 1;
    for (let at = from; at < to; at++) {
      if (isShared) rows.writeVarint(numbers[at]!);
      words += lengths[numbers[at]!]!;
    }
  }
  const summary = { name, records, texts: texts.count, isShared, isList: true, words } as const;
  return assembleColumnIndex(summary, { ...lists, texts: list, rows });
}

/**
 * Number of texts from which on `collectTexts` may decide that too many values of lists are distinct. It is high because 20,000 names that
 * occur repeatedly in a large segment look distinct at first, and their index is a third as large if texts are shared.
 */
const minTextsToCheckInLists = 1 << 14;

/**
 * Returns a function that counts the rows of a text without those of the texts for which it was called before with the same term; it must
 * be called term by term.
 */
function distinctRowCounter(
  count: number,
  starts: Uint32Array,
  numbers: Uint32Array,
): (text: number, term: number) => number {
  const rows = starts.length - 1;
  const rowOf = new Uint32Array(numbers.length);
  for (let row = 0; row < rows; row++) rowOf.fill(row, starts[row]!, starts[row + 1]!);
  const byText = groupRowsByText(
    count,
    numbers.map((number) => number + 1),
  );
  const lastTerm = new Uint32Array(rows);
  return (text, term) => {
    let rowCount = 0;
    for (let at = byText.starts[text]!; at < byText.starts[text + 1]!; at++) {
      const row = rowOf[byText.rows[at]!]!;
      if (lastTerm[row] === term + 1) continue;
      lastTerm[row] = term + 1;
      rowCount += 1;
    }
    return rowCount;
  };
}

function tokenizeTexts(texts: ColumnTexts): {
  readonly dictionary: TermDictionary;
  readonly lengths: Uint32Array;
} {
  const dictionary = new TermDictionary();
  const lengths = new Uint32Array(texts.count);
  for (let i = 0; i < texts.count; i++)
    lengths[i] = dictionary.tokenizeText(
      texts.bytes[texts.batch[i]!]!,
      texts.from[i]!,
      texts.to[i]!,
    );
  return { dictionary, lengths };
}

function assembleColumnIndex(
  counts: Omit<ColumnSummary, 'sizes'>,
  parts: Readonly<Record<IndexPartName, ByteWriter>>,
): WrittenColumn {
  const bytes = partNames.map((part) => parts[part].written());
  const sizes = Object.fromEntries(partNames.map((part, i) => [part, bytes[i]!.length]));
  return { summary: { ...counts, sizes: sizes as ColumnSummary['sizes'] }, parts: bytes };
}

/** The rows of each text: text i has the rows `rows[starts[i]..starts[i + 1])`. */
interface RowsByText {
  readonly starts: Uint32Array;
  readonly rows: Uint32Array;
}

/** Returns the rows of each text, for `count` texts; `of` has, for each row, 1 + the number of its text, or 0 for a row without a text. */
function groupRowsByText(count: number, of: Uint32Array): RowsByText {
  const starts = new Uint32Array(count + 1);
  for (const number of of) if (number > 0) starts[number]! += 1;
  for (let i = 1; i <= count; i++) starts[i]! += starts[i - 1]!;
  const next = starts.slice();
  const rows = new Uint32Array(starts[count]!);
  for (let row = 0; row < of.length; row++) {
    const number = of[row]!;
    if (number > 0) rows[next[number - 1]!++] = row;
  }
  return { starts, rows };
}

/** Returns the row of each text, if rows do not share texts. */
function rowOfEachText({ count, of }: ColumnTexts): Uint32Array {
  const rows = new Uint32Array(count);
  for (let row = 0; row < of.length; row++) if (of[row]! > 0) rows[of[row]! - 1] = row;
  return rows;
}

/** The parts of a column's index that are written term by term. */
interface TermListWriters {
  readonly words: ByteWriter;
  readonly postings: ByteWriter;
  readonly positions: ByteWriter;
  readonly blocks: ByteWriter;
}

function writeTerms(
  dictionary: TermDictionary,
  lengths: Uint32Array,
  countRows: (text: number, term: number) => number,
  rowOfText: Uint32Array | undefined,
): TermListWriters {
  const { texts: textOf, positions: positionOf, first } = sortedOccurrences(dictionary, lengths);
  const lists = {
    words: new ByteWriter(),
    postings: new ByteWriter(),
    positions: new ByteWriter(),
    blocks: new ByteWriter(1 << 10),
  };
  const { words, postings, positions, blocks } = lists;
  let before: Uint8Array = new Uint8Array(0);
  let block: { term: Uint8Array; words: number; postings: number; positions: number } | undefined;
  const endBlock = (): void => {
    if (block === undefined) return;
    blocks.writeVarint(block.term.length);
    blocks.append(block.term);
    blocks.writeVarint(words.endOffset - block.words);
    blocks.writeVarint(postings.endOffset - block.postings);
    blocks.writeVarint(positions.endOffset - block.positions);
  };
  for (const [i, number] of sortedTerms(dictionary).entries()) {
    const term = dictionary.termBytes(number);
    if (i % termsPerBlock === 0) {
      endBlock();
      block = {
        term,
        words: words.endOffset,
        postings: postings.endOffset,
        positions: positions.endOffset,
      };
      before = new Uint8Array(0);
    }
    const [fromPosting, fromPosition] = [postings.endOffset, positions.endOffset];
    let texts = 0;
    let rows = 0;
    let textBefore = 0;
    const to = first[number + 1]!;
    for (let at = first[number]!; at < to;) {
      const text = textOf[at]!;
      let occurrenceCount = 0;
      let positionBefore = 0;
      for (; at < to && textOf[at] === text; at++, occurrenceCount++) {
        positions.writeVarint(positionOf[at]! - positionBefore);
        positionBefore = positionOf[at]!;
      }
      const shownNumber = rowOfText ? rowOfText[text]! : text;
      postings.writeVarint(shownNumber - textBefore);
      postings.writeVarint(occurrenceCount);
      textBefore = shownNumber;
      texts += 1;
      rows += countRows(text, number);
    }
    let shared = 0;
    while (shared < term.length && term[shared] === before[shared]) shared += 1;
    words.writeVarint(shared);
    words.writeVarint(term.length - shared);
    words.append(term.subarray(shared));
    words.writeVarint(texts);
    words.writeVarint(rows);
    words.writeVarint(postings.endOffset - fromPosting);
    words.writeVarint(positions.endOffset - fromPosition);
    before = term;
  }
  endBlock();
  return lists;
}

/**
 * Sorts all occurrences by term, text and position (counting sort); term i has the occurrences from `first[i]` to `first[i + 1]`
 * (exclusive).
 */
function sortedOccurrences(
  dictionary: TermDictionary,
  lengths: Uint32Array,
): { readonly texts: Uint32Array; readonly positions: Uint32Array; readonly first: Uint32Array } {
  const tokens = dictionary.tokenTerms.written();
  const first = new Uint32Array(dictionary.count + 1);
  for (const token of tokens) first[token + 1]! += 1;
  for (let i = 1; i < first.length; i++) first[i]! += first[i - 1]!;
  const next = first.slice();
  const texts = new Uint32Array(tokens.length);
  const positions = new Uint32Array(tokens.length);
  let at = 0;
  for (let text = 0; text < lengths.length; text++) {
    const length = lengths[text]!;
    for (let position = 0; position < length; position++, at++) {
      const slot = next[tokens[at]!]!++;
      texts[slot] = text;
      positions[slot] = position;
    }
  }
  return { texts, positions, first };
}

/**
 * Returns the numbers of the terms, sorted by the bytes of the terms. Most terms differ in their first six bytes, which are compared as one
 * number.
 */
function sortedTerms(dictionary: TermDictionary): Uint32Array {
  const keys = new Float64Array(dictionary.count);
  const numbers = new Uint32Array(dictionary.count);
  for (let number = 0; number < dictionary.count; number++) {
    const term = dictionary.termBytes(number);
    let key = 0;
    for (let i = 0; i < 6; i++) key = key * 256 + (term[i] ?? 0);
    keys[number] = key;
    numbers[number] = number;
  }
  return numbers.sort(
    (a, b) => keys[a]! - keys[b]! || compareBytes(dictionary.termBytes(a), dictionary.termBytes(b)),
  );
}

/** The parts `texts` and `rows` of a column's index, and the number of tokens in all rows. */
interface TextListWriters {
  readonly list: ByteWriter;
  readonly rows: ByteWriter;
  readonly total: number;
}

function writeSharedTexts(
  lengths: Uint32Array,
  { starts, rows: rowList }: RowsByText,
): TextListWriters {
  const list = new ByteWriter();
  const rows = new ByteWriter();
  let total = 0;
  for (let text = 0; text < lengths.length; text++) {
    const from = rows.endOffset;
    let before = 0;
    for (let at = starts[text]!; at < starts[text + 1]!; at++) {
      rows.writeVarint(rowList[at]! - before);
      before = rowList[at]!;
    }
    const count = starts[text + 1]! - starts[text]!;
    list.writeVarint(lengths[text]!);
    list.writeVarint(count);
    list.writeVarint(rows.endOffset - from);
    total += count * lengths[text]!;
  }
  return { list, rows, total };
}

function writeTextPerRow(
  lengths: Uint32Array,
  of: Uint32Array,
  rows: Uint32Array,
): TextListWriters {
  const list = new ByteWriter();
  const byRow = new Uint32Array(of.length);
  let total = 0;
  for (const [text, row] of rows.entries()) {
    byRow[row] = lengths[text]!;
    total += lengths[text]!;
  }
  for (const length of byRow) list.writeVarint(length);
  return { list, rows: new ByteWriter(1), total };
}
