import { noWeight, type Bm25Weight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import { RecentMap } from '../../core/recent-map.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import { node, not, type Predicate, type ScoreTerm } from '../predicate/predicate.js';
import { isOfText, leavesOf, type Leaf } from './relevance.js';
import { columnOf } from './text-field.js';
import { plainWeight, weightsByIndex, type LookUp } from './weigh.js';

/** Cached counts. Snapshots never change, so they stay valid. */
const countCache = new RecentMap<string, number>(10_000);

/** Counts for each predicate the records of a snapshot that satisfy it. */
export type Counts = (predicates: readonly Predicate[]) => Promise<readonly number[] | Unsupported>;

/**
 * The weights of ranking conditions: on texts from their index, on other fields their inverse document frequency among the records that
 * have the field. weigh.ts computes the same weights by a scan.
 */
export async function weightsByColumns(
  snapshot: Snapshot,
  scores: readonly ScoreTerm[],
  counts: Counts,
  lookUp: LookUp,
): Promise<ReadonlyMap<Leaf, Bm25Weight> | Unsupported> {
  const leaves = scores.flatMap(({ item }) => leavesOf(item));
  // If there is only one condition, and not on a text, all records have the same score.
  if (leaves.length === 1 && !isOfText(leaves[0]!)) return new Map();
  const { columns } = snapshot;
  const weights = new Map<Leaf, Bm25Weight>(leaves.map((leaf) => [leaf, noWeight]));
  const storedLeaves = leaves.filter(({ field }) => columnOf(field, columns));
  const byIndex = await weightsByIndex(storedLeaves, columns, lookUp);
  for (const [leaf, weight] of byIndex) weights.set(leaf, weight);
  const unknown = storedLeaves.find((leaf) => isOfText(leaf) && !byIndex.has(leaf));
  if (unknown) return { unsupported: `a segment has no text index of ${unknown.field.name}` };
  const weighedLeaves = storedLeaves
    .filter((leaf) => !isOfText(leaf))
    .map((leaf) => ({ leaf, present: not(node({ kind: 'missing', field: leaf.field })) }));
  const found = await cachedCounts(
    snapshot,
    weighedLeaves.flatMap(({ leaf, present }) => [leaf, present]),
    counts,
  );
  if (isUnsupported(found)) return found;
  for (const [i, { leaf }] of weighedLeaves.entries())
    weights.set(leaf, plainWeight({ records: found[2 * i + 1]!, tokens: 0 }, found[2 * i]!));
  return weights;
}

async function cachedCounts(
  { files, datasetId, version }: Snapshot,
  predicates: readonly Predicate[],
  counts: Counts,
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
