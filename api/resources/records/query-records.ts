import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { genesForQuery } from '../../../engine/ingest/entities/genes.js';
import { AppError, invalid } from '../../../engine/core/errors.js';
import { parseQuery } from '../../../engine/query/request/request.js';
import {
  lookup,
  runArrow,
  runFacets,
  runQuery,
  runText,
  type QueryAnswer,
} from '../../../engine/query/plan/query.js';
import { visibleData, type Visible } from '../../../scheduler/jobs/export/visible.js';
import { queryHash, readCursor, writeCursor, type CursorAsked } from './cursor.js';
import type { AppContext } from '../../http/app-context.js';
import { JsonText } from '../../http/reply.js';

/** A page of records and facets: the engine's JSON goes into the answer as it is (contract 8.2). */
export async function queryAnswer(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal: AbortSignal,
): Promise<JsonText> {
  const cursor = readCursor(body, dataset.id, context.signingKey);
  const { answer, next } = await walked(context, dataset, body, cursor, signal);
  const facets = answer.facets === undefined ? '' : `,"facets":${answer.facets}`;
  const explain = answer.explain === undefined ? '' : `,"explain":${answer.explain}`;
  const behind = cursor === null ? '' : `,"cursor":${JSON.stringify(next)}`;
  return new JsonText(
    `{"dataset":${JSON.stringify(await nameOf(context, dataset))},"dataset_id":${dataset.id},` +
      `"took":${Math.round(answer.took)},"total":${answer.total},"offset":${answer.offset},` +
      `"results":${answer.results}${facets}${explain}${behind}}`,
  );
}

/** The answer, and the cursor of the page behind it; facets are of the whole walk and come with its first page alone. */
async function walked(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  cursor: CursorAsked,
  signal: AbortSignal,
): Promise<{ readonly answer: QueryAnswer; readonly next: string | null }> {
  if (cursor === null) return { answer: await ask(context, dataset, body, signal), next: null };
  const from = cursor === 'begin' ? null : cursor;
  const { snapshot, fields } = await queryable(context, dataset, from?.version);
  const parsed = parseQuery(body, fields, await genesForQuery(body));
  if (parsed.limit === 0) throw invalid('limit', 'A page of a walk holds at least one record.');
  const walk = { after: from?.after ?? null, total: from?.total ?? null, seen: from?.seen ?? 0 };
  const request = { ...parsed, walk, ...(from && { facets: null }) };
  const answer = await runQuery(context.queryEngine, snapshot, fields, request, { signal });
  if (!answer.position) return { answer, next: null };
  const state = {
    datasetId: dataset.id,
    version: snapshot.version,
    query: queryHash(body),
    after: answer.position,
    total: answer.total,
    seen: walk.seen + answer.count,
  };
  return { answer, next: writeCursor(state, context.signingKey) };
}

/** A page that is not JSON, with what the JSON answer has beside the records. */
export interface OtherPage {
  readonly bytes: Buffer;
  readonly total: number;
  readonly offset: number | null;
}

/** The media types of a page beside JSON (`Accept`). */
export const pageTypes = {
  'application/vnd.apache.arrow.stream': 'arrow',
  'application/x-ndjson': 'json',
  'application/jsonl': 'json',
  'text/csv': 'csv',
} as const;

/** The same page as an Arrow stream, as lines of JSON, or as CSV. */
export async function pageAnswer(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  type: keyof typeof pageTypes,
  signal: AbortSignal,
): Promise<OtherPage> {
  const { snapshot, fields } = await queryable(context, dataset);
  const request = parseQuery(body, fields, await genesForQuery(body));
  if (request.facets) {
    throw invalid('facets', `Facets are part of the JSON answer alone, not of ${type}.`);
  }
  if (request.explain)
    throw invalid('explain', `The explanation is part of the JSON answer alone, not of ${type}.`);
  const { queryEngine } = context;
  const shape = pageTypes[type];
  const page =
    shape === 'arrow'
      ? await runArrow(queryEngine, snapshot, fields, request, { signal })
      : await runText(queryEngine, snapshot, fields, request, shape, { signal });
  const bytes =
    typeof page.body === 'string'
      ? Buffer.from(page.body)
      : Buffer.from(page.body.buffer, page.body.byteOffset, page.body.byteLength);
  return { bytes, total: page.total, offset: page.offset };
}

/** Records by id in the order asked; unknown ids are left out (contract 7.2). */
export async function lookupAnswer(
  context: AppContext,
  dataset: DatasetRow,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<JsonText> {
  const started = performance.now();
  const { snapshot, fields } = await queryable(context, dataset);
  const wanted = ids.map((id) => id.trim()).filter((id) => id !== '');
  const results = await lookup(context.queryEngine, snapshot, fields, wanted, { signal });
  const total = (JSON.parse(results) as unknown[]).length; // as many as fit an address: cheap
  const took = Math.round(performance.now() - started);
  return new JsonText(
    `{"dataset":${JSON.stringify(await nameOf(context, dataset))},"dataset_id":${dataset.id},` +
      `"took":${took},"total":${total},"offset":null,"results":${results}}`,
  );
}

/** A facet of one field (contract 8.4); `total` counts the different values. */
export async function fieldFacets(
  context: AppContext,
  dataset: DatasetRow,
  field: FieldRow,
  options: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<JsonText> {
  const { snapshot, fields } = await queryable(context, dataset);
  const { facets } = parseQuery({ facets: { [field.name]: options } }, fields);
  const [facet] = facets!;
  const counted = { kind: 'count', field: facet!.field } as const;
  const answer = await runFacets(context.queryEngine, snapshot, [facet!, counted], { signal });
  const [text, total] = answer.texts;
  return new JsonText(`{"facets":${text!},"total":${total!},"took":${answer.took}}`);
}

/** How many records a query finds. */
export async function countOf(
  context: AppContext,
  dataset: DatasetRow,
  query: Readonly<Record<string, unknown>>,
): Promise<number> {
  const { filters, query: text, entities, genome_build } = query;
  const body = { filters, query: text, entities, genome_build, limit: 0 };
  return (await ask(context, dataset, body)).total;
}

/** The answer of a query as the engine gives it. */
export async function ask(
  context: AppContext,
  dataset: DatasetRow,
  body: unknown,
  signal?: AbortSignal,
): Promise<QueryAnswer> {
  const { snapshot, fields } = await queryable(context, dataset);
  const request = parseQuery(body, fields, await genesForQuery(body));
  return runQuery(context.queryEngine, snapshot, fields, request, signal ? { signal } : {});
}

/** What can be queried of a dataset now. */
async function queryable(
  context: AppContext,
  dataset: DatasetRow,
  version?: number,
): Promise<Visible> {
  if (dataset.availability === 'available')
    return visibleData(context.catalog, context.store, dataset.id, version);
  throw new AppError(
    'invalid',
    `The dataset is ${dataset.availability}; it cannot be queried now.`,
  );
}

async function nameOf(context: AppContext, dataset: DatasetRow): Promise<string> {
  return (await context.catalog.objects.get(dataset.id))?.filename ?? '';
}
