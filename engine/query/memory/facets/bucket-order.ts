import type { MergedBuckets } from './merge.js';

/** The buckets below each of the buckets above, in no order. */
export function byParent(
  { parents, counts }: MergedBuckets,
  above: readonly number[],
): ReadonlyMap<number, Uint32Array | number[]> {
  const found = new Map<number, number[]>(above.map((parent) => [parent, []]));
  if (parents) {
    for (let bucket = 0; bucket < parents.length; bucket++)
      found.get(parents[bucket]!)?.push(bucket);
    return found;
  }
  const all = new Uint32Array(counts.length);
  let size = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    all[size] = bucket;
    if (counts[bucket]! > 0) size += 1;
  }
  return new Map([[0, all.subarray(0, size)]]);
}

/** So few are picked out of all rather than all sorted. */
const fewest = 100;

/** Buckets of a facet in the order of its answer: terms by count, then by key, and no more than the limit; bins by key. */
export function ordered(
  node: MergedBuckets,
  buckets: ArrayLike<number>,
  limit: number,
): ArrayLike<number> {
  const { facet, keys, keyOf, counts } = node;
  if (facet.kind === 'terms' && limit <= fewest && buckets.length > 1)
    return best(node, buckets, limit);
  // Numbers sort without a comparison to call: the count before the rank, both in one double.
  const ranks = keys.ranks();
  if (buckets.length * 8 < keys.size) return few(node, buckets, ranks).slice(0, limit);
  const unit = 2 ** Math.ceil(Math.log2(keys.size + 1));
  const isByCount = facet.kind === 'terms';
  const places = new Float64Array(buckets.length);
  const byRank = new Uint32Array(keys.size);
  for (let i = 0; i < buckets.length; i++) {
    const bucket = buckets[i]!;
    const rank = ranks[keyOf ? keyOf[bucket]! : bucket]!;
    byRank[rank] = bucket;
    places[i] = isByCount ? unit - 1 - rank + counts[bucket]! * unit : rank;
  }
  places.sort();
  const length = Math.min(limit, places.length);
  const sorted = new Uint32Array(length);
  for (let i = 0; i < length; i++) {
    const place = places[isByCount ? places.length - 1 - i : i]!;
    sorted[i] = byRank[isByCount ? unit - 1 - (place % unit) : place]!;
  }
  return sorted;
}

function few(
  { facet, keyOf, counts }: MergedBuckets,
  buckets: ArrayLike<number>,
  ranks: Uint32Array,
): number[] {
  const isByCount = facet.kind === 'terms';
  const rank = (bucket: number): number => ranks[keyOf ? keyOf[bucket]! : bucket]!;
  return Array.from(buckets).sort(
    (a, b) => (isByCount ? counts[b]! - counts[a]! : 0) || rank(a) - rank(b),
  );
}

/** The first of them, kept in order while all are looked at. */
function best(
  { keys, keyOf, counts }: MergedBuckets,
  buckets: ArrayLike<number>,
  limit: number,
): number[] {
  const kept: number[] = [];
  const isBefore = (a: number, b: number): boolean => {
    const [more, less] = [counts[a]!, counts[b]!];
    if (more !== less) return more > less;
    return keys.compare(keyOf ? keyOf[a]! : a, keyOf ? keyOf[b]! : b) < 0;
  };
  for (let i = 0; i < buckets.length; i++) {
    const bucket = buckets[i]!;
    if (kept.length === limit && !isBefore(bucket, kept[limit - 1]!)) continue;
    if (kept.length === limit) kept.pop();
    let place = kept.length;
    while (place > 0 && isBefore(bucket, kept[place - 1]!)) place -= 1;
    kept.splice(place, 0, bucket);
  }
  return kept;
}
