import {
  BucketCount,
  bucketJson,
  bucketLimit,
  bucketlessAnswerJson,
  emptyAnswerJson,
} from '../../results/facet-answer.js';
import type { Facet } from '../../request/facet-request.js';
import { mergeFacets, type MergedFacet, type MergedBuckets } from './merge-facets.js';
import { doubleText } from '../../results/number-text.js';
import { bucketsByParent, orderedBuckets } from './bucket-order.js';
import type { FacetPartial } from './facet-partial.js';

/**
 * Returns the JSON text of each facet's answer, merged from the partial results of the threads; it equals the answer of the SQL executor.
 * `partials` should have the same order of threads in every call: the cache of merged dictionaries finds an entry only if the dictionaries
 * of the threads are equal in the same order.
 */
export function facetJson(
  facets: readonly Facet[],
  partials: readonly (readonly FacetPartial[])[],
): readonly string[] {
  const roots = facets.map((facet, index) => mergeFacets(facet, partials.map((partialsOfThread) => partialsOfThread[index]!))); // prettier-ignore
  const count = new BucketCount();
  const shownBuckets = roots.map((root) => answerBuckets(root, [0], count));
  return shownBuckets.map((root) => facetAnswerJson(root, 0));
}

/**
 * The buckets of a facet from which its answer is made, grouped by parent bucket: those in the answer, in order; for `count` and
 * `percentiles`, all buckets, in no order.
 */
interface AnswerBuckets {
  readonly node: MergedFacet;
  readonly below: ReadonlyMap<number, ArrayLike<number>>;
  readonly nested: readonly AnswerBuckets[];
}

/** Returns the buckets from which the answer of a facet and of its nested facets is made, and adds those in the answer to `count`. */
function answerBuckets(
  node: MergedFacet,
  parents: readonly number[],
  count: BucketCount,
): AnswerBuckets {
  if (node.kind === 'stats') return { node, below: new Map(), nested: [] };
  const { facet } = node;
  const allBuckets = bucketsByParent(node, parents);
  if (facet.kind === 'count' || facet.kind === 'percentiles')
    return { node, below: allBuckets, nested: [] };
  const limit = bucketLimit(facet);
  const below = new Map(
    [...allBuckets].map(([parent, buckets]) => [parent, orderedBuckets(node, buckets, limit)]),
  );
  for (const buckets of below.values()) count.add(facet, buckets.length);
  if (facet.nested.length === 0) return { node, below, nested: [] };
  const shownBuckets = [...below.values()].flatMap((buckets) => Array.from(buckets));
  return {
    node,
    below,
    nested: node.nested(shownBuckets).map((child) => answerBuckets(child, shownBuckets, count)),
  };
}

function facetAnswerJson({ node, below, nested }: AnswerBuckets, parent: number): string {
  if (node.kind === 'stats') {
    const statsTotal = node.totals.get(parent);
    return statsTotal ? statsTotal.answer(node.facet) : emptyAnswerJson(node.facet);
  }
  const { facet, keys, keyOf, counts } = node;
  const buckets = below.get(parent);
  if (!buckets || buckets.length === 0) return emptyAnswerJson(facet);
  if (facet.kind === 'count') return String(buckets.length);
  if (facet.kind === 'percentiles') return percentiles(node, facet, buckets);
  // Appending to one string is faster than joining a list.
  let text = '[';
  for (let i = 0; i < buckets.length; i++) {
    const bucket = buckets[i]!;
    const key = keys.json(keyOf ? keyOf[bucket]! : bucket);
    const answers = nested.map((child) => facetAnswerJson(child, bucket));
    text += `${i === 0 ? '' : ','}${bucketJson(key, counts[bucket]!, facet.nested, answers)}`;
  }
  return `${text}]`;
}

/** Interpolates percentiles linearly, in the arithmetic of the SQL executor. */
function percentiles(
  node: MergedBuckets,
  facet: Extract<Facet, { kind: 'percentiles' }>,
  buckets: ArrayLike<number>,
): string {
  const { keys, keyOf, counts } = node;
  const sortedBuckets = orderedBuckets(node, buckets, Infinity);
  const ends = new Float64Array(sortedBuckets.length);
  let total = 0;
  for (let i = 0; i < ends.length; i++) ends[i] = total += counts[sortedBuckets[i]!]!;
  const at = (position: number): number => {
    let [low, high] = [0, ends.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (ends[middle]! <= position) low = middle + 1;
      else high = middle;
    }
    return keys.number(keyOf ? keyOf[sortedBuckets[low]!]! : sortedBuckets[low]!);
  };
  const texts = facet.percents.map((percent) => {
    const position = (total - 1) * (percent / 100);
    const [before, after] = [Math.floor(position), Math.ceil(position)];
    if (before === after) return doubleText(at(before));
    const part = position - before;
    return doubleText(at(before) * (1 - part) + at(after) * part);
  });
  return bucketlessAnswerJson(facet, texts);
}
