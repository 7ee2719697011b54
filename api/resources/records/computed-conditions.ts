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
  /** The query without its conditions, ordering, facets and `explain`, for which the table of computed values is used. */
  readonly pageQuery: JsonObject;
  readonly run: typeof runQuery;
}

/** Prepares a query that filters, sorts or counts by fields that it computes. */
export function computedConditions(
  scope: FunctionScope,
  dataset: DatasetRow,
  computedQuery: ComputedQuery,
): ComputedConditions {
  const run: typeof runQuery = (engine, snapshot, fields, request, options = {}) =>
    answerComputed({ ...computedQuery, fields }, { scope, dataset, engine, snapshot }, request, options.signal ?? scope.signal); // prettier-ignore
  return { pageQuery: withoutConditions(computedQuery.query), run };
}

/** The dataset version that a query reads, and the caller. */
interface QueriedData {
  readonly scope: FunctionScope;
  readonly dataset: DatasetRow;
  readonly engine: QueryEngine;
  readonly snapshot: Snapshot;
}

async function answerComputed(
  computedQuery: ComputedQuery,
  data: QueriedData,
  pageRequest: QueryRequest,
  signal: AbortSignal,
): Promise<QueryAnswer> {
  const startedAt = performance.now();
  for (const separation of await querySeparations(computedQuery)) {
    const answer = await answerSeparatedQuery(computedQuery, separation, data, pageRequest, signal);
    if (answer !== undefined) return { ...answer, took: Math.round(performance.now() - startedAt) };
  }
  throw new AppError('internal', 'no part of the query answers it');
}

/**
 * Answers a query from the table of computed values, after its `separation` into parts; undefined if the part with computed fields needs
 * all records.
 */
async function answerSeparatedQuery(
  computedQuery: ComputedQuery,
  separation: SeparatedQuery,
  data: QueriedData,
  pageRequest: QueryRequest,
  signal: AbortSignal,
): Promise<QueryAnswer | undefined> {
  const { scope, dataset, engine, snapshot } = data;
  const { order, isRepeatable } = await computedOrderOf(
    computedQuery,
    separation,
    snapshot.version,
  );
  const { caller, context } = scope;
  const request = { datasetId: dataset.id, userId: caller.user.id, order, isRepeatable };
  const { computedTables } = context.scheduler;
  return computedTables.use(request, signal, async (table, wasReady) => {
    const computedPart = await parseComputedPart(computedQuery, separation, table.fields);
    if (computedPart === undefined) return undefined;
    const { cursor } = pageRequest;
    const rowAnswer = await runQuery(
      // Reads of a computed table do not count for choosing the columns that the next start loads.
      { ...engine, hot: undefined },
      table.snapshot,
      computedPart.fields,
      {
        ...computedPart.request,
        fields: [[table.rowField]],
        excludeFields: [],
        limit: pageRequest.limit,
        offset: pageRequest.offset,
        ...(cursor && { cursor }),
        ...(cursor?.after && { facets: null }),
      },
      { signal },
    );
    const rowRecords = JSON.parse(rowAnswer.results) as readonly Readonly<Record<string, number>>[];
    const refs = rowRecords.map((record) => sourceRowOf(record[table.rowField]!));
    const results = await recordsAt(engine, snapshot, computedQuery.fields, pageRequest, refs, {
      signal,
    });
    const { explain, ...answer } = rowAnswer;
    if (explain === undefined) return { ...answer, results };
    const costs = {
      fields: order.fields.map(({ name }) => name),
      records: table.snapshot.rows,
      bytes: table.snapshot.bytes,
      ms: Math.round(table.ms),
      is_cached: wasReady,
    };
    const { stored: storedPositions, computed: computedPositions } = separation.positions;
    const storedExplanationText = await explainStoredPart(
      separation.stored,
      computedQuery.fields,
      data,
      signal,
    );
    const storedExplanation = explanationAt(storedExplanationText, storedPositions);
    const computedExplanation = { ...costs, explain: explanationAt(explain, computedPositions) };
    return {
      ...answer,
      results,
      explain: JSON.stringify({ ...storedExplanation, computed: computedExplanation }),
    };
  });
}

/** Returns the explanation of the query that finds the records for which fields are computed. */
async function explainStoredPart(
  storedQuery: JsonObject,
  fields: readonly DatasetField[],
  { engine, snapshot }: QueriedData,
  signal: AbortSignal,
): Promise<string> {
  const query = { ...storedQuery, explain: true, limit: 0 };
  const request = parseQuery(query, fields, await loadGenesForQuery(query));
  return (await runQuery(engine, snapshot, fields, request, { signal })).explain!;
}

/** Parses the explanation of one part of a query, and changes the positions in it to those in the whole query. */
function explanationAt(text: string, positions: readonly string[]): object {
  // The positions of conditions in an explanation are the values of the members `path`, and the elements of the lists `values` of its
  // causes.
  const revive = (key: string, value: unknown): unknown =>
    typeof value === 'string' && (key === 'path' || /^\d+$/.test(key))
      ? positionInQuery(value, positions)
      : value;
  return JSON.parse(text, revive) as object;
}
