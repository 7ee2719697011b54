import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { genesForQuery } from '../../../engine/ingest/entities/genes.js';
import { invalid, notFound } from '../../../engine/core/errors.js';
import { parseQuery } from '../../../engine/query/request/request.js';
import {
  lookup,
  runFacets,
  runPage,
  runQuery,
  streamQuery,
  type QueryAnswer,
} from '../../../engine/query/plan/query.js';
import type { EncodedPage } from '../../../engine/query/results/answer.js';
import {
  refuseArchived,
  visibleData,
  type VisibleData,
} from '../../../scheduler/jobs/visible-data.js';
import { queryHash, readCursor, writeCursor, type RequestedCursor } from './cursor.js';
import type { AppContext } from '../../http/app-context.js';
import { requireAvailable } from '../../http/require-resource.js';
import { ByteStream, JsonText } from '../../http/reply.js';

/** The JSON answer of a query: a page of records, and facets (contract 8.2). The engine's JSON is not parsed again. */
export async function queryAnswer(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal: AbortSignal,
): Promise<JsonText> {
  const { head, results, tail } = await queryPage(context, dataset, body, signal, runQuery);
  return new JsonText(head + results + tail);
}

/** The same; a page of many records is made as it is sent. */
export async function streamedAnswer(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal: AbortSignal,
): Promise<JsonText | ByteStream> {
  const { head, results, tail } = await queryPage(context, dataset, body, signal, streamQuery);
  if (typeof results === 'string') return new JsonText(head + results + tail);
  return new ByteStream(
    (async function* () {
      yield Buffer.from(head);
      yield* results;
      yield Buffer.from(tail);
    })(),
  );
}

/** The JSON text of an answer around its results. */
interface AnswerParts<R> {
  readonly head: string;
  readonly results: R;
  readonly tail: string;
}

async function queryPage<R>(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal: AbortSignal,
  run: RunQuery<R>,
): Promise<AnswerParts<R>> {
  const cursor = readCursor(body, dataset.id, context.signingKey);
  const { answer, next } = await answerFrom(context, dataset, body, cursor, signal, run);
  const facets = answer.facets === undefined ? '' : `,"facets":${answer.facets}`;
  const explain = answer.explain === undefined ? '' : `,"explain":${answer.explain}`;
  const cursorPart = cursor === null ? '' : `,"cursor":${JSON.stringify(next)}`;
  return {
    head:
      `{"dataset":${JSON.stringify(await datasetName(context, dataset))},"dataset_id":${dataset.id},` +
      `"took":${Math.round(answer.took)},"total":${answer.total},"offset":${answer.offset},"results":`,
    results: answer.results,
    tail: `${facets}${explain}${cursorPart}}`,
  };
}

/** `runQuery` or `streamQuery`. */
type RunQuery<R> = (...args: Parameters<typeof runQuery>) => Promise<QueryAnswer<R>>;

/**
 * Runs a query; returns its answer and the cursor of the next page, null after the last page or without `cursor`. Facets
 * describe all pages and are computed with the first page only.
 */
async function answerFrom<R>(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  cursor: RequestedCursor,
  signal: AbortSignal,
  run: RunQuery<R>,
): Promise<{ readonly answer: QueryAnswer<R>; readonly next: string | null }> {
  if (cursor === null)
    return { answer: await onCurrentVersion(context, dataset, body, signal, run), next: null };
  const from = cursor === 'first' ? null : cursor;
  const { snapshot, fields } = await readableData(context, dataset, from?.version);
  const parsed = parseQuery(body, fields, await genesForQuery(body));
  if (parsed.limit === 0)
    throw invalid('limit', 'A page with a cursor must have a limit of at least 1.');
  const progress = {
    after: from?.after ?? null,
    total: from?.total ?? null,
    seen: from?.seen ?? 0,
  };
  const request = { ...parsed, cursor: progress, ...(from && { facets: null }) };
  const answer = await unlessDeleted(context, dataset, () =>
    run(context.queryEngine, snapshot, fields, request, { signal }),
  );
  if (!answer.position) return { answer, next: null };
  const state = {
    datasetId: dataset.id,
    version: snapshot.version,
    query: queryHash(body),
    after: answer.position,
    total: answer.total,
    seen: progress.seen + answer.count,
  };
  return { answer, next: writeCursor(state, context.signingKey) };
}

/** The formats of a page other than JSON, by media type (`Accept`). */
export const pageTypes = {
  'application/vnd.apache.arrow.stream': 'arrow',
  'application/x-ndjson': 'json',
  'application/jsonl': 'json',
  'text/csv': 'csv',
} as const;

/** The page of a query as an Arrow stream, JSON Lines or CSV. Throws a 400 if the query has facets or `explain`. */
export async function pageAnswer(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  type: keyof typeof pageTypes,
  signal: AbortSignal,
): Promise<EncodedPage> {
  const { snapshot, fields } = await readableData(context, dataset);
  const request = parseQuery(body, fields, await genesForQuery(body));
  if (request.facets) {
    throw invalid('facets', `Facets are available in the JSON answer only, not in ${type}.`);
  }
  if (request.explain)
    throw invalid(
      'explain',
      `The explanation is available in the JSON answer only, not in ${type}.`,
    );
  return unlessDeleted(context, dataset, () =>
    runPage(context.queryEngine, snapshot, fields, request, pageTypes[type], { signal }),
  );
}

/** The records with these ids, in the order of `ids`; unknown ids are left out (contract 7.2). */
export async function lookupAnswer(
  context: AppContext,
  dataset: DatasetRow,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<JsonText> {
  const started = performance.now();
  const { snapshot, fields } = await readableData(context, dataset);
  const wanted = ids.map((id) => id.trim()).filter((id) => id !== '');
  const results = await unlessDeleted(context, dataset, () =>
    lookup(context.queryEngine, snapshot, fields, wanted, { signal }),
  );
  const total = (JSON.parse(results) as unknown[]).length; // few: the ids fit into a URL
  const took = Math.round(performance.now() - started);
  return new JsonText(
    `{"dataset":${JSON.stringify(await datasetName(context, dataset))},"dataset_id":${dataset.id},` +
      `"took":${took},"total":${total},"offset":null,"results":${results}}`,
  );
}

/** The facet of one field over all records (contract 8.4); `total` is the number of distinct values. */
export async function fieldFacets(
  context: AppContext,
  dataset: DatasetRow,
  field: FieldRow,
  options: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<JsonText> {
  const { snapshot, fields } = await readableData(context, dataset);
  const { facets } = parseQuery({ facets: { [field.name]: options } }, fields);
  const [facet] = facets!;
  const distinct = { kind: 'count', field: facet!.field } as const;
  const answer = await unlessDeleted(context, dataset, () =>
    runFacets(context.queryEngine, snapshot, [facet!, distinct], { signal }),
  );
  const [counts, total] = answer.facets;
  return new JsonText(`{"facets":${counts!},"total":${total!},"took":${answer.took}}`);
}

/** The number of records that match a query; its limit and offset are ignored. */
export async function countRecords(
  context: AppContext,
  dataset: DatasetRow,
  query: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { filters, query: text, entities, genome_build } = query;
  const body = { filters, query: text, entities, genome_build, limit: 0 };
  return (await runDatasetQuery(context, dataset, body)).total;
}

/** Runs a query on the current version of a dataset; throws a 400 for an invalid query. */
export async function runDatasetQuery(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal?: AbortSignal,
): Promise<QueryAnswer> {
  return onCurrentVersion(context, dataset, body, signal, runQuery);
}

async function onCurrentVersion<R>(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal: AbortSignal | undefined,
  run: RunQuery<R>,
): Promise<QueryAnswer<R>> {
  const { snapshot, fields } = await readableData(context, dataset);
  const request = parseQuery(body, fields, await genesForQuery(body));
  return unlessDeleted(context, dataset, () =>
    run(context.queryEngine, snapshot, fields, request, { signal }),
  );
}

/** Runs work on a dataset. Any error becomes a 404 if the dataset was deleted meanwhile, a 400 if it was archived: its files may be gone. */
async function unlessDeleted<T>(
  context: AppContext,
  dataset: DatasetRow,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const after = await context.catalog.datasets.get(dataset.id);
    if (after === undefined) throw notFound();
    refuseArchived(after);
    throw error;
  }
}

/** A version of a dataset, by default the latest; throws a 400 unless the dataset is available, a 404 once it is deleted. */
async function readableData(
  context: AppContext,
  dataset: DatasetRow,
  version?: number,
): Promise<VisibleData> {
  requireAvailable(context, dataset, 'cannot be queried');
  return unlessDeleted(context, dataset, () =>
    visibleData(context.catalog, context.store, dataset.id, version),
  );
}

async function datasetName(context: AppContext, dataset: DatasetRow): Promise<string> {
  return (await context.catalog.objects.get(dataset.id))?.filename ?? '';
}
