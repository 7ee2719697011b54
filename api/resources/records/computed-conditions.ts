import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import { AppError } from '../../../engine/core/errors.js';
import type { DatasetField } from '../../../engine/core/dataset-field.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { loadGenesForQuery } from '../../../engine/ingest/entities/genes.js';
import { recordsAt, runQuery, type QueryAnswer } from '../../../engine/query/plan/run-query.js';
import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { parseQuery, type QueryRequest } from '../../../engine/query/request/query-request.js';
import { positionInQuery, withoutConditions, type SeparatedQuery } from '../../../engine/query/request/separated-query.js'; // prettier-ignore
import type { Snapshot } from '../../../engine/store/store.js';
import { computedOrderOf, parseComputedPart, querySeparations, type ComputedQuery } from '../../../scheduler/jobs/computed/computed-query.js'; // prettier-ignore
import { sourceRowOf } from '../../../scheduler/jobs/migration/source-rows.js';
import type { FunctionScope } from '../expressions/function-scope.js';

/** How to run a query that filters, sorts or counts by fields that it computes. */
interface ComputedConditions {
  /** The query without its conditions, ordering and facets; the table of computed values answers those. */
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

/** The dataset version that a query reads, and the caller. */
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
  for (const parts of await querySeparations(asked)) {
    const answer = await answerSeparatedQuery(asked, parts, data, page, signal);
    if (answer !== undefined) return { ...answer, took: Math.round(performance.now() - startedAt) };
  }
  throw new AppError('internal', 'no part of the query answers it');
}

/**
 * Answers a query from the table of computed values, after its separation into `parts`; undefined if the part with computed fields needs
 * all records.
 */
async function answerSeparatedQuery(
  asked: ComputedQuery,
  parts: SeparatedQuery,
  data: QueriedData,
  page: QueryRequest,
  signal: AbortSignal,
): Promise<QueryAnswer | undefined> {
  const { scope, dataset, engine, snapshot } = data;
  const { order, isRepeatable } = await computedOrderOf(asked, parts, snapshot.version);
  const { caller, context } = scope;
  const request = { datasetId: dataset.id, userId: caller.user.id, order, isRepeatable };
  const { computedTables } = context.scheduler;
  return computedTables.use(request, signal, async (table, wasReady) => {
    const parsed = await parseComputedPart(asked, parts, table.fields);
    if (parsed === undefined) return undefined;
    const { cursor } = page;
    const rows = await runQuery(
      // Reads of a computed table do not count for choosing the columns that the next start loads.
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
    const refs = found.map((record) => sourceRowOf(record[table.rowField]!));
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

/** Returns the explanation of the query that finds the records for which fields are computed. */
async function explainComputed(
  stored: JsonObject,
  fields: readonly DatasetField[],
  { engine, snapshot }: QueriedData,
  signal: AbortSignal,
): Promise<string> {
  const query = { ...stored, explain: true, limit: 0 };
  const request = parseQuery(query, fields, await loadGenesForQuery(query));
  return (await runQuery(engine, snapshot, fields, request, { signal })).explain!;
}

/** Returns the JSON of an explanation of one part of a query, with the positions changed to those in the whole query. */
function explanationAt(text: string, positions: readonly string[]): object {
  // The positions of conditions in an explanation are the values of the members `path`, and the elements of the lists `values` of its
  // causes.
  const revive = (key: string, value: unknown): unknown =>
    typeof value === 'string' && (key === 'path' || /^\d+$/.test(key))
      ? positionInQuery(value, positions)
      : value;
  return JSON.parse(text, revive) as object;
}
