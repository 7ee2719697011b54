import { AppError } from '../../core/errors.js';
import type {
  ColumnEngine,
  ListedRows,
  Place,
  Selected,
  Selection,
} from '../plan/column-engine.js';
import type { RunOptions } from '../plan/guard.js';
import type { Projected } from '../results/projection.js';
import { and } from '../predicate/predicate.js';
import { prune } from '../predicate/prune.js';
import { turnsOf } from '../plan/turns.js';
import type { Snapshot } from '../../store/store.js';
import { canCount } from './facets/cover.js';
import { facetTexts } from './facets/facet-texts.js';
import { canMatch } from './can-match.js';
import { inlineLane, threadLane } from './lane.js';
import { NotCovered } from './not-covered.js';
import { inOrder } from './order.js';
import type { ShardAnswer, ShardQuery } from './protocol.js';
import { Shards, type Known } from './shards.js';
import { WordLookup } from './word-lookup.js';

/** How much memory columns may take, and in how many threads; 0: in this one, for tests. */
export interface ColumnOptions {
  readonly threads: number;
  readonly cacheMb: number;
  /** Hears of threads that end by themselves. */
  readonly report?: (message: string) => void;
}

/** So many places at most come from every shard; for pages further behind it is first asked which segments they are in. */
const nearPlaces = 2_000;
/** Deeper pages of a sorted answer are left to the SQL engine, which sorts on disk. */
const deepestSorted = 20_000;

/** Opens the columns; nothing runs before the first question. */
export function openColumnEngine({ threads, cacheMb, report }: ColumnOptions): ColumnEngine {
  const count = Math.max(1, threads);
  const bytes = Math.floor((cacheMb * 1024 * 1024) / count);
  const lane = threads === 0 ? inlineLane : threadLane;
  const shards = new Shards(count, (listener) => lane(bytes, listener), report);
  return {
    select: (snapshot, selection, options) =>
      covered(snapshot, () => select(shards, snapshot, selection, options)),
    records: (snapshot, places, projection, options) =>
      covered(snapshot, () => records(shards, snapshot, places, projection, options)),
    close: () => shards.close(),
  };
}

async function covered<T>({ datasetId }: Snapshot, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotCovered) return undefined;
    if (error instanceof AppError && error.code === 'damaged') {
      const text = `A stored file of dataset ${datasetId} is missing or damaged`;
      throw new AppError('damaged', text, undefined, error);
    }
    throw error;
  }
}

async function select(
  shards: Shards,
  snapshot: Snapshot,
  selection: Selection,
  options: RunOptions,
): Promise<Selected> {
  const { predicate, ordering, offset, limit, facets } = selection;
  const { columns } = snapshot;
  const { marks = [] } = selection;
  const all = and([predicate, ...marks]);
  const lookup = await WordLookup.open(snapshot, all);
  if (!canMatch(all, columns, lookup.keys)) throw new NotCovered();
  if (facets && !canCount(facets, columns)) throw new NotCovered();
  const isSorted = ordering.length > 0 && limit > 0;
  if (isSorted && offset + limit > deepestSorted) throw new NotCovered();
  const { after, isListed = false } = selection;
  if (predicate.kind === 'all' && !facets && !isSorted && !after && !isListed)
    return { total: snapshot.rows, places: placesOf(snapshot, offset, limit), facets: null };
  const isNear = isSorted || after !== undefined || offset + limit <= nearPlaces;
  const segments = segmentsOf(snapshot, selection);
  const words = await lookup.rows(segments, turnsOf(options));
  const query = {
    predicate,
    words,
    isListed,
    marks,
    ordering: isSorted ? ordering : [],
    first: limit > 0 && isNear ? offset + limit : 0,
    facets,
    ...(after && { after }),
    isUncounted: selection.total !== undefined && !facets,
  };
  const known = shards.know(snapshot);
  const answers = await ask(shards, known, segments, query, options);
  const counts = answers.flatMap((answer) => pairs(answer.counts));
  counts.sort((a, b) => a[0] - b[0]);
  const total = selection.total ?? counts.reduce((sum, [, count]) => sum + count, 0);
  let places: readonly Place[];
  if (limit === 0) places = [];
  else if (isSorted) {
    const candidates = answers.flatMap((answer) => answer.candidates).sort(inOrder(ordering));
    places = candidates
      .slice(offset, offset + limit)
      .map(({ segment, row }) => [segment, row] as const);
  } else if (isNear) {
    const found = answers.flatMap((answer) => pairs(answer.places));
    found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    places = found.slice(offset, offset + limit);
  } else {
    places = await farPlaces(shards, known, counts, selection, words, options);
  }
  const texts = facets
    ? facetTexts(
        facets,
        answers.map((answer) => answer.facets),
      )
    : null;
  return { total, places, facets: texts, ...(isListed && { listed: listedOf(answers) }) };
}

function listedOf(answers: readonly ShardAnswer[]): readonly ListedRows[] {
  return answers.flatMap(({ listed }) => listed).sort((a, b) => a.segment - b.segment);
}

/** The records of a page that is far behind: of the segments alone that it is in. */
async function farPlaces(
  shards: Shards,
  known: Known,
  counts: readonly Place[],
  { predicate, offset, limit }: Selection,
  words: ShardQuery['words'],
  options: RunOptions,
): Promise<readonly Place[]> {
  const places: Place[] = [];
  let before = 0;
  for (const [segment, count] of counts) {
    const from = Math.max(0, offset - before);
    const to = Math.min(count, offset + limit - before);
    before += count;
    if (from >= to) continue;
    const query = { predicate, words, ordering: [], first: to, facets: null };
    const [answer] = await ask(shards, known, [segment], query, options);
    places.push(...pairs(answer!.places).slice(from));
  }
  return places;
}

async function ask(
  shards: Shards,
  { key, shardOf }: Known,
  segments: readonly number[],
  { words, ...query }: Omit<ShardQuery, 'snapshot' | 'segments'>,
  options: RunOptions,
): Promise<readonly ShardAnswer[]> {
  const byShard = new Map<number, number[]>();
  for (const segment of segments) {
    const shard = shardOf[segment]!;
    const list = byShard.get(shard);
    if (list) list.push(segment);
    else byShard.set(shard, [segment]);
  }
  const questions = [...byShard].map(([shard, list]) => {
    const own = words && new Map(list.map((number) => [number, words.get(number)!]));
    const whole = { ...query, words: own, snapshot: key, segments: Uint32Array.from(list) };
    return [shard, { kind: 'select', query: whole }] as const;
  });
  const answers = await shards.ask(questions, options);
  return answers.map((message) => (message as { readonly answer: ShardAnswer }).answer);
}

async function records(
  shards: Shards,
  snapshot: Snapshot,
  places: readonly Place[],
  projection: readonly Projected[],
  options: RunOptions,
): Promise<readonly string[]> {
  const { key, shardOf } = shards.know(snapshot);
  /** Of each shard: the records of each segment, and where in the answer they go. */
  const byShard = new Map<number, Map<number, { rows: number[]; at: number[] }>>();
  for (const [at, [segment, row]] of places.entries()) {
    const shard = shardOf[segment]!;
    const segments = byShard.get(shard) ?? new Map<number, { rows: number[]; at: number[] }>();
    byShard.set(shard, segments);
    const of = segments.get(segment) ?? { rows: [], at: [] };
    segments.set(segment, of);
    of.rows.push(row);
    of.at.push(at);
  }
  const asked = [...byShard];
  const answers = await shards.ask(
    asked.map(([shard, segments]) => {
      const list = [...segments].map(([segment, { rows }]) => ({ segment, rows }));
      return [shard, { kind: 'records', snapshot: key, records: list, projection }] as const;
    }),
    options,
  );
  const texts: string[] = Array.from({ length: places.length });
  for (const [i, [, segments]] of asked.entries()) {
    const { texts: found } = answers[i] as { readonly texts: readonly string[] };
    const targets = [...segments.values()].flatMap(({ at }) => at);
    for (const [j, at] of targets.entries()) texts[at] = found[j]!;
  }
  return texts;
}

/** The numbers of the segments that may hold a match. */
function segmentsOf(snapshot: Snapshot, { predicate, after, total }: Selection): readonly number[] {
  const left = new Set(prune(snapshot, predicate, new Map()).segments);
  const first = after !== undefined && total !== undefined ? after[0] : 0;
  return snapshot.segments.flatMap((segment, number) =>
    number >= first && left.has(segment) ? [number] : [],
  );
}

/** The places of a page of all records. */
function placesOf(snapshot: Snapshot, offset: number, limit: number): readonly Place[] {
  const places: Place[] = [];
  let before = 0;
  for (const [segment, { rows }] of snapshot.segments.entries()) {
    const to = Math.min(rows, offset + limit - before);
    for (let row = Math.max(0, offset - before); row < to; row++) places.push([segment, row]);
    before += rows;
    if (places.length === limit) break;
  }
  return places;
}

function pairs(flat: Float64Array): Place[] {
  const list: Place[] = [];
  for (let i = 0; i < flat.length; i += 2) list.push([flat[i]!, flat[i + 1]!]);
  return list;
}
