import type {
  MemoryColumn,
  NumberDictionary,
  Numbers,
  SelectionBytes,
  SegmentView,
} from '../column.js';
import type { FieldRef } from '../../predicate/predicate.js';
import { indexIn } from './sorted-numbers.js';
import { blockLength, doublesOf, eachBlock, selectedValues, valueCount } from './blocks.js';
import type { NumberIds, NumberGrouping } from './number-ids.js';
import type { PartialBuckets } from './partial.js';
import { areMostlySmall, SmallIntegers } from './small-integers.js';
import { countOncePerRow, IdCounts, indexCounts } from './id-counts.js';

const foundBuckets = new Uint32Array(blockLength);
const occurring = new Float64Array(blockLength);
const weights = new Uint32Array(blockLength);

/** Number of rows for each number of a field, or for each bin of its numbers. */
export class NumberBuckets {
  readonly #field: FieldRef;
  readonly #ids: NumberIds;
  readonly #grouping: NumberGrouping;
  /** True if a row whose list repeats a number counts once for that number. */
  readonly #isOncePerRow: boolean;
  readonly #counts: IdCounts;
  #small: SmallIntegers | undefined;

  constructor(field: FieldRef, ids: NumberIds, grouping: NumberGrouping, isOncePerRow: boolean) {
    this.#field = field;
    this.#ids = ids;
    this.#grouping = grouping;
    this.#isOncePerRow = isOncePerRow;
    this.#counts = new IdCounts(ids.size);
  }

  add(view: SegmentView, selection: SelectionBytes): void {
    const column = view.column(this.#field);
    if (!column) return;
    const selected = selectedValues(column, selection);
    if (selected === null) return;
    if (column.offsets && this.#isOncePerRow) this.#addLists(column, selection);
    else if (column.values.kind === 'number-dictionary' && !column.values.entries.hasNonFinite)
      this.#addEntries(column.values, selected, valueCount(column));
    else if (column.values.kind === 'numbers' && areSmall(column.values.numbers))
      this.#addSmallOnes(column.values.numbers, selected, valueCount(column));
    else
      eachBlock(column, selection, this.#ids.overflow, (values, start, count) =>
        this.#add(values, start, count),
      );
  }

  #add(values: Float64Array, start: number, count: number): void {
    this.#grouping.assign(values, start, count, foundBuckets);
    this.#counts.ensure(this.#ids.size);
    this.#counts.add(foundBuckets, count);
  }

  #addSmallOnes(
    numbers: Int32Array | Uint8Array,
    selected: Uint8Array | undefined,
    length: number,
  ): void {
    const small = (this.#small ??= new SmallIntegers());
    for (let from = 0; from < length; from += blockLength) {
      const to = Math.min(from + blockLength, length);
      const block = int32s(numbers.subarray(from, to));
      const { others, count } = small.add(block, selected?.subarray(from, to));
      if (count > 0) this.#add(others, 0, count);
    }
  }

  /** Counts the indices, and then groups those entries that occur, each of them once. */
  #addEntries(
    { indices, entries }: NumberDictionary,
    selected: Uint8Array | undefined,
    length: number,
  ): void {
    const { numbers } = entries;
    const counts = indexCounts(indices, numbers.length, length, selected);
    let count = 0;
    for (let entry = 0; entry < counts.length; entry++) {
      if (counts[entry] === 0) continue;
      occurring[count] = numbers[entry]!;
      weights[count++] = counts[entry]!;
      if (count < blockLength) continue;
      this.#addWeighted(count);
      count = 0;
    }
    this.#addWeighted(count);
  }

  /** Adds the first `count` numbers of `occurring`, each as often as its weight says. */
  #addWeighted(count: number): void {
    this.#grouping.assign(occurring, 0, count, foundBuckets);
    this.#counts.ensure(this.#ids.size);
    const { table } = this.#counts;
    for (let i = 0; i < count; i++) table[foundBuckets[i]!]! += weights[i]!;
  }

  #addLists(column: MemoryColumn, selection: SelectionBytes): void {
    const length = valueCount(column);
    const ids = new Uint32Array(length);
    for (let from = 0; from < length; from += blockLength) {
      const to = Math.min(from + blockLength, length);
      this.#grouping.assign(
        doublesOf(column, from, to, this.#ids.overflow),
        0,
        to - from,
        foundBuckets,
      );
      ids.set(foundBuckets.subarray(0, to - from), from);
    }
    this.#counts.ensure(this.#ids.size);
    countOncePerRow(column, selection, ids, this.#counts.table);
  }

  /** Moves the counts of the small integers to their bins. */
  #addSmall(): void {
    const one = new Float64Array(1);
    this.#small?.each((number, count) => {
      one[0] = number;
      this.#grouping.assign(one, 0, 1, foundBuckets);
      this.#counts.ensure(this.#ids.size);
      this.#counts.table[foundBuckets[0]!]! += count;
    });
    this.#small = undefined;
  }

  partial(): PartialBuckets {
    this.#addSmall();
    const all = this.#counts.counts(this.#ids.size);
    let size = 0;
    for (let id = 0; id < all.length; id++) if (all[id]! > 0) size += 1;
    const [numbers, counts] = [new Float64Array(size), new Uint32Array(size)];
    let at = 0;
    for (let id = 0; id < all.length; id++) {
      if (all[id] === 0) continue;
      numbers[at] = this.#grouping.key(id);
      counts[at++] = all[id]!;
    }
    // Sorted here, so that the main thread need not sort.
    const sorted = numbers.slice().sort();
    const ofSorted = new Uint32Array(size);
    for (let i = 0; i < size; i++) ofSorted[indexIn(sorted, numbers[i]!)] = counts[i]!;
    const keys = { kind: 'numbers', numbers: sorted } as const;
    return { kind: 'buckets', keys, keyOf: undefined, parents: undefined, counts: ofSorted, nested: [] }; // prettier-ignore
  }
}

/** Tests the tag, because each thread and sandbox has its own constructors. */
function areSmall(numbers: Numbers['numbers']): numbers is Int32Array | Uint8Array {
  const tag = numbers[Symbol.toStringTag];
  return tag === 'Uint8Array' || (tag === 'Int32Array' && areMostlySmall(numbers as Int32Array));
}

const widenedValues = new Int32Array(blockLength);

/** At most a block of numbers; the array is overwritten by the next call. */
function int32s(numbers: Int32Array | Uint8Array): Int32Array {
  if (numbers.BYTES_PER_ELEMENT === 4) return numbers as Int32Array;
  widenedValues.set(numbers);
  return widenedValues.subarray(0, numbers.length);
}
