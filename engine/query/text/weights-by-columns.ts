import { noWeight, type Bm25Weight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import { LruCache } from '../../core/recent-map.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import { freezePredicate, not, type Predicate, type ScoreClause } from '../predicate/predicate.js';
import { isTextCondition, scoredConditionsOf, type ScoredCondition } from './relevance.js';
import { columnOfField } from './text-field.js';
import { documentFrequencyWeight, weightsByIndex, type LookUpFrequencies } from './weigh.js';

/** Cached counts of records. Snapshots never change, so the counts stay valid. */
const countCache = new LruCache<string, number>(10_000);

/** Counts, for each predicate, the records of a snapshot that satisfy it. */
type CountMatches = (predicates: readonly Predicate[]) => Promise<readonly number[] | Unsupported>;

/**
 * Returns the weights of ranking conditions: for texts, from their index; for other fields, the inverse document frequency among the
 * records that have the field. weigh.ts computes the same weights by a scan.
 */
export async function weightsByColumns(
  snapshot: Snapshot,
  scores: readonly ScoreClause[],
  counts: CountMatches,
  lookUp: LookUpFrequencies,
): Promise<ReadonlyMap<ScoredCondition, Bm25Weight> | Unsupported> {
  const leaves = scores.flatMap(({ item }) => scoredConditionsOf(item));
  // If the only condition is not on a text, all records have the same score, so no weight is needed.
  if (leaves.length === 1 && !isTextCondition(leaves[0]!)) return new Map();
  const { columns } = snapshot;
  const weights = new Map<ScoredCondition, Bm25Weight>(leaves.map((leaf) => [leaf, noWeight]));
  const storedLeaves = leaves.filter(({ field }) => columnOfField(field, columns));
  const byIndex = await weightsByIndex(storedLeaves, columns, lookUp);
  for (const [leaf, weight] of byIndex) weights.set(leaf, weight);
  const unknown = storedLeaves.find((leaf) => isTextCondition(leaf) && !byIndex.has(leaf));
  if (unknown) return { unsupported: `a segment has no text index of ${unknown.field.name}` };
  const weighedLeaves = storedLeaves
    .filter((leaf) => !isTextCondition(leaf))
    .map((leaf) => ({
      leaf,
      present: not(freezePredicate({ kind: 'missing', field: leaf.field })),
    }));
  const found = await cachedCounts(
    snapshot,
    weighedLeaves.flatMap(({ leaf, present }) => [leaf, present]),
    counts,
  );
  if (isUnsupported(found)) return found;
  for (const [i, { leaf }] of weighedLeaves.entries())
    weights.set(
      leaf,
      documentFrequencyWeight({ records: found[2 * i + 1]!, tokens: 0 }, found[2 * i]!),
    );
  return weights;
}

async function cachedCounts(
  { files, datasetId, version }: Snapshot,
  predicates: readonly Predicate[],
  counts: CountMatches,
): Promise<readonly number[] | Unsupported> {
  const keys = predicates.map((each) => JSON.stringify([files[0], datasetId, version, each]));
  const cachedByKey = new Map(keys.map((key) => [key, countCache.get(key)]));
  const unknown = new Map(
    predicates.flatMap((each, i) =>
      cachedByKey.get(keys[i]!) === undefined ? [[keys[i]!, each]] : [],
    ),
  );
  const found = unknown.size > 0 ? await counts([...unknown.values()]) : [];
  if (isUnsupported(found)) return found;
  for (const [i, key] of [...unknown.keys()].entries()) {
    cachedByKey.set(key, found[i]!);
    countCache.set(key, found[i]!);
  }
  return keys.map((key) => cachedByKey.get(key)!);
}
