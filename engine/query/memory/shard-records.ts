import type { Snapshot } from '../../store/store.js';
import type { RowRef } from '../plan/executor.js';
import type { RunOptions } from '../plan/limits.js';
import type { PageFormat, PageLayout, PageRecords } from '../results/page-format.js';
import { joinedRecords } from '../results/page-records.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { Shards } from './shards.js';

/** Records in the order of `rows`, each made by the shard that caches its pages. */
export async function recordsOfShards<F extends PageFormat>(
  shards: Shards,
  snapshot: Snapshot,
  rows: readonly RowRef[],
  layout: PageLayout<F>,
  isContinued: boolean,
  options: RunOptions,
): Promise<PageRecords<F> | Unsupported> {
  const { key, shardOf } = await shards.know(snapshot);
  const projection = shards.knowProjection(layout.projection);
  const asked = [...byShard(shardOf, rows)];
  const { format } = layout;
  const answers = await shards.ask(
    asked.map(([shard, at]) => {
      const query = { snapshot: key, rows: pairsAt(rows, at), projection, format, isContinued };
      return [shard, { kind: 'records', query }] as const;
    }),
    options,
  );
  if (isUnsupported(answers)) return answers;
  const parts = asked.map(([, at], i) => {
    const { records } = answers[i] as { readonly records: PageRecords<F> };
    return { records, at };
  });
  return joinedRecords(parts, layout);
}

/** The indices of the rows of each shard, segment by segment. */
function byShard(
  shardOf: Uint16Array,
  rows: readonly RowRef[],
): ReadonlyMap<number, readonly number[]> {
  const bySegment = new Map<number, number[]>();
  for (const [at, [segment]] of rows.entries()) {
    const own = bySegment.get(segment);
    if (own === undefined) bySegment.set(segment, [at]);
    else own.push(at);
  }
  const found = new Map<number, number[]>();
  for (const [segment, at] of bySegment) {
    const shard = shardOf[segment]!;
    const own = found.get(shard);
    if (own === undefined) found.set(shard, at);
    else own.push(...at);
  }
  return found;
}

function pairsAt(rows: readonly RowRef[], at: readonly number[]): Float64Array {
  const pairs = new Float64Array(2 * at.length);
  for (const [i, index] of at.entries()) pairs.set(rows[index]!, 2 * i);
  return pairs;
}
