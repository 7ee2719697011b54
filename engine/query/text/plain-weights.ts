import type { Bm25Weight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import type { Unsupported } from '../unsupported.js';
import { node, not, type Predicate, type Score } from '../predicate/predicate.js';
import { leavesOf, type Leaf } from './relevance.js';
import { plain } from './weigh.js';

/** Counts of snapshots, which never change. */
const counted = new Map<string, number>();
const mostCounted = 10_000;

/** Counts the records of a snapshot that satisfy a predicate. */
export type Count = (predicate: Predicate) => Promise<number | Unsupported>;

/**
 * The weights of conditions that rank on fields other than texts, equal to those that weigh.ts finds by a scan: how rare the
 * condition is among all records that have the field.
 */
export async function plainWeights(
  snapshot: Snapshot,
  scores: readonly Score[],
  count: Count,
): Promise<ReadonlyMap<Leaf, Bm25Weight> | Unsupported> {
  const leaves = scores.flatMap(({ item }) => leavesOf(item));
  const weights = new Map<Leaf, Bm25Weight>();
  // A single condition orders nothing.
  if (leaves.length === 1) return weights;
  const remembered = async (predicate: Predicate): Promise<number | Unsupported> => {
    const key = JSON.stringify([
      snapshot.files[0],
      snapshot.datasetId,
      snapshot.version,
      predicate,
    ]);
    const known = counted.get(key);
    if (known !== undefined) return known;
    const found = await count(predicate);
    if (counted.size >= mostCounted) counted.clear();
    if (typeof found === 'number') counted.set(key, found);
    return found;
  };
  const names = new Set(snapshot.columns.map(({ name }) => name));
  for (const leaf of leaves) {
    const { field } = leaf;
    if (field.type === 'text' || !names.has(field.path[0]!)) continue;
    const records = await remembered(not(node({ kind: 'missing', field })));
    const found = typeof records === 'number' ? await remembered(leaf) : records;
    if (typeof records !== 'number') return records;
    if (typeof found !== 'number') return found;
    weights.set(leaf, plain({ records, tokens: 0 }, found));
  }
  return weights;
}
