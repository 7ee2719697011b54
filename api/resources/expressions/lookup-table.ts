import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import { plainEnd, textAt, type PackedTexts } from '../../../engine/core/packed-texts.js';
import type { RecordBytes } from '../../../engine/query/results/page-format.js';
import { lowerCase } from '../../../engine/text/fold.js';
import { ValueTable } from '../../../scheduler/expressions/value-table.js';
import { storedAt } from './call-keys.js';
import { valuesAt } from './function-values.js';
import { StringPairs } from './string-pairs.js';
import { AnswerLists } from './answer-lists.js';

/** The two fields of a lookup, and how many values of a key are of use. */
export interface LookupFields {
  readonly key: readonly string[];
  readonly value: readonly string[];
  readonly most: number;
  /** Keys are equal in any letter case. */
  readonly ignoresCase: boolean;
}

/** The values of a field of records by the texts of another one. Both stay bytes, as the lines of the records have them. */
export class LookupTable {
  readonly #keys = new ValueTable();
  readonly #values: AnswerLists;
  /** The size of the lines in bytes. */
  readonly #lineBytes: number;
  readonly #ignoresCase: boolean;
  /** The key that was taken last, in lower case if case is ignored, and where it begins and ends. */
  #form = Buffer.alloc(64);
  #formView = viewOf(this.#form);
  readonly #range = new Int32Array(2);

  /** Makes the table of records in lines of JSON, in their order. */
  constructor(lines: readonly RecordBytes[], { key, value, most, ignoresCase }: LookupFields) {
    this.#ignoresCase = ignoresCase;
    this.#values = new AnswerLists(most);
    this.#lineBytes = lines.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const isFlat = key.length === 1 && value.length === 1;
    const pairs = isFlat ? new StringPairs(key[0]!, value[0]!) : null;
    for (const piece of lines) {
      const { bytes, ends } = piece;
      this.#values.addBytes(bytes);
      for (let i = 0, from = 0; i < ends.length; from = ends[i++]!)
        if (pairs?.read(bytes, from)) this.#addPair(bytes, pairs);
        else this.#addRecord(parseJson(lineAt(piece, i)), key, value);
    }
  }

  /** The estimated memory of the table in bytes. */
  get bytes(): number {
    return this.#lineBytes + 100 * (this.#keys.size + this.#values.size);
  }

  /** The values of each key as a JSON list; an empty text for a list that is too long for an answer. The keys are JSON strings. */
  answers(keys: PackedTexts): PackedTexts {
    const { bytes, offsets } = keys;
    const lists = new Int32Array(offsets.length - 1);
    for (let i = 0; i < lists.length; i++) {
      const [from, to] = [offsets[i]! + 1, offsets[i + 1]! - 1];
      const isPlain = plainEnd(bytes, from) === to;
      if (isPlain) this.#take(bytes, from, to);
      else this.#takeText(JSON.parse(textAt(keys, i)) as string);
      lists[i] = this.#keys.find(this.#formView, this.#range, 0, 1);
    }
    return this.#values.packed(lists);
  }

  /** Adds a record whose key and value are plain strings; an empty string counts as no value. */
  #addPair(bytes: Uint8Array, { begins, ends }: StringPairs): void {
    if (ends[0] === 0 || ends[1]! - begins[1]! <= 2) return;
    this.#take(bytes, begins[0]! + 1, ends[0]! - 1);
    this.#values.add(this.#list(), begins[1]!, ends[1]!);
  }

  #addRecord(record: unknown, key: readonly string[], value: readonly string[]): void {
    const texts = valuesAt(record, value).map((one) => stringifyJson(one));
    if (texts.length === 0) return;
    const lists = storedAt(record, key).map((text) => {
      this.#takeText(String(text));
      return this.#list();
    });
    for (const list of new Set(lists)) for (const text of texts) this.#values.addText(list, text);
  }

  /** The index of the list that belongs to the current key (`#take`). */
  #list(): number {
    return this.#keys.code(this.#formView, this.#range, 0, 1);
  }

  /** Takes the key `bytes[from..to)`. */
  #take(bytes: Uint8Array, from: number, to: number): void {
    this.#reserve(to - from);
    const form = this.#form;
    const folds = this.#ignoresCase;
    for (let i = from, at = 0; i < to; i++, at++) {
      const byte = bytes[i]!;
      if (folds && byte >= 0x80)
        return this.#takeText(Buffer.from(bytes.subarray(from, to)).toString());
      form[at] = folds && byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
    }
    this.#range[1] = to - from;
  }

  #takeText(given: string): void {
    const text = this.#ignoresCase ? lowerCase(given) : given;
    this.#reserve(3 * text.length);
    this.#range[1] = this.#form.write(text);
  }

  #reserve(size: number): void {
    if (size <= this.#form.length) return;
    this.#form = Buffer.alloc(2 * size);
    this.#formView = viewOf(this.#form);
  }
}

function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

function lineAt({ bytes, ends }: RecordBytes, at: number): string {
  const from = at === 0 ? 0 : ends[at - 1]!;
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, ends[at]! - from).toString();
}
