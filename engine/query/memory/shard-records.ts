import type { Snapshot, RowRef } from '../../store/store.js';
import type { RunOptions } from '../executor/run-options.js';
import type { PageFormat, PageLayout, PageRecords } from '../results/page-format.js';
import { joinedRecords } from '../results/page-records.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import { rowsOfAnswer, type ShardAnswer } from './shard-protocol.js';
import type { Shards } from './shards.js';

/** Returns records in the order of `rows`. Each record comes from the shard that caches its pages. */
export async function readRecordsOfShards<F extends PageFormat>(
  shards: Shards,
  snapshot: Snapshot,
  rows: readonly RowRef[],
  layout: PageLayout<F>,
  isContinuation: boolean,
  options: RunOptions,
): Promise<PageRecords<F> | Unsupported> {
  const { key, shardOf } = await shards.registerSnapshot(snapshot);
  const projection = shards.registerProjection(layout.projection);
  const indicesByShard = [...rowIndicesByShard(shardOf, rows)];
  const { format } = layout;
  const answers = await shards.askShards(
    indicesByShard.map(([shard, at]) => {
      const query = {
        snapshot: key,
        rows: rowPairsAt(rows, at),
        projection,
        format,
        isContinuation,
      };
      return [shard, { kind: 'records', query }] as const;
    }),
    options,
  );
  if (isUnsupported(answers)) return answers;
  const recordsOfShards = indicesByShard.map(([, indices], i) => {
    const { records } = answers[i] as { readonly records: PageRecords<F> };
    return { records, indices };
  });
  return joinedRecords(recordsOfShards, layout);
}

/**
 * Returns the records of a page that the shards sent along with their rows; undefined unless a shard sent the page, or each shard with rows
 * sent their records and all of these are on the page.
 */
export function recordsOfAnswers(
  answers: readonly ShardAnswer[],
  rows: readonly RowRef[],
  layout: PageLayout | undefined,
): PageRecords | undefined {
  const page = answers.find((answer) => answer.page !== undefined)?.page;
  if (page !== undefined || layout === undefined) return page;
  const recordsOfShards: { readonly records: PageRecords; readonly rowRefs: readonly RowRef[] }[] =
    [];
  for (const answer of answers) {
    const rowRefs = rowsOfAnswer(answer);
    if (rowRefs.length === 0) continue;
    if (answer.records === undefined) return undefined;
    recordsOfShards.push({ records: answer.records, rowRefs });
  }
  if (
    rows.length === 0 ||
    recordsOfShards.reduce((sum, { rowRefs }) => sum + rowRefs.length, 0) !== rows.length
  )
    return undefined;
  const indexByRow = new Map(rows.map(([segment, row], at) => [`${segment} ${row}`, at]));
  return joinedRecords(
    recordsOfShards.map(({ records, rowRefs }) => ({
      records,
      indices: rowRefs.map(([segment, row]) => indexByRow.get(`${segment} ${row}`)!),
    })),
    layout,
  );
}

/** Groups the indices of the rows by shard, segment by segment. */
function rowIndicesByShard(
  shardOf: Uint16Array,
  rows: readonly RowRef[],
): ReadonlyMap<number, readonly number[]> {
  const bySegment = new Map<number, number[]>();
  for (const [at, [segment]] of rows.entries()) {
    const ownIndices = bySegment.get(segment);
    if (ownIndices === undefined) bySegment.set(segment, [at]);
    else ownIndices.push(at);
  }
  const indicesByShard = new Map<number, number[]>();
  for (const [segment, indices] of bySegment) {
    const shard = shardOf[segment]!;
    const ownIndices = indicesByShard.get(shard);
    if (ownIndices === undefined) indicesByShard.set(shard, indices);
    else ownIndices.push(...indices);
  }
  return indicesByShard;
}

function rowPairsAt(rows: readonly RowRef[], indices: readonly number[]): Float64Array {
  const pairs = new Float64Array(2 * indices.length);
  for (const [i, index] of indices.entries()) pairs.set(rows[index]!, 2 * i);
  return pairs;
}
