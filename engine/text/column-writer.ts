import type { Data } from 'apache-arrow';
import { ByteWriter, compareBytes } from './bytes.js';
import { textsOf, type Texts } from './distinct-strings.js';
import { TermDictionary } from './term-dictionary.js';

/** The parts of a column's index, in the order in which they lie in the file. */
export const partNames = ['words', 'postings', 'positions', 'texts', 'rows', 'blocks'] as const;

/** A part of a column's index. */
export type PartName = (typeof partNames)[number];

/** What the index of a column says of all its texts. */
export interface ColumnSummary {
  /** The column's name in the file. */
  readonly name: string;
  /** Rows with a text, of which `texts` are distinct, or taken as such. */
  readonly records: number;
  readonly texts: number;
  /** Whether rows share texts; else the number of a text is that of its row. */
  readonly isShared: boolean;
  /** Words of all rows together. */
  readonly words: number;
  /** Bytes of each part. */
  readonly sizes: Readonly<Record<PartName, number>>;
}

/** Words of one block: what is read to find one of them. */
const blockWords = 64;

/**
 * The inverted index of a column, every number in it a varint:
 * - `words`: the distinct folded words by their bytes, in blocks of 64: bytes shared with the word before, further bytes and these,
 *   texts and rows with the word, bytes of its postings and of its positions.
 * - `postings`: per word the texts that have it, as distances, and how often each does.
 * - `positions`: per word and text where it stands among the text's words, as distances.
 * - `texts`: per text its words, and where texts are shared its rows and the bytes of their list.
 * - `rows`: where texts are shared, per text its rows, as distances.
 * - `blocks`: per block the length of its first word and this, its bytes, and the bytes of its postings and positions.
 */
export function writeColumn(
  name: string,
  columns: readonly Data[],
): { readonly summary: ColumnSummary; readonly parts: readonly Uint8Array[] } {
  const texts = textsOf(columns);
  const byText = texts.isShared ? rowsOf(texts) : undefined;
  const vocabulary = new TermDictionary();
  const lengths = new Uint32Array(texts.count);
  for (let i = 0; i < texts.count; i++) {
    lengths[i] = vocabulary.read(texts.bytes[texts.batch[i]!]!, texts.from[i]!, texts.to[i]!);
  }
  const spread = byText ? undefined : rowNumbers(texts);
  const lists = writeWords(vocabulary, lengths, byText?.starts, spread);
  const { list, rows, total } = byText
    ? writeShared(lengths, byText)
    : writeOwn(lengths, texts.of, spread!);
  const parts = {
    words: lists.words.written(),
    postings: lists.postings.written(),
    positions: lists.positions.written(),
    texts: list.written(),
    rows: rows.written(),
    blocks: lists.blocks.written(),
  };
  const records = texts.of.reduce((sum, number) => sum + (number > 0 ? 1 : 0), 0);
  const sizes = Object.fromEntries(partNames.map((part) => [part, parts[part].length]));
  return {
    summary: {
      name,
      records,
      texts: byText ? texts.count : texts.of.length,
      isShared: byText !== undefined,
      words: total,
      sizes: sizes as ColumnSummary['sizes'],
    },
    parts: partNames.map((part) => parts[part]),
  };
}

/** Rows by text: those of text `i` are `rows[starts[i]..starts[i + 1])`. */
interface RowsByText {
  readonly starts: Uint32Array;
  readonly rows: Uint32Array;
}

function rowsOf({ count, of }: Texts): RowsByText {
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

/** Where rows do not share texts: the row of each text. */
function rowNumbers({ count, of }: Texts): Uint32Array {
  const rows = new Uint32Array(count);
  for (let row = 0; row < of.length; row++) if (of[row]! > 0) rows[of[row]! - 1] = row;
  return rows;
}

interface WordLists {
  readonly words: ByteWriter;
  readonly postings: ByteWriter;
  readonly positions: ByteWriter;
  readonly blocks: ByteWriter;
}

function writeWords(
  vocabulary: TermDictionary,
  lengths: Uint32Array,
  starts: Uint32Array | undefined,
  numbers: Uint32Array | undefined,
): WordLists {
  const { texts: textOf, positions: positionOf, first } = occurrences(vocabulary, lengths);
  const lists = {
    words: new ByteWriter(),
    postings: new ByteWriter(),
    positions: new ByteWriter(),
    blocks: new ByteWriter(1 << 10),
  };
  const { words, postings, positions, blocks } = lists;
  let before: Uint8Array = new Uint8Array(0);
  let block: { word: Uint8Array; words: number; postings: number; positions: number } | undefined;
  const endBlock = (): void => {
    if (block === undefined) return;
    blocks.varint(block.word.length);
    blocks.append(block.word);
    blocks.varint(words.end - block.words);
    blocks.varint(postings.end - block.postings);
    blocks.varint(positions.end - block.positions);
  };
  for (const [i, number] of sorted(vocabulary).entries()) {
    const word = vocabulary.word(number);
    if (i % blockWords === 0) {
      endBlock();
      block = { word, words: words.end, postings: postings.end, positions: positions.end };
      before = new Uint8Array(0);
    }
    const [fromPosting, fromPosition] = [postings.end, positions.end];
    let texts = 0;
    let rows = 0;
    let textBefore = 0;
    const to = first[number + 1]!;
    for (let at = first[number]!; at < to;) {
      const text = textOf[at]!;
      let times = 0;
      let positionBefore = 0;
      for (; at < to && textOf[at] === text; at++, times++) {
        positions.varint(positionOf[at]! - positionBefore);
        positionBefore = positionOf[at]!;
      }
      const shown = numbers ? numbers[text]! : text;
      postings.varint(shown - textBefore);
      postings.varint(times);
      textBefore = shown;
      texts += 1;
      rows += starts ? starts[text + 1]! - starts[text]! : 1;
    }
    let shared = 0;
    while (shared < word.length && word[shared] === before[shared]) shared += 1;
    words.varint(shared);
    words.varint(word.length - shared);
    words.append(word.subarray(shared));
    words.varint(texts);
    words.varint(rows);
    words.varint(postings.end - fromPosting);
    words.varint(positions.end - fromPosition);
    before = word;
  }
  endBlock();
  return lists;
}

/** Every occurrence of every word, by word, then text, then position: a counting sort. */
function occurrences(
  vocabulary: TermDictionary,
  lengths: Uint32Array,
): { readonly texts: Uint32Array; readonly positions: Uint32Array; readonly first: Uint32Array } {
  const tokens = vocabulary.tokens.written();
  const first = new Uint32Array(vocabulary.words + 1);
  for (const token of tokens) first[token + 1]! += 1;
  for (let i = 1; i < first.length; i++) first[i]! += first[i - 1]!;
  const next = first.slice();
  const texts = new Uint32Array(tokens.length);
  const positions = new Uint32Array(tokens.length);
  let at = 0;
  for (let text = 0; text < lengths.length; text++) {
    const length = lengths[text]!;
    for (let position = 0; position < length; position++, at++) {
      const place = next[tokens[at]!]!++;
      texts[place] = text;
      positions[place] = position;
    }
  }
  return { texts, positions, first };
}

/** The numbers of the words in the order of their bytes; most differ in the first six, which make one number. */
function sorted(vocabulary: TermDictionary): Uint32Array {
  const keys = new Float64Array(vocabulary.words);
  const numbers = new Uint32Array(vocabulary.words);
  for (let number = 0; number < vocabulary.words; number++) {
    const word = vocabulary.word(number);
    let key = 0;
    for (let i = 0; i < 6; i++) key = key * 256 + (word[i] ?? 0);
    keys[number] = key;
    numbers[number] = number;
  }
  return numbers.sort(
    (a, b) => keys[a]! - keys[b]! || compareBytes(vocabulary.word(a), vocabulary.word(b)),
  );
}

interface TextLists {
  readonly list: ByteWriter;
  readonly rows: ByteWriter;
  readonly total: number;
}

function writeShared(lengths: Uint32Array, { starts, rows: rowList }: RowsByText): TextLists {
  const list = new ByteWriter();
  const rows = new ByteWriter();
  let total = 0;
  for (let text = 0; text < lengths.length; text++) {
    const from = rows.end;
    let before = 0;
    for (let at = starts[text]!; at < starts[text + 1]!; at++) {
      rows.varint(rowList[at]! - before);
      before = rowList[at]!;
    }
    const count = starts[text + 1]! - starts[text]!;
    list.varint(lengths[text]!);
    list.varint(count);
    list.varint(rows.end - from);
    total += count * lengths[text]!;
  }
  return { list, rows, total };
}

function writeOwn(lengths: Uint32Array, of: Uint32Array, rows: Uint32Array): TextLists {
  const list = new ByteWriter();
  const byRow = new Uint32Array(of.length);
  let total = 0;
  for (const [text, row] of rows.entries()) {
    byRow[row] = lengths[text]!;
    total += lengths[text]!;
  }
  for (const length of byRow) list.varint(length);
  return { list, rows: new ByteWriter(1), total };
}
