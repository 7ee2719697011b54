import { dataViewOf } from '../../../engine/core/buffers.js';
import { parseJson, stringifyJson } from '../../../engine/core/json.js';
import {
  endOfPlainText,
  stringAt,
  type PackedStrings,
} from '../../../engine/core/packed-strings.js';
import type { RecordBytes } from '../../../engine/query/results/page-format.js';
import { lowerCase } from '../../../engine/text/fold.js';
import { ValueTable } from '../../../scheduler/expressions/columns/value-table.js';
import { storedValuesAt } from './call-keys.js';
import { nonEmptyValuesAt } from './function-values.js';
import { StringPairReader } from './string-pairs.js';
import { JsonValueLists } from './answer-lists.js';

/** The paths of the two fields of a lookup, how its keys are compared, and the maximum number of values that it returns for a key. */
export interface LookupFields {
  readonly key: readonly string[];
  readonly value: readonly string[];
  readonly maxValues: number;
  /** Whether keys are equal if they differ only in letter case. */
  readonly ignoresCase: boolean;
}

/**
 * A lookup table: the values of one field of the records, by the text of another field. If both are top-level fields with plain
 * strings, the value is not copied out of the JSON line of the record.
 */
export class LookupTable {
  readonly #keys = new ValueTable();
  readonly #values: JsonValueLists;
  /** The total size of the JSON lines in bytes. */
  readonly #lineBytes: number;
  readonly #ignoresCase: boolean;
  /** The current key, in lower case if case is ignored, and the range of bytes that it occupies (`#takeKey`, `#takeKeyText`). */
  #keyBytes = Buffer.alloc(64);
  #keyView = dataViewOf(this.#keyBytes);
  readonly #keyRange = new Int32Array(2);

  /** Builds the table from records as JSON lines; the values of a key have the order of the records. */
  constructor(lines: readonly RecordBytes[], { key, value, maxValues, ignoresCase }: LookupFields) {
    this.#ignoresCase = ignoresCase;
    this.#values = new JsonValueLists(maxValues);
    this.#lineBytes = lines.reduce((sum, { bytes }) => sum + bytes.length, 0);
    const isFlat = key.length === 1 && value.length === 1;
    const pairs = isFlat ? new StringPairReader(key[0]!, value[0]!) : null;
    for (const piece of lines) {
      const { bytes, ends } = piece;
      this.#values.addBytes(bytes);
      for (let i = 0, from = 0; i < ends.length; from = ends[i++]!)
        if (pairs?.readObject(bytes, from)) this.#addPair(bytes, pairs);
        else this.#addRecord(parseJson(lineAt(piece, i)), key, value);
    }
  }

  /** The estimated memory of the table in bytes. */
  get bytes(): number {
    return this.#lineBytes + 100 * (this.#keys.size + this.#values.size);
  }

  /** Returns the values of each key as a JSON list; the text is empty if the list is too long for an answer. The keys are JSON strings. */
  valueLists(keys: PackedStrings): PackedStrings {
    const { bytes, offsets } = keys;
    const lists = new Int32Array(offsets.length - 1);
    for (let i = 0; i < lists.length; i++) {
      const [from, to] = [offsets[i]! + 1, offsets[i + 1]! - 1];
      const isPlain = endOfPlainText(bytes, from) === to;
      if (isPlain) this.#takeKey(bytes, from, to);
      else this.#takeKeyText(JSON.parse(stringAt(keys, i)) as string);
      lists[i] = this.#keys.findValueIndex(this.#keyView, this.#keyRange, 0, 1);
    }
    return this.#values.packLists(lists);
  }

  /** Adds a record whose key and value are null or strings without escapes, unless one is null or the value is the empty string. */
  #addPair(bytes: Uint8Array, { valueStarts, valueEnds }: StringPairReader): void {
    if (valueEnds[0] === 0 || valueEnds[1]! - valueStarts[1]! <= 2) return;
    this.#takeKey(bytes, valueStarts[0]! + 1, valueEnds[0]! - 1);
    this.#values.addSlice(this.#listOfKey(), valueStarts[1]!, valueEnds[1]!);
  }

  #addRecord(record: unknown, key: readonly string[], value: readonly string[]): void {
    const texts = nonEmptyValuesAt(record, value).map((one) => stringifyJson(one));
    if (texts.length === 0) return;
    const lists = storedValuesAt(record, key).map((text) => {
      this.#takeKeyText(String(text));
      return this.#listOfKey();
    });
    for (const list of new Set(lists)) for (const text of texts) this.#values.addText(list, text);
  }

  /** Returns the number of the list of the current key; a key without a list gets the next number. */
  #listOfKey(): number {
    return this.#keys.addValue(this.#keyView, this.#keyRange, 0, 1);
  }

  /** Makes `bytes[from..to)` the current key. */
  #takeKey(bytes: Uint8Array, from: number, to: number): void {
    this.#reserve(to - from);
    const keyBytes = this.#keyBytes;
    const ignoresCase = this.#ignoresCase;
    for (let i = from, at = 0; i < to; i++, at++) {
      const byte = bytes[i]!;
      if (ignoresCase && byte >= 0x80)
        return this.#takeKeyText(Buffer.from(bytes.subarray(from, to)).toString());
      keyBytes[at] = ignoresCase && byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
    }
    this.#keyRange[1] = to - from;
  }

  #takeKeyText(key: string): void {
    const text = this.#ignoresCase ? lowerCase(key) : key;
    this.#reserve(3 * text.length);
    this.#keyRange[1] = this.#keyBytes.write(text);
  }

  #reserve(size: number): void {
    if (size <= this.#keyBytes.length) return;
    this.#keyBytes = Buffer.alloc(2 * size);
    this.#keyView = dataViewOf(this.#keyBytes);
  }
}

function lineAt({ bytes, ends }: RecordBytes, index: number): string {
  const from = index === 0 ? 0 : ends[index - 1]!;
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, ends[index]! - from).toString();
}
