import { ByteSink } from '../../parquet/byte-sink.js';
import { copyOverrunBytes, copyText, newCellTexts, type CellTexts } from './cell-texts.js';
import { writeWholeCell, type ListNode } from './json-nodes.js';
import type { LeafValues } from './leaf-values.js';
import { writeAscii } from './number-bytes.js';
import type { RowBlock } from './row-blocks.js';
import { jsonWriters, batchWriterOf, type CellForm, type WriteValues } from './scalar-text.js';

/** Maximum number of different lists over one dictionary whose texts are cached. */
const maxCachedLists = 1 << 14;
/** Minimum number of records for which texts of lists are cached: among fewer records, most lists occur once. */
const minRecordsToCache = 512;
/** If the cached texts, those of dictionary entries included, have this size in bytes or more, lists are written anew for each record. */
const maxCachedTextBytes = 4 << 20;
/** Stands for the offset of a text that has not been written yet. */
const unwrittenOffset = -2;

/**
 * Writes the texts of lists of scalars. If there are many records, the texts of short lists of entries of a small dictionary are cached;
 * many numbers without a dictionary are written together. Call `release` after use.
 */
export class ListTextWriter {
  readonly #maxLists: number;
  /**
   * For each dictionary, the texts of lists of its entries, by the number of the list (`listOfIndicesNumber`). The bytes of the texts are
   * in `#keptTexts`.
   */
  readonly #lists = new Map<LeafValues, CellTexts>();
  readonly #keptTexts: ByteSink;
  /** The texts of the numbers of a block. */
  readonly #numberTexts = new ByteSink(4 << 10);

  /** `recordCount` is the number of records in all blocks together; cached texts are written to `keptTexts`. */
  constructor(recordCount: number, keptTexts: ByteSink) {
    this.#maxLists = recordCount < minRecordsToCache ? 0 : Math.min(maxCachedLists, recordCount);
    this.#keptTexts = keptTexts;
  }

  /** Writes the texts of a column of a block to `out`, or to `#keptTexts` if most can be cached. Returns the sink that contains them. */
  write(
    node: ListNode,
    form: CellForm,
    block: RowBlock,
    out: ByteSink,
    texts: CellTexts,
  ): ByteSink {
    const { cursor, type } = node;
    const { values, indices } = cursor.page;
    const { startOffsets, ends } = texts;
    const writeAll = batchWriterOf(jsonWriters[type], block.length);
    if (indices === undefined && writeAll !== undefined) {
      this.#writeNumbers(node, writeAll, form, block, out, texts);
      return out;
    }
    if (
      indices !== undefined &&
      values.count < this.#maxLists &&
      this.#keptTexts.endOffset < maxCachedTextBytes &&
      this.#haveNumbers(node, block, startOffsets)
    ) {
      this.#writeKept(node, form, block, texts);
      return this.#keptTexts;
    }
    for (let i = 0; i < block.length; i++) {
      cursor.moveTo(block.rows[i]! - cursor.firstPageRow);
      const from = out.endOffset;
      startOffsets[i] = writeWholeCell(node, out, form) ? from : -1;
      ends[i] = out.endOffset;
    }
    return out;
  }

  release(): void {
    this.#numberTexts.release();
  }

  /**
   * Determines the numbers of the lists of a block (`listOfIndicesNumber`); returns false if more than an eighth of the lists have none.
   */
  #haveNumbers(node: ListNode, { rows, length }: RowBlock, numbers: Int32Array): boolean {
    const { cursor } = node;
    const maxLists = this.#maxLists;
    const digits = cursor.page.values.count + 1;
    let missingCount = 0;
    for (let i = 0; i < length; i++) {
      cursor.moveTo(rows[i]! - cursor.firstPageRow);
      const number = listOfIndicesNumber(node, digits, maxLists);
      numbers[i] = number;
      missingCount += number < 0 ? 1 : 0;
    }
    return missingCount * 8 <= length;
  }

  /** Replaces the numbers of lists by the offsets of their cached texts, and writes texts that are not cached yet. */
  #writeKept(node: ListNode, form: CellForm, { rows, length }: RowBlock, texts: CellTexts): void {
    const { cursor } = node;
    const { startOffsets, ends } = texts;
    const lists = this.#listsOf(cursor.page.values);
    const keptTexts = this.#keptTexts;
    for (let i = 0; i < length; i++) {
      const listNumber = startOffsets[i]!;
      let begin = listNumber < 0 ? unwrittenOffset : lists.startOffsets[listNumber]!;
      if (begin === unwrittenOffset) {
        cursor.moveTo(rows[i]! - cursor.firstPageRow);
        const from = keptTexts.endOffset;
        begin = writeWholeCell(node, keptTexts, form) ? from : -1;
        ends[i] = keptTexts.endOffset;
        if (listNumber >= 0) {
          lists.startOffsets[listNumber] = begin;
          lists.ends[listNumber] = keptTexts.endOffset;
        }
      } else ends[i] = lists.ends[listNumber]!;
      startOffsets[i] = begin;
    }
  }

  #listsOf(values: LeafValues): CellTexts {
    let lists = this.#lists.get(values);
    if (lists === undefined) {
      lists = newCellTexts(this.#maxLists);
      lists.startOffsets.fill(unwrittenOffset);
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
    { startOffsets, ends }: CellTexts,
  ): void {
    let count = 0;
    for (let i = 0; i < length; i++) {
      cursor.moveTo(rows[i]! - cursor.firstPageRow);
      count += cursor.endSlot - cursor.firstSlot;
    }
    const numberTexts = newCellTexts(count);
    let at = 0;
    for (let i = 0; i < length; i++) {
      cursor.moveTo(rows[i]! - cursor.firstPageRow);
      for (let slot = cursor.firstSlot; slot < cursor.endSlot; slot++)
        numberTexts.startOffsets[at++] = cursor.valueIndexAt(slot);
    }
    const numberSink = this.#numberTexts;
    numberSink.endOffset = 0;
    writeAll(numberSink, cursor.page.values, numberTexts.startOffsets, numberTexts.ends, count);
    numberTexts.view = numberSink.view;
    at = 0;
    for (let i = 0; i < length; i++) {
      cursor.moveTo(rows[i]! - cursor.firstPageRow);
      const end = at + cursor.endSlot - cursor.firstSlot;
      const level = cursor.levelAt(cursor.firstSlot);
      const from = out.endOffset;
      startOffsets[i] = level <= depth ? -1 : from;
      if (level > depth) {
        writeList(out, numberTexts, level > depth + 1 ? at : end, end);
        form.end?.(out, from);
      }
      ends[i] = out.endOffset;
      at = end;
    }
  }
}

/** Writes the JSON of a list of numbers from the texts of its elements. */
function writeList(out: ByteSink, numberTexts: CellTexts, from: number, to: number): void {
  out.writeByte(openBracket);
  for (let i = from; i < to; i++) {
    if (i > from) out.writeByte(comma);
    if (numberTexts.startOffsets[i]! < 0) {
      writeAscii(out, 'null');
      continue;
    }
    out.reserve(numberTexts.ends[i]! - numberTexts.startOffsets[i]! + copyOverrunBytes);
    out.endOffset = copyText(numberTexts, i, out.view, out.endOffset);
  }
  out.writeByte(closeBracket);
}

const comma = 44;
const openBracket = 91;
const closeBracket = 93;

/**
 * Returns the number of the current list among all possible lists of entries of a dictionary: 0 is the null list, 1 the empty list; in
 * other lists, the entries or nulls are the digits, which begin with 1, of a number to the base `digits`, plus 1. Returns -1 if the number
 * is not below `limit`.
 */
function listOfIndicesNumber({ cursor, depth }: ListNode, digits: number, limit: number): number {
  const { firstSlot, endSlot } = cursor;
  const level = cursor.levelAt(firstSlot);
  if (level <= depth) return 0;
  let number = 0;
  if (level > depth + 1)
    for (let slot = firstSlot; slot < endSlot && number < limit; slot++)
      number = number * digits + cursor.valueIndexAt(slot) + 2;
  return number + 1 < limit ? number + 1 : -1;
}
