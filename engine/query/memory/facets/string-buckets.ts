import type { SelectionBytes, SegmentView, Dictionary } from '../match/column.js';
import type { FieldRef } from '../../predicate/predicate.js';
import { blockLength, selectedValues, valueCount, indicesOf } from './blocks.js';
import type { FacetOverflow } from './overflow.js';
import type { PartialBuckets, PartialKeys } from './partial.js';
import { countOncePerRow, IdCounts } from './id-counts.js';
import { stringKeys, stringKeysWithin, StringIds } from './string-ids.js';

/** Counts the rows for each string of a field. A row whose list repeats a string counts once. */
export class StringBuckets {
  readonly #field: FieldRef;
  readonly #overflow: FacetOverflow;
  #dictionary: Dictionary | undefined;
  readonly #byIndex = new IdCounts();
  /** Assigns ids to strings of segments that store them without the dictionary, or with another dictionary. */
  readonly #ids: StringIds;
  readonly #byId = new IdCounts();

  constructor(field: FieldRef, overflow: FacetOverflow) {
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
    if (list) countOncePerRow(column, selection, list, this.#countsOf(isKnown).firstTable);
  }

  partial(): PartialBuckets {
    const size = this.#dictionary?.strings.length ?? 0;
    const byIndex = this.#byIndex.counts(size);
    const byId = this.#byId.counts(this.#ids.size);
    const own = (byId.length === 0 && this.#dictionary && dictionaryKeys(this.#dictionary, byIndex)) || undefined; // prettier-ignore
    if (own) return { ...emptyPartialBuckets, keys: own, counts: byIndex };
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
    return {
      ...emptyPartialBuckets,
      keys: stringKeysWithin(strings, this.#overflow),
      counts: Uint32Array.from(counts),
    };
  }

  #countsOf(isKnown: boolean): IdCounts {
    const counts = isKnown ? this.#byIndex : this.#byId;
    counts.ensureCapacity(this.#size(isKnown));
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

const emptyPartialBuckets = {
  kind: 'buckets',
  keyOf: undefined,
  parents: undefined,
  nested: [],
} as const;

/** For each dictionary, its concatenated entries, and the number of entries when they were concatenated. */
const joinedKeysByDictionary = new WeakMap<
  Dictionary,
  { readonly size: number; readonly keys: PartialKeys }
>();

/**
 * Returns all entries of a dictionary, even those with a count of zero, unless they are too many; then undefined. `merged-keys.ts`
 * recognises an unchanged dictionary in the next query and need not merge it again.
 */
function dictionaryKeys(dictionary: Dictionary, counts: Uint32Array): PartialKeys | undefined {
  const size = dictionary.strings.length;
  let different = 0;
  for (let index = 0; index < size; index++) if (counts[index]! > 0) different += 1;
  if (size > 4096 && different * 4 < size) return undefined;
  const known = joinedKeysByDictionary.get(dictionary);
  if (known?.size === size) return known.keys;
  const keys = stringKeys(dictionary.strings);
  if (keys === undefined) return undefined;
  joinedKeysByDictionary.set(dictionary, { size, keys });
  return keys;
}
