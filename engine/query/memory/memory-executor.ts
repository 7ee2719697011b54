import type { Snapshot } from '../../store/store.js';
import type {
  Executor,
  RowBatch,
  RowRef,
  SelectedRows,
  Selection,
  SegmentAccess,
} from '../plan/executor.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { Position } from '../plan/position.js';
import { namingDataset, type RunOptions } from '../plan/limits.js';
import type { FieldRef, Predicate } from '../predicate/predicate.js';
import { touchedSegments } from '../predicate/prune.js';
import type { PageFormat, PageLayout, PageRecords } from '../results/page-format.js';
import { limitIdleThreads, newIdleThreads } from './cooperative-tasks.js';
import { countPlaces } from './admission-cache.js';
import { facetJson } from './facets/facet-json.js';
import { frequencies, mergeRanked, searchIndex, selectByIndex } from './index-answers.js';
import { openInlineShard, openShardThread } from './shard-thread.js';
import { compareCandidates, rowIdKey, type TopRow } from './top-rows.js';
import { rowPairs, type ShardAnswer, type ShardQuery } from './protocol.js';
import { recordsOfAnswers, recordsOfShards } from './shard-records.js';
import { segmentsByShard, Shards, type KnownSnapshot, type ShardReply } from './shards.js';
import {
  oneFieldQuery,
  rankedPage,
  rankOf,
  sidePredicates,
  withoutUnsatisfied,
} from '../text/ranked.js';
import { clausesOf } from '../text/relevance.js';
import type { LookUp } from '../text/weigh.js';

/** The memory limit of columns and the number of threads. */
export interface MemoryOptions {
  /** 0: the calling thread answers, for tests. */
  readonly threads: number;
  readonly cacheMb: number;
  /** Called with a message when a worker thread exits unexpectedly. */
  readonly report?: (message: string) => void;
}

/** The executor that answers from columns in memory; it reads records, too, since its threads cache their pages. */
export interface MemoryExecutor extends Executor {
  /** The page of a query for which there is a `oneFieldQuery`, without facets. */
  selectByIndex(
    snapshot: Snapshot,
    selection: Selection,
    options: RunOptions,
  ): Promise<SelectedRows | Unsupported>;
  /** Looks up how often phrases occur in the texts of a field. */
  lookUp(snapshot: Snapshot, options: RunOptions): LookUp;
  /** The number of records that satisfy each predicate. */
  counts(
    snapshot: Snapshot,
    predicates: readonly Predicate[],
    options: RunOptions,
  ): Promise<readonly number[] | Unsupported>;
  /** Records of a page, in the order of `rows`; `isContinued` is true for all parts of a page but the first. */
  records<F extends PageFormat>(
    snapshot: Snapshot,
    rows: readonly RowRef[],
    layout: PageLayout<F>,
    isContinued: boolean,
    options: RunOptions,
  ): Promise<PageRecords<F> | Unsupported>;
  /** Starts the threads and resolves when they answer; without this, they start with the first query. */
  start(): Promise<void>;
  /** From now on, at least one of several threads carries out no idle tasks. */
  freeProcessor(): void;
  /** Opens the files of the segments; resolves to the bytes that `warm` reads for each of these fields. */
  open(
    snapshot: Snapshot,
    fields: readonly FieldRef[],
    options: RunOptions,
  ): Promise<readonly number[]>;
  /** Loads the columns of these fields as long as the cache has room. */
  warm(snapshot: Snapshot, fields: readonly FieldRef[], options: RunOptions): Promise<void>;
  /** The limit of the cache, the bytes of its values, and how often queries found a value in it, or none, since the start. */
  cacheUsage(): { limit: number; bytes: number; hits: number; misses: number };
  close(): Promise<void>;
}

/**
 * Pages that end before this row are collected by every shard at once; for later pages the counts per segment are asked for
 * first, then the rows of the segments that hold the page.
 */
const nearRows = 2_000;

/** Opens the executor. */
export function openMemoryExecutor({ threads, cacheMb, report }: MemoryOptions): MemoryExecutor {
  const count = Math.max(1, threads);
  const bytes = Math.floor((cacheMb * 1024 * 1024) / count);
  const shared = newIdleThreads(count);
  const open = threads === 0 ? openInlineShard : openShardThread;
  const shards = new Shards(count, (events, index) => open(bytes, events, { shared, index }), report); // prettier-ignore
  return {
    select: (snapshot, selection, options) =>
      namingDataset(snapshot, () => selectInShards(shards, snapshot, selection, options)),
    find: (snapshot, selection, options) =>
      namingDataset(snapshot, () => find(shards, snapshot, selection, options)),
    selectByIndex: (snapshot, selection, options) =>
      namingDataset(snapshot, () => selectByIndex(shards, snapshot, selection, options)),
    lookUp: (snapshot, options) => (field, phrases) =>
      namingDataset(snapshot, () => frequencies(shards, snapshot, field, phrases, options)),
    counts: (snapshot, predicates, options) =>
      namingDataset(snapshot, () => counts(shards, snapshot, predicates, options)),
    records: (snapshot, rows, layout, isContinued, options) =>
      namingDataset(snapshot, () =>
        recordsOfShards(shards, snapshot, rows, layout, isContinued, options),
      ),
    start: () => shards.start(),
    freeProcessor: () => limitIdleThreads(shared, Math.max(1, count - 1)),
    async open(snapshot, fields, options) {
      const answers = await askAll(shards, snapshot, 'open', fields, options);
      if (isUnsupported(answers)) return fields.map(() => 0);
      const bytes = answers.map((answer) => (answer as { readonly bytes: Float64Array }).bytes);
      return fields.map((_, i) => bytes.reduce((sum, own) => sum + own[i]!, 0));
    },
    async warm(snapshot, fields, options) {
      await askAll(shards, snapshot, 'load', fields, options);
    },
    cacheUsage() {
      const sum = (key: keyof typeof countPlaces): number =>
        shards.counts.reduce((total, counts) => total + counts[countPlaces[key]]!, 0);
      return {
        limit: bytes * count,
        bytes: sum('bytes'),
        hits: sum('hits'),
        misses: sum('misses'),
      };
    },
    close: () => shards.close(),
  };
}

/** Asks every shard that has segments of the snapshot. */
async function askAll(
  shards: Shards,
  snapshot: Snapshot,
  kind: 'open' | 'load',
  fields: readonly FieldRef[],
  options: RunOptions,
): Promise<readonly ShardReply[] | Unsupported> {
  const { key, shardOf } = await shards.know(snapshot);
  const request = { kind, query: { snapshot: key, fields } };
  return shards.ask(
    [...new Set(shardOf)].map((shard) => [shard, request] as const),
    options,
  );
}

/** The data of a request to the shards: the query, and the segments that may match. */
interface PreparedQuery {
  readonly known: KnownSnapshot;
  readonly segments: readonly number[];
}

async function prepare(
  shards: Shards,
  snapshot: Snapshot,
  predicate: Predicate,
  from: number,
): Promise<PreparedQuery> {
  const segments = touchedSegments(snapshot, predicate).filter((number) => number >= from);
  return { known: await shards.know(snapshot), segments };
}

async function selectInShards(
  shards: Shards,
  snapshot: Snapshot,
  selection: Selection,
  options: RunOptions,
): Promise<SelectedRows | Unsupported> {
  if (selection.scores.length > 0) return selectRanked(shards, snapshot, selection, options);
  const { predicate, offset, limit, facets, cursor } = selection;
  const { isInterleaved = false } = snapshot;
  const ordering = isInterleaved ? [...selection.ordering, rowIdKey] : selection.ordering;
  const after = cursor?.after && !isInterleaved ? rowOf(cursor.after) : undefined;
  const afterRowId = cursor?.after && isInterleaved ? Number(cursor.after.keys[0]) : undefined;
  const total = cursor?.total ?? undefined;
  const isSorted = ordering.length > 0 && limit > 0;
  const isNear = isSorted || after !== undefined || offset + limit <= nearRows;
  const first = after !== undefined && total !== undefined ? after[0] : 0;
  const prepared = await prepare(shards, snapshot, predicate, first);
  const query = {
    predicate,
    ordering: isSorted ? ordering : [],
    first: limit > 0 && isNear ? offset + limit : 0,
    facets,
    ...(after && { after }),
    ...(afterRowId !== undefined && { afterRowId }),
    isUncounted: total !== undefined && !facets,
    ...(isNear && pageOf(shards, prepared, selection)),
  };
  const answers = await ask(shards, prepared, query, options);
  if (isUnsupported(answers)) return answers;
  const counts = answers.flatMap((answer) => rowPairs(answer.counts)).sort((a, b) => a[0] - b[0]);
  const best = isSorted ? sortedRows(answers, ordering, offset, limit) : [];
  const rows =
    limit === 0
      ? []
      : isSorted
        ? best.map(({ segment, row }): RowRef => [segment, row])
        : isNear
          ? answers
              .flatMap((answer) => rowPairs(answer.rows))
              .sort((a, b) => a[0] - b[0] || a[1] - b[1])
              .slice(offset, offset + limit)
          : await farRows(shards, prepared, counts, { predicate, offset, limit }, options);
  if (isUnsupported(rows)) return rows;
  return {
    total: total ?? counts.reduce((sum, [, count]) => sum + count, 0),
    rows,
    facets: facetsOf(facets, answers),
    records: recordsOfAnswers(answers, rows, selection.layout),
    access: accessOf(answers),
    ...(cursor && isInterleaved && { position: best.length > 0 ? positionOf(best.at(-1)!) : undefined }), // prettier-ignore
  };
}

/** The position after a row of an interleaved snapshot. */
function positionOf({ values, segment, row }: TopRow): Position {
  return { keys: [BigInt(values.at(-1) as number)], file: segment + 1, row: BigInt(row) };
}

/** The page layout with which a shard returns records along with its answer. */
function pageOf(
  shards: Shards,
  { known: { shardOf }, segments }: PreparedQuery,
  { offset, limit, layout }: Selection,
): Pick<ShardQuery, 'page'> {
  if (limit === 0 || layout === undefined) return {};
  const isOnly = segments.every((segment) => shardOf[segment] === shardOf[segments[0]!]);
  const projection = shards.knowProjection(layout.projection);
  return { page: { offset, limit, projection, format: layout.format, isOnly } };
}

/** The page in order of relevance; the scores have their weights. If conditions on one field of texts are left, its index is searched. */
async function selectRanked(
  shards: Shards,
  snapshot: Snapshot,
  weighed: Selection,
  options: RunOptions,
): Promise<SelectedRows | Unsupported> {
  const selection = withoutUnsatisfied(weighed);
  if (!selection.facets && oneFieldQuery(selection, snapshot))
    return searchIndex(shards, snapshot, selection, options);
  const { predicate, scores, offset, limit, facets, cursor } = selection;
  const prepared = await prepare(shards, snapshot, predicate, 0);
  const after = cursor?.after ? rankOf(cursor.after) : undefined;
  const relevance = {
    ...clausesOf(scores),
    conditions: sidePredicates(scores),
    page: { after, offset: 0, limit: offset + limit },
  };
  const page = pageOf(shards, prepared, selection);
  const query = { predicate, ordering: [], first: 0, facets, relevance, ...page };
  const answers = await ask(shards, prepared, query, options);
  if (isUnsupported(answers)) return answers;
  let total = 0;
  for (const each of answers) for (let i = 1; i < each.counts.length; i += 2) total += each.counts[i]!; // prettier-ignore
  const found = rankedPage(mergeRanked(answers.map((answer) => answer.ranked)).slice(offset, offset + limit)); // prettier-ignore
  return {
    ...found,
    total: cursor?.total ?? total,
    facets: facetsOf(facets, answers),
    records: recordsOfAnswers(answers, found.rows, selection.layout),
    access: accessOf(answers),
  };
}

async function counts(
  shards: Shards,
  snapshot: Snapshot,
  predicates: readonly Predicate[],
  options: RunOptions,
): Promise<readonly number[] | Unsupported> {
  const { key, shardOf } = await shards.know(snapshot);
  const asked = [...segmentsByShard(shardOf, snapshot.segments.keys())].map(([shard, list]) => {
    const segments = Uint32Array.from(list);
    const query = { snapshot: key, segments, predicates };
    return [shard, { kind: 'count', query }] as const;
  });
  const answers = await shards.ask(asked, options);
  if (isUnsupported(answers)) return answers;
  return predicates.map((_, i) =>
    answers.reduce(
      (sum, answer) => sum + (answer as { readonly counts: Float64Array }).counts[i]!,
      0,
    ),
  );
}

async function find(
  shards: Shards,
  snapshot: Snapshot,
  selection: Selection,
  options: RunOptions,
): Promise<AsyncIterable<RowBatch> | Unsupported> {
  const { ordering, offset, limit } = selection;
  if (ordering.length > 0 || snapshot.isInterleaved || offset > 0 || limit < snapshot.rows) {
    const { cursor: _, ...page } = selection;
    const selected = await selectInShards(
      shards,
      snapshot,
      { ...page, scores: [], facets: null },
      options,
    );
    return isUnsupported(selected) ? selected : batches([{ refs: selected.rows }]);
  }
  const { predicate } = selection;
  const prepared = await prepare(shards, snapshot, predicate, 0);
  const query = { predicate, isListed: true, ordering: [], first: 0, facets: null };
  const answers = await ask(shards, prepared, query, options);
  if (isUnsupported(answers)) return answers;
  const listed = answers.flatMap((answer) => answer.listed);
  return batches(listed.sort((a, b) => a.segment - b.segment));
}

async function* batches(all: readonly RowBatch[]): AsyncGenerator<RowBatch> {
  yield* all;
}

function accessOf(answers: readonly ShardAnswer[]): SegmentAccess {
  const sum = (of: keyof SegmentAccess): number =>
    answers.reduce((total, { access }) => total + access[of], 0);
  return { filters: sum('filters'), pages: sum('pages'), columns: sum('columns') };
}

function facetsOf(
  facets: Selection['facets'],
  answers: readonly ShardAnswer[],
): readonly string[] | null {
  return facets && facetJson(facets, answers.map((answer) => answer.facets)); // prettier-ignore
}

function sortedRows(
  answers: readonly ShardAnswer[],
  ordering: Selection['ordering'],
  offset: number,
  limit: number,
): readonly TopRow[] {
  const candidates = answers
    .flatMap((answer) => answer.candidates)
    .sort(compareCandidates(ordering));
  return candidates.slice(offset, offset + limit);
}

/** The rows of a page far from the first one, read from the segments that hold it; `counts` has the number of matches of each segment. */
async function farRows(
  shards: Shards,
  { known }: PreparedQuery,
  counts: readonly RowRef[],
  { predicate, offset, limit }: Pick<Selection, 'predicate' | 'offset' | 'limit'>,
  options: RunOptions,
): Promise<readonly RowRef[] | Unsupported> {
  const rows: RowRef[] = [];
  let before = 0;
  for (const [segment, count] of counts) {
    const from = Math.max(0, offset - before);
    const to = Math.min(count, offset + limit - before);
    before += count;
    if (from >= to) continue;
    const query = { predicate, ordering: [], first: to, facets: null };
    const answers = await ask(shards, { known, segments: [segment] }, query, options);
    if (isUnsupported(answers)) return answers;
    rows.push(...rowPairs(answers[0]!.rows).slice(from));
  }
  return rows;
}

async function ask(
  shards: Shards,
  { known: { key, shardOf }, segments }: PreparedQuery,
  query: Omit<ShardQuery, 'snapshot' | 'segments'>,
  options: RunOptions,
): Promise<readonly ShardAnswer[] | Unsupported> {
  const requests = [...segmentsByShard(shardOf, segments)].map(([shard, list]) => {
    const whole = { ...query, snapshot: key, segments: Uint32Array.from(list) };
    return [shard, { kind: 'select', query: whole }] as const;
  });
  const answers = await shards.ask(requests, options);
  if (isUnsupported(answers)) return answers;
  return answers.map((reply) => (reply as { readonly selected: ShardAnswer }).selected);
}

/** A row from a cursor position in insertion order; the first file of a snapshot holds the schema. */
function rowOf({ file, row }: { readonly file: number; readonly row: bigint | string }): RowRef {
  return [file - 1, Number(row)];
}
