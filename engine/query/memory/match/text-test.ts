import type { TextHashes, Texts } from '../column.js';
import { NotCovered } from '../not-covered.js';
import { codesTest, type EntryTest } from './codes.js';
import type { ValueTest } from './field-test.js';
import { isSparse, type Selection } from './selection.js';

/** A condition on texts, for both forms in which a column may have them. */
export interface TextTest {
  readonly cost: number;
  readonly entries: EntryTest;
  texts(
    values: Texts,
    count: number,
    within: Selection,
    hashes: () => TextHashes | undefined,
  ): Selection;
}

/** The same for a column of either form. */
export function textTest({ cost, entries, texts }: TextTest): ValueTest {
  const codes = codesTest(entries);
  return {
    cost,
    find(values, count, within, hashes) {
      if (values.kind === 'codes') return codes(values, count, within);
      if (values.kind === 'texts') return texts(values, count, within, hashes);
      throw new NotCovered(`Texts in a column of ${values.kind}`);
    },
  };
}

/** Looks at every entry by itself. */
export function eachEntry(test: (text: string) => boolean): EntryTest {
  return ({ texts }, from, add) => {
    for (let code = from; code < texts.length; code++) if (test(texts[code]!)) add(code);
  };
}

/** Value `i` as a string. */
export function textAt({ bytes, offsets }: Texts, i: number): string {
  return bytes.toString('utf8', offsets[i], offsets[i + 1]);
}

/** Those of the numbered values that pass; undefined if they are not numbered. */
export function someOf(
  within: Selection,
  test: (value: number) => boolean,
): Int32Array | undefined {
  return typeof within === 'object' && isSparse(within) ? within.filter(test) : undefined;
}
