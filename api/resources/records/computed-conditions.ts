import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { AppError } from '../../../engine/core/errors.js';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { genesForQuery } from '../../../engine/ingest/entities/genes.js';
import { recordsAt, runQuery, type QueryAnswer } from '../../../engine/query/plan/query.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request/request.js';
import { positionIn, withoutConditions, type SeparatedQuery } from '../../../engine/query/request/separated-query.js'; // prettier-ignore
import type { Snapshot } from '../../../engine/store/store.js';
import { orderOf, parsedOver, separations, type ComputedQuery } from '../../../scheduler/jobs/computed/computed-query.js'; // prettier-ignore
import { rowOfNumber } from '../../../scheduler/jobs/migration/source-rows.js';
import type { FunctionScope } from '../expressions/function-scope.js';

/** A query that finds, sorts or counts by fields that it computes. */
export interface ComputedConditions {
  /** The query without its conditions, ordering and facets, which are answered from the computed table. */
  readonly page: JsonObject;
  readonly run: typeof runQuery;
}

/** Prepares a query that filters, sorts or counts by fields that it computes. */
export function computedConditions(
  scope: FunctionScope,
  dataset: DatasetRow,
  asked: ComputedQuery,
): ComputedConditions {
  const run: typeof runQuery = (engine, snapshot, fields, request, options = {}) =>
    answerComputed({ ...asked, fields }, { scope, dataset, engine, snapshot }, request, options.signal ?? scope.signal); // prettier-ignore
  return { page: withoutConditions(asked.query), run };
}

/** The data that a query is answered from, and for whom. */
interface QueriedData {
  readonly scope: FunctionScope;
  readonly dataset: DatasetRow;
  readonly engine: QueryEngine;
  readonly snapshot: Snapshot;
}

async function answerComputed(
  asked: ComputedQuery,
  data: QueriedData,
  page: QueryRequest,
  signal: AbortSignal,
): Promise<QueryAnswer> {
  const startedAt = performance.now();
  for (const parts of await separations(asked)) {
    const answer = await answerOf(asked, parts, data, page, signal);
    if (answer !== undefined) return { ...answer, took: Math.round(performance.now() - startedAt) };
  }
  throw new AppError('internal', 'no part of the query answers it');
}

/** Answers the query separated into these parts; undefined if its computed part alone needs all records. */
async function answerOf(
  asked: ComputedQuery,
  parts: SeparatedQuery,
  data: QueriedData,
  page: QueryRequest,
  signal: AbortSignal,
): Promise<QueryAnswer | undefined> {
  const { scope, dataset, engine, snapshot } = data;
  const { order, isRepeatable } = await orderOf(asked, parts, snapshot.version);
  const { caller, context } = scope;
  const request = { datasetId: dataset.id, userId: caller.user.id, order, isRepeatable };
  const { computedTables } = context.scheduler;
  return computedTables.use(request, signal, async (table, wasReady) => {
    const parsed = await parsedOver(asked, parts, table.fields);
    if (parsed === undefined) return undefined;
    const { cursor } = page;
    const rows = await runQuery(
      // Reads of this table do not count for the columns that the next start loads.
      { ...engine, hot: undefined },
      table.snapshot,
      parsed.fields,
      {
        ...parsed.request,
        fields: [[table.rowField]],
        excludeFields: [],
        limit: page.limit,
        offset: page.offset,
        ...(cursor && { cursor }),
        ...(cursor?.after && { facets: null }),
      },
      { signal },
    );
    const found = JSON.parse(rows.results) as readonly Readonly<Record<string, number>>[];
    const refs = found.map((record) => rowOfNumber(record[table.rowField]!));
    const results = await recordsAt(engine, snapshot, asked.fields, page, refs, { signal });
    const { explain, ...answer } = rows;
    if (explain === undefined) return { ...answer, results };
    const costs = {
      fields: order.fields.map(({ name }) => name),
      records: table.snapshot.rows,
      bytes: table.snapshot.bytes,
      ms: Math.round(table.ms),
      is_cached: wasReady,
    };
    const { stored: early, computed: late } = parts.positions;
    const conditions = await explainComputed(parts.stored, asked.fields, data, signal);
    const first = explanationAt(conditions, early);
    const second = { ...costs, explain: explanationAt(explain, late) };
    return { ...answer, results, explain: JSON.stringify({ ...first, computed: second }) };
  });
}

/** The explanation of the part that finds the records to compute of. */
async function explainComputed(
  stored: JsonObject,
  fields: readonly DatasetField[],
  { engine, snapshot }: QueriedData,
  signal: AbortSignal,
): Promise<string> {
  const query = { ...stored, explain: true, limit: 0 };
  const request = parseQuery(query, fields, await genesForQuery(query));
  return (await runQuery(engine, snapshot, fields, request, { signal })).explain!;
}

/** The JSON text of an explanation of a part of a query, in which positions are those in the whole query. */
function explanationAt(text: string, positions: readonly string[]): object {
  // Positions are the members `path`, and among the `values` of a cause.
  const revive = (key: string, value: unknown): unknown =>
    typeof value === 'string' && (key === 'path' || /^\d+$/.test(key))
      ? positionIn(value, positions)
      : value;
  return JSON.parse(text, revive) as object;
}
