import { isOrderedByCount } from '../../results/facet-answer.js';
import type { MergedBuckets } from './merge-facets.js';

/**
 * Groups the buckets below the parents `above` by parent, not yet in the order of the answer. A facet outside a tree of nested facets has
 * one group, of parent 0, without the keys that no row has.
 */
export function bucketsByParent(
  { parents, counts }: MergedBuckets,
  above: readonly number[],
): ReadonlyMap<number, Uint32Array | number[]> {
  const childBuckets = new Map<number, number[]>(above.map((parent) => [parent, []]));
  if (parents) {
    for (let bucket = 0; bucket < parents.length; bucket++)
      childBuckets.get(parents[bucket]!)?.push(bucket);
    return childBuckets;
  }
  const occurringBuckets = new Uint32Array(counts.length);
  let size = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    occurringBuckets[size] = bucket;
    if (counts[bucket]! > 0) size += 1;
  }
  return new Map([[0, occurringBuckets.subarray(0, size)]]);
}

/** If the order is by count, up to this many requested buckets are selected without sorting all buckets. */
const maxPartialSortBuckets = 100;

/** Returns at most `limit` buckets in the order of the answer. */
export function orderedBuckets(
  node: MergedBuckets,
  buckets: ArrayLike<number>,
  limit: number,
): ArrayLike<number> {
  const { facet, keys, keyOf, counts } = node;
  const isByCount = isOrderedByCount(facet);
  if (isByCount && limit <= maxPartialSortBuckets && buckets.length > 1)
    return topBuckets(node, buckets, limit);
  // Typed arrays of numbers sort fast without a comparator, so count and rank are packed into one double.
  const ranks = keys.ranks();
  if (buckets.length * 8 < keys.size) return sortFewBuckets(node, buckets, ranks).slice(0, limit);
  const unit = 2 ** Math.ceil(Math.log2(keys.size + 1));
  const sortKeys = new Float64Array(buckets.length);
  const byRank = new Uint32Array(keys.size);
  for (let i = 0; i < buckets.length; i++) {
    const bucket = buckets[i]!;
    const rank = ranks[keyOf ? keyOf[bucket]! : bucket]!;
    byRank[rank] = bucket;
    sortKeys[i] = isByCount ? unit - 1 - rank + counts[bucket]! * unit : rank;
  }
  sortKeys.sort();
  const length = Math.min(limit, sortKeys.length);
  const sortedBuckets = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const sortKey = sortKeys[isByCount ? sortKeys.length - 1 - i : i]!;
    sortedBuckets[i] = byRank[isByCount ? unit - 1 - (sortKey % unit) : sortKey]!;
  }
  return sortedBuckets;
}

/** Sorts with a comparator, which is cheaper than an array with an element for each key if the buckets are few. */
function sortFewBuckets(
  { facet, keyOf, counts }: MergedBuckets,
  buckets: ArrayLike<number>,
  ranks: Uint32Array,
): number[] {
  const isByCount = isOrderedByCount(facet);
  const rank = (bucket: number): number => ranks[keyOf ? keyOf[bucket]! : bucket]!;
  return Array.from(buckets).sort(
    (a, b) => (isByCount ? counts[b]! - counts[a]! : 0) || rank(a) - rank(b),
  );
}

/** Returns the first `limit` buckets, found by insertion into a sorted list. */
function topBuckets(
  { keys, keyOf, counts }: MergedBuckets,
  buckets: ArrayLike<number>,
  limit: number,
): number[] {
  const firstBuckets: number[] = [];
  const isBefore = (a: number, b: number): boolean => {
    const [countOfA, countOfB] = [counts[a]!, counts[b]!];
    if (countOfA !== countOfB) return countOfA > countOfB;
    return keys.compare(keyOf ? keyOf[a]! : a, keyOf ? keyOf[b]! : b) < 0;
  };
  for (let i = 0; i < buckets.length; i++) {
    const bucket = buckets[i]!;
    if (firstBuckets.length === limit && !isBefore(bucket, firstBuckets[limit - 1]!)) continue;
    if (firstBuckets.length === limit) firstBuckets.pop();
    let at = firstBuckets.length;
    while (at > 0 && isBefore(bucket, firstBuckets[at - 1]!)) at -= 1;
    firstBuckets.splice(at, 0, bucket);
  }
  return firstBuckets;
}
