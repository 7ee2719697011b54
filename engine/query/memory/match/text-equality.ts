import type { Texts } from '../column.js';
import { lowerCase } from '../lower.js';
import { textHash } from '../text-hashes.js';
import type { Predicate } from '../../predicate/predicate.js';
import type { EntryTest } from './codes.js';
import { costs, type ValueTest } from './field-test.js';
import { foldedIndex } from './folded-index.js';
import { ascending } from './selection.js';
import { scanEqual } from './text-scan.js';
import { someOf, textAt, textTest } from './text-test.js';

/** One of some texts, in any letter case if `ignoreCase`. */
export function textEquality({
  values,
  ignoreCase,
}: Extract<Predicate, { kind: 'in' }>): ValueTest {
  const written = (values as readonly string[]).map((value) => value.toWellFormed());
  const form = ignoreCase ? lowerCase : (text: string) => text;
  const wanted = new Set(written.map(form));
  const list = [...wanted];
  // Made once for all segments: there may be a hundred of them, and thousands of texts.
  const bytes = list.map((text) => Buffer.from(text));
  let known: Int32Array | undefined;
  return textTest({
    cost: costs.probe,
    entries: entriesAmong(wanted, form),
    texts: (stored, count, within, hashes) => {
      const some = someOf(within, (value) => wanted.has(form(textAt(stored, value))));
      if (some !== undefined) return some;
      const table = hashes();
      if (table === undefined) return scanEqual(stored, count, wanted, ignoreCase);
      known ??= Int32Array.from(list, (text) => textHash(lowerCase(text)));
      const found: number[] = [];
      table.findAll(known, (i, value) => {
        const same = sameText(stored, value, bytes[i]!, ignoreCase);
        if (same ?? form(textAt(stored, value)) === list[i]) found.push(value);
      });
      return found.length === 0 ? 'none' : ascending(found);
    },
  });
}

/** Fewer entries are looked at one by one. */
const smallVocabulary = 1_000;

function entriesAmong(wanted: ReadonlySet<string>, form: (text: string) => string): EntryTest {
  return (vocabulary, from, add) => {
    const { texts } = vocabulary;
    if (texts.length - from <= Math.max(smallVocabulary, wanted.size)) {
      for (let code = from; code < texts.length; code++)
        if (wanted.has(form(texts[code]!))) add(code);
      return;
    }
    const index = foldedIndex(vocabulary);
    for (const text of wanted) {
      index.find(lowerCase(text), (code) => {
        if (form(texts[code]!) === text) add(code);
      });
    }
  };
}

/**
 * Whether value `i` is this text, which is in lower case if case is ignored; undefined if its bytes do not tell. They are compared
 * from behind, for many texts begin alike. Up to the first that is not ASCII both have a byte for each character.
 */
function sameText(
  { bytes, offsets }: Texts,
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
