import type { Dictionary, MemoryColumn, SegmentView, SelectionBytes } from '../match/column.js';
import type { FieldRef } from '../../predicate/predicate.js';
import { blockLength, listSelected, selectedValues, valueCount } from './blocks.js';
import type { FacetOverflow } from './facet-overflow.js';
import type { PartialBuckets, PartialKeys } from './facet-partial.js';
import { countOncePerRow, IdCounts } from './id-counts.js';
import { facetKeysOfStrings, facetKeysOfStringsWithin, StringIds } from './string-ids.js';

/** Counts the rows for each string of a field. A row whose list repeats a string counts once. */
export class StringBuckets {
  readonly #field: FieldRef;
  readonly #overflow: FacetOverflow;
  #dictionary: Dictionary | undefined;
  readonly #countsByIndex = new IdCounts();
  /** Assigns ids to strings of segments that store them without the dictionary, or with another dictionary. */
  readonly #ids: StringIds;
  readonly #countsById = new IdCounts();
  readonly #blockRows = new Uint32Array(blockLength);
  readonly #blockIds = new Uint32Array(blockLength);

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
    const areIndices = values.kind === 'dictionary' && values.dictionary === this.#dictionary;
    if (areIndices && !column.offsets)
      return this.#countsOf(areIndices).addIndices(values.indices, column.rows, selected);
    if (!column.offsets) return this.#addTexts(column, selected);
    const ids = areIndices ? new Uint32Array(values.indices) : this.#idsOfList(column, selected);
    countOncePerRow(column, selection, ids, this.#countsOf(areIndices).firstTable);
  }

  /** Counts the selected strings of a column without lists whose values are not indices of the field's dictionary. */
  #addTexts(column: MemoryColumn, selected: Uint8Array | undefined): void {
    this.#forEachBlock(column, selected, (_, count) => {
      this.#countsOf(false).add(this.#blockIds, count);
    });
  }

  /** Returns the ids of the selected strings of a column of lists, at the index of their value. */
  #idsOfList(column: MemoryColumn, selected: Uint8Array | undefined): Uint32Array {
    const ids = new Uint32Array(valueCount(column));
    this.#forEachBlock(column, selected, (from, count) => {
      for (let i = 0; i < count; i++) ids[from + this.#blockRows[i]!] = this.#blockIds[i]!;
    });
    return ids;
  }

  /**
   * Calls `visit` for each block with the index of its first value and the number of its selected values, whose offsets are in `#blockRows`
   * and whose ids are in `#blockIds`.
   */
  #forEachBlock(
    column: MemoryColumn,
    selected: Uint8Array | undefined,
    visit: (from: number, count: number) => void,
  ): void {
    const length = valueCount(column);
    for (let from = 0; from < length; from += blockLength) {
      const to = Math.min(from + blockLength, length);
      const count = listSelected(selected, from, to, this.#blockRows);
      this.#ids.idsOf(column, from, this.#blockRows, count, this.#blockIds);
      visit(from, count);
    }
  }

  partial(): PartialBuckets {
    const size = this.#dictionary?.strings.length ?? 0;
    const countByIndex = this.#countsByIndex.counts(size);
    const countById = this.#countsById.counts(this.#ids.size);
    const keysOfDictionary = (countById.length === 0 && this.#dictionary && dictionaryKeys(this.#dictionary, countByIndex)) || undefined; // prettier-ignore
    if (keysOfDictionary)
      return { ...emptyPartialBuckets, keys: keysOfDictionary, counts: countByIndex };
    const [strings, counts]: [string[], number[]] = [[], []];
    countByIndex.forEach((count, index) => {
      if (count === 0) return;
      strings.push(this.#dictionary!.strings[index]!);
      counts.push(count);
    });
    countById.forEach((count, id) => {
      if (count === 0) return;
      strings.push(this.#ids.text(id));
      counts.push(count);
    });
    return {
      ...emptyPartialBuckets,
      keys: facetKeysOfStringsWithin(strings, this.#overflow),
      counts: Uint32Array.from(counts),
    };
  }

  #countsOf(areIndices: boolean): IdCounts {
    const counts = areIndices ? this.#countsByIndex : this.#countsById;
    counts.ensureCapacity(this.#size(areIndices));
    return counts;
  }

  #size(areIndices: boolean): number {
    return areIndices ? this.#dictionary!.strings.length : this.#ids.size;
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
 * Returns all entries of a dictionary, even those with a count of zero: `merged-keys.ts` recognizes an unchanged dictionary in the next
 * query and need not merge it again. Returns undefined if the entries are too many or too long, or if few entries of a large dictionary
 * occur.
 */
function dictionaryKeys(dictionary: Dictionary, counts: Uint32Array): PartialKeys | undefined {
  const size = dictionary.strings.length;
  let occurringCount = 0;
  for (let index = 0; index < size; index++) if (counts[index]! > 0) occurringCount += 1;
  if (size > 4096 && occurringCount * 4 < size) return undefined;
  const joinedKeys = joinedKeysByDictionary.get(dictionary);
  if (joinedKeys?.size === size) return joinedKeys.keys;
  const keys = facetKeysOfStrings(dictionary.strings);
  if (keys === undefined) return undefined;
  joinedKeysByDictionary.set(dictionary, { size, keys });
  return keys;
}
