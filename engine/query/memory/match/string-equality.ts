import { dataViewOf } from '../../../core/buffers.js';
import { packStrings } from '../../../core/packed-strings.js';
import { lowerCase } from '../../../text/fold.js';
import type { PredicateOfKind } from '../../predicate/predicate.js';
import type { Utf8Strings } from './column.js';
import { hashBytes } from '../../../parquet/hash.js';
import { dictionaryIndex } from './dictionary-index.js';
import type { DictionaryEntryTest } from './dictionary-test.js';
import type { ValueTest } from './row-test.js';
import { ascendingRows } from './selection-vector.js';
import { scanForEqualStrings, scanEnding } from './string-scan.js';
import { filterSparse, stringAt, stringTest } from './string-test.js';

/** Returns the test that selects the strings that equal one of the predicate's values, in any letter case if `ignoreCase`. */
export function stringEqualityTest({ values, ignoreCase }: PredicateOfKind<'in'>): ValueTest {
  const form = ignoreCase ? lowerCase : (text: string) => text;
  // A column has a dictionary or plain strings. What a comparison with each of them needs is built at its first use and shared by all
  // segments, because a condition may list thousands of values.
  const wantedList = (values as readonly string[]).map((value) => form(value.toWellFormed()));
  let set: ReadonlySet<string> | undefined;
  const requireWantedSet = (): ReadonlySet<string> => (set ??= new Set(wantedList));
  let cachedStrings: WantedStrings | undefined;
  let scan: ReturnType<typeof scanForEqualStrings> | undefined;
  return stringTest({
    probesHashes: true,
    entries: (...args) => entriesEqualToAny(requireWantedSet(), form)(...args),
    testStrings: (storedStrings, count, within, hashes) => {
      const sparseSelection = filterSparse(within, (value) =>
        requireWantedSet().has(form(stringAt(storedStrings, value))),
      );
      if (sparseSelection !== undefined) return sparseSelection;
      const table = hashes();
      if (table === undefined && wantedList.length > maxUnhashedStrings)
        return (scan ??= scanForEqualStrings(requireWantedSet(), form))(storedStrings, count);
      const wantedStrings = (cachedStrings ??= new WantedStrings(wantedList));
      const matchingValues: number[] = [];
      const isWanted = (i: number, value: number): boolean =>
        wantedStrings.isEqualToStored(i, storedStrings, value, ignoreCase) ??
        form(stringAt(storedStrings, value)) === wantedList[i];
      if (table !== undefined)
        table.findAll(wantedStrings.hashes(ignoreCase), (i, value) => {
          if (isWanted(i, value)) matchingValues.push(value);
        });
      else
        for (const i of wantedList.keys())
          scanEnding(storedStrings, count, wantedStrings.bytesOf(i), ignoreCase, (value) => {
            if (isWanted(i, value)) matchingValues.push(value);
          });
      return matchingValues.length === 0 ? 'none' : ascendingRows(matchingValues);
    },
  });
}

/** If the column has no hash table and at most this many strings are wanted, each value is compared with all of them without hashing it. */
const maxUnhashedStrings = 4;
/** If at most this many entries were added to a dictionary, or at most as many as strings are wanted, they are compared one by one. */
const maxUnindexedEntries = 1_000;

function entriesEqualToAny(
  wantedSet: ReadonlySet<string>,
  form: (text: string) => string,
): DictionaryEntryTest {
  return (dictionary, from, add) => {
    const { strings } = dictionary;
    if (strings.length - from <= Math.max(maxUnindexedEntries, wantedSet.size)) {
      for (let entry = from; entry < strings.length; entry++)
        if (wantedSet.has(form(strings[entry]!))) add(entry);
      return undefined;
    }
    const index = dictionaryIndex(dictionary);
    for (const text of wantedSet) {
      index.findLowerCase(lowerCase(text), (code) => {
        if (form(strings[code]!) === text) add(code);
      });
    }
    return undefined;
  };
}

/** The bytes of the wanted strings, concatenated. */
class WantedStrings {
  readonly #list: readonly string[];
  readonly #bytes: Buffer;
  /** The offset of each string, followed by the end of the last one. */
  readonly #offsets: Int32Array;
  #hashes: Int32Array | undefined;

  constructor(list: readonly string[]) {
    this.#list = list;
    const { bytes, offsets } = packStrings(list);
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#offsets = offsets;
  }

  bytesOf(i: number): Buffer {
    return this.#bytes.subarray(this.#offsets[i], this.#offsets[i + 1]);
  }

  /** Returns the hashes of the strings in lower case. If case is ignored, the strings are in lower case already. */
  hashes(ignoreCase: boolean): Int32Array {
    if (this.#hashes !== undefined) return this.#hashes;
    if (!ignoreCase)
      return (this.#hashes = new WantedStrings(this.#list.map(lowerCase)).hashes(true));
    const [bytes, offsets] = [this.#bytes, this.#offsets];
    const view = dataViewOf(bytes);
    this.#hashes = new Int32Array(this.#list.length);
    for (let i = 0; i < this.#hashes.length; i++)
      this.#hashes[i] = hashBytes(view, bytes, offsets[i]!, offsets[i + 1]!);
    return this.#hashes;
  }

  /**
   * Returns whether a stored value equals string `i`, which is in lower case if case is ignored; undefined if a character outside ASCII
   * prevents a decision by bytes. Bytes are compared from the end, because many strings start alike.
   */
  isEqualToStored(
    i: number,
    storedStrings: Utf8Strings,
    value: number,
    ignoreCase: boolean,
  ): boolean | undefined {
    const { bytes, offsets } = storedStrings;
    const wantedBytes = this.#bytes;
    const start = offsets[value]!;
    const first = this.#offsets[i]!;
    let at = offsets[value + 1]! - 1;
    let k = this.#offsets[i + 1]! - 1;
    if (!ignoreCase && at - start !== k - first) return false;
    for (; at >= start && k >= first; at--, k--) {
      let byte = bytes[at]!;
      if (ignoreCase && byte >= 0x80) return undefined;
      if (ignoreCase && byte >= 0x41 && byte <= 0x5a) byte += 0x20;
      if (byte !== wantedBytes[k]) return false;
    }
    return at < start && k < first;
  }
}
