import type { DatasetField } from '../../core/dataset-field.js';
import { csvCell } from '../../core/csv-cell.js';
import { AppError } from '../../core/errors.js';
import type { Snapshot } from '../../store/store.js';
import { facetsJson, nextOffset, type QueryAnswer, type QueryOptions } from '../results/answer.js';
import { arrowSelect, arrowStream } from '../results/arrow-page.js';
import type { QueryEngine } from '../sql/engine.js';
import type { Language } from '../sql/dialect.js';
import { facetAnswers, type FacetAnswers } from '../sql/facet-answer.js';
import type { Facet } from '../request/facets.js';
import { byColumns, recordsAt } from './from-columns.js';
import { explanation } from '../explain/explain.js';
import { exportSelect, type ExportColumn } from '../sql/export-select.js';
import type { RunOptions } from './guard.js';
import { countSelect, pageSelect, type Select } from '../sql/page.js';
import { Params } from '../sql/params.js';
import { all, node, none, type Predicate } from '../predicate/predicate.js';
import type { QueryRequest } from '../request/request.js';
import { prune } from '../predicate/prune.js';
import { textPlan } from '../text/text-plan.js';
import { mayTakeLong } from './weight.js';
import { SpellingFinder } from '../sql/spellings.js';
import type { Spellings } from '../sql/statement.js';
import { Steps } from './steps.js';

export type { QueryAnswer, QueryOptions } from '../results/answer.js';
export { exportSelect, type ExportColumn } from '../sql/export-select.js';

/** Runs a query over one version of a dataset. */
export async function runQuery(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions = {},
): Promise<QueryAnswer> {
  const started = performance.now();
  const answer =
    (await quickAnswer(engine, snapshot, fields, request, options)) ??
    (await bySql(engine, snapshot, fields, request, options));
  return { ...answer, took: Math.round(performance.now() - started) };
}

async function quickAnswer(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions,
): Promise<Omit<QueryAnswer, 'took'> | undefined> {
  const steps = new Steps();
  const quick = await byColumns(engine, snapshot, fields, request, options, steps);
  if (quick === undefined || !request.explain) return quick?.answer;
  const run = await runner(engine, snapshot, request, options);
  const explain = await explanationOf(run, snapshot, request, quick.answer.total, steps);
  return { ...quick.answer, ...(explain !== undefined && { explain }) };
}

async function bySql(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions,
): Promise<Omit<QueryAnswer, 'took'>> {
  const steps = new Steps();
  const run = await steps.time('spellings', () => runner(engine, snapshot, request, options));
  // A walk's positions have the numbers of the files.
  const scope = request.walk ? snapshot : run.scope;
  const facets = facetsOf(run, request, steps);
  // Its failure is awaited below; without this a failing page would leave it unhandled.
  facets.catch(() => undefined);
  const texts = await steps.time('texts', () =>
    textPlan({ ...run, scope }, snapshot, request, options),
  );
  const planned = performance.now();
  const of = texts.snapshot;
  const select = pageSelect(of, fields, texts.request, run.spellings, engine.language);
  steps.add('plan', performance.now() - planned);
  const isEmpty = request.limit === 0 || of.rows === 0;
  const { places } = texts;
  const page = isEmpty
    ? []
    : await steps.time('page', async () =>
        places
          ? (await recordsAt(engine, snapshot, fields, request, places, options))!.map(textRow)
          : run.rows(select),
      );
  const answers = await facets;
  const total =
    texts.total ??
    answers?.total ??
    (await steps.time('total', () => totalOf(run, snapshot, request, page.length)));
  const explained = await explanationOf(run, snapshot, request, total, steps);
  const { walk } = request;
  const isLast = page.length < request.limit || (walk?.seen ?? 0) + page.length >= total;
  return {
    total,
    results: `[${page.map((row) => row[0] as string).join(',')}]`,
    count: page.length,
    offset: walk ? null : nextOffset(request, page.length, total),
    ...(walk && {
      position: isLast ? null : (texts.position ?? select.positionOf(page.at(-1)!)),
    }),
    ...(answers && { facets: facetsJson(request.facets!, answers.texts) }),
    ...(explained !== undefined && { explain: explained }),
  };
}

/** Facets over all records, several of one field too: their JSON texts. */
export async function runFacets(
  engine: QueryEngine,
  snapshot: Snapshot,
  facets: readonly Facet[],
  options: QueryOptions = {},
): Promise<{ readonly texts: readonly string[]; readonly took: number }> {
  const started = performance.now();
  const request: QueryRequest = {
    predicate: all,
    scores: [],
    fields: null,
    excludeFields: [],
    ordering: [],
    limit: 0,
    offset: 0,
    facets,
  };
  const bySql = async (): Promise<readonly string[]> => {
    const run = await runner(engine, snapshot, request, options);
    return (await facetAnswers({ ...run, snapshot, predicate: all }, facets)).texts;
  };
  const quick =
    snapshot.rows > 0 ? await engine.columns?.select(snapshot, request, options) : undefined;
  const texts = quick?.facets ?? (await bySql());
  return { texts, took: Math.round(performance.now() - started) };
}

/** The page as an Arrow IPC stream. */
export async function runArrow(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions = {},
): Promise<{ body: Uint8Array; total: number; offset: number | null }> {
  const run = await runner(engine, snapshot, request, options);
  const texts = await textPlan(run, snapshot, request, options);
  const { language } = engine;
  const select = arrowSelect(texts.snapshot, fields, texts.request, run.spellings, language);
  const page = request.limit === 0 ? [] : await run.rows(select);
  const total = texts.total ?? (await totalOf(run, snapshot, request, page.length));
  return {
    body: arrowStream(select.columns, page),
    total,
    offset: nextOffset(request, page.length, total),
  };
}

/** The page as lines of JSON, or as CSV under the fields' titles as an export has it. */
export async function runText(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  shape: 'json' | 'csv',
  options: QueryOptions = {},
): Promise<{ body: string; total: number; offset: number | null }> {
  const quick =
    shape === 'json' ? await byColumns(engine, snapshot, fields, request, options) : undefined;
  if (quick !== undefined) {
    const { total, offset } = quick.answer;
    return { body: quick.records.map(jsonLine).join(''), total, offset };
  }
  const { cells, columns, total, offset } = await runCells(
    engine,
    snapshot,
    fields,
    request,
    shape,
    options,
  );
  const lines =
    shape === 'json'
      ? cells.map(([record]) => jsonLine(record!))
      : [columns.map(({ title }) => title), ...cells].map(
          (line) => `${line.map((cell) => csvCell(cell, false)).join(',')}\r\n`,
        );
  return { body: lines.join(''), total, offset };
}

function jsonLine(record: string): string {
  return `${record}\n`;
}

/** A page as an export has it: the text of every cell, or one cell of JSON for each record. */
export interface CellPage {
  readonly cells: readonly (readonly (string | null)[])[];
  readonly columns: readonly ExportColumn[];
  readonly total: number;
  readonly offset: number | null;
  /** JSON text; absent unless asked for. */
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
  const steps = new Steps();
  const run = await steps.time('spellings', () => runner(engine, snapshot, request, options));
  const texts = await steps.time('texts', () => textPlan(run, snapshot, request, options));
  const { language } = engine;
  const of = texts.snapshot;
  const select = exportSelect(of, fields, texts.request, shape, run.spellings, language);
  const page = request.limit === 0 ? [] : await steps.time('page', () => run.rows(select));
  const total =
    texts.total ?? (await steps.time('total', () => totalOf(run, snapshot, request, page.length)));
  const explain = await explanationOf(run, snapshot, request, total, steps);
  return {
    cells: page as CellPage['cells'],
    columns: select.columns,
    total,
    offset: nextOffset(request, page.length, total),
    ...(explain !== undefined && { explain }),
  };
}

/** Records by `_id`, in the order asked, unknown ids skipped: a JSON array. */
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
  const request: QueryRequest = {
    predicate,
    scores: [],
    fields: null,
    excludeFields: [],
    ordering: [],
    limit: Math.max(wanted.length, 1),
    offset: 0,
    facets: null,
  };
  const bySql = async (): Promise<readonly string[]> => {
    const run = await runner(engine, snapshot, request, options);
    const select = pageSelect(run.scope, fields, request, undefined, engine.language);
    return (await run.rows(select)).map(([text]) => text as string);
  };
  const quick = await byColumns(engine, snapshot, fields, request, options);
  const rows = quick?.records ?? (await bySql());
  // `_id` is the first key of every record.
  const records = new Map(rows.map((text) => [idOf(text), text]));
  return `[${wanted.flatMap((id) => records.get(id) ?? []).join(',')}]`;
}

/** As a statement would have it. */
function textRow(text: string): readonly unknown[] {
  return [text];
}

interface Runner {
  /** The snapshot without the segments that hold no match. */
  readonly scope: Snapshot;
  readonly language: Language;
  readonly spellings: Spellings;
  readonly rows: (select: Select) => Promise<readonly (readonly unknown[])[]>;
  readonly spell: (predicate: Predicate) => Promise<Spellings>;
}

async function runner(
  engine: QueryEngine,
  snapshot: Snapshot,
  request: QueryRequest,
  options: QueryOptions,
): Promise<Runner> {
  const isHeavy = mayTakeLong(snapshot, request);
  const run: RunOptions = { ...options, subject: `dataset ${snapshot.datasetId}`, isHeavy };
  const rows: Runner['rows'] = async ({ sql, params }) => {
    try {
      return await engine.run(sql, params, run);
    } catch (error) {
      throw (await patternError(engine, snapshot, request.predicate, error)) ?? error;
    }
  };
  const spell: Runner['spell'] = (predicate) => finderOf(engine).find(snapshot, predicate, rows);
  const spellings = await spell(request.predicate);
  const scope = prune(snapshot, request.predicate, spellings);
  return { scope, language: engine.language, rows, spell, spellings };
}

const finders = new WeakMap<QueryEngine, SpellingFinder>();

/** What finds spellings in this engine's files, and remembers them. */
export function finderOf(engine: QueryEngine): SpellingFinder {
  const known = finders.get(engine) ?? new SpellingFinder(engine);
  finders.set(engine, known);
  return known;
}

/** A page that is not full tells the total by itself, and so does a query without a condition. */
async function totalOf(
  run: Runner,
  snapshot: Snapshot,
  request: QueryRequest,
  count: number,
): Promise<number> {
  if (request.predicate.kind === 'all' || request.predicate === all) return snapshot.rows;
  if (request.predicate.kind === 'none') return 0;
  if (request.walk && request.walk.total !== null) return request.walk.total;
  if (request.limit > count && (count > 0 || request.offset === 0)) return request.offset + count;
  const [row] = await run.rows(countSelect(run.scope, request, run.spellings, run.language));
  return Number(row?.[0] ?? 0);
}

function facetsOf(
  run: Runner,
  request: QueryRequest,
  steps: Steps,
): Promise<FacetAnswers | undefined> {
  const { facets, predicate } = request;
  if (!facets) return Promise.resolve(undefined);
  return steps.time('facets', () =>
    facetAnswers({ ...run, snapshot: run.scope, predicate }, facets),
  );
}

async function explanationOf(
  { language, rows, spell, spellings }: Runner,
  snapshot: Snapshot,
  { explain, predicate }: QueryRequest,
  total: number,
  steps: Steps,
): Promise<string | undefined> {
  if (!explain) return undefined;
  const scope = { snapshot, predicate, total, steps, language, rows, spell, spellings };
  return explanation(scope, explain);
}

function idOf(record: string): string {
  const match = /^\{"_id":("(?:[^"\\]|\\.)*")/.exec(record);
  return match ? (JSON.parse(match[1]!) as string) : '';
}

/** If RE2 refused a pattern that the check of the request let through, for its size say: the 400 that names it. */
async function patternError(
  engine: QueryEngine,
  snapshot: Snapshot,
  predicate: Predicate,
  cause: unknown,
): Promise<AppError | undefined> {
  const dialect = engine.language(snapshot.columns);
  const problemOf = (error: unknown): string | undefined =>
    dialect.patternProblem(String((error as { message?: unknown } | null)?.message ?? ''));
  if (problemOf(cause) === undefined) return undefined;
  for (const pattern of patternsOf(predicate)) {
    const params = new Params(dialect.bound);
    const place = params.add('string', dialect.wholePattern(pattern));
    try {
      await engine.run(`SELECT ${dialect.matchesWhole(dialect.literal(''), place)}`, params.list);
    } catch (error) {
      const message = `Unsupported regular expression ${JSON.stringify(pattern)}: ${problemOf(error) ?? String(error)}`;
      return new AppError('invalid', message, { filters: [message] }, cause);
    }
  }
  return undefined;
}

function patternsOf(predicate: Predicate): readonly string[] {
  if (predicate.kind === 'regexp') return [predicate.pattern];
  if (predicate.kind === 'not') return patternsOf(predicate.item);
  return 'items' in predicate ? predicate.items.flatMap(patternsOf) : [];
}
