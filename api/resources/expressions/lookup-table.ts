import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { plainEnd, textAt, type PackedTexts } from '../../../engine/core/packed-texts.js';
import type { RecordBytes } from '../../../engine/query/results/page-format.js';
import { ValueTable } from '../../../scheduler/expressions/value-table.js';
import { storedAt } from './call-keys.js';
import { valuesAt } from './function-values.js';
import { StringPairs } from './string-pairs.js';
import { ValueLists } from './value-lists.js';

/** The two fields of a lookup, and how many values of a key are of use. */
export interface LookupFields {
  readonly key: readonly string[];
  readonly value: readonly string[];
  readonly most: number;
}

/** The values of a field of records by the texts of another one. Both stay bytes, as the lines of the records have them. */
export class LookupTable {
  readonly #keys = new ValueTable();
  readonly #values: ValueLists;
  /** The bytes of the lines. */
  readonly #lineBytes: number;
  /** Where a text begins and ends. */
  readonly #range = new Int32Array(2);

  /** Of the records in lines of JSON, in their order. */
  constructor(lines: readonly RecordBytes[], { key, value, most }: LookupFields) {
    this.#values = new ValueLists(most);
    this.#lineBytes = lines.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const isFlat = key.length === 1 && value.length === 1;
    const pairs = isFlat ? new StringPairs(key[0]!, value[0]!) : null;
    for (const piece of lines) {
      const { bytes, ends } = piece;
      const view = viewOf(bytes);
      this.#values.addBytes(bytes);
      for (let i = 0, from = 0; i < ends.length; from = ends[i++]!)
        if (pairs?.read(bytes, from)) this.#addPair(view, pairs);
        else this.#addRecord(parseJson(lineAt(piece, i)), key, value);
    }
  }

  /** What it takes, estimated in bytes. */
  get bytes(): number {
    return this.#lineBytes + 100 * (this.#keys.size + this.#values.size);
  }

  /** The values of each key as a JSON list; an empty text for a list that is too long for an answer. The keys are JSON strings. */
  answers(keys: PackedTexts): PackedTexts {
    const { bytes, offsets } = keys;
    const view = viewOf(bytes);
    const lists = new Int32Array(offsets.length - 1);
    for (let i = 0; i < lists.length; i++) {
      const [from, to] = [offsets[i]! + 1, offsets[i + 1]! - 1];
      const isPlain = plainEnd(bytes, from) === to;
      lists[i] = isPlain ? this.#find(view, from, to) : this.#findText(JSON.parse(textAt(keys, i)) as string); // prettier-ignore
    }
    return this.#values.packed(lists);
  }

  /** Adds a record of which key and value are plain strings. An empty one is no value. */
  #addPair(view: DataView, { begins, ends }: StringPairs): void {
    if (ends[0] === 0 || ends[1]! - begins[1]! <= 2) return;
    this.#values.add(this.#code(view, begins[0]! + 1, ends[0]! - 1), begins[1]!, ends[1]!);
  }

  #addRecord(record: unknown, key: readonly string[], value: readonly string[]): void {
    const texts = valuesAt(record, value).map((one) => stringifyJson(one));
    if (texts.length === 0) return;
    for (const text of new Set(storedAt(record, key))) {
      const bytes = Buffer.from(String(text));
      const list = this.#code(viewOf(bytes), 0, bytes.length);
      for (const one of texts) this.#values.addText(list, one);
    }
  }

  #code(view: DataView, from: number, to: number): number {
    this.#range[0] = from;
    this.#range[1] = to;
    return this.#keys.code(view, this.#range, 0, 1);
  }

  #findText(text: string): number {
    const bytes = Buffer.from(text);
    return this.#find(viewOf(bytes), 0, bytes.length);
  }

  #find(view: DataView, from: number, to: number): number {
    this.#range[0] = from;
    this.#range[1] = to;
    return this.#keys.find(view, this.#range, 0, 1);
  }
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

function lineAt({ bytes, ends }: RecordBytes, at: number): string {
  const from = at === 0 ? 0 : ends[at - 1]!;
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, ends[at]! - from).toString();
}
