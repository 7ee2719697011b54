import type { Bm25Weight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import type { Unsupported } from '../unsupported.js';
import { node, not, type Predicate, type Score } from '../predicate/predicate.js';
import { leavesOf, type Leaf } from './relevance.js';
import { plainWeight } from './weigh.js';

/** Cached counts. Snapshots never change, so they stay valid. */
const countCache = new Map<string, number>();
const maxCached = 10_000;

/** Counts the records of a snapshot that satisfy a predicate. */
export type Count = (predicate: Predicate) => Promise<number | Unsupported>;

/**
 * The weights of ranking conditions on fields that are not texts: their inverse document frequency among the records that have the
 * field. weigh.ts computes the same weights by a scan.
 */
export async function weightsByColumns(
  snapshot: Snapshot,
  scores: readonly Score[],
  count: Count,
): Promise<ReadonlyMap<Leaf, Bm25Weight> | Unsupported> {
  const leaves = scores.flatMap(({ item }) => leavesOf(item));
  const weights = new Map<Leaf, Bm25Weight>();
  // With a single condition all records have the same score.
  if (leaves.length === 1) return weights;
  const cachedCount = async (predicate: Predicate): Promise<number | Unsupported> => {
    const key = JSON.stringify([
      snapshot.files[0],
      snapshot.datasetId,
      snapshot.version,
      predicate,
    ]);
    const known = countCache.get(key);
    if (known !== undefined) return known;
    const found = await count(predicate);
    if (countCache.size >= maxCached) countCache.clear();
    if (typeof found === 'number') countCache.set(key, found);
    return found;
  };
  const names = new Set(snapshot.columns.map(({ name }) => name));
  for (const leaf of leaves) {
    const { field } = leaf;
    if (field.type === 'text' || !names.has(field.path[0]!)) continue;
    const records = await cachedCount(not(node({ kind: 'missing', field })));
    const found = typeof records === 'number' ? await cachedCount(leaf) : records;
    if (typeof records !== 'number') return records;
    if (typeof found !== 'number') return found;
    weights.set(leaf, plainWeight({ records, tokens: 0 }, found));
  }
  return weights;
}
