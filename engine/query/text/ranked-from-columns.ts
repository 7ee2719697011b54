import type { Snapshot } from '../../store/store.js';
import type { QueryOptions } from '../results/answer.js';
import type { Selected } from '../plan/column-engine.js';
import type { Position } from '../sql/cursor.js';
import type { QueryEngine } from '../sql/engine.js';
import { WordRanking } from './rank-words.js';
import { plainWeights } from './plain-weights.js';
import type { Predicate } from '../predicate/predicate.js';
import type { QueryRequest } from '../request/request.js';
import { deepestRanked, placesOf, ranked, rowOf } from './text-plan.js';
import { turnsOf } from '../plan/turns.js';

/** The page of a query that is ranked by words. */
export interface RankedPlaces extends Selected {
  /** Behind the last of them. */
  readonly position: Position | undefined;
}

/**
 * Which records are the page of a ranked query, where the index of words tells their order. Which of them match, it tells too if words of
 * one field are all that is asked for, and else the columns do. Undefined where the SQL engine has to be asked.
 */
export async function rankedFromColumns(
  engine: QueryEngine,
  snapshot: Snapshot,
  request: QueryRequest,
  options: QueryOptions,
): Promise<RankedPlaces | undefined> {
  const { columns } = engine;
  const { predicate, scores, facets, offset, limit, walk } = request;
  if (columns === undefined || offset + limit > deepestRanked) return undefined;
  // Without numbers of rows a walk's positions are others.
  if (!engine.language(snapshot.columns).listedPlace) return undefined;
  const run = { ...options, subject: `dataset ${snapshot.datasetId}` };
  const select = (
    isListed: boolean,
    marks: readonly Predicate[] = [],
  ): Promise<Selected | undefined> => {
    const selection = { predicate, ordering: [], offset: 0, limit: 0, facets, isListed, marks };
    return columns.select(snapshot, selection, run);
  };
  const turns = turnsOf(options);
  const plan = await ranked(engine, snapshot, request, turns);
  if (plan !== undefined) {
    const selected = facets === null ? { facets } : await select(false);
    return selected && { ...plan, facets: selected.facets };
  }
  const ranking = await WordRanking.open(snapshot, scores);
  if (ranking === undefined) return undefined;
  const selected = await select(true, ranking.marks);
  if (selected?.listed === undefined) return undefined;
  const weights = await plainWeights(engine, snapshot, scores, run);
  if (weights === undefined) return undefined;
  const after = walk?.after ? rowOf(walk.after) : undefined;
  const rows = await ranking.page(
    weights!,
    selected.listed,
    snapshot,
    { after, offset, limit },
    turns,
  );
  return { ...placesOf(rows), total: selected.total, facets: selected.facets };
}
