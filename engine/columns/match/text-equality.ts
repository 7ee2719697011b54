import type { TextHashes, Texts } from '../column.js';
import { lowerCase } from '../lower.js';
import type { Predicate } from '../../query/predicate.js';
import type { EntryTest } from './codes.js';
import { costs, type ValueTest } from './field-test.js';
import { foldedIndex } from './folded-index.js';
import { ascending, type Selection } from './selection.js';
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
  return textTest({
    cost: costs.probe,
    entries: entriesAmong(wanted, form),
    texts: (stored, count, within, hashes) =>
      someOf(within, (value) => wanted.has(form(textAt(stored, value)))) ??
      probed(stored, wanted, form, hashes()) ??
      scanEqual(stored, count, wanted, ignoreCase),
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

function probed(
  stored: Texts,
  wanted: ReadonlySet<string>,
  form: (text: string) => string,
  hashes: TextHashes | undefined,
): Selection | undefined {
  if (hashes === undefined) return undefined;
  const { bytes, offsets } = stored;
  const found: number[] = [];
  for (const text of wanted) {
    const same = Buffer.from(text);
    for (const value of hashes.find(lowerCase(text))) {
      const [start, end] = [offsets[value]!, offsets[value + 1]!];
      // Most are spelled as they were asked for; of the others the text is made.
      const isSame =
        end - start === same.length && bytes.compare(same, 0, same.length, start, end) === 0;
      if (isSame || form(textAt(stored, value)) === text) found.push(value);
    }
  }
  return found.length === 0 ? 'none' : ascending(found);
}
