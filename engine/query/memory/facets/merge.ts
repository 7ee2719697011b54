import { binKey } from '../../request/facet-bins.js';
import type { Facet } from '../../request/facets.js';
import { mergedKeys, type Keys } from './merged-keys.js';
import { doubleText, numberText } from '../../results/number-text.js';
import type { BucketedFacet, BucketsPartial, Partial, StatsPartial } from './partial.js';
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
  /** The facets below, of these buckets alone. */
  readonly nested: (shown: readonly number[]) => readonly Merged[];
}

/** The sums of each bucket above, by its number. */
export interface MergedStats {
  readonly kind: 'stats';
  readonly facet: Extract<Facet, { kind: 'stats' }>;
  readonly totals: ReadonlyMap<number, StatsTotal>;
}

/** Stands for a bucket that is not shown, so that what is below it is not wanted. */
const unwanted = 0xffff_ffff;

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
    return { kind: 'buckets', facet, keys, keyOf: undefined, parents: undefined, counts, nested: () => [] }; // prettier-ignore
  }
  const numbering = new Numbering(keys.size);
  const own = partials.map((partial, index) =>
    numbering.add(partial, keys.numbers[index]!, above?.[index]),
  );
  const { keyOf, parents, counts } = numbering;
  const below = 'nested' in facet ? facet.nested : [];
  const nested = (shown: readonly number[]): readonly Merged[] => {
    const isShown = new Uint8Array(counts.length);
    for (const bucket of shown) isShown[bucket] = 1;
    const wanted = own.map((all) => all.map((bucket) => (isShown[bucket] === 1 ? bucket : unwanted))); // prettier-ignore
    return below.map((child, index) => {
      const theirs = partials.map((partial) => partial.nested[index]!);
      return merged(child, theirs, wanted);
    });
  };
  return { kind: 'buckets', facet, keys, keyOf, parents, counts, nested };
}

/** Numbers the buckets of several partials together: pairs of the bucket above and a key. */
class Numbering {
  readonly keyOf: number[] = [];
  readonly parents: number[] = [];
  readonly counts: number[] = [];
  readonly #keys: number;
  readonly #numbers = new Map<number, number>();

  constructor(keys: number) {
    this.#keys = keys;
  }

  /** Counts the buckets of a partial; their numbers. */
  add(
    { keyOf, parents, counts }: BucketsPartial,
    keys: Uint32Array,
    above: Uint32Array | undefined,
  ): Uint32Array {
    const found = new Uint32Array(counts.length).fill(unwanted);
    for (let bucket = 0; bucket < counts.length; bucket++) {
      const parent = above ? above[parents![bucket]!]! : 0;
      if (parent === unwanted) continue;
      const number = this.#number(parent, keys[keyOf ? keyOf[bucket]! : bucket]!);
      this.counts[number]! += counts[bucket]!;
      found[bucket] = number;
    }
    return found;
  }

  #number(parent: number, key: number): number {
    const pair = parent * this.#keys + key;
    const known = this.#numbers.get(pair);
    if (known !== undefined) return known;
    const number = this.counts.length;
    this.#numbers.set(pair, number);
    this.keyOf.push(key);
    this.parents.push(parent);
    this.counts.push(0);
    return number;
  }
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
      if (number === unwanted) return;
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
