import type { Facet } from '../../request/facet-request.js';
import { mergedKeys, type MergedKeys } from './merged-keys.js';
import { bucketKeyJson } from '../../results/facet-answer.js';
import { doubleText, numberText } from '../../results/number-text.js';
import type { BucketedFacet, PartialBuckets, FacetPartial, StatsPartial } from './facet-partial.js';
import { StatsTotal } from './stats-total.js';

/** The merged result of all threads for one facet. */
export type MergedFacet = MergedBuckets | MergedStats;

/** The buckets of a facet over all threads, numbered from 0. */
export interface MergedBuckets {
  readonly kind: 'buckets';
  readonly facet: BucketedFacet;
  readonly keys: MergedKeys;
  /** For each bucket, the number of its key; undefined if bucket i has key i for all i. */
  readonly keyOf: readonly number[] | undefined;
  /** For each bucket, the number of its parent bucket; undefined for a top-level facet without nested facets. */
  readonly parents: readonly number[] | undefined;
  /**
   * Number of rows of each bucket (for a list of numbers, of values unless the facet is of the kind `terms`); a bucket with 0 is not part
   * of the answer.
   */
  readonly counts: Float64Array | readonly number[];
  /** Merges the nested facets of the given buckets only. */
  readonly nested: (shown: readonly number[]) => readonly MergedFacet[];
}

/** Statistics for each parent bucket, by its number. */
interface MergedStats {
  readonly kind: 'stats';
  readonly facet: Extract<Facet, { kind: 'stats' }>;
  readonly totals: ReadonlyMap<number, StatsTotal>;
}

/** Marks a bucket that is not shown and whose nested facets are not merged. */
const omittedBucket = 0xffff_ffff;

/** Merges the partial results of a facet. `above` maps, for each partial result, a parent bucket to its merged number. */
export function mergeFacets(
  facet: Facet,
  partials: readonly FacetPartial[],
  above?: readonly Uint32Array[],
): MergedFacet {
  if (facet.kind === 'stats') return mergedStats(facet, partials as readonly StatsPartial[], above);
  return mergedBuckets(facet, partials as readonly PartialBuckets[], above);
}

function mergedBuckets(
  facet: BucketedFacet,
  partials: readonly PartialBuckets[],
  above: readonly Uint32Array[] | undefined,
): MergedBuckets {
  const keys = mergedKeys(
    partials.map((partial) => partial.keys),
    (number) => keyJson(facet, number),
  );
  if (partials.every(({ keyOf, parents }) => !keyOf && !parents)) {
    const counts = new Float64Array(keys.size);
    partials.forEach((partial, index) => addCounts(counts, partial.counts, keys.numbers[index]!));
    return { kind: 'buckets', facet, keys, keyOf: undefined, parents: undefined, counts, nested: () => [] }; // prettier-ignore
  }
  const numbering = new BucketNumbering(keys.size);
  const mergedNumbers = partials.map((partial, index) =>
    numbering.add(partial, keys.numbers[index]!, above?.[index]),
  );
  const { keyOf, parents, counts } = numbering;
  const nestedFacets = 'nested' in facet ? facet.nested : [];
  const nested = (shown: readonly number[]): readonly MergedFacet[] => {
    const isShown = new Uint8Array(counts.length);
    for (const bucket of shown) isShown[bucket] = 1;
    const shownNumbers = mergedNumbers.map((all) => all.map((bucket) => (isShown[bucket] === 1 ? bucket : omittedBucket))); // prettier-ignore
    return nestedFacets.map((child, index) => {
      const nestedPartials = partials.map((partial) => partial.nested[index]!);
      return mergeFacets(child, nestedPartials, shownNumbers);
    });
  };
  return { kind: 'buckets', facet, keys, keyOf, parents, counts, nested };
}

/** Assigns common numbers to the buckets (pairs of a parent bucket and a key) of several partial results. */
class BucketNumbering {
  readonly keyOf: number[] = [];
  readonly parents: number[] = [];
  readonly counts: number[] = [];
  readonly #keyCount: number;
  readonly #numberByPair = new Map<number, number>();

  constructor(keys: number) {
    this.#keyCount = keys;
  }

  /**
   * Adds the counts of the buckets of one thread, of which `keys` has the merged numbers of the keys and `above` those of the parent
   * buckets. Returns the common number of each bucket; `omittedBucket` if its parent is omitted.
   */
  add(
    { keyOf, parents, counts }: PartialBuckets,
    keys: Uint32Array,
    above: Uint32Array | undefined,
  ): Uint32Array {
    const commonNumbers = new Uint32Array(counts.length).fill(omittedBucket);
    for (let bucket = 0; bucket < counts.length; bucket++) {
      const parent = above ? above[parents![bucket]!]! : 0;
      if (parent === omittedBucket) continue;
      const number = this.#number(parent, keys[keyOf ? keyOf[bucket]! : bucket]!);
      this.counts[number]! += counts[bucket]!;
      commonNumbers[bucket] = number;
    }
    return commonNumbers;
  }

  #number(parent: number, key: number): number {
    const pair = parent * this.#keyCount + key;
    const knownNumber = this.#numberByPair.get(pair);
    if (knownNumber !== undefined) return knownNumber;
    const number = this.counts.length;
    this.#numberByPair.set(pair, number);
    this.keyOf.push(key);
    this.parents.push(parent);
    this.counts.push(0);
    return number;
  }
}

function addCounts(counts: Float64Array, partialCounts: Uint32Array, numbers: Uint32Array): void {
  for (let i = 0; i < partialCounts.length; i++) counts[numbers[i]!]! += partialCounts[i]!;
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
      if (number === omittedBucket) return;
      let total = totals.get(number);
      if (!total) totals.set(number, (total = new StatsTotal()));
      total.add(partial, group);
    });
  });
  return { kind: 'stats', facet, totals };
}

function keyJson(facet: BucketedFacet, number: number): string {
  const isNumericBin = facet.kind === 'histogram' && facet.bins.kind !== 'date';
  const value = isNumericBin ? doubleText(number) : numberText(number, facet.field.type);
  return bucketKeyJson(facet, value);
}
