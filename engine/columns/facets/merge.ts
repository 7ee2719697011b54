import { binKey } from '../../query/facet-bins.js';
import type { Facet } from '../../query/facets.js';
import { mergedKeys, type Keys } from './keys.js';
import { doubleText, numberText } from './number-text.js';
import type { BucketsPartial, Partial, StatsPartial } from './partial.js';
import type { BucketedFacet } from './slotting.js';
import { StatsTotal } from './stats-total.js';

/** What all threads have counted for one facet, put together. */
export type Merged = MergedBuckets | MergedStats;

/** Buckets of a facet, numbered together. */
export interface MergedBuckets {
  readonly kind: 'buckets';
  readonly facet: BucketedFacet;
  readonly keys: Keys;
  /** Of each bucket, its key; undefined: they are numbered like the keys. */
  readonly keyOf: readonly number[] | undefined;
  /** Of each bucket, the bucket above; undefined: there is none above. */
  readonly parents: readonly number[] | undefined;
  /** 0 says that it is none. */
  readonly counts: Float64Array | readonly number[];
  readonly nested: readonly Merged[];
}

/** The sums of each bucket above, by its number. */
export interface MergedStats {
  readonly kind: 'stats';
  readonly facet: Extract<Facet, { kind: 'stats' }>;
  readonly totals: ReadonlyMap<number, StatsTotal>;
}

/** Puts partials of a facet together; `above` tells of each partial how its buckets above are numbered now. */
export function merged(
  facet: Facet,
  partials: readonly Partial[],
  above?: readonly Uint32Array[],
): Merged {
  if (facet.kind === 'stats') return mergedStats(facet, partials as readonly StatsPartial[], above);
  return mergedBuckets(facet, partials as readonly BucketsPartial[], above);
}

function mergedBuckets(
  facet: BucketedFacet,
  partials: readonly BucketsPartial[],
  above: readonly Uint32Array[] | undefined,
): MergedBuckets {
  const keys = mergedKeys(
    partials.map((partial) => partial.keys),
    (number) => keyText(facet, number),
  );
  if (partials.every(({ keyOf, parents }) => !keyOf && !parents)) {
    const counts = new Float64Array(keys.size);
    partials.forEach((partial, index) => addCounts(counts, partial.counts, keys.numbers[index]!));
    return { kind: 'buckets', facet, keys, keyOf: undefined, parents: undefined, counts, nested: [] }; // prettier-ignore
  }
  const [numbers, keyOf, parents, counts] = [new Map<number, number>(), [], [], []] as [
    Map<number, number>,
    number[],
    number[],
    number[],
  ];
  const own = partials.map((partial, index) =>
    partial.counts.map((count, bucket) => {
      const key = keys.numbers[index]![partial.keyOf?.[bucket] ?? bucket]!;
      const parent = above?.[index]![partial.parents![bucket]!] ?? 0;
      const pair = parent * keys.size + key;
      let number = numbers.get(pair);
      if (number === undefined) {
        number = counts.length;
        numbers.set(pair, number);
        keyOf.push(key);
        parents.push(parent);
        counts.push(0);
      }
      counts[number]! += count;
      return number;
    }),
  );
  const nested = ('nested' in facet ? facet.nested : []).map((below, index) =>
    merged(
      below,
      partials.map((partial) => partial.nested[index]!),
      own,
    ),
  );
  return { kind: 'buckets', facet, keys, keyOf, parents, counts, nested };
}

function addCounts(counts: Float64Array, own: Uint32Array, numbers: Uint32Array): void {
  for (let i = 0; i < own.length; i++) counts[numbers[i]!]! += own[i]!;
}

function mergedStats(
  facet: Extract<Facet, { kind: 'stats' }>,
  partials: readonly StatsPartial[],
  above: readonly Uint32Array[] | undefined,
): MergedStats {
  const totals = new Map<number, StatsTotal>();
  partials.forEach((partial, index) => {
    partial.counts.forEach((count, group) => {
      if (count === 0) return;
      const number = above ? above[index]![group]! : 0;
      let total = totals.get(number);
      if (!total) totals.set(number, (total = new StatsTotal()));
      total.add(partial, group);
    });
  });
  return { kind: 'stats', facet, totals };
}

function keyText(facet: BucketedFacet, number: number): string {
  if (facet.kind !== 'histogram') return numberText(number, facet.field.type);
  const { bins } = facet;
  if (bins.kind === 'date') return numberText(number, 'date');
  return bins.kind === 'real' ? doubleText(number) : binKey(bins, String(number));
}
