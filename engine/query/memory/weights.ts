import { LruCache } from '../../core/lru-cache.js';
import { bm25Weight, documentFrequencyWeight, noWeight, type Bm25Weight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import type { RunOptions } from '../executor/run-options.js';
import {
  conditionsIn,
  fieldKey,
  freezePredicate,
  not,
  type Predicate,
  type ScoredCondition,
} from '../predicate/predicate.js';
import { toTextQuery } from '../predicate/text-patterns.js';
import { maxPruningTests, statisticsCounter } from '../predicate/kinds/prune.js';
import { isTextCondition, type ConditionWeights } from '../text/relevance.js';
import { columnOfField } from '../text/text-field.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import { readTextFrequencies } from './index-answers.js';
import { segmentsByShard, type Shards } from './shards.js';

/** Counts the records that satisfy each predicate, by the log's statistics where they suffice, otherwise in the threads. */
export async function countInShards(
  shards: Shards,
  snapshot: Snapshot,
  predicates: readonly Predicate[],
  options: RunOptions,
): Promise<readonly number[] | Unsupported> {
  const counts = predicates.map(() => 0);
  /** The predicates that the log does not count in every segment, each with the other segments, by shard. */
  const uncounted: UncountedPredicate[] = [];
  const { key, shardOf } = await shards.registerSnapshot(snapshot);
  const testCount = predicates.reduce((sum, each) => sum + conditionsIn(each).length, 0) * shardOf.length; // prettier-ignore
  for (const [i, predicate] of predicates.entries()) {
    const count = testCount > maxPruningTests ? () => undefined : statisticsCounter(predicate);
    const uncountedSegments: number[] = [];
    for (const [number, segment] of snapshot.segments.entries()) {
      const loggedCount = count(segment);
      if (loggedCount === undefined) uncountedSegments.push(number);
      else counts[i]! += loggedCount;
    }
    if (uncountedSegments.length > 0)
      uncounted.push({ i, segments: segmentsByShard(shardOf, uncountedSegments) });
  }
  const shardNumbers = new Set(uncounted.flatMap(({ segments }) => [...segments.keys()]));
  const shardRequests = [...shardNumbers].map((shard) => {
    const ownPredicates = uncounted.filter(({ segments }) => segments.has(shard));
    const segments = ownPredicates.map((each) => Uint32Array.from(each.segments.get(shard)!));
    return { shard, ownPredicates, query: { snapshot: key, predicates: ownPredicates.map(({ i }) => predicates[i]!), segments } }; // prettier-ignore
  });
  const answers = await shards.askShards(shardRequests.map(({ shard, query }) => [shard, { kind: 'count', query }] as const), options); // prettier-ignore
  if (isUnsupported(answers)) return answers;
  for (const [n, { ownPredicates }] of shardRequests.entries()) {
    const shardCounts = (answers[n] as { readonly counts: Float64Array }).counts;
    for (const [k, { i }] of ownPredicates.entries()) counts[i]! += shardCounts[k]!;
  }
  return counts;
}

/** The index of a predicate, and by shard the numbers of the segments in which the shards count its records. */
interface UncountedPredicate {
  readonly i: number;
  readonly segments: ReadonlyMap<number, readonly number[]>;
}

/**
 * Returns the weights of conditions that rank and that `unsupportedSelection` accepts: for texts, from their index; for other fields, the
 * inverse document frequency among the records that have the field. The SQL executor computes the same weights by a scan.
 */
export async function weighInShards(
  shards: Shards,
  snapshot: Snapshot,
  conditions: readonly ScoredCondition[],
  options: RunOptions,
): Promise<ConditionWeights | Unsupported> {
  const weights = new Map<ScoredCondition, Bm25Weight>(conditions.map((each) => [each, noWeight]));
  const storedConditions = conditions.filter(({ field }) => columnOfField(field, snapshot.columns));
  const byField = Map.groupBy(storedConditions.filter(isTextCondition), ({ field }) =>
    fieldKey(field),
  );
  const unsupported = await Promise.all(
    [...byField.values()].map(async (fieldConditions) => {
      const phrases = fieldConditions.map((condition) => toTextQuery(condition)!);
      const frequencies = await readTextFrequencies(
        shards,
        snapshot,
        fieldConditions[0]!.field,
        phrases,
        options,
      );
      if (isUnsupported(frequencies)) return frequencies;
      for (const [i, condition] of fieldConditions.entries())
        weights.set(condition, bm25Weight(frequencies, frequencies.recordCounts[i]!));
      return undefined;
    }),
  );
  const otherConditions = storedConditions.filter((condition) => !isTextCondition(condition));
  const counts =
    unsupported.find((each) => each !== undefined) ??
    (await cachedCounts(shards, snapshot, otherConditions, options));
  if (isUnsupported(counts)) return counts;
  // The weight of a condition that no record satisfies does not depend on how many records have the field.
  const satisfiedConditions = otherConditions.flatMap((condition, i) =>
    counts[i]! > 0 ? [{ condition, count: counts[i]! }] : [],
  );
  const presencePredicates = satisfiedConditions.map(({ condition: { field } }) => not(freezePredicate({ kind: 'missing', field }))); // prettier-ignore
  const presentCounts = await cachedCounts(shards, snapshot, presencePredicates, options);
  if (isUnsupported(presentCounts)) return presentCounts;
  for (const [i, { condition, count }] of satisfiedConditions.entries())
    weights.set(condition, documentFrequencyWeight(presentCounts[i]!, count));
  return weights;
}

/** Cached counts of records. Snapshots never change, so the counts stay valid. */
const countCache = new LruCache<string, number>(10_000);

async function cachedCounts(
  shards: Shards,
  snapshot: Snapshot,
  predicates: readonly Predicate[],
  options: RunOptions,
): Promise<readonly number[] | Unsupported> {
  const { files, datasetId, version } = snapshot;
  const keys = predicates.map((each) => JSON.stringify([files[0], datasetId, version, each]));
  const knownCounts = new Map(keys.map((key) => [key, countCache.get(key)]));
  const unknownPredicates = new Map(
    predicates.flatMap((each, i) =>
      knownCounts.get(keys[i]!) === undefined ? [[keys[i]!, each]] : [],
    ),
  );
  const counts =
    unknownPredicates.size === 0
      ? []
      : await countInShards(shards, snapshot, [...unknownPredicates.values()], options);
  if (isUnsupported(counts)) return counts;
  for (const [i, key] of [...unknownPredicates.keys()].entries()) {
    knownCounts.set(key, counts[i]!);
    countCache.set(key, counts[i]!);
  }
  return keys.map((key) => knownCounts.get(key)!);
}
