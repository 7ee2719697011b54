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
/** Texts of more bytes are not kept. */
const mostKeptBytes = 256;
/** In place of the offset of a text: it has not been written. */
const unknown = -2;

/**
 * Writes the texts of lists of scalars. Those of short lists of entries of a small dictionary are written once, and numbers that are in no dictionary
 * together. Call `release` after use.
 */
export class ListTextWriter {
  readonly #mostLists: number;
  /** The texts of lists by their number (`listNumber`), of each dictionary. */
  readonly #lists = new Map<LeafValues, CellTexts>();
  readonly #kept = new ByteSink(4 << 10);
  /** The texts of the numbers of a block. */
  readonly #numbers = new ByteSink(4 << 10);

  /** `records` is the number of records in all blocks together. */
  constructor(records: number) {
    this.#mostLists = records < leastRecords ? 0 : Math.min(mostLists, records);
  }

  /** Writes the texts of a column of a block to `out`. */
  write(node: ListNode, form: CellForm, block: RowBlock, out: ByteSink, texts: CellTexts): void {
    const { cursor, type } = node;
    const { values, indices } = cursor.page;
    const writeAll = writerOfMany(writeJson[type], block.length);
    if (indices === undefined && writeAll !== undefined)
      return this.#writeNumbers(node, writeAll, form, block, out, texts);
    const lists = indices && values.count < this.#mostLists ? this.#listsOf(values) : undefined;
    const { begins, ends } = texts;
    for (let i = 0; i < block.length; i++) {
      cursor.moveTo(block.rows[i]! - cursor.first);
      const from = out.end;
      const list = lists === undefined ? -1 : listNumber(node, values.count + 1, this.#mostLists);
      if (list < 0) begins[i] = wholeText(node, out, form) ? from : -1;
      else begins[i] = this.#copyList(node, form, lists!, list, out) ? from : -1;
      ends[i] = out.end;
    }
  }

  release(): void {
    this.#kept.release();
    this.#numbers.release();
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

  /** Copies the text of a list, which is kept unless it is long; false if the list is null. */
  #copyList(
    node: ListNode,
    form: CellForm,
    lists: CellTexts,
    list: number,
    out: ByteSink,
  ): boolean {
    const { begins, ends } = lists;
    const kept = this.#kept;
    if (begins[list] === unknown) {
      const from = out.end;
      const isThere = wholeText(node, out, form);
      if (out.end - from > mostKeptBytes) return true;
      begins[list] = isThere ? kept.end : -1;
      kept.append(out.bytes.subarray(from, out.end));
      ends[list] = kept.end;
      return isThere;
    }
    if (begins[list] === -1) return false;
    out.reserve(ends[list]! - begins[list]! + copiedAtOnce);
    lists.view = kept.view;
    out.end = copyText(lists, list, out.view, out.end);
    return true;
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
