import type { AsOf } from '../../../engine/catalog/commits.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { loadGenesForQuery } from '../../../engine/ingest/entities/genes.js';
import { invalidError, notFoundError } from '../../../engine/core/errors.js';
import { parseQuery } from '../../../engine/query/request/query-request.js';
import {
  lookupRecords,
  runFacets,
  runPage,
  runQuery,
  streamQuery,
  type QueryAnswer,
} from '../../../engine/query/plan/run-query.js';
import {
  requireNotArchived,
  loadVisibleVersion,
  type VisibleDatasetVersion,
} from '../../../scheduler/jobs/visible-data.js';
import { asOfText, resolveAsOf } from './as-of.js';
import { queryHash, readCursor, writeCursor, type RequestedCursor } from './page-cursor.js';
import type { AppContext } from '../../http/app-context.js';
import { isObject } from '../../http/form.js';
import { requireAvailableDataset } from '../../http/require-resource.js';
import { ByteStream, JsonText } from '../../http/reply.js';

/** Returns the JSON answer of a query: a page of records, and facets (contract 8.2). The engine's JSON is not parsed again. */
export async function answerQuery(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal: AbortSignal,
): Promise<JsonText> {
  const { head, results, tail } = await queryPage(context, dataset, body, signal, runQuery);
  return new JsonText(head + results + tail);
}

/** Returns the JSON answer of a query (contract 8.2); that of a page with many records is produced while it is sent. */
export async function streamAnswer(
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
interface AnswerParts<R> {
  readonly head: string;
  readonly results: R;
  readonly tail: string;
  readonly total: number;
  /** The offset of the next page, as in `QueryAnswer`. */
  readonly offset: number | null;
  /** The cursor of the next page; null after the last page and if the request has no `cursor`. */
  readonly next: string | null;
  /** The version that `as_of` of the query names; undefined without `as_of`. */
  readonly asOf: AsOf | undefined;
}

/**
 * Runs a query and returns its results with the JSON text of the answer before and after them. If `body` has been changed, `clientBody` is
 * the body as the client sent it, to which the cursor belongs.
 */
export async function queryPage<R>(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal: AbortSignal,
  run: RunQuery<R>,
  clientBody: unknown = body,
): Promise<AnswerParts<R>> {
  const cursor = readCursor(clientBody, dataset.id, context.signingKey);
  const asOf = await resolveRequestedAsOf(context, dataset, body, cursor);
  const pageRequest = { body, clientBody, cursor, asOf };
  const name = JSON.stringify(await readDatasetName(context, dataset));
  const { answer, next } = await answerPage(context, dataset, pageRequest, signal, run);
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
    next,
    asOf,
    tail: `${facets}${explain}${cursorPart}}`,
  };
}

/** Returns the version of a dataset that a query asks for by its cursor or by `as_of`; the latest without either. */
export async function loadRequestedData(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
): Promise<VisibleDatasetVersion> {
  const cursor = readCursor(body, dataset.id, context.signingKey);
  const asOf = await resolveRequestedAsOf(context, dataset, body, cursor);
  const version = cursor === null || cursor === 'first' ? asOf?.version : cursor.version;
  return loadReadableData(context, dataset, version);
}

/** Returns the version that a query asks for by `as_of`; for a later page, the version in the cursor; undefined without `as_of`. */
async function resolveRequestedAsOf(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  cursor: RequestedCursor,
): Promise<AsOf | undefined> {
  if (cursor === null || cursor === 'first')
    return resolveAsOf(context, dataset.id, asOfOfBody(body));
  return cursor.asOf && { commit_id: cursor.asOf.commitId, version: cursor.version };
}

function asOfOfBody(body: unknown): unknown {
  return isObject(body) ? body['as_of'] : undefined;
}

/** Returns the member `as_of` of an answer, with the comma after it. */
function asOfMember(asOf: AsOf | undefined): string {
  return asOf === undefined ? '' : `"as_of":${JSON.stringify(asOf)},`;
}

/** A query, with the position and the version from which its page is read; `clientBody` is the body as the client sent it. */
interface PageRequest {
  readonly body: unknown;
  readonly clientBody: unknown;
  readonly cursor: RequestedCursor;
  readonly asOf: AsOf | undefined;
}

/** A function that answers a query, such as `runQuery`. */
type RunQuery<R> = (...args: Parameters<typeof runQuery>) => Promise<QueryAnswer<R>>;

/**
 * Runs a query; returns its answer and the cursor of the next page, which is null after the last page and if the request has no `cursor`.
 * With a cursor, facets describe all pages and are computed only with the first page.
 */
async function answerPage<R>(
  context: AppContext,
  dataset: DatasetRow,
  { body, clientBody, cursor, asOf }: PageRequest,
  signal: AbortSignal,
  run: RunQuery<R>,
): Promise<{ readonly answer: QueryAnswer<R>; readonly next: string | null }> {
  if (cursor === null) {
    const version = asOf?.version;
    return { answer: await queryVersion(context, dataset, body, version, signal, run), next: null };
  }
  const cursorState = cursor === 'first' ? null : cursor;
  const version = cursorState?.version ?? asOf?.version;
  const { snapshot, fields } = await loadReadableData(context, dataset, version);
  const parsedQuery = parseQuery(body, fields, await loadGenesForQuery(body));
  if (parsedQuery.limit === 0)
    throw invalidError('limit', 'A page with a cursor must have a limit of at least 1.');
  const progress = {
    after: cursorState?.after ?? null,
    total: cursorState?.total ?? null,
    seen: cursorState?.seen ?? 0,
  };
  const request = { ...parsedQuery, cursor: progress, ...(cursorState && { facets: null }) };
  const answer = await runUnlessDeleted(context, dataset, () =>
    run(context.queryEngine, snapshot, fields, request, { signal }),
  );
  if (!answer.position) return { answer, next: null };
  const state = {
    datasetId: dataset.id,
    version: snapshot.version,
    ...(asOf && {
      asOf: {
        given: cursorState?.asOf?.given ?? asOfText(asOfOfBody(body)),
        commitId: asOf.commit_id,
      },
    }),
    query: queryHash(clientBody),
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

/** A page of records in one of the formats. */
export interface TypedPage extends Pick<
  AnswerParts<unknown>,
  'total' | 'offset' | 'next' | 'asOf'
> {
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** Returns the page of a query as an Arrow stream, JSON Lines or CSV. Throws a 400 if the query has facets or `explain`. */
export async function answerTypedPage(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  type: PageType,
  signal: AbortSignal,
): Promise<TypedPage> {
  const cursor = readCursor(body, dataset.id, context.signingKey);
  const asOf = await resolveRequestedAsOf(context, dataset, body, cursor);
  const pageRequest = { body, clientBody: body, cursor, asOf };
  const { answer, next } = await answerPage<TypedPage['body']>(context, dataset, pageRequest, signal,
    (engine, snapshot, fields, request, options) => {
      refuseJsonOnlyKeys({ facets: request.facets !== null, explain: request.explain !== undefined }, type);
      return runPage(engine, snapshot, fields, request, pageTypes[type], options);
    },
  ); // prettier-ignore
  const { results, total, offset } = answer;
  return { body: results, total, offset, next, asOf };
}

/** Throws a 400 if a query asks for facets or an explanation, which only a JSON answer can contain. */
export function refuseJsonOnlyKeys(
  { facets, explain }: { readonly facets: boolean; readonly explain: boolean },
  type: PageType,
): void {
  if (facets)
    throw invalidError('facets', `Facets are available in the JSON answer only, not in ${type}.`);
  if (explain)
    throw invalidError('explain', `The explanation is available in the JSON answer only, not in ${type}.`); // prettier-ignore
}

/** Returns the records with these ids, in the order of `ids`; unknown ids are left out (contract 7.2). */
export async function answerLookup(
  context: AppContext,
  dataset: DatasetRow,
  ids: readonly string[],
  asOfValue: string | undefined,
  signal: AbortSignal,
): Promise<JsonText> {
  const startedAt = performance.now();
  const asOf = await resolveAsOf(context, dataset.id, asOfValue);
  const { snapshot, fields } = await loadReadableData(context, dataset, asOf?.version);
  const wantedIds = ids.map((id) => id.trim()).filter((id) => id !== '');
  const results = await runUnlessDeleted(context, dataset, () =>
    lookupRecords(context.queryEngine, snapshot, fields, wantedIds, { signal }),
  );
  const total = (JSON.parse(results) as unknown[]).length; // the list is short: its ids fit into a URL
  const elapsedMs = Math.round(performance.now() - startedAt);
  return new JsonText(
    `{"dataset":${JSON.stringify(await readDatasetName(context, dataset))},"dataset_id":${dataset.id},${asOfMember(asOf)}` +
      `"took":${elapsedMs},"total":${total},"offset":null,"results":${results}}`,
  );
}

/** Returns the facet of a field over all records (contract 8.4); its `total` is the number of distinct values. */
export async function computeFieldFacets(
  context: AppContext,
  dataset: DatasetRow,
  field: FieldRow,
  options: Readonly<Record<string, unknown>>,
  asOfValue: string | undefined,
  signal: AbortSignal,
): Promise<JsonText> {
  const asOf = await resolveAsOf(context, dataset.id, asOfValue);
  const { snapshot, fields } = await loadReadableData(context, dataset, asOf?.version);
  const { facets } = parseQuery({ facets: { [field.name]: options } }, fields);
  const [facet] = facets!;
  const countFacet = { kind: 'count', field: facet!.field } as const;
  const answer = await runUnlessDeleted(context, dataset, () =>
    runFacets(context.queryEngine, snapshot, [facet!, countFacet], { signal }),
  );
  const [counts, total] = answer.facets;
  return new JsonText(
    `{"facets":${counts!},"total":${total!},${asOfMember(asOf)}"took":${answer.took}}`,
  );
}

/** Returns the number of records of a version, by default the latest, that match a query; its limit, offset and `as_of` are ignored. */
export async function countRecords(
  context: AppContext,
  dataset: DatasetRow,
  query: Readonly<Record<string, unknown>>,
  version?: number,
): Promise<number> {
  const { filters, query: text, entities, genome_build } = query;
  const body = { filters, query: text, entities, genome_build, limit: 0 };
  return (await queryVersion(context, dataset, body, version, undefined, runQuery)).total;
}

/** Runs a query on the latest version of a dataset; throws a 400 for an invalid query. */
export async function runDatasetQuery(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal?: AbortSignal,
): Promise<QueryAnswer> {
  return queryVersion(context, dataset, body, undefined, signal, runQuery);
}

async function queryVersion<R>(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  version: number | undefined,
  signal: AbortSignal | undefined,
  run: RunQuery<R>,
): Promise<QueryAnswer<R>> {
  const { snapshot, fields } = await loadReadableData(context, dataset, version);
  const request = parseQuery(body, fields, await loadGenesForQuery(body));
  return runUnlessDeleted(context, dataset, () =>
    run(context.queryEngine, snapshot, fields, request, { signal }),
  );
}

/**
 * Runs work on a dataset. If the dataset was deleted or archived meanwhile, its files may be gone: any error then becomes a 404 or a 400.
 */
export async function runUnlessDeleted<T>(
  context: AppContext,
  dataset: DatasetRow,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const currentDataset = await context.catalog.datasets.get(dataset.id);
    if (currentDataset === undefined) throw notFoundError(); // the dataset was deleted meanwhile
    requireNotArchived(currentDataset);
    throw error;
  }
}

/**
 * Returns a version of a dataset, by default the latest; throws a 400 unless the dataset is available, and a 404 if it has been deleted.
 */
export async function loadReadableData(
  context: AppContext,
  dataset: DatasetRow,
  version?: number,
): Promise<VisibleDatasetVersion> {
  requireAvailableDataset(context, dataset, 'cannot be queried');
  return runUnlessDeleted(context, dataset, () =>
    loadVisibleVersion(context.catalog, context.store, dataset.id, version),
  );
}

async function readDatasetName(context: AppContext, dataset: DatasetRow): Promise<string> {
  return (await context.catalog.objects.get(dataset.id))?.filename ?? '';
}
