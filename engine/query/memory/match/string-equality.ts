import { lowerCase } from '../../../text/fold.js';
import type { OfKind } from '../../predicate/predicate.js';
import type { Utf8Strings } from '../column.js';
import { stringHash } from '../string-hashes.js';
import { dictionaryIndex } from './dictionary-index.js';
import type { EntryTest } from './dictionary-test.js';
import type { ValueTest } from './row-test.js';
import { ascending } from './selection-vector.js';
import { scanEnding, scanEqual } from './string-scan.js';
import { someOf, stringAt, stringTest } from './string-test.js';

/** Selects the strings that equal one of some values, in any letter case if `ignoreCase`. */
export function stringEquality({ values, ignoreCase }: OfKind<'in'>): ValueTest {
  const written = (values as readonly string[]).map((value) => value.toWellFormed());
  const form = ignoreCase ? lowerCase : (text: string) => text;
  const wanted = new Set(written.map(form));
  const list = [...wanted];
  // Prepared once for all segments: there may be a hundred segments, and thousands of values.
  const bytes = list.map((text) => Buffer.from(text));
  let wantedHashes: Int32Array | undefined;
  return stringTest({
    probesHashes: true,
    entries: entriesAmong(wanted, form),
    strings: (stored, count, within, hashes) => {
      const some = someOf(within, (value) => wanted.has(form(stringAt(stored, value))));
      if (some !== undefined) return some;
      const table = hashes();
      if (table === undefined && list.length > fewValues)
        return scanEqual(stored, count, wanted, ignoreCase);
      if (table === undefined) {
        const equal: number[] = [];
        for (const [i, text] of bytes.entries())
          scanEnding(stored, count, text, ignoreCase, (value) => {
            const isSame = hasBytes(stored, value, text, ignoreCase);
            if (isSame ?? form(stringAt(stored, value)) === list[i]) equal.push(value);
          });
        return equal.length === 0 ? 'none' : ascending(equal);
      }
      wantedHashes ??= Int32Array.from(list, (text) => stringHash(lowerCase(text)));
      const found: number[] = [];
      table.findAll(wantedHashes, (i, value) => {
        const isSame = hasBytes(stored, value, bytes[i]!, ignoreCase);
        if (isSame ?? form(stringAt(stored, value)) === list[i]) found.push(value);
      });
      return found.length === 0 ? 'none' : ascending(found);
    },
  });
}

/** Up to this many strings are compared with each value without hashing it. */
const fewValues = 4;
/** Up to this many new entries are compared one by one. */
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

/**
 * True if value `i` equals this string, which is in lower case if case is ignored; undefined if the bytes do not tell, because a
 * character outside ASCII was met. Bytes are compared from the end, because many strings start alike.
 */
function hasBytes(
  { bytes, offsets }: Utf8Strings,
  i: number,
  text: Buffer,
  ignoreCase: boolean,
): boolean | undefined {
  const start = offsets[i]!;
  let at = offsets[i + 1]! - 1;
  let k = text.length - 1;
  if (!ignoreCase && at - start !== k) return false;
  for (; at >= start && k >= 0; at--, k--) {
    let byte = bytes[at]!;
    if (ignoreCase && byte >= 0x80) return undefined;
    if (ignoreCase && byte >= 0x41 && byte <= 0x5a) byte += 0x20;
    if (byte !== text[k]) return false;
  }
  return at < start && k < 0;
}
