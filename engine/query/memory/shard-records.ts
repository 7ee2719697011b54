import type { Snapshot } from '../../store/store.js';
import type { RowRef } from '../plan/executor.js';
import type { RunOptions } from '../plan/limits.js';
import type { PageFormat, PageLayout, PageRecords } from '../results/page-format.js';
import { joinedRecords } from '../results/page-records.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import { rowsOfAnswer, type ShardAnswer } from './protocol.js';
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

/** The records of a page that the shards have given along with their rows; undefined if one gave none, or if rows of it are on no page. */
export function recordsOfAnswers(
  answers: readonly ShardAnswer[],
  rows: readonly RowRef[],
  layout: PageLayout | undefined,
): PageRecords | undefined {
  if (answers.length === 1) return answers[0]!.records;
  if (layout === undefined) return undefined;
  const parts: { readonly records: PageRecords; readonly of: readonly RowRef[] }[] = [];
  for (const answer of answers) {
    const of = rowsOfAnswer(answer);
    if (of.length === 0) continue;
    if (answer.records === undefined) return undefined;
    parts.push({ records: answer.records, of });
  }
  if (rows.length === 0 || parts.reduce((sum, { of }) => sum + of.length, 0) !== rows.length)
    return undefined;
  const places = new Map(rows.map(([segment, row], at) => [`${segment} ${row}`, at]));
  return joinedRecords(
    parts.map(({ records, of }) => ({
      records,
      at: of.map(([segment, row]) => places.get(`${segment} ${row}`)!),
    })),
    layout,
  );
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
