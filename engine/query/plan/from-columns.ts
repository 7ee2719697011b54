import type { DatasetField } from '../../core/dataset-field.js';
import type { Snapshot } from '../../store/store.js';
import { facetsJson, nextOffset, type QueryAnswer, type QueryOptions } from '../results/answer.js';
import type { Place, Selected } from './column-engine.js';
import type { Position } from '../sql/cursor.js';
import type { QueryEngine } from '../sql/engine.js';
import type { RunOptions } from './guard.js';
import { pageSelect } from '../sql/page.js';
import { project } from '../results/projection.js';
import { rankedFromColumns, type RankedPlaces } from '../text/ranked-from-columns.js';
import { ranksAlike } from '../text/relevance.js';
import type { QueryRequest } from '../request/request.js';
import { Steps } from './steps.js';
import { atPlaces } from '../sql/places.js';

/** An answer, and its records one by one. */
export interface ColumnAnswer {
  readonly answer: Omit<QueryAnswer, 'took'>;
  readonly records: readonly string[];
}

/**
 * The answer from columns in memory; undefined if the SQL engine has to give it. The positions of a sorted walk are the SQL engine's.
 */
export async function byColumns(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  options: QueryOptions,
  steps = new Steps(),
): Promise<ColumnAnswer | undefined> {
  const { predicate, ordering, scores, offset, limit, facets } = request;
  const { walk } = request;
  const { columns } = engine;
  // The positions of a walk hold what its records rank.
  const isAlike = walk ? scores.length === 0 : ranksAlike(predicate, scores);
  const isRanked = ordering.length === 0 && limit > 0 && !isAlike;
  if (columns === undefined || snapshot.rows === 0) return undefined;
  if (walk && !isRanked && !isPlain(engine, snapshot, request)) return undefined;
  const after = walk?.after ? placeOf(walk.after) : undefined;
  const known = walk?.total ?? undefined;
  const selection = {
    predicate,
    ordering,
    offset,
    limit,
    facets,
    ...(after && { after }),
    ...(known !== undefined && { total: known }),
  };
  const selected: (Selected & Partial<RankedPlaces>) | undefined = await steps.time(
    'columns',
    () =>
      isRanked
        ? rankedFromColumns(engine, snapshot, request, options)
        : columns.select(snapshot, selection, running(snapshot, options)),
  );
  if (selected === undefined) return undefined;
  const records = await steps.time('records', () =>
    recordsAt(engine, snapshot, fields, request, selected.places, options),
  );
  if (records === undefined) return undefined;
  const { total, facets: texts } = selected;
  const count = records.length;
  const isLast = count < limit || (walk?.seen ?? 0) + count >= total;
  const answer = {
    total,
    results: `[${records.join(',')}]`,
    count,
    offset: walk ? null : nextOffset(request, count, total),
    ...(walk && {
      position: isLast ? null : (selected.position ?? positionOf(selected.places.at(-1)!)),
    }),
    ...(texts && { facets: facetsJson(facets!, texts) }),
  };
  return { answer, records };
}

/**
 * The JSON texts of the records at these places, in their order: from columns in memory, or else by SQL; undefined if that
 * cannot find records by their place.
 */
export async function recordsAt(
  engine: QueryEngine,
  snapshot: Snapshot,
  fields: readonly DatasetField[],
  request: QueryRequest,
  places: readonly Place[],
  options: QueryOptions,
): Promise<readonly string[] | undefined> {
  if (places.length === 0) return [];
  const { columns, language } = engine;
  const projection = project(snapshot.columns, fields, request);
  const run = running(snapshot, options);
  const texts = await columns?.records(snapshot, places, projection, run);
  if (texts !== undefined) return texts;
  if (!language(snapshot.columns).listedPlace) return undefined;
  const plan = atPlaces(snapshot, request, places);
  const select = pageSelect(plan.snapshot, fields, plan.request, undefined, language);
  const rows = await engine.run(select.sql, select.params, run);
  return rows.map((row) => row[0] as string);
}

/** True for a walk in the order in which records were stored, whose positions both engines write alike. */
function isPlain({ language }: QueryEngine, { columns }: Snapshot, request: QueryRequest): boolean {
  const { ordering, scores } = request;
  const hasPlaces = language(columns).listedPlace !== undefined;
  return ordering.length === 0 && scores.length === 0 && hasPlaces;
}

/** The first file of a snapshot holds the schema. */
function placeOf({ file, row }: Position): Place {
  return [file - 1, Number(row)];
}

function positionOf([segment, row]: Place): Position {
  return { keys: [], file: segment + 1, row: BigInt(row) };
}

function running({ datasetId }: Snapshot, options: QueryOptions): RunOptions {
  return { ...options, subject: `dataset ${datasetId}` };
}
