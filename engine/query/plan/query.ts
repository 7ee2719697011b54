import { RecordBatchStreamWriter } from 'apache-arrow';
import type { DatasetField } from '../../core/dataset-field.js';
import type { Snapshot } from '../../store/store.js';
import type { CountRecords } from '../explain/counts.js';
import { explanation } from '../explain/explain.js';
import { all, node, none } from '../predicate/predicate.js';
import type { Facet } from '../request/facets.js';
import type { QueryRequest } from '../request/request.js';
import { facetsJson, nextOffset, type QueryAnswer, type QueryOptions } from '../results/answer.js';
import { project } from '../results/projection.js';
import { cellColumns, delimitedCell } from '../results/delimited.js';
import type { QueryEngine } from './query-engine.js';
import { execute, type Executed } from './execute.js';
import type { RowRef } from './executor.js';
import type { Position } from './position.js';
import { readBatches, readInThisThread, readRecords } from './records.js';
import type { RunOptions } from './limits.js';
import type { PlanRequest } from './plan.js';
import { Steps } from './steps.js';

export type { QueryAnswer, QueryOptions } from '../results/answer.js';

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
  const started = performance.now();
  const query = { engine, snapshot, fields, request, options };
  const steps = new Steps();
  const found = await executed(query, steps, true);
  const records = await steps.time('read', () => recordsOf(query, found));

  const { total, rows, facets } = found;
  const explain = await explained(query, found, steps);
  const { cursor } = request;
  const count = rows.length;
  const isLast = count < request.limit || (cursor?.seen ?? 0) + count >= total;
  return {
    total,
    results: `[${records.join(',')}]`,
    count,
    offset: cursor ? null : nextOffset(request, count, total),
    ...(cursor && { position: isLast ? null : (found.position ?? positionAt(rows.at(-1)!)) }),
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
  const started = performance.now();
  const request = { ...everything, limit: 0, facets };
  const found = await executed({ engine, snapshot, fields: [], request, options }, new Steps());
  return { facets: found.facets!, took: Math.round(performance.now() - started) };
}

/** The records with these `_id`s as a JSON array, in the order of the ids; unknown ids are left out. */
export async function lookup(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  ids: readonly string[],
  options: QueryOptions = {},
): Promise<string> {
  const wanted = [...new Set(ids)];
  const field = { name: '_id', path: ['_id'], type: 'string' } as const;
  const predicate =
    wanted.length === 0 ? none : node({ kind: 'in', field, values: wanted, ignoreCase: false });
  const request = { ...everything, predicate, limit: Math.max(wanted.length, 1) };
  const query = { engine, snapshot, fields, request, options };
  const found = await executed(query, new Steps(), true);
  const texts = await recordsOf(query, found);
  // `_id` is the first key of every record.
  const records = new Map(texts.map((text) => [idOf(text), text]));
  return `[${wanted.flatMap((id) => records.get(id) ?? []).join(',')}]`;
}

const everything: Omit<QueryRequest, 'limit'> = {
  predicate: all,
  scores: [],
  fields: null,
  excludeFields: [],
  ordering: [],
  offset: 0,
  facets: null,
};

function recordsOf(query: QueryArguments, { rows, records }: Executed): Promise<readonly string[]> {
  const { engine, snapshot, fields, request } = query;
  if (records !== undefined || rows.length === 0) return Promise.resolve(records ?? []);
  const projection = project(snapshot.columns, fields, request);
  return readRecords(engine, snapshot, rows, projection, runOptions(query));
}

/** Carries out the plan; `isJson`: the records become JSON texts, which an executor may give along with the rows. */
function executed(query: QueryArguments, steps: Steps, isJson = false): Promise<Executed> {
  const { engine, snapshot, fields, request } = query;
  const projected = request.limit === 0 ? undefined : project(snapshot.columns, fields, request);
  const returned = projected?.map(({ column }) => column.name) ?? [];
  const asked: PlanRequest = {
    ...request,
    returned,
    isExplained: request.explain !== undefined,
  };
  const projection = isJson ? projected : undefined;
  const execution = { engine, snapshot, request: asked, options: runOptions(query), projection };
  return execute(execution, new Map(), steps);
}

async function explained(
  query: QueryArguments,
  { total, plan, access }: Executed,
  steps: Steps,
): Promise<string | undefined> {
  const { engine, snapshot, request } = query;
  const { explain, predicate } = request;
  if (!explain) return undefined;
  const options = { ...runOptions(query), isHeavy: plan.isHeavy };
  const session = await engine.sql.session(snapshot, predicate, options);
  const isInMemory = plan.steps.some((step) => step.executor === 'memory' && step.step !== 'read');
  const count: CountRecords | undefined = isInMemory
    ? (predicates) => engine.memory!.counts(snapshot, predicates, options)
    : undefined;
  return explanation(
    { ...session, snapshot, predicate, total, steps, plan, access, count },
    explain,
  );
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

/** The page as an Arrow IPC stream, uncompressed: other implementations misread what apache-arrow compresses. */
export async function runArrow(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions = {},
): Promise<{ body: Uint8Array; total: number; offset: number | null }> {
  const query = { engine, snapshot, fields, request, options };
  const { rows, total } = await executed(query, new Steps());
  const projection = project(snapshot.columns, fields, request);
  const batches = await readBatches(snapshot, rows, projection, runOptions(query));
  const body = RecordBatchStreamWriter.writeAll(batches).toUint8Array(true);
  return { body, total, offset: nextOffset(request, rows.length, total) };
}

/** The page as lines of JSON, or as CSV under the fields' titles. */
export async function runTextPage(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  shape: 'json' | 'csv',
  options: QueryOptions = {},
): Promise<{ body: string; total: number; offset: number | null }> {
  const page = await runCells(engine, snapshot, fields, request, shape, options);
  const { cells, titles, total, offset } = page;
  const lines =
    shape === 'json'
      ? cells.map(([record]) => `${record!}\n`)
      : [titles, ...cells].map(
          (line) => `${line.map((cell) => delimitedCell(cell, false, ',')).join(',')}\r\n`,
        );
  return { body: lines.join(''), total, offset };
}

/** A page as the texts of its cells, or as one cell of JSON for each record. */
export interface CellPage {
  readonly cells: readonly (readonly (string | null)[])[];
  /** Of the columns of cells; empty for JSON. */
  readonly titles: readonly string[];
  readonly total: number;
  readonly offset: number | null;
  /** The JSON text of the explanation; absent unless requested. */
  readonly explain?: string;
}

/** The page as texts. */
export async function runCells(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  shape: 'json' | 'csv',
  options: QueryOptions = {},
): Promise<CellPage> {
  const query = { engine, snapshot, fields, request, options };
  const steps = new Steps();
  const found = await executed(query, steps, shape === 'json');
  const { rows, total } = found;
  const projection = project(snapshot.columns, fields, request);
  const cells = await steps.time('read', async () =>
    shape === 'json'
      ? (await recordsOf(query, found)).map((text) => [text])
      : await readInThisThread(snapshot, rows, projection, 'cells', runOptions(query)),
  );
  const titles = new Map(fields.map(({ path, title }) => [path.join('\n'), title]));
  const explain = await explained(query, found, steps);
  return {
    cells,
    titles:
      shape === 'json'
        ? []
        : cellColumns(projection).map(({ path }) => titles.get(path.join('\n')) || path.join('.')),
    total,
    offset: nextOffset(request, rows.length, total),
    ...(explain !== undefined && { explain }),
  };
}
