import type { SelectionBytes, SegmentView, Dictionary } from '../column.js';
import type { FieldRef } from '../../predicate/predicate.js';
import { blockLength, selectedValues, valueCount, indicesOf } from './blocks.js';
import type { Overflow } from './overflow.js';
import type { PartialBuckets, PartialKeys } from './partial.js';
import { countOncePerRow, IdCounts } from './id-counts.js';
import { stringKeys, maxStrings, StringIds } from './string-ids.js';

/** Number of rows for each string of a field. A row whose list repeats a string counts once. */
export class StringBuckets {
  readonly #field: FieldRef;
  readonly #overflow: Overflow;
  #dictionary: Dictionary | undefined;
  readonly #byIndex = new IdCounts();
  /** The ids for segments that store strings without the dictionary, or with another one. */
  readonly #ids: StringIds;
  readonly #byId = new IdCounts();

  constructor(field: FieldRef, overflow: Overflow) {
    this.#field = field;
    this.#overflow = overflow;
    this.#ids = new StringIds(overflow);
  }

  add(view: SegmentView, selection: SelectionBytes): void {
    const column = view.column(this.#field);
    if (!column) return;
    const selected = selectedValues(column, selection);
    if (selected === null) return;
    const { values } = column;
    if (values.kind === 'dictionary') this.#dictionary ??= values.dictionary;
    const isKnown = values.kind === 'dictionary' && values.dictionary === this.#dictionary;
    const length = valueCount(column);
    if (isKnown && !column.offsets)
      return this.#countsOf(isKnown).addIndices(values.indices, length, selected);
    const list = column.offsets && new Uint32Array(length);
    for (let from = 0; from < length; from += blockLength) {
      const to = Math.min(from + blockLength, length);
      const ids = isKnown
        ? indicesOf(values.indices, from, to)
        : this.#ids.ids(column, selected, from, to);
      if (list) list.set(ids.subarray(0, to - from), from);
      else this.#count(ids, to - from, selected, from);
    }
    if (list) countOncePerRow(column, selection, list, this.#countsOf(isKnown).table);
  }

  partial(): PartialBuckets {
    const size = this.#dictionary?.strings.length ?? 0;
    const byIndex = this.#byIndex.counts(size);
    const byId = this.#byId.counts(this.#ids.size);
    const own = (byId.length === 0 && this.#dictionary && wholeDictionary(this.#dictionary, byIndex)) || undefined; // prettier-ignore
    if (own) return { ...bucketsPartial, keys: own, counts: byIndex };
    const [strings, counts]: [string[], number[]] = [[], []];
    byIndex.forEach((count, index) => {
      if (count === 0) return;
      strings.push(this.#dictionary!.strings[index]!);
      counts.push(count);
    });
    byId.forEach((count, id) => {
      if (count === 0) return;
      strings.push(this.#ids.text(id));
      counts.push(count);
    });
    if (strings.length > maxStrings)
      this.#overflow.set(`more than ${maxStrings} different strings`);
    return { ...bucketsPartial, keys: stringKeys(strings), counts: Uint32Array.from(counts) };
  }

  #countsOf(isKnown: boolean): IdCounts {
    const counts = isKnown ? this.#byIndex : this.#byId;
    counts.ensure(this.#size(isKnown));
    return counts;
  }

  #size(isKnown: boolean): number {
    return isKnown ? this.#dictionary!.strings.length : this.#ids.size;
  }

  #count(ids: Uint32Array, length: number, selected: Uint8Array | undefined, from: number): void {
    const counts = this.#countsOf(false);
    if (selected) counts.addSelected(ids, length, selected, from);
    else counts.add(ids, length);
  }
}

const bucketsPartial = {
  kind: 'buckets',
  keyOf: undefined,
  parents: undefined,
  nested: [],
} as const;

/** The joined entries of dictionaries, and the number of entries when they were joined. */
const joinedKeys = new WeakMap<Dictionary, { readonly size: number; readonly keys: PartialKeys }>();

/**
 * Returns all entries of a dictionary, even those with a count of zero, unless they are many: `merged-keys.ts` recognises them in
 * the next query and then need not merge them again. Undefined if they are too many.
 */
function wholeDictionary(dictionary: Dictionary, counts: Uint32Array): PartialKeys | undefined {
  const size = dictionary.strings.length;
  if (size > maxStrings) return undefined;
  let different = 0;
  for (let index = 0; index < size; index++) if (counts[index]! > 0) different += 1;
  if (size > 4096 && different * 4 < size) return undefined;
  const known = joinedKeys.get(dictionary);
  if (known?.size === size) return known.keys;
  const keys = stringKeys(dictionary.strings);
  joinedKeys.set(dictionary, { size, keys });
  return keys;
}
