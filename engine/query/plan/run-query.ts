import type { DatasetField } from '../../core/dataset-field.js';
import type { Snapshot, RowRef } from '../../store/store.js';
import { explanationJson, type ExplainScope } from '../explain/explain.js';
import { all, freezePredicate, none } from '../predicate/predicate.js';
import type { Facet } from '../request/facet-request.js';
import type { QueryRequest } from '../request/query-request.js';
import {
  nextOffset,
  type QueryAnswer,
  type QueryOptions,
  type SerializedRecordsPage,
} from '../results/answer.js';
import {
  encloseRecords,
  jsonArray,
  lineFormat,
  splitLines,
  pageFormats,
} from '../results/encoded-page.js';
import { facetsJson } from '../results/facet-answer.js';
import type { PageFormat, PageRecords, RecordBytes } from '../results/page-format.js';
import { project } from '../results/projection.js';
import type { QueryEngine } from './query-engine.js';
import { executePlan, type ExecutedPlan } from './execute.js';
import type { Position } from '../request/position.js';
import { maxRecordsPerPiece, readPageRecords } from './read-page-records.js';
import { clientLeftError, type RunOptions } from '../executor/run-options.js';
import type { PlanRequest } from './plan.js';
import { StepTimes } from '../executor/step.js';

export type { QueryAnswer, QueryOptions } from '../results/answer.js';

/** The fields of the returned records. */
type FieldSelection = Partial<Pick<QueryRequest, 'fields' | 'excludeFields'>>;

/** The records that a query has found. */
interface FoundRecords {
  readonly total: number;
  texts(some?: FieldSelection): AsyncIterable<readonly string[]>;
  /** Yields the records as lines of JSON. */
  lines(some?: FieldSelection): AsyncIterable<RecordBytes>;
}

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
  const steps = new StepTimes();
  const executedPlan = await planAndExecute(query, steps, textsFormat);
  const results = await steps.measure('read', () => readRecordsJsonArray(query, executedPlan));
  return queryAnswer(
    query,
    executedPlan,
    results,
    startedAt,
    await explainQuery(query, executedPlan, steps),
  );
}

/**
 * Runs a query over one version of a dataset. A page of more than `maxRecordsPerPiece` records is produced while it is consumed, unless the
 * request asks for an explanation; when the promise resolves, the records of its first piece are complete.
 */
export async function streamQuery(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions = {},
): Promise<QueryAnswer<string | AsyncIterable<Uint8Array>>> {
  if (request.limit <= maxRecordsPerPiece || request.explain !== undefined)
    return runQuery(engine, snapshot, fields, request, options);
  const startedAt = performance.now();
  const query = { engine, snapshot, fields, request, options };
  const executedPlan = await planAndExecute(query, new StepTimes(), textsFormat);
  const results =
    executedPlan.rows.length <= maxRecordsPerPiece
      ? await readRecordsJsonArray(query, executedPlan)
      : jsonArray(
          await startPageRecords(query, executedPlan, { kind: 'json', end: ',' }),
          executedPlan.rows.length,
        );
  return queryAnswer(query, executedPlan, results, startedAt);
}

/**
 * Runs a query. Returns the number of matching records, and functions that return the records of the page as JSON texts or as bytes of JSON
 * lines. These functions take the fields to include, by default those of the request, and produce the records in parts as they are
 * consumed.
 */
export async function openQueryResult(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions = {},
): Promise<FoundRecords> {
  const query = { engine, snapshot, fields, request, options };
  const { records: _, ...executedPlan } = await planAndExecute(query, new StepTimes());
  const selecting = (some: FieldSelection) => ({ ...query, request: { ...request, ...some } });
  return {
    total: executedPlan.total,
    texts: (some = {}) => readPageRecordsOf(selecting(some), executedPlan, textsFormat),
    lines: (some = {}) => readPageRecordsOf(selecting(some), executedPlan, pageFormats.json.format),
  };
}

function queryAnswer<R>(
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
    ...(cursor && { position: isLast ? null : (position ?? positionAfterRow(rows.at(-1)!)) }),
    ...(facets && { facets: facetsJson(request.facets!, facets) }),
    ...(explain !== undefined && { explain }),
    took: Math.round(performance.now() - started),
  };
}

/** Returns facets over all records as JSON texts; several facets may have the same field. */
export async function runFacets(
  engine: QueryEngine,
  snapshot: Snapshot,
  facets: readonly Facet[],
  options: QueryOptions = {},
): Promise<{ readonly facets: readonly string[]; readonly took: number }> {
  const startedAt = performance.now();
  const request = { ...everyRecordRequest, limit: 0, facets };
  const executedPlan = await planAndExecute(
    { engine, snapshot, fields: [], request, options },
    new StepTimes(),
  );
  return { facets: executedPlan.facets!, took: Math.round(performance.now() - startedAt) };
}

/** Returns the records with these `_id`s as a JSON array, in the order of `ids` and each once; unknown ids are left out. */
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
      : freezePredicate({ kind: 'in', field, values: wantedIds, ignoreCase: false });
  const request = { ...everyRecordRequest, predicate, limit: Math.max(wantedIds.length, 1) };
  const query = { engine, snapshot, fields, request, options };
  const executedPlan = await planAndExecute(query, new StepTimes(), textsFormat);
  // `_id` is the first key of every record, so `recordIdOf` finds it without parsing the text.
  const recordsById = new Map(
    (await readRecordTexts(query, executedPlan)).map((text) => [recordIdOf(text), text]),
  );
  return `[${wantedIds.flatMap((id) => recordsById.get(id) ?? []).join(',')}]`;
}

/** Returns the records at these rows as a JSON array, in the order of the rows, with the fields that the request selects. */
export function recordsAt(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  rows: readonly RowRef[],
  options: QueryOptions = {},
): Promise<string> {
  return readRecordsJsonArray({ engine, snapshot, fields, request, options }, { rows });
}

const everyRecordRequest: Omit<QueryRequest, 'limit'> = {
  predicate: all,
  scoreClauses: [],
  fields: null,
  excludeFields: [],
  ordering: [],
  offset: 0,
  facets: null,
};

/**
 * Plans the query, and carries out all steps except `read`. For a page of at most one piece, an executor may return the records along with
 * the rows, in the format `format`.
 */
function planAndExecute(
  query: QueryArguments,
  steps: StepTimes,
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
    format && projected && request.limit <= maxRecordsPerPiece
      ? { projection: projected, format }
      : undefined;
  const execution = { engine, snapshot, request: askedPlan, options: runOptionsOf(query), layout };
  return executePlan(execution, steps);
}

const textsFormat = { kind: 'texts' } as const;

/**
 * Yields the records of the page in pieces. If the executor has already returned the records, `format` must be the one that was passed to
 * `planAndExecute`.
 */
async function* readPageRecordsOf<F extends PageFormat>(
  query: QueryArguments,
  { rows, records }: Pick<ExecutedPlan, 'rows' | 'records'>,
  format: F,
): AsyncGenerator<PageRecords<F>> {
  const { engine, snapshot, fields, request } = query;
  if (rows.length === 0 && format.kind === 'texts') return;
  if (records !== undefined) return yield records as PageRecords<F>;
  const projection = project(snapshot.columns, fields, request);
  yield* readPageRecords<F>(engine, snapshot, rows, { projection, format }, runOptionsOf(query));
}

/** Returns the pieces of a page. The first piece is produced before the promise resolves, so that its errors reject the promise. */
async function startPageRecords<F extends PageFormat>(
  query: QueryArguments,
  executedPlan: ExecutedPlan,
  format: F,
): Promise<AsyncGenerator<PageRecords<F>>> {
  const pieces = readPageRecordsOf(query, executedPlan, format);
  const first = await pieces.next();
  // The client may disconnect before the first piece is consumed.
  const { signal } = query.options;
  signal?.addEventListener('abort', () => void pieces.return(undefined), { once: true });
  return (async function* () {
    yield first.value as PageRecords<F>;
    yield* pieces;
    if (signal?.aborted) throw clientLeftError();
  })();
}

async function readRecordTexts(
  query: QueryArguments,
  executedPlan: Pick<ExecutedPlan, 'rows'>,
): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const piece of readPageRecordsOf(query, executedPlan, textsFormat))
    texts.push(...piece);
  return texts;
}

async function readRecordsJsonArray(
  query: QueryArguments,
  executedPlan: Pick<ExecutedPlan, 'rows'>,
): Promise<string> {
  return `[${(await readRecordTexts(query, executedPlan)).join(',')}]`;
}

async function explainQuery(
  query: QueryArguments,
  { total, plan, access }: ExecutedPlan,
  steps: StepTimes,
): Promise<string | undefined> {
  const { engine, snapshot, request } = query;
  const { explain, predicate } = request;
  if (!explain) return undefined;
  const options = { ...runOptionsOf(query), isHeavy: plan.isHeavy };
  // Before the first SQL statement of a query, all files are compared with their checksums; an explanation that needs no SQL does not wait
  // for the comparison.
  const inspector = engine.sql.inspect(snapshot, predicate, options);
  const isInMemory = plan.steps.some((step) => step.executor === 'memory' && step.step !== 'read');
  const scope: ExplainScope = {
    snapshot,
    predicate,
    total,
    steps,
    plan: plan.steps,
    access,
    inspector,
    countNodes: isInMemory
      ? (root) => engine.memory!.countNodes(snapshot, root, options)
      : (root) => inspector.countNodes(root),
    caseVariants: isInMemory ? new Map() : await inspector.caseVariants(),
  };
  return explanationJson(scope, explain);
}

/** Returns the cursor position after a row in insertion order. File 0 of a snapshot holds the schema, so segment i is file i + 1. */
function positionAfterRow([segment, row]: RowRef): Position {
  return { keys: [], file: segment + 1, row: BigInt(row) };
}

function runOptionsOf({ snapshot, options }: QueryArguments): RunOptions {
  return { ...options, subject: `dataset ${snapshot.datasetId}` };
}

function recordIdOf(record: string): string {
  const match = /^\{"_id":("(?:[^"\\]|\\.)*")/.exec(record);
  return match ? (JSON.parse(match[1]!) as string) : '';
}

/**
 * Returns the page as an Arrow IPC stream, as lines of JSON, or as CSV with the fields' titles as header; a page of at most
 * `maxRecordsPerPiece` records as one byte array.
 */
export async function runPage(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  type: keyof typeof pageFormats,
  options: QueryOptions = {},
): Promise<QueryAnswer<Uint8Array | AsyncIterable<Uint8Array>>> {
  const startedAt = performance.now();
  const query = { engine, snapshot, fields, request, options };
  const { format, head, tail } = pageFormats[type];
  const executedPlan = await planAndExecute(query, new StepTimes(), format);
  const pieces = await startPageRecords(query, executedPlan, format);
  const body = encloseRecords(
    pieces,
    head(project(snapshot.columns, fields, request), fields),
    tail,
  );
  if (executedPlan.rows.length > maxRecordsPerPiece)
    return queryAnswer(query, executedPlan, body, startedAt);
  const bodyPieces: Uint8Array[] = [];
  for await (const piece of body) bodyPieces.push(piece);
  return queryAnswer(query, executedPlan, Buffer.concat(bodyPieces), startedAt);
}

/** Runs a query. Each record becomes a JSON text or, if a delimiter is given, a line of delimited text without its line break. */
export async function runQueryAsLines(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  delimiter: ',' | '\t' | undefined,
  options: QueryOptions = {},
): Promise<SerializedRecordsPage> {
  const query = { engine, snapshot, fields, request, options };
  const steps = new StepTimes();
  const format = delimiter && lineFormat(delimiter);
  const executedPlan = await planAndExecute(query, steps, format ?? textsFormat);
  const results = await steps.measure('read', async () => {
    if (format === undefined) return readRecordTexts(query, executedPlan);
    const lines: string[] = [];
    for await (const piece of readPageRecordsOf(query, executedPlan, format))
      lines.push(...splitLines(piece));
    return lines;
  });
  const { rows, total } = executedPlan;
  const explain = await explainQuery(query, executedPlan, steps);
  const offset = nextOffset(request, rows.length, total);
  return { results, total, offset, ...(explain !== undefined && { explain }) };
}
