import type {
  MemoryColumn,
  NumberDictionary,
  Numbers,
  SelectionBytes,
  SegmentView,
} from '../match/column.js';
import type { FieldRef } from '../../predicate/predicate.js';
import { sortedIndexOf } from './sorted-numbers.js';
import { blockLength, doublesOf, forEachBlock, selectedValues, valueCount } from './blocks.js';
import type { NumberIds, NumberGrouping } from './number-ids.js';
import type { PartialBuckets } from './facet-partial.js';
import { areMostlySmall, SmallIntegers } from './small-integers.js';
import { countOncePerRow, IdCounts, indexCounts } from './id-counts.js';

const bucketIdsBuffer = new Uint32Array(blockLength);
const occurringValuesBuffer = new Float64Array(blockLength);
const occurrencesBuffer = new Uint32Array(blockLength);

/** Counts the values of a field for each number, or for each bin of numbers. */
export class NumberBuckets {
  readonly #field: FieldRef;
  readonly #ids: NumberIds;
  readonly #grouping: NumberGrouping;
  /** True if a number that a row's list repeats counts only once for that row. */
  readonly #isOncePerRow: boolean;
  readonly #counts: IdCounts;
  #smallIntegers: SmallIntegers | undefined;

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
    else if (column.values.kind === 'numbers' && areSmallIntegers(column.values.numbers))
      this.#addSmallIntegers(column.values.numbers, selected, valueCount(column));
    else
      forEachBlock(column, selection, this.#ids.overflow, (values, start, count) =>
        this.#add(values, start, count),
      );
  }

  #add(values: Float64Array, start: number, count: number): void {
    this.#grouping.assign(values, start, count, bucketIdsBuffer);
    this.#counts.ensureCapacity(this.#ids.size);
    this.#counts.add(bucketIdsBuffer, count);
  }

  #addSmallIntegers(
    numbers: Int32Array | Uint8Array,
    selected: Uint8Array | undefined,
    length: number,
  ): void {
    const smallIntegers = (this.#smallIntegers ??= new SmallIntegers());
    for (let from = 0; from < length; from += blockLength) {
      const to = Math.min(from + blockLength, length);
      const block = widenToInt32s(numbers.subarray(from, to));
      const { others, count } = smallIntegers.add(block, selected?.subarray(from, to));
      if (count > 0) this.#add(others, 0, count);
    }
  }

  /** Counts the dictionary indices first, and then assigns each entry that occurs to its group only once, with its count. */
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
      occurringValuesBuffer[count] = numbers[entry]!;
      occurrencesBuffer[count++] = counts[entry]!;
      if (count < blockLength) continue;
      this.#addWeighted(count);
      count = 0;
    }
    this.#addWeighted(count);
  }

  /** Adds the first `count` numbers of `occurringValuesBuffer`, each as often as `occurrencesBuffer` says. */
  #addWeighted(count: number): void {
    this.#grouping.assign(occurringValuesBuffer, 0, count, bucketIdsBuffer);
    this.#counts.ensureCapacity(this.#ids.size);
    const { firstTable } = this.#counts;
    for (let i = 0; i < count; i++) firstTable[bucketIdsBuffer[i]!]! += occurrencesBuffer[i]!;
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
        bucketIdsBuffer,
      );
      ids.set(bucketIdsBuffer.subarray(0, to - from), from);
    }
    this.#counts.ensureCapacity(this.#ids.size);
    countOncePerRow(column, selection, ids, this.#counts.firstTable);
  }

  /** Adds the counts of the small integers to their bins. */
  #addSmall(): void {
    const singleValue = new Float64Array(1);
    this.#smallIntegers?.forEachCount((number, count) => {
      singleValue[0] = number;
      this.#grouping.assign(singleValue, 0, 1, bucketIdsBuffer);
      this.#counts.ensureCapacity(this.#ids.size);
      this.#counts.firstTable[bucketIdsBuffer[0]!]! += count;
    });
    this.#smallIntegers = undefined;
  }

  partial(): PartialBuckets {
    this.#addSmall();
    const allCounts = this.#counts.counts(this.#ids.size);
    let size = 0;
    for (let id = 0; id < allCounts.length; id++) if (allCounts[id]! > 0) size += 1;
    const [numbers, counts] = [new Float64Array(size), new Uint32Array(size)];
    let at = 0;
    for (let id = 0; id < allCounts.length; id++) {
      if (allCounts[id] === 0) continue;
      numbers[at] = this.#grouping.key(id);
      counts[at++] = allCounts[id]!;
    }
    // The numbers are sorted in this thread, so that the main thread need not sort them.
    const sortedNumbers = numbers.slice().sort();
    const sortedCounts = new Uint32Array(size);
    for (let i = 0; i < size; i++)
      sortedCounts[sortedIndexOf(sortedNumbers, numbers[i]!)] = counts[i]!;
    const keys = { kind: 'numbers', numbers: sortedNumbers } as const;
    return { kind: 'buckets', keys, keyOf: undefined, parents: undefined, counts: sortedCounts, nested: [] }; // prettier-ignore
  }
}

/**
 * Returns whether the numbers are bytes or mostly small 32-bit integers. Compares the tag instead of using `instanceof`, because each
 * thread and sandbox has its own constructors.
 */
function areSmallIntegers(numbers: Numbers['numbers']): numbers is Int32Array | Uint8Array {
  const tag = numbers[Symbol.toStringTag];
  return tag === 'Uint8Array' || (tag === 'Int32Array' && areMostlySmall(numbers as Int32Array));
}

const widenedBuffer = new Int32Array(blockLength);

/** Returns a block of numbers as 32-bit integers. The next call overwrites the array. */
function widenToInt32s(numbers: Int32Array | Uint8Array): Int32Array {
  if (numbers.BYTES_PER_ELEMENT === 4) return numbers as Int32Array;
  widenedBuffer.set(numbers);
  return widenedBuffer.subarray(0, numbers.length);
}
