import { ByteSink } from '../../parquet/byte-sink.js';
import { emptyView, type CellTexts } from './cell-texts.js';
import type { ScalarType } from './convert-leaf-values.js';
import { ListNode, writeWholeCell, type TextNode } from './json-nodes.js';
import type { LeafCursor } from './leaf-cursor.js';
import type { LeafValues } from './leaf-values.js';
import { ListTextWriter } from './list-text-writer.js';
import type { RecordColumn } from './record-tree.js';
import { moveCursors, type RowBlock } from './row-blocks.js';
import { batchWriterOf, type CellForm, type WriteValue } from './scalar-text.js';

/** The entries of a dictionary as texts. */
interface DictionaryTexts {
  /** The offset of each entry's text; -1 for an entry without a text, `unwrittenOffset` for an entry whose text is not cached. */
  readonly begins: Int32Array;
  readonly ends: Int32Array;
}

const unwrittenOffset = -2;
/**
 * The texts of dictionary entries are cached if the dictionary has at most this many entries per record; most entries of a larger one are
 * never written.
 */
const maxEntriesPerRecord = 4;
/** Maximum size in bytes of a cached text; a longer text is written anew for each record. */
const maxCachedTextBytes = 1024;
/** The size of a block's texts in bytes from which on the next blocks have fewer rows. */
const maxBlockBytes = 4 << 20;
const minBlockRows = 16;

/** Writes the cell texts of blocks of records, column by column. Call `release` after use. */
export class CellTextWriter {
  /** The texts of the current block. */
  readonly block = new ByteSink(64 << 10);
  /** Texts of dictionary entries and of lists of them, which are kept for all blocks. */
  readonly dictionaryTexts = new ByteSink(64 << 10);
  readonly #lists: ListTextWriter;
  readonly #recordCount: number;
  readonly #dictionaries = new Map<CellForm, Map<LeafValues, DictionaryTexts>>();
  readonly #areTexts = new Map<CellForm, Map<LeafValues, boolean>>();
  readonly #textsInBlock: CellTexts[] = [];
  readonly #textsOfDictionaries: CellTexts[] = [];
  #maxRows = minBlockRows;

  /** `recordCount` is the number of records in all blocks together. */
  constructor(recordCount: number) {
    this.#recordCount = recordCount;
    this.#lists = new ListTextWriter(recordCount, this.dictionaryTexts);
  }

  /** Maximum number of records in the next block, which limits the memory that its texts take. */
  get maxBlockRows(): number {
    return this.#maxRows;
  }

  /** Begins a block, and discards the texts of the previous one. */
  beginBlock(): void {
    this.block.endOffset = 0;
    this.#textsInBlock.length = 0;
    this.#textsOfDictionaries.length = 0;
  }

  /** Ends a block: sets the `view` of its texts, which is valid until the next block begins. */
  finishBlock(): void {
    for (const texts of this.#textsInBlock) texts.view = this.block.view;
    for (const texts of this.#textsOfDictionaries) texts.view = this.dictionaryTexts.view;
    if (this.block.endOffset > maxBlockBytes)
      this.#maxRows = Math.max(minBlockRows, this.#maxRows >> 1);
    else if (this.block.endOffset < maxBlockBytes / 4) this.#maxRows *= 2;
  }

  /** Writes the texts of a column; without a column, no record has a value. */
  write(
    column: RecordColumn<TextNode> | undefined,
    form: CellForm,
    block: RowBlock,
    texts: CellTexts,
  ): void {
    const { startOffsets, ends } = texts;
    if (column === undefined) {
      startOffsets.fill(-1, 0, block.length);
      texts.view = emptyView;
      return;
    }
    const { node, cursors } = column;
    if (node.scalar !== undefined) return this.#writeScalars(node.scalar, form, block, texts);
    const out = this.block;
    if (node instanceof ListNode) {
      const sink = this.#lists.write(node, form, block, out, texts);
      (sink === out ? this.#textsInBlock : this.#textsOfDictionaries).push(texts);
      return;
    }
    this.#textsInBlock.push(texts);
    for (let i = 0; i < block.length; i++) {
      moveCursors(cursors, block.rows[i]!);
      const from = out.endOffset;
      startOffsets[i] = writeWholeCell(node, out, form) ? from : -1;
      ends[i] = out.endOffset;
    }
  }

  /**
   * Writes the texts of the elements of a list, each into its own cell. Returns the index in the block of the last record that has more
   * elements than there are cells; -1 if there is none.
   */
  writeElements(
    column: RecordColumn<TextNode> | undefined,
    form: CellForm,
    block: RowBlock,
    cells: readonly CellTexts[],
  ): number {
    for (const texts of cells) {
      texts.startOffsets.fill(-1, 0, block.length);
      texts.view = emptyView;
    }
    if (column?.node.writeElements === undefined) return -1;
    const { node, cursors } = column;
    const out = this.block;
    this.#textsInBlock.push(...cells);
    let tooLongAt = -1;
    for (let i = 0; i < block.length; i++) {
      moveCursors(cursors, block.rows[i]!);
      let from = out.endOffset;
      let cell = 0;
      node.writeElements!(out, form, (isThere) => {
        const texts = cells[cell++];
        if (texts === undefined) tooLongAt = i;
        else if (isThere) {
          texts.startOffsets[i] = from;
          texts.ends[i] = out.endOffset;
        }
        from = out.endOffset;
      });
    }
    return tooLongAt;
  }

  #writeScalars(
    { cursor, type }: { readonly cursor: LeafCursor; readonly type: ScalarType },
    form: CellForm,
    { rows, length }: RowBlock,
    texts: CellTexts,
  ): void {
    const { startOffsets, ends } = texts;
    const { values, indices } = cursor.page;
    const write = form.write[type];
    // `startOffsets` first receives the numbers of the values, which are then replaced by the offsets of their texts.
    cursor.valuesAt(rows, length, startOffsets);
    if (stringTypes.has(type) && this.#areStoredTexts(form, values)) {
      const { int32s, gapBytes } = values;
      texts.view = values.view;
      for (let i = 0; i < length; i++) {
        const value = startOffsets[i]!;
        if (value < 0) continue;
        startOffsets[i] = int32s[value]!;
        ends[i] = int32s[value + 1]! - gapBytes;
      }
      return;
    }
    if (indices !== undefined && values.count <= maxEntriesPerRecord * this.#recordCount) {
      const entryTexts = this.#dictionary(form, values, write);
      this.#textsOfDictionaries.push(texts);
      for (let i = 0; i < length; i++) {
        const entry = startOffsets[i]!;
        if (entry < 0) continue;
        const begin = entryTexts.begins[entry]!;
        startOffsets[i] =
          begin === unwrittenOffset ? this.#writeEntry(entryTexts, write, values, entry) : begin;
        ends[i] = entryTexts.ends[entry]!;
      }
      return;
    }
    const out = this.block;
    this.#textsInBlock.push(texts);
    const writeAll = batchWriterOf(write, length);
    if (writeAll !== undefined) return writeAll(out, values, startOffsets, ends, length);
    for (let i = 0; i < length; i++) {
      const value = startOffsets[i]!;
      if (value < 0) continue;
      const from = out.endOffset;
      startOffsets[i] = write(out, values, value) ? from : -1;
      ends[i] = out.endOffset;
    }
  }

  #writeEntry(
    entryTexts: DictionaryTexts,
    write: WriteValue,
    values: LeafValues,
    entry: number,
  ): number {
    const from = this.dictionaryTexts.endOffset;
    const begin = write(this.dictionaryTexts, values, entry) ? from : -1;
    entryTexts.ends[entry] = this.dictionaryTexts.endOffset;
    if (this.dictionaryTexts.endOffset - from <= maxCachedTextBytes)
      entryTexts.begins[entry] = begin;
    return begin;
  }

  #dictionary(form: CellForm, values: LeafValues, write: WriteValue): DictionaryTexts {
    const writeAll = batchWriterOf(write, values.count);
    const textsByValues = mapOfForm(this.#dictionaries, form);
    let entryTexts = textsByValues.get(values);
    if (entryTexts === undefined) {
      const { count } = values;
      entryTexts = {
        begins: new Int32Array(count).fill(unwrittenOffset),
        ends: new Int32Array(count),
      };
      textsByValues.set(values, entryTexts);
      if (writeAll !== undefined && count <= this.#recordCount) {
        for (let i = 0; i < count; i++) entryTexts.begins[i] = i;
        writeAll(this.dictionaryTexts, values, entryTexts.begins, entryTexts.ends, count);
      }
    }
    return entryTexts;
  }

  #areStoredTexts(form: CellForm, values: LeafValues): boolean {
    if (form.areTexts === undefined) return false;
    const flagsByValues = mapOfForm(this.#areTexts, form);
    const areTexts = flagsByValues.get(values) ?? form.areTexts(values);
    flagsByValues.set(values, areTexts);
    return areTexts;
  }

  release(): void {
    this.block.release();
    this.dictionaryTexts.release();
    this.#lists.release();
  }
}

function mapOfForm<K, V>(maps: Map<CellForm, Map<K, V>>, form: CellForm): Map<K, V> {
  const mapByValues = maps.get(form) ?? new Map<K, V>();
  maps.set(form, mapByValues);
  return mapByValues;
}

const stringTypes: ReadonlySet<ScalarType> = new Set(['string', 'text', 'blob', 'json']);
