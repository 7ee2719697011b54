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

/** Counts the records that satisfy each predicate, in the log where its statistics tell, otherwise in the threads. */
export async function countInShards(
  shards: Shards,
  snapshot: Snapshot,
  predicates: readonly Predicate[],
  options: RunOptions,
): Promise<readonly number[] | Unsupported> {
  const counts = predicates.map(() => 0);
  /** The predicates that the log does not count, each with the segments in which they are counted, by shard. */
  const uncounted: UncountedPredicate[] = [];
  const { key, shardOf } = await shards.registerSnapshot(snapshot);
  const testCount = predicates.reduce((sum, each) => sum + conditionsIn(each).length, 0) * shardOf.length; // prettier-ignore
  for (const [i, predicate] of predicates.entries()) {
    const count = testCount > maxPruningTests ? () => undefined : statisticsCounter(predicate);
    const rest: number[] = [];
    for (const [number, segment] of snapshot.segments.entries()) {
      const found = count(segment);
      if (found === undefined) rest.push(number);
      else counts[i]! += found;
    }
    if (rest.length > 0) uncounted.push({ i, segments: segmentsByShard(shardOf, rest) });
  }
  const shardNumbers = new Set(uncounted.flatMap(({ segments }) => [...segments.keys()]));
  const asked = [...shardNumbers].map((shard) => {
    const own = uncounted.filter(({ segments }) => segments.has(shard));
    const segments = own.map((each) => Uint32Array.from(each.segments.get(shard)!));
    return { shard, own, query: { snapshot: key, predicates: own.map(({ i }) => predicates[i]!), segments } }; // prettier-ignore
  });
  const answers = await shards.askShards(asked.map(({ shard, query }) => [shard, { kind: 'count', query }] as const), options); // prettier-ignore
  if (isUnsupported(answers)) return answers;
  for (const [n, { own }] of asked.entries()) {
    const found = (answers[n] as { readonly counts: Float64Array }).counts;
    for (const [k, { i }] of own.entries()) counts[i]! += found[k]!;
  }
  return counts;
}

/** The number of a predicate, and by shard the numbers of the segments in which its records are counted. */
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
  const stored = conditions.filter(({ field }) => columnOfField(field, snapshot.columns));
  const byField = Map.groupBy(stored.filter(isTextCondition), ({ field }) => fieldKey(field));
  const unsupported = await Promise.all(
    [...byField.values()].map(async (ofField) => {
      const phrases = ofField.map((condition) => toTextQuery(condition)!);
      const known = await readTextFrequencies(
        shards,
        snapshot,
        ofField[0]!.field,
        phrases,
        options,
      );
      if (isUnsupported(known)) return known;
      for (const [i, condition] of ofField.entries())
        weights.set(condition, bm25Weight(known, known.found[i]!));
      return undefined;
    }),
  );
  const others = stored.filter((condition) => !isTextCondition(condition));
  const counts =
    unsupported.find((each) => each !== undefined) ??
    (await cachedCounts(shards, snapshot, others, options));
  if (isUnsupported(counts)) return counts;
  // The weight of a condition that no record satisfies does not depend on how many records have the field.
  const satisfied = others.flatMap((condition, i) =>
    counts[i]! > 0 ? [{ condition, count: counts[i]! }] : [],
  );
  const arePresent = satisfied.map(({ condition: { field } }) => not(freezePredicate({ kind: 'missing', field }))); // prettier-ignore
  const present = await cachedCounts(shards, snapshot, arePresent, options);
  if (isUnsupported(present)) return present;
  for (const [i, { condition, count }] of satisfied.entries())
    weights.set(condition, documentFrequencyWeight(present[i]!, count));
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
  const known = new Map(keys.map((key) => [key, countCache.get(key)]));
  const unknown = new Map(
    predicates.flatMap((each, i) => (known.get(keys[i]!) === undefined ? [[keys[i]!, each]] : [])),
  );
  const counts =
    unknown.size === 0 ? [] : await countInShards(shards, snapshot, [...unknown.values()], options);
  if (isUnsupported(counts)) return counts;
  for (const [i, key] of [...unknown.keys()].entries()) {
    known.set(key, counts[i]!);
    countCache.set(key, counts[i]!);
  }
  return keys.map((key) => known.get(key)!);
}
