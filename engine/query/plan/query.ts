import type { DatasetField } from '../../core/dataset-field.js';
import type { Snapshot } from '../../store/store.js';
import type { CountRecords } from '../explain/counts.js';
import { explanationJson, type ExplainScope } from '../explain/explain.js';
import type { SqlSession } from '../sql/sql-executor.js';
import { all, node, none } from '../predicate/predicate.js';
import type { Facet } from '../request/facets.js';
import type { QueryRequest } from '../request/request.js';
import {
  facetsJson,
  nextOffset,
  type EncodedPage,
  type QueryAnswer,
  type QueryOptions,
  type TextPage,
} from '../results/answer.js';
import {
  encloseRecords,
  jsonArray,
  lineFormat,
  linesOf,
  pageFormats,
} from '../results/encoded-page.js';
import type { PageFormat, PageRecords, RecordBytes } from '../results/page-format.js';
import { project } from '../results/projection.js';
import type { QueryEngine } from './query-engine.js';
import { executePlan, type ExecutedPlan } from './execute.js';
import type { RowRef } from './executor.js';
import type { Position } from './position.js';
import { pieceRecords, readPieces } from './records.js';
import { clientLeft, type RunOptions } from './limits.js';
import type { PlanRequest } from './plan.js';
import { Steps } from './steps.js';

export type { QueryAnswer, QueryOptions } from '../results/answer.js';

/** The fields of the returned records. */
type RecordSelection = Partial<Pick<QueryRequest, 'fields' | 'excludeFields'>>;

/** The records that a query has found. */
export interface FoundRecords {
  readonly total: number;
  texts(some?: RecordSelection): AsyncIterable<readonly string[]>;
  /** The records as lines of JSON. */
  lines(some?: RecordSelection): AsyncIterable<RecordBytes>;
}

/** The arguments of a query. */
interface QueryArguments {
  readonly engine: QueryEngine;
  readonly snapshot: Snapshot;
  readonly fields: readonly DatasetField[];
  readonly request: QueryRequest;
  readonly options: QueryOptions;
}

/** Runs a query over one version of a dataset. */
export async function runQuery(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions = {},
): Promise<QueryAnswer> {
  const startedAt = performance.now();
  const query = { engine, snapshot, fields, request, options };
  const steps = new Steps();
  const found = await executedPlan(query, steps, texts);
  const results = await steps.time('read', () => arrayOf(query, found));
  return answerOf(query, found, results, startedAt, await explainQuery(query, found, steps));
}

/**
 * Like `runQuery`, but a large page is produced while its records are read; the records of the first piece are complete when the promise
 * resolves.
 */
export async function streamQuery(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions = {},
): Promise<QueryAnswer<string | AsyncIterable<Uint8Array>>> {
  if (request.limit <= pieceRecords || request.explain !== undefined)
    return runQuery(engine, snapshot, fields, request, options);
  const startedAt = performance.now();
  const query = { engine, snapshot, fields, request, options };
  const found = await executedPlan(query, new Steps(), texts);
  const results =
    found.rows.length <= pieceRecords
      ? await arrayOf(query, found)
      : jsonArray(await begunPieces(query, found, { kind: 'json', end: ',' }), found.rows.length);
  return answerOf(query, found, results, startedAt);
}

/**
 * Runs a query; gives the number of records that it finds, and a function that makes the JSON texts of the records of the page with some of
 * their fields, by default those of the request, as strings or as bytes. They come in pieces that are made as they are taken.
 */
export async function streamTexts(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions = {},
): Promise<FoundRecords> {
  const query = { engine, snapshot, fields, request, options };
  const { records: _, ...found } = await executedPlan(query, new Steps());
  const selecting = (some: RecordSelection) => ({ ...query, request: { ...request, ...some } });
  return {
    total: found.total,
    texts: (some = {}) => piecesOf(selecting(some), found, texts),
    lines: (some = {}) => piecesOf(selecting(some), found, pageFormats.json.format),
  };
}

function answerOf<R>(
  { request }: QueryArguments,
  { total, rows, facets, position }: ExecutedPlan,
  results: R,
  started: number,
  explain?: string,
): QueryAnswer<R> {
  const { cursor } = request;
  const count = rows.length;
  const isLast = count < request.limit || (cursor?.seen ?? 0) + count >= total;
  return {
    total,
    results,
    count,
    offset: cursor ? null : nextOffset(request, count, total),
    ...(cursor && { position: isLast ? null : (position ?? positionAt(rows.at(-1)!)) }),
    ...(facets && { facets: facetsJson(request.facets!, facets) }),
    ...(explain !== undefined && { explain }),
    took: Math.round(performance.now() - started),
  };
}

/** Facets over all records as JSON texts; several may have the same field. */
export async function runFacets(
  engine: QueryEngine,
  snapshot: Snapshot,
  facets: readonly Facet[],
  options: QueryOptions = {},
): Promise<{ readonly facets: readonly string[]; readonly took: number }> {
  const startedAt = performance.now();
  const request = { ...everyRecord, limit: 0, facets };
  const found = await executedPlan({ engine, snapshot, fields: [], request, options }, new Steps());
  return { facets: found.facets!, took: Math.round(performance.now() - startedAt) };
}

/** The records with these `_id`s as a JSON array, in the order of the ids; unknown ids are left out. */
export async function lookupRecords(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  ids: readonly string[],
  options: QueryOptions = {},
): Promise<string> {
  const wantedIds = [...new Set(ids)];
  const field = { name: '_id', path: ['_id'], type: 'string' } as const;
  const predicate =
    wantedIds.length === 0
      ? none
      : node({ kind: 'in', field, values: wantedIds, ignoreCase: false });
  const request = { ...everyRecord, predicate, limit: Math.max(wantedIds.length, 1) };
  const query = { engine, snapshot, fields, request, options };
  const found = await executedPlan(query, new Steps(), texts);
  // `_id` is the first key of every record.
  const records = new Map((await textsOf(query, found)).map((text) => [idOf(text), text]));
  return `[${wantedIds.flatMap((id) => records.get(id) ?? []).join(',')}]`;
}

/** The records at these rows as a JSON array, in the order of the rows, with the fields that the request selects. */
export function recordsAt(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  rows: readonly RowRef[],
  options: QueryOptions = {},
): Promise<string> {
  return arrayOf({ engine, snapshot, fields, request, options }, { rows });
}

const everyRecord: Omit<QueryRequest, 'limit'> = {
  predicate: all,
  scores: [],
  fields: null,
  excludeFields: [],
  ordering: [],
  offset: 0,
  facets: null,
};

/** Carries out the plan; an executor may give the records of a page of one piece along with the rows, in this format. */
function executedPlan(
  query: QueryArguments,
  steps: Steps,
  format?: PageFormat,
): Promise<ExecutedPlan> {
  const { engine, snapshot, fields, request } = query;
  const projected = request.limit === 0 ? undefined : project(snapshot.columns, fields, request);
  const returned = projected?.map(({ column }) => column.name) ?? [];
  const askedPlan: PlanRequest = {
    ...request,
    returned,
    isExplained: request.explain !== undefined,
  };
  const layout =
    format && projected && request.limit <= pieceRecords
      ? { projection: projected, format }
      : undefined;
  const execution = { engine, snapshot, request: askedPlan, options: runOptions(query), layout };
  return executePlan(execution, new Map(), steps);
}

const texts = { kind: 'texts' } as const;

/** The records of the page in pieces, in the format that was passed to `executedPlan`. */
async function* piecesOf<F extends PageFormat>(
  query: QueryArguments,
  { rows, records }: Pick<ExecutedPlan, 'rows' | 'records'>,
  format: F,
): AsyncGenerator<PageRecords<F>> {
  const { engine, snapshot, fields, request } = query;
  if (rows.length === 0 && format.kind === 'texts') return;
  if (records !== undefined) return yield records as PageRecords<F>;
  const projection = project(snapshot.columns, fields, request);
  yield* readPieces<F>(engine, snapshot, rows, { projection, format }, runOptions(query));
}

/** The pieces of a page. The first one is produced before the promise resolves, so that its errors reject the promise. */
async function begunPieces<F extends PageFormat>(
  query: QueryArguments,
  found: ExecutedPlan,
  format: F,
): Promise<AsyncGenerator<PageRecords<F>>> {
  const pieces = piecesOf(query, found, format);
  const first = await pieces.next();
  // The client may disconnect before the first piece is read.
  const { signal } = query.options;
  signal?.addEventListener('abort', () => void pieces.return(undefined), { once: true });
  return (async function* () {
    yield first.value as PageRecords<F>;
    yield* pieces;
    if (signal?.aborted) throw clientLeft();
  })();
}

async function textsOf(
  query: QueryArguments,
  found: Pick<ExecutedPlan, 'rows'>,
): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const piece of piecesOf(query, found, texts)) all.push(...piece);
  return all;
}

async function arrayOf(query: QueryArguments, found: Pick<ExecutedPlan, 'rows'>): Promise<string> {
  return `[${(await textsOf(query, found)).join(',')}]`;
}

async function explainQuery(
  query: QueryArguments,
  { total, plan, access }: ExecutedPlan,
  steps: Steps,
): Promise<string | undefined> {
  const { engine, snapshot, request } = query;
  const { explain, predicate } = request;
  if (!explain) return undefined;
  const options = { ...runOptions(query), isHeavy: plan.isHeavy };
  let openedSession: Promise<SqlSession> | undefined;
  // Before the first statement, all files are compared with their checksums; an answer without SQL does not wait for that.
  const session = (): Promise<SqlSession> =>
    (openedSession ??= engine.sql.session(snapshot, predicate, options));
  const isInMemory = plan.steps.some((step) => step.executor === 'memory' && step.step !== 'read');
  const count: CountRecords | undefined = isInMemory
    ? (predicates) => engine.memory!.counts(snapshot, predicates, options)
    : undefined;
  const scope: ExplainScope = {
    snapshot,
    predicate,
    total,
    steps,
    plan,
    access,
    count,
    language: engine.sql.engine.language,
    rows: async (statement) => (await session()).rows(statement),
    findCaseVariants: async (other) => (await session()).findCaseVariants(other),
    caseVariants: isInMemory ? new Map() : (await session()).caseVariants,
  };
  return explanationJson(scope, explain);
}

/** The position after a row in insertion order; the first file of a snapshot holds the schema. */
function positionAt([segment, row]: RowRef): Position {
  return { keys: [], file: segment + 1, row: BigInt(row) };
}

function runOptions({ snapshot, options }: QueryArguments): RunOptions {
  return { ...options, subject: `dataset ${snapshot.datasetId}` };
}

function idOf(record: string): string {
  const match = /^\{"_id":("(?:[^"\\]|\\.)*")/.exec(record);
  return match ? (JSON.parse(match[1]!) as string) : '';
}

/** The page as an Arrow IPC stream, as lines of JSON, or as CSV under the fields' titles; bytes if it is one piece. */
export async function runPage(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  type: keyof typeof pageFormats,
  options: QueryOptions = {},
): Promise<EncodedPage> {
  const query = { engine, snapshot, fields, request, options };
  const { format, head, tail } = pageFormats[type];
  const found = await executedPlan(query, new Steps(), format);
  const { rows, total } = found;
  const pieces = await begunPieces(query, found, format);
  const body = encloseRecords(
    pieces,
    head(project(snapshot.columns, fields, request), fields),
    tail,
  );
  const offset = nextOffset(request, rows.length, total);
  if (rows.length > pieceRecords) return { body, total, offset };
  const all: Uint8Array[] = [];
  for await (const piece of body) all.push(piece);
  return { body: Buffer.concat(all), total, offset };
}

/** Runs a query; each record becomes a JSON text, or, with a delimiter, a line of delimited text without its end. */
export async function runTexts(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  delimiter: ',' | '\t' | undefined,
  options: QueryOptions = {},
): Promise<TextPage> {
  const query = { engine, snapshot, fields, request, options };
  const steps = new Steps();
  const format = delimiter && lineFormat(delimiter);
  const found = await executedPlan(query, steps, format ?? texts);
  const results = await steps.time('read', async () => {
    if (format === undefined) return textsOf(query, found);
    const lines: string[] = [];
    for await (const piece of piecesOf(query, found, format)) lines.push(...linesOf(piece));
    return lines;
  });
  const { rows, total } = found;
  const explain = await explainQuery(query, found, steps);
  const offset = nextOffset(request, rows.length, total);
  return { results, total, offset, ...(explain !== undefined && { explain }) };
}
