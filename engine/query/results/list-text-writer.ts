import { ByteSink } from '../../parquet/byte-sink.js';
import { copiedAtOnce, copyText, newCellTexts, type CellTexts } from './cell-texts.js';
import { wholeText, type ListNode } from './json-nodes.js';
import type { LeafValues } from './leaf-values.js';
import { writeAscii } from './number-bytes.js';
import type { RowBlock } from './row-blocks.js';
import { writeJson, writerOfMany, type CellForm, type WriteValues } from './scalar-text.js';

/** The most lists of entries of one dictionary whose texts are kept. */
const mostLists = 1 << 14;
/** With fewer records than this, most lists would be written once. */
const leastRecords = 512;
/** With more bytes of texts that are kept, lists are written for each record again. */
const mostKeptBytes = 4 << 20;
/** In place of the offset of a text: it has not been written. */
const unknown = -2;

/**
 * Writes the texts of lists of scalars. Those of short lists of entries of a small dictionary are written once, and numbers that are in no dictionary
 * together. Call `release` after use.
 */
export class ListTextWriter {
  readonly #mostLists: number;
  /** The texts of lists by their number (`listNumber`), of each dictionary: in `#kept`. */
  readonly #lists = new Map<LeafValues, CellTexts>();
  readonly #kept: ByteSink;
  /** The texts of the numbers of a block. */
  readonly #numbers = new ByteSink(4 << 10);

  /** `records` is the number of records in all blocks together; `kept` takes the texts that are written once. */
  constructor(records: number, kept: ByteSink) {
    this.#mostLists = records < leastRecords ? 0 : Math.min(mostLists, records);
    this.#kept = kept;
  }

  /** Writes the texts of a column of a block to `out`, or to the texts that are kept. Returns where they are. */
  write(
    node: ListNode,
    form: CellForm,
    block: RowBlock,
    out: ByteSink,
    texts: CellTexts,
  ): ByteSink {
    const { cursor, type } = node;
    const { values, indices } = cursor.page;
    const { begins, ends } = texts;
    const writeAll = writerOfMany(writeJson[type], block.length);
    if (indices === undefined && writeAll !== undefined) {
      this.#writeNumbers(node, writeAll, form, block, out, texts);
      return out;
    }
    if (
      indices !== undefined &&
      values.count < this.#mostLists &&
      this.#kept.end < mostKeptBytes &&
      this.#haveNumbers(node, block, begins)
    ) {
      this.#writeKept(node, form, block, texts);
      return this.#kept;
    }
    for (let i = 0; i < block.length; i++) {
      cursor.moveTo(block.rows[i]! - cursor.first);
      const from = out.end;
      begins[i] = wholeText(node, out, form) ? from : -1;
      ends[i] = out.end;
    }
    return out;
  }

  release(): void {
    this.#numbers.release();
  }

  /** Fills in the numbers of the lists of a block; false if more than an eighth of the lists have none. */
  #haveNumbers(node: ListNode, { rows, length }: RowBlock, numbers: Int32Array): boolean {
    const { cursor } = node;
    const most = this.#mostLists;
    const digits = cursor.page.values.count + 1;
    let missing = 0;
    for (let i = 0; i < length; i++) {
      cursor.moveTo(rows[i]! - cursor.first);
      const number = listNumber(node, digits, most);
      numbers[i] = number;
      missing += number < 0 ? 1 : 0;
    }
    return missing * 8 <= length;
  }

  /** Replaces the numbers of lists by the offsets of their texts, which are written unless they are known. */
  #writeKept(node: ListNode, form: CellForm, { rows, length }: RowBlock, texts: CellTexts): void {
    const { cursor } = node;
    const { begins, ends } = texts;
    const lists = this.#listsOf(cursor.page.values);
    const kept = this.#kept;
    for (let i = 0; i < length; i++) {
      const list = begins[i]!;
      let begin = list < 0 ? unknown : lists.begins[list]!;
      if (begin === unknown) {
        cursor.moveTo(rows[i]! - cursor.first);
        const from = kept.end;
        begin = wholeText(node, kept, form) ? from : -1;
        ends[i] = kept.end;
        if (list >= 0) {
          lists.begins[list] = begin;
          lists.ends[list] = kept.end;
        }
      } else ends[i] = lists.ends[list]!;
      begins[i] = begin;
    }
  }

  #listsOf(values: LeafValues): CellTexts {
    let lists = this.#lists.get(values);
    if (lists === undefined) {
      lists = newCellTexts(this.#mostLists);
      lists.begins.fill(unknown);
      this.#lists.set(values, lists);
    }
    return lists;
  }

  #writeNumbers(
    { cursor, depth }: ListNode,
    writeAll: WriteValues,
    form: CellForm,
    { rows, length }: RowBlock,
    out: ByteSink,
    { begins, ends }: CellTexts,
  ): void {
    let count = 0;
    for (let i = 0; i < length; i++) {
      cursor.moveTo(rows[i]! - cursor.first);
      count += cursor.end - cursor.begin;
    }
    const numbers = newCellTexts(count);
    let at = 0;
    for (let i = 0; i < length; i++) {
      cursor.moveTo(rows[i]! - cursor.first);
      for (let slot = cursor.begin; slot < cursor.end; slot++)
        numbers.begins[at++] = cursor.valueAt(slot);
    }
    const written = this.#numbers;
    written.end = 0;
    writeAll(written, cursor.page.values, numbers.begins, numbers.ends, count);
    numbers.view = written.view;
    at = 0;
    for (let i = 0; i < length; i++) {
      cursor.moveTo(rows[i]! - cursor.first);
      const next = at + cursor.end - cursor.begin;
      const level = cursor.levelAt(cursor.begin);
      const from = out.end;
      begins[i] = level <= depth ? -1 : from;
      if (level > depth) {
        writeList(out, numbers, level > depth + 1 ? at : next, next);
        form.end?.(out, from);
      }
      ends[i] = out.end;
      at = next;
    }
  }
}

/** Writes the JSON of a list of numbers from the texts of its elements. */
function writeList(out: ByteSink, numbers: CellTexts, from: number, to: number): void {
  out.byte(openBracket);
  for (let i = from; i < to; i++) {
    if (i > from) out.byte(comma);
    if (numbers.begins[i]! < 0) {
      writeAscii(out, 'null');
      continue;
    }
    out.reserve(numbers.ends[i]! - numbers.begins[i]! + copiedAtOnce);
    out.end = copyText(numbers, i, out.view, out.end);
  }
  out.byte(closeBracket);
}

const comma = 44;
const openBracket = 91;
const closeBracket = 93;

/**
 * The number of the list in the current slots among all lists of entries of a dictionary: 0 is a list that is null, 1 an empty one, and for the others the
 * entries, or null, are the digits of a number to the base `digits`. Returns -1 unless it is below `most`.
 */
function listNumber({ cursor, depth }: ListNode, digits: number, most: number): number {
  const { begin, end } = cursor;
  const level = cursor.levelAt(begin);
  if (level <= depth) return 0;
  let number = 0;
  if (level > depth + 1)
    for (let slot = begin; slot < end && number < most; slot++)
      number = number * digits + cursor.valueAt(slot) + 2;
  return number + 1 < most ? number + 1 : -1;
}
