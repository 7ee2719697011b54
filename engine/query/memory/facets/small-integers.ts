import { blockLength } from './blocks.js';
import { hasDirectId, directIdOffset, directIdCount } from './number-ids.js';
import { IdCounts } from './id-counts.js';

const bucketIdsBuffer = new Uint32Array(blockLength);
const otherValuesBuffer = new Float64Array(blockLength);

/**
 * Counts small integers before they are grouped, so that a bin is computed once for each distinct number, not once for each row (5 million
 * numbers in bins of ten: 11 ms instead of 29).
 */
export class SmallIntegers {
  /** Index `directIdCount` counts all numbers that are not small. */
  readonly #counts = new IdCounts(directIdCount + 1);

  /**
   * Counts the small numbers among the selected values of at most one block. Returns an array whose first `count` elements are the other
   * numbers; the next call overwrites it.
   */
  add(
    numbers: Int32Array,
    selected: Uint8Array | undefined,
  ): { readonly others: Float64Array; readonly count: number } {
    const { length } = numbers;
    // A local copy: an imported constant would be looked up for each value.
    const shift = directIdOffset;
    let largest = 0;
    for (let i = 0; i < length; i++) {
      const id = (numbers[i]! + shift) >>> 0;
      bucketIdsBuffer[i] = id;
      if (id > largest) largest = id;
    }
    let count = 0;
    if (largest >= directIdCount) {
      for (let i = 0; i < length; i++) {
        if (bucketIdsBuffer[i]! < directIdCount) continue;
        bucketIdsBuffer[i] = directIdCount;
        otherValuesBuffer[count] = numbers[i]!;
        count += selected ? selected[i]! : 1;
      }
    }
    if (selected) this.#counts.addSelected(bucketIdsBuffer, length, selected, 0);
    else this.#counts.add(bucketIdsBuffer, length);
    return { others: otherValuesBuffer, count };
  }

  /** Calls `visit` with each number that occurred and its count. */
  forEachCount(visit: (number: number, count: number) => void): void {
    this.#counts.counts(directIdCount).forEach((count, id) => {
      if (count > 0) visit(id - directIdOffset, count);
    });
  }
}

/** Returns true if at least half of the first 256 numbers are small. */
export function areMostlySmall(numbers: Int32Array): boolean {
  const count = Math.min(numbers.length, 256);
  let smallCount = 0;
  for (let i = 0; i < count; i++) if (hasDirectId(numbers[i]!)) smallCount += 1;
  return 2 * smallCount >= count;
}
