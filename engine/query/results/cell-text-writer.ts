import { ByteSink } from '../../parquet/byte-sink.js';
import { noView, type CellTexts } from './cell-texts.js';
import type { ScalarType } from './converted.js';
import { ListNode, wholeText, type TextNode } from './json-nodes.js';
import type { LeafCursor } from './leaf-cursor.js';
import type { LeafValues } from './leaf-values.js';
import { ListTextWriter } from './list-text-writer.js';
import type { RecordColumn } from './record-tree.js';
import { moveCursors, type RowBlock } from './row-blocks.js';
import { writerOfMany, type CellForm, type WriteValue } from './scalar-text.js';

/** The entries of a dictionary as texts. */
interface DictionaryTexts {
  /** The offset of each entry's text; -1 for an entry without one, `unknown` for one that has not been written. */
  readonly begins: Int32Array;
  readonly ends: Int32Array;
}

const unknown = -2;
/** Texts of a dictionary are kept if it has at most this many entries for each record: of others, most entries are never written. */
const mostEntriesPerRecord = 4;
/** Maximum size of a cached text; longer ones are written for each record again. */
const maxKeptBytes = 1024;
/** Bytes of texts of a block from which on blocks get smaller. */
const mostBlockBytes = 4 << 20;
const fewRows = 16;

/** Writes the texts of blocks column by column. Call `release` after use. */
export class CellTextWriter {
  /** The texts of the current block. */
  readonly block = new ByteSink(64 << 10);
  /** Texts of the entries of dictionaries and of lists of them, each of which stands in the output at least once. */
  readonly kept = new ByteSink(64 << 10);
  readonly #lists: ListTextWriter;
  readonly #records: number;
  readonly #dictionaries = new Map<CellForm, Map<LeafValues, DictionaryTexts>>();
  readonly #areTexts = new Map<CellForm, Map<LeafValues, boolean>>();
  readonly #inBlock: CellTexts[] = [];
  readonly #inKept: CellTexts[] = [];
  #mostRows = fewRows;

  /** `records` is their number in all blocks together. */
  constructor(records: number) {
    this.#records = records;
    this.#lists = new ListTextWriter(records, this.kept);
  }

  /** Number of records that the next block may have, so that its texts do not take too much memory. */
  get mostRows(): number {
    return this.#mostRows;
  }

  /** Begins a block: the texts of the one before it end. */
  begin(): void {
    this.block.end = 0;
    this.#inBlock.length = 0;
    this.#inKept.length = 0;
  }

  /** Ends a block: `view` of its texts is there until the next one begins. */
  finish(): void {
    for (const texts of this.#inBlock) texts.view = this.block.view;
    for (const texts of this.#inKept) texts.view = this.kept.view;
    if (this.block.end > mostBlockBytes) this.#mostRows = Math.max(fewRows, this.#mostRows >> 1);
    else if (this.block.end < mostBlockBytes / 4) this.#mostRows *= 2;
  }

  /** The texts of a column; without one, of records that have no value. */
  write(
    column: RecordColumn<TextNode> | undefined,
    form: CellForm,
    block: RowBlock,
    texts: CellTexts,
  ): void {
    const { begins, ends } = texts;
    if (column === undefined) {
      begins.fill(-1, 0, block.length);
      texts.view = noView;
      return;
    }
    const { node, cursors } = column;
    if (node.scalar !== undefined) return this.#writeScalars(node.scalar, form, block, texts);
    const out = this.block;
    if (node instanceof ListNode) {
      const at = this.#lists.write(node, form, block, out, texts);
      (at === out ? this.#inBlock : this.#inKept).push(texts);
      return;
    }
    this.#inBlock.push(texts);
    for (let i = 0; i < block.length; i++) {
      moveCursors(cursors, block.rows[i]!);
      const from = out.end;
      begins[i] = wholeText(node, out, form) ? from : -1;
      ends[i] = out.end;
    }
  }

  /**
   * The texts of the elements of a list, of which the first is in the first cell. Returns the number of the record in the block that has more
   * elements than there are cells; -1 if none has.
   */
  writeElements(
    column: RecordColumn<TextNode> | undefined,
    form: CellForm,
    block: RowBlock,
    cells: readonly CellTexts[],
  ): number {
    for (const texts of cells) {
      texts.begins.fill(-1, 0, block.length);
      texts.view = noView;
    }
    if (column?.node.writeElements === undefined) return -1;
    const { node, cursors } = column;
    const out = this.block;
    this.#inBlock.push(...cells);
    let longer = -1;
    for (let i = 0; i < block.length; i++) {
      moveCursors(cursors, block.rows[i]!);
      let from = out.end;
      let cell = 0;
      node.writeElements!(out, form, (isThere) => {
        const texts = cells[cell++];
        if (texts === undefined) longer = i;
        else if (isThere) {
          texts.begins[i] = from;
          texts.ends[i] = out.end;
        }
        from = out.end;
      });
    }
    return longer;
  }

  #writeScalars(
    { cursor, type }: { readonly cursor: LeafCursor; readonly type: ScalarType },
    form: CellForm,
    { rows, length }: RowBlock,
    texts: CellTexts,
  ): void {
    const { begins, ends } = texts;
    const { values, indices } = cursor.page;
    const write = form.write[type];
    // The numbers of the values, which their texts then take the place of.
    cursor.valuesAt(rows, length, begins);
    if (stringTypes.has(type) && this.#areStoredTexts(form, values)) {
      const { int32s, gap } = values;
      texts.view = values.view;
      for (let i = 0; i < length; i++) {
        const value = begins[i]!;
        if (value < 0) continue;
        begins[i] = int32s[value]!;
        ends[i] = int32s[value + 1]! - gap;
      }
      return;
    }
    if (indices !== undefined && values.count <= mostEntriesPerRecord * this.#records) {
      const known = this.#dictionary(form, values, write);
      this.#inKept.push(texts);
      for (let i = 0; i < length; i++) {
        const entry = begins[i]!;
        if (entry < 0) continue;
        const begin = known.begins[entry]!;
        begins[i] = begin === unknown ? this.#writeEntry(known, write, values, entry) : begin;
        ends[i] = known.ends[entry]!;
      }
      return;
    }
    const out = this.block;
    this.#inBlock.push(texts);
    const writeAll = writerOfMany(write, length);
    if (writeAll !== undefined) return writeAll(out, values, begins, ends, length);
    for (let i = 0; i < length; i++) {
      const value = begins[i]!;
      if (value < 0) continue;
      const from = out.end;
      begins[i] = write(out, values, value) ? from : -1;
      ends[i] = out.end;
    }
  }

  #writeEntry(
    known: DictionaryTexts,
    write: WriteValue,
    values: LeafValues,
    entry: number,
  ): number {
    const from = this.kept.end;
    const begin = write(this.kept, values, entry) ? from : -1;
    known.ends[entry] = this.kept.end;
    if (this.kept.end - from <= maxKeptBytes) known.begins[entry] = begin;
    return begin;
  }

  #dictionary(form: CellForm, values: LeafValues, write: WriteValue): DictionaryTexts {
    const writeAll = writerOfMany(write, values.count);
    const ofForm = mapIn(this.#dictionaries, form);
    let known = ofForm.get(values);
    if (known === undefined) {
      const { count } = values;
      known = { begins: new Int32Array(count).fill(unknown), ends: new Int32Array(count) };
      ofForm.set(values, known);
      if (writeAll !== undefined && count <= this.#records) {
        for (let i = 0; i < count; i++) known.begins[i] = i;
        writeAll(this.kept, values, known.begins, known.ends, count);
      }
    }
    return known;
  }

  #areStoredTexts(form: CellForm, values: LeafValues): boolean {
    if (form.areTexts === undefined) return false;
    const ofForm = mapIn(this.#areTexts, form);
    const known = ofForm.get(values) ?? form.areTexts(values);
    ofForm.set(values, known);
    return known;
  }

  release(): void {
    this.block.release();
    this.kept.release();
    this.#lists.release();
  }
}

function mapIn<K, V>(maps: Map<CellForm, Map<K, V>>, form: CellForm): Map<K, V> {
  const known = maps.get(form) ?? new Map<K, V>();
  maps.set(form, known);
  return known;
}

const stringTypes: ReadonlySet<ScalarType> = new Set(['string', 'text', 'blob', 'json']);
