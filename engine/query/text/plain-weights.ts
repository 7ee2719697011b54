import type { Bm25Weight } from '../../text/bm25.js';
import type { Snapshot } from '../../store/store.js';
import type { QueryEngine } from '../sql/engine.js';
import type { RunOptions } from '../plan/guard.js';
import { node, not, type Predicate, type Score } from '../predicate/predicate.js';
import { leavesOf, type Leaf } from './relevance.js';
import { access, begin } from '../sql/statement.js';
import { plain } from './weigh.js';

/** Counts of snapshots, which never change. */
const counted = new Map<string, number>();
const mostCounted = 10_000;

/**
 * The weights of conditions that rank on other than texts, as weigh.ts has them from a scan: how rare they are among all records. The
 * columns count; undefined if they cannot.
 */
export async function plainWeights(
  { columns, language }: QueryEngine,
  snapshot: Snapshot,
  scores: readonly Score[],
  options: RunOptions,
): Promise<ReadonlyMap<Leaf, Bm25Weight> | undefined> {
  const leaves = scores.flatMap(({ item }) => leavesOf(item));
  const weights = new Map<Leaf, Bm25Weight>();
  // A condition alone orders nothing.
  if (leaves.length === 1) return weights;
  const statement = begin(snapshot, undefined, language);
  const count = async (predicate: Predicate): Promise<number | undefined> => {
    const key = JSON.stringify([
      snapshot.files[0],
      snapshot.datasetId,
      snapshot.version,
      predicate,
    ]);
    const known = counted.get(key);
    if (known !== undefined) return known;
    const selection = { predicate, ordering: [], offset: 0, limit: 0, facets: null };
    const total = (await columns?.select(snapshot, selection, options))?.total;
    if (counted.size >= mostCounted) counted.clear();
    if (total !== undefined) counted.set(key, total);
    return total;
  };
  for (const leaf of leaves) {
    const { field } = leaf;
    if (field.type === 'text' || access(statement, field) === undefined) continue;
    const records = await count(not(node({ kind: 'missing', field })));
    const found = records === undefined ? undefined : await count(leaf);
    if (found === undefined) return undefined;
    weights.set(leaf, plain({ records: records!, tokens: 0 }, found));
  }
  return weights;
}
