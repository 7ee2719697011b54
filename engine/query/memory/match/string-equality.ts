import { packTexts } from '../../../core/packed-texts.js';
import { lowerCase } from '../../../text/fold.js';
import type { OfKind } from '../../predicate/predicate.js';
import type { Utf8Strings } from '../column.js';
import { hashBytes } from '../../../parquet/hash.js';
import { dictionaryIndex } from './dictionary-index.js';
import type { EntryTest } from './dictionary-test.js';
import type { ValueTest } from './row-test.js';
import { ascendingRows } from './selection-vector.js';
import { equalScan, scanEnding } from './string-scan.js';
import { someOf, stringAt, stringTest } from './string-test.js';

/** Selects the strings that equal one of some values, in any letter case if `ignoreCase`. */
export function stringEquality({ values, ignoreCase }: OfKind<'in'>): ValueTest {
  const form = ignoreCase ? lowerCase : (text: string) => text;
  // What each form of a column needs is prepared at its first use, once for all segments: there may be a hundred segments, and thousands of values.
  const list = (values as readonly string[]).map((value) => form(value.toWellFormed()));
  let set: ReadonlySet<string> | undefined;
  const wanted = (): ReadonlySet<string> => (set ??= new Set(list));
  let bytes: WantedBytes | undefined;
  let scan: ReturnType<typeof equalScan> | undefined;
  return stringTest({
    probesHashes: true,
    entries: (...given) => entriesAmong(wanted(), form)(...given),
    strings: (stored, count, within, hashes) => {
      const some = someOf(within, (value) => wanted().has(form(stringAt(stored, value))));
      if (some !== undefined) return some;
      const table = hashes();
      if (table === undefined && list.length > fewValues)
        return (scan ??= equalScan(wanted(), form))(stored, count);
      const own = (bytes ??= new WantedBytes(list));
      const found: number[] = [];
      const isWanted = (i: number, value: number): boolean =>
        own.isAt(i, stored, value, ignoreCase) ?? form(stringAt(stored, value)) === list[i];
      if (table !== undefined)
        table.findAll(own.hashes(ignoreCase), (i, value) => {
          if (isWanted(i, value)) found.push(value);
        });
      else
        for (const i of list.keys())
          scanEnding(stored, count, own.bytesOf(i), ignoreCase, (value) => {
            if (isWanted(i, value)) found.push(value);
          });
      return found.length === 0 ? 'none' : ascendingRows(found);
    },
  });
}

/** Up to this many strings, each value is compared with all of them without hashing it. */
const fewValues = 4;
/** Up to this many new entries, they are compared one by one. */
const smallDictionary = 1_000;

function entriesAmong(wanted: ReadonlySet<string>, form: (text: string) => string): EntryTest {
  return (dictionary, from, add) => {
    const { strings } = dictionary;
    if (strings.length - from <= Math.max(smallDictionary, wanted.size)) {
      for (let entry = from; entry < strings.length; entry++)
        if (wanted.has(form(strings[entry]!))) add(entry);
      return undefined;
    }
    const index = dictionaryIndex(dictionary);
    for (const text of wanted) {
      index.find(lowerCase(text), (code) => {
        if (form(strings[code]!) === text) add(code);
      });
    }
    return undefined;
  };
}

/** The bytes of strings, one after the other. */
class WantedBytes {
  readonly #list: readonly string[];
  readonly #bytes: Buffer;
  /** The offset of each string, and the end of the last one. */
  readonly #offsets: Int32Array;
  #hashes: Int32Array | undefined;

  constructor(list: readonly string[]) {
    this.#list = list;
    const { bytes, offsets } = packTexts(list);
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#offsets = offsets;
  }

  bytesOf(i: number): Buffer {
    return this.#bytes.subarray(this.#offsets[i], this.#offsets[i + 1]);
  }

  /** The hashes of the strings in lower case, which they are in already if case is ignored. */
  hashes(ignoreCase: boolean): Int32Array {
    if (this.#hashes !== undefined) return this.#hashes;
    if (!ignoreCase)
      return (this.#hashes = new WantedBytes(this.#list.map(lowerCase)).hashes(true));
    const [bytes, offsets] = [this.#bytes, this.#offsets];
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#hashes = new Int32Array(this.#list.length);
    for (let i = 0; i < this.#hashes.length; i++)
      this.#hashes[i] = hashBytes(view, bytes, offsets[i]!, offsets[i + 1]!);
    return this.#hashes;
  }

  /**
   * True if a stored value equals string `i`, which is in lower case if case is ignored; undefined if the bytes do not tell, because a
   * character outside ASCII was met. Bytes are compared from the end, because many strings start alike.
   */
  isAt(i: number, stored: Utf8Strings, value: number, ignoreCase: boolean): boolean | undefined {
    const { bytes, offsets } = stored;
    const own = this.#bytes;
    const start = offsets[value]!;
    const first = this.#offsets[i]!;
    let at = offsets[value + 1]! - 1;
    let k = this.#offsets[i + 1]! - 1;
    if (!ignoreCase && at - start !== k - first) return false;
    for (; at >= start && k >= first; at--, k--) {
      let byte = bytes[at]!;
      if (ignoreCase && byte >= 0x80) return undefined;
      if (ignoreCase && byte >= 0x41 && byte <= 0x5a) byte += 0x20;
      if (byte !== own[k]) return false;
    }
    return at < start && k < first;
  }
}
