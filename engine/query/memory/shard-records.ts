import type { Snapshot } from '../../store/store.js';
import type { RowRef } from '../plan/executor.js';
import type { RunOptions } from '../plan/limits.js';
import type { Projected } from '../results/projection.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { Shards } from './shards.js';

/** The JSON texts of records, in the order of `rows`, each made by the shard that caches its pages. */
export async function recordsOfShards(
  shards: Shards,
  snapshot: Snapshot,
  rows: readonly RowRef[],
  projection: readonly Projected[],
  options: RunOptions,
): Promise<readonly string[] | Unsupported> {
  const { key, shardOf } = await shards.know(snapshot);
  const projected = shards.knowProjection(projection);
  /** Of each shard: the records of each segment, and where in the answer they go. */
  const byShard = new Map<number, Map<number, { rows: number[]; at: number[] }>>();
  for (const [at, [segment, row]] of rows.entries()) {
    const shard = shardOf[segment]!;
    const segments = byShard.get(shard) ?? new Map<number, { rows: number[]; at: number[] }>();
    byShard.set(shard, segments);
    const of = segments.get(segment) ?? { rows: [], at: [] };
    segments.set(segment, of);
    of.rows.push(row);
    of.at.push(at);
  }
  const asked = [...byShard];
  const answers = await shards.ask(
    asked.map(([shard, segments]) => {
      const list = [...segments].map(([segment, { rows }]) => ({ segment, rows }));
      return [
        shard,
        { kind: 'records', snapshot: key, records: list, projection: projected },
      ] as const;
    }),
    options,
  );
  if (isUnsupported(answers)) return answers;
  const texts: string[] = Array.from({ length: rows.length });
  for (const [i, [, segments]] of asked.entries()) {
    const { records: found } = answers[i] as { readonly records: readonly string[] };
    const targets = [...segments.values()].flatMap(({ at }) => at);
    for (const [j, at] of targets.entries()) texts[at] = found[j]!;
  }
  return texts;
}
