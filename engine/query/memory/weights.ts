import { LruCache } from '../../core/lru-cache.js';
import { bm25Weight, documentFrequencyWeight, noWeight, type Bm25Weight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import type { RunOptions } from '../executor/run-options.js';
import {
  fieldKey,
  freezePredicate,
  not,
  type Predicate,
  type ScoredCondition,
} from '../predicate/predicate.js';
import { toTextQuery } from '../predicate/text-patterns.js';
import { isTextCondition, type ConditionWeights } from '../text/relevance.js';
import { columnOfField } from '../text/text-field.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import { readTextFrequencies } from './index-answers.js';
import { segmentsByShard, type Shards } from './shards.js';

/** Counts the records that satisfy each predicate. */
export async function countInShards(
  shards: Shards,
  snapshot: Snapshot,
  predicates: readonly Predicate[],
  options: RunOptions,
): Promise<readonly number[] | Unsupported> {
  const { key, shardOf } = await shards.registerSnapshot(snapshot);
  const asked = [...segmentsByShard(shardOf, snapshot.segments.keys())].map(([shard, list]) => {
    const segments = Uint32Array.from(list);
    const query = { snapshot: key, segments, predicates };
    return [shard, { kind: 'count', query }] as const;
  });
  const answers = await shards.askShards(asked, options);
  if (isUnsupported(answers)) return answers;
  return predicates.map((_, i) =>
    answers.reduce(
      (sum, answer) => sum + (answer as { readonly counts: Float64Array }).counts[i]!,
      0,
    ),
  );
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
  const counted = others.flatMap((condition) => {
    const isPresent = not(freezePredicate({ kind: 'missing', field: condition.field }));
    return [condition, isPresent];
  });
  const counts =
    unsupported.find((each) => each !== undefined) ??
    (await cachedCounts(shards, snapshot, counted, options));
  if (isUnsupported(counts)) return counts;
  for (const [i, condition] of others.entries())
    weights.set(condition, documentFrequencyWeight(counts[2 * i + 1]!, counts[2 * i]!));
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
