import type { AsOf } from '../../../engine/catalog/commits.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { genesForQuery } from '../../../engine/ingest/entities/genes.js';
import { invalid, notFound } from '../../../engine/core/errors.js';
import { parseQuery } from '../../../engine/query/request/request.js';
import {
  lookupRecords,
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
import { asOfText, resolveAsOf } from './as-of.js';
import { queryHash, readCursor, writeCursor, type RequestedCursor } from './cursor.js';
import type { AppContext } from '../../http/app-context.js';
import { isObject } from '../../http/form.js';
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

/** As `queryAnswer`, but a page of many records is produced while it is sent. */
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

/** The results of a query, and the JSON text of the answer before and after them. */
export interface AnswerParts<R> {
  readonly head: string;
  readonly results: R;
  readonly tail: string;
  readonly total: number;
  /** The offset of the next page, as in `QueryAnswer`. */
  readonly offset: number | null;
  /** The version that the query names. */
  readonly asOf: AsOf | undefined;
}

/**
 * Runs a query; returns its results and the JSON text of the answer around them. `asked` is the request as the client sent it, to which the
 * cursor belongs, if `body` has been changed.
 */
export async function queryPage<R>(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal: AbortSignal,
  run: RunQuery<R>,
  asked: unknown = body,
): Promise<AnswerParts<R>> {
  const cursor = readCursor(asked, dataset.id, context.signingKey);
  const asOf = await asOfRequested(context, dataset, body, cursor);
  const work = { body, asked, cursor, asOf };
  const { answer, next } = await answerFrom(context, dataset, work, signal, run);
  const name = JSON.stringify(await datasetName(context, dataset));
  const facets = answer.facets === undefined ? '' : `,"facets":${answer.facets}`;
  const explain = answer.explain === undefined ? '' : `,"explain":${answer.explain}`;
  const cursorPart = cursor === null ? '' : `,"cursor":${JSON.stringify(next)}`;
  return {
    head:
      `{"dataset":${name},"dataset_id":${dataset.id},${asOfMember(asOf)}` +
      `"took":${Math.round(answer.took)},"total":${answer.total},"offset":${answer.offset},"results":`,
    results: answer.results,
    total: answer.total,
    offset: answer.offset,
    asOf,
    tail: `${facets}${explain}${cursorPart}}`,
  };
}

/** The version of a dataset that a query asks for. */
export async function requestedData(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
): Promise<VisibleData> {
  const cursor = readCursor(body, dataset.id, context.signingKey);
  const asOf = await asOfRequested(context, dataset, body, cursor);
  const version = cursor === null || cursor === 'first' ? asOf?.version : cursor.version;
  return readableData(context, dataset, version);
}

/** The version that a query asks for; for a later page of a cursor, the version of the first page; undefined without `as_of`. */
async function asOfRequested(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  cursor: RequestedCursor,
): Promise<AsOf | undefined> {
  if (cursor === null || cursor === 'first')
    return resolveAsOf(context, dataset.id, givenAsOf(body));
  return cursor.asOf && { commit_id: cursor.asOf.commitId, version: cursor.version };
}

function givenAsOf(body: unknown): unknown {
  return isObject(body) ? body['as_of'] : undefined;
}

/** The member `as_of` of an answer, with the comma after it. */
function asOfMember(asOf: AsOf | undefined): string {
  return asOf === undefined ? '' : `"as_of":${JSON.stringify(asOf)},`;
}

/** A query, and from where on and of which version its page is. */
interface PagePlace {
  readonly body: unknown;
  readonly asked: unknown;
  readonly cursor: RequestedCursor;
  readonly asOf: AsOf | undefined;
}

/** The function that answers a query: `runQuery` or `streamQuery`. */
type RunQuery<R> = (...args: Parameters<typeof runQuery>) => Promise<QueryAnswer<R>>;

/**
 * Runs a query; returns its answer and the cursor of the next page, null after the last page or without `cursor`. Facets
 * describe all pages and are computed with the first page only.
 */
async function answerFrom<R>(
  context: AppContext,
  dataset: DatasetRow,
  { body, asked, cursor, asOf }: PagePlace,
  signal: AbortSignal,
  run: RunQuery<R>,
): Promise<{ readonly answer: QueryAnswer<R>; readonly next: string | null }> {
  if (cursor === null) {
    const version = asOf?.version;
    return { answer: await onVersion(context, dataset, body, version, signal, run), next: null };
  }
  const from = cursor === 'first' ? null : cursor;
  const version = from?.version ?? asOf?.version;
  const { snapshot, fields } = await readableData(context, dataset, version);
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
    ...(asOf && {
      asOf: { given: from?.asOf?.given ?? asOfText(givenAsOf(body)), commitId: asOf.commit_id },
    }),
    query: queryHash(asked),
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

/** The media types of the formats that pages may have. */
export type PageType = keyof typeof pageTypes;

/** A page in one of the formats, and the version that `as_of` names. */
export interface TypedPage {
  readonly page: EncodedPage;
  readonly asOf: AsOf | undefined;
}

/** The page of a query as an Arrow stream, JSON Lines or CSV. Throws a 400 if the query has facets or `explain`. */
export async function pageAnswer(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  type: PageType,
  signal: AbortSignal,
): Promise<TypedPage> {
  const asOf = await asOfRequested(context, dataset, body, null);
  const { snapshot, fields } = await readableData(context, dataset, asOf?.version);
  const request = parseQuery(body, fields, await genesForQuery(body));
  requirePage({ facets: request.facets !== null, explain: request.explain !== undefined }, type);
  const page = await unlessDeleted(context, dataset, () =>
    runPage(context.queryEngine, snapshot, fields, request, pageTypes[type], { signal }),
  );
  return { page, asOf };
}

/** Throws the 400 of a query that asks for more than records, which only JSON has. */
export function requirePage(
  { facets, explain }: { readonly facets: boolean; readonly explain: boolean },
  type: PageType,
): void {
  if (facets)
    throw invalid('facets', `Facets are available in the JSON answer only, not in ${type}.`);
  if (explain)
    throw invalid('explain', `The explanation is available in the JSON answer only, not in ${type}.`); // prettier-ignore
}

/** The records with these ids, in the order of `ids`; unknown ids are left out (contract 7.2). `at` is the value of `as_of`. */
export async function lookupAnswer(
  context: AppContext,
  dataset: DatasetRow,
  ids: readonly string[],
  at: string | undefined,
  signal: AbortSignal,
): Promise<JsonText> {
  const startedAt = performance.now();
  const asOf = await resolveAsOf(context, dataset.id, at);
  const { snapshot, fields } = await readableData(context, dataset, asOf?.version);
  const wantedIds = ids.map((id) => id.trim()).filter((id) => id !== '');
  const results = await unlessDeleted(context, dataset, () =>
    lookupRecords(context.queryEngine, snapshot, fields, wantedIds, { signal }),
  );
  const total = (JSON.parse(results) as unknown[]).length; // few: the ids fit into a URL
  const elapsedMs = Math.round(performance.now() - startedAt);
  return new JsonText(
    `{"dataset":${JSON.stringify(await datasetName(context, dataset))},"dataset_id":${dataset.id},${asOfMember(asOf)}` +
      `"took":${elapsedMs},"total":${total},"offset":null,"results":${results}}`,
  );
}

/** The facet of one field over all records (contract 8.4); `total` is the number of distinct values, `at` the `as_of` of the request. */
export async function fieldFacets(
  context: AppContext,
  dataset: DatasetRow,
  field: FieldRow,
  options: Readonly<Record<string, unknown>>,
  at: string | undefined,
  signal: AbortSignal,
): Promise<JsonText> {
  const asOf = await resolveAsOf(context, dataset.id, at);
  const { snapshot, fields } = await readableData(context, dataset, asOf?.version);
  const { facets } = parseQuery({ facets: { [field.name]: options } }, fields);
  const [facet] = facets!;
  const distinct = { kind: 'count', field: facet!.field } as const;
  const answer = await unlessDeleted(context, dataset, () =>
    runFacets(context.queryEngine, snapshot, [facet!, distinct], { signal }),
  );
  const [counts, total] = answer.facets;
  return new JsonText(
    `{"facets":${counts!},"total":${total!},${asOfMember(asOf)}"took":${answer.took}}`,
  );
}

/** The number of records of a version, by default the latest, that match a query; its limit, offset and `as_of` are ignored. */
export async function countRecords(
  context: AppContext,
  dataset: DatasetRow,
  query: Readonly<Record<string, unknown>>,
  version?: number,
): Promise<number> {
  const { filters, query: text, entities, genome_build } = query;
  const body = { filters, query: text, entities, genome_build, limit: 0 };
  return (await onVersion(context, dataset, body, version, undefined, runQuery)).total;
}

/** Runs a query on the current version of a dataset; throws a 400 for an invalid query. */
export async function runDatasetQuery(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal?: AbortSignal,
): Promise<QueryAnswer> {
  return onVersion(context, dataset, body, undefined, signal, runQuery);
}

async function onVersion<R>(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  version: number | undefined,
  signal: AbortSignal | undefined,
  run: RunQuery<R>,
): Promise<QueryAnswer<R>> {
  const { snapshot, fields } = await readableData(context, dataset, version);
  const request = parseQuery(body, fields, await genesForQuery(body));
  return unlessDeleted(context, dataset, () =>
    run(context.queryEngine, snapshot, fields, request, { signal }),
  );
}

/** Runs work on a dataset. Any error becomes a 404 if the dataset was deleted meanwhile, a 400 if it was archived: its files may be gone. */
export async function unlessDeleted<T>(
  context: AppContext,
  dataset: DatasetRow,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const after = await context.catalog.datasets.get(dataset.id);
    if (after === undefined) throw notFound(); // deleted meanwhile
    refuseArchived(after);
    throw error;
  }
}

/** A version of a dataset, by default the latest; throws a 400 unless the dataset is available, a 404 once it is deleted. */
export async function readableData(
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
