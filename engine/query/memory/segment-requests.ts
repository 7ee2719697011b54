import type { Snapshot } from '../../store/store.js';
import type { RunOptions } from '../executor/run-options.js';
import type { Selection } from '../executor/executor.js';
import { touchedSegments } from '../predicate/kinds/prune.js';
import type { Predicate } from '../predicate/predicate.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { ShardAnswer, ShardQuery } from './shard-protocol.js';
import { segmentsByShard, type KnownSnapshot, type Shards } from './shards.js';
import { candidateComparator, unpackTopRows, type KeyBound, type TopRow } from './top-rows.js';

/** What is known of a query before the shards are asked: its snapshot as they know it, and the segments that may contain matches. */
export interface PreparedQuery {
  readonly knownSnapshot: KnownSnapshot;
  readonly segments: readonly number[];
}

/** Returns what `askShardsOfSegments` needs for a query of the segments from number `from` on. */
export async function prepareQuery(
  shards: Shards,
  snapshot: Snapshot,
  predicate: Predicate,
  from: number,
): Promise<PreparedQuery> {
  const segments = touchedSegments(snapshot, predicate).filter((number) => number >= from);
  return { knownSnapshot: await shards.registerSnapshot(snapshot), segments };
}

/** Sends a query to the shards of its segments; `keyBoundOf` returns the bound of the first sort key in a segment. */
export async function askShardsOfSegments(
  shards: Shards,
  { knownSnapshot: { key, shardOf }, segments }: PreparedQuery,
  query: Omit<
    ShardQuery,
    'snapshot' | 'segments' | 'firstOtherSegment' | 'shardCount' | 'keyBounds'
  >,
  options: RunOptions,
  keyBoundOf?: (segment: number) => KeyBound,
): Promise<readonly ShardAnswer[] | Unsupported> {
  const byShard = segmentsByShard(shardOf, segments);
  const requests = [...byShard].map(([shard, list]) => {
    const shardQuery = {
      ...query,
      snapshot: key,
      segments: Uint32Array.from(list),
      firstOtherSegment: segments.find((segment) => shardOf[segment] !== shard) ?? Infinity,
      shardCount: byShard.size,
      ...(keyBoundOf && { keyBounds: list.map(keyBoundOf) }),
    };
    return [shard, { kind: 'select', query: shardQuery }] as const;
  });
  const answers = await shards.askShards(requests, options);
  if (isUnsupported(answers)) return answers;
  return answers.map((reply) => (reply as { readonly selected: ShardAnswer }).selected);
}

/** Merges the candidates of the shards into the rows of a page, in the order of the sort keys. */
export function sortedRows(
  answers: readonly ShardAnswer[],
  ordering: Selection['ordering'],
  offset: number,
  limit: number,
): readonly TopRow[] {
  const candidates = answers
    .flatMap((answer) => unpackTopRows(answer.candidates))
    .sort(candidateComparator(ordering));
  return candidates.slice(offset, offset + limit);
}
