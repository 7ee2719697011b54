import type { Snapshot, RowRef } from '../../store/store.js';
import type { Executor, SelectedRows, Selection, SegmentAccess } from '../executor/executor.js';
import { isUnsupported, type Unsupported } from '../unsupported.js';
import type { Position } from '../request/position.js';
import { withDatasetNamedInErrors, type RunOptions } from '../executor/run-options.js';
import type { FieldRef } from '../predicate/predicate.js';
import type { PageFormat, PageLayout, PageRecords } from '../results/page-format.js';
import { limitIdleThreads, newIdleTaskMemory } from './cooperative-tasks.js';
import { cacheStatIndices } from './admission-cache.js';
import { facetJson } from './facets/facet-json.js';
import { unsupportedSelection } from './evaluate.js';
import { indexExecutor, mergeRanked, searchIndex } from './index-answers.js';
import { openInlineShard, openShardThread } from './shard-thread.js';
import { isPageOfAllRecords, selectFirstRows } from './first-rows.js';
import { keyBoundFinder } from './key-bounds.js';
import { rowIdKey, type TopRow } from './top-rows.js';
import { rowRefsOfPairs, type ShardAnswer, type ShardQuery } from './shard-protocol.js';
import { countNodesByPredicate } from './node-counts.js';
import {
  askShardsOfSegments,
  prepareQuery,
  sortedRows,
  type PreparedQuery,
} from './segment-requests.js';
import { recordsOfAnswers, readRecordsOfShards } from './shard-records.js';
import { Shards, type ShardReply } from './shards.js';
import { countInShards, weighInShards } from './weights.js';
import {
  oneFieldQuery,
  rowsOfRankedPage,
  rankedRowAtPosition,
  sidePredicates,
  withoutUnsatisfiedConditions,
} from './ranked-selection.js';
import { rankingClausesAndTier } from '../text/relevance.js';

/** The options of `openMemoryExecutor`. */
interface MemoryOptions {
  /** Number of threads. With 0, the calling thread answers; this is for tests. */
  readonly threads: number;
  readonly cacheMb: number;
  /** Called with a message when a worker thread exits unexpectedly. */
  readonly report?: (message: string) => void;
}

/** The executor that answers from columns in memory. It also reads records, because its threads cache Parquet pages. */
export interface MemoryExecutor extends Executor {
  /** The executor that answers from the text index of one field, in the same threads. */
  readonly index: Executor;
  readonly countNodes: NonNullable<Executor['countNodes']>;
  /** Returns the records of a page in the order of `rows`; `isContinuation` is true for all parts of a page except the first. */
  records<F extends PageFormat>(
    snapshot: Snapshot,
    rows: readonly RowRef[],
    layout: PageLayout<F>,
    isContinuation: boolean,
    options: RunOptions,
  ): Promise<PageRecords<F> | Unsupported>;
  /** Starts the threads, and resolves when they answer or are closed. Without this call, the first query starts them. */
  start(): Promise<void>;
  /** From now on, at least one of several threads carries out no idle tasks. */
  freeProcessor(): void;
  /**
   * Opens files of the segments, as many as the caches keep (`openSegmentFiles`). Resolves, for each of these fields, to the number of
   * bytes of these files that `warm` would read; to 0 if a thread refuses.
   */
  open(
    snapshot: Snapshot,
    fields: readonly FieldRef[],
    options: RunOptions,
  ): Promise<readonly number[]>;
  /** Loads the columns of these fields, or their text indexes, as long as the caches have room. */
  warm(snapshot: Snapshot, fields: readonly FieldRef[], options: RunOptions): Promise<void>;
  /**
   * Returns the limit of the cache and the size of its values, in bytes, and how often queries have found the value of a key, and have not,
   * since the start.
   */
  cacheUsage(): { limit: number; bytes: number; hits: number; misses: number };
  close(): Promise<void>;
}

/**
 * If a page in the order of the segments ends beyond this many rows and does not begin at the position of a cursor, the matches of each
 * segment are counted first; then the rows come only from the segments that contain the page. For any other page, every shard collects rows
 * at once.
 */
const maxOneStepRows = 2_000;

/** Opens the executor with columns in memory. */
export function openMemoryExecutor({ threads, cacheMb, report }: MemoryOptions): MemoryExecutor {
  const count = Math.max(1, threads);
  const bytesPerThread = Math.floor((cacheMb * 1024 * 1024) / count);
  const shared = newIdleTaskMemory(count);
  const open = threads === 0 ? openInlineShard : openShardThread;
  const shards = new Shards(count, (events, index) => open(bytesPerThread, events, { shared, index }), report); // prettier-ignore
  return {
    index: indexExecutor(shards),
    unsupportedReason: unsupportedSelection,
    weigh: (snapshot, conditions, options) =>
      withDatasetNamedInErrors(snapshot, () =>
        weighInShards(shards, snapshot, conditions, options),
      ),
    select: (snapshot, selection, options) =>
      withDatasetNamedInErrors(snapshot, () =>
        selectInShards(shards, snapshot, selection, options),
      ),
    countNodes: (snapshot, root, options) =>
      withDatasetNamedInErrors(snapshot, () =>
        countNodesByPredicate(root, (predicates) =>
          countInShards(shards, snapshot, predicates, options),
        ),
      ),
    records: (snapshot, rows, layout, isContinuation, options) =>
      withDatasetNamedInErrors(snapshot, () =>
        readRecordsOfShards(shards, snapshot, rows, layout, isContinuation, options),
      ),
    start: () => shards.start(),
    freeProcessor: () => limitIdleThreads(shared, Math.max(1, count - 1)),
    async open(snapshot, fields, options) {
      const answers = await askAllShards(shards, snapshot, 'open', fields, options);
      if (isUnsupported(answers)) return fields.map(() => 0);
      const bytesOfShards = answers.map(
        (answer) => (answer as { readonly bytes: Float64Array }).bytes,
      );
      return fields.map((_, i) =>
        bytesOfShards.reduce((sum, shardBytes) => sum + shardBytes[i]!, 0),
      );
    },
    async warm(snapshot, fields, options) {
      await askAllShards(shards, snapshot, 'load', fields, options);
    },
    cacheUsage() {
      const sum = (key: keyof typeof cacheStatIndices): number =>
        shards.cacheStats.reduce((total, counts) => total + counts[cacheStatIndices[key]]!, 0);
      return {
        limit: bytesPerThread * count,
        bytes: sum('bytes'),
        hits: sum('hits'),
        misses: sum('misses'),
      };
    },
    close: () => shards.close(),
  };
}

/** Sends a query to every shard that has segments of the snapshot. */
async function askAllShards(
  shards: Shards,
  snapshot: Snapshot,
  kind: 'open' | 'load',
  fields: readonly FieldRef[],
  options: RunOptions,
): Promise<readonly ShardReply[] | Unsupported> {
  const { key, shardOf } = await shards.registerSnapshot(snapshot);
  const request = { kind, query: { snapshot: key, fields } };
  return shards.askShards(
    [...new Set(shardOf)].map((shard) => [shard, request] as const),
    options,
  );
}

async function selectInShards(
  shards: Shards,
  snapshot: Snapshot,
  selection: Selection,
  options: RunOptions,
): Promise<SelectedRows | Unsupported> {
  if (selection.scoreClauses.length > 0) return selectRanked(shards, snapshot, selection, options);
  if (isPageOfAllRecords(snapshot, selection))
    return selectFirstRows(shards, snapshot, selection, options);
  const { predicate, offset, limit, facets, cursor } = selection;
  const { isInterleaved = false } = snapshot;
  const ordering = isInterleaved ? [...selection.ordering, rowIdKey] : selection.ordering;
  const after = cursor?.after && !isInterleaved ? rowRefOfPosition(cursor.after) : undefined;
  const afterRowId = cursor?.after && isInterleaved ? Number(cursor.after.keys[0]) : undefined;
  const total = cursor?.total ?? undefined;
  const isSorted = ordering.length > 0 && limit > 0;
  const isNearPage = isSorted || after !== undefined || offset + limit <= maxOneStepRows;
  const firstSegment = after !== undefined && total !== undefined ? after[0] : 0;
  const preparedQuery = await prepareQuery(shards, snapshot, predicate, firstSegment);
  const query = {
    predicate,
    ordering: isSorted ? ordering : [],
    first: limit > 0 && isNearPage ? offset + limit : 0,
    facets,
    ...(after && { after }),
    ...(afterRowId !== undefined && { afterRowId }),
    isUncounted: total !== undefined && !facets,
    ...(isNearPage && shardPageOf(shards, selection)),
  };
  const boundOf =
    isSorted && selection.ordering.length > 0 ? keyBoundFinder(ordering[0]!) : undefined;
  const answers = await askShardsOfSegments(
    shards,
    preparedQuery,
    query,
    options,
    boundOf && ((number) => boundOf(snapshot.segments[number]!)),
  );
  if (isUnsupported(answers)) return answers;
  const counts = answers
    .flatMap((answer) => rowRefsOfPairs(answer.counts))
    .sort((a, b) => a[0] - b[0]);
  const topRows = isSorted ? sortedRows(answers, ordering, offset, limit) : [];
  const rows =
    limit === 0
      ? []
      : isSorted
        ? topRows.map(({ segment, row }): RowRef => [segment, row])
        : isNearPage
          ? answers
              .flatMap((answer) => rowRefsOfPairs(answer.rows))
              .sort((a, b) => a[0] - b[0] || a[1] - b[1])
              .slice(offset, offset + limit)
          : await selectRowsOfFarPage(
              shards,
              preparedQuery,
              counts,
              { predicate, offset, limit },
              options,
            );
  if (isUnsupported(rows)) return rows;
  return {
    total: total ?? counts.reduce((sum, [, count]) => sum + count, 0),
    rows,
    facets: mergedFacetsJson(facets, answers),
    records: recordsOfAnswers(answers, rows, selection.layout),
    access: totalAccess(answers),
    ...(cursor && isInterleaved && { position: topRows.length > 0 ? cursorPositionOf(topRows.at(-1)!) : undefined }), // prettier-ignore
  };
}

/** Returns the cursor position after a row of an interleaved snapshot (one whose rows are ordered by row ids). */
function cursorPositionOf({ values, segment, row }: TopRow): Position {
  return { keys: [BigInt(values.at(-1) as number)], file: segment + 1, row: BigInt(row) };
}

/** Describes the page whose records the shards may return with their answers. */
function shardPageOf(
  shards: Shards,
  { offset, limit, layout }: Selection,
): Pick<ShardQuery, 'page'> {
  if (limit === 0 || layout === undefined) return {};
  const projection = shards.registerProjection(layout.projection);
  return { page: { offset, limit, projection, format: layout.format } };
}

/**
 * Selects the page in order of relevance; the conditions of the scores must have the weights that decide the order (`conditionsToWeigh`).
 * The text index of a field answers alone if no facets are requested and the selection, without the conditions that no record satisfies,
 * has a `oneFieldQuery`.
 */
async function selectRanked(
  shards: Shards,
  snapshot: Snapshot,
  weighedSelection: Selection,
  options: RunOptions,
): Promise<SelectedRows | Unsupported> {
  const selection = withoutUnsatisfiedConditions(weighedSelection);
  if (!selection.facets && oneFieldQuery(selection, snapshot))
    return searchIndex(shards, snapshot, selection, options);
  const { predicate, scoreClauses, offset, limit, facets, cursor } = selection;
  const preparedQuery = await prepareQuery(shards, snapshot, predicate, 0);
  const after = cursor?.after ? rankedRowAtPosition(cursor.after) : undefined;
  const relevance = {
    ...rankingClausesAndTier(scoreClauses),
    conditions: sidePredicates(scoreClauses),
    page: { after, offset: 0, limit: offset + limit },
  };
  const page = shardPageOf(shards, selection);
  const query = { predicate, ordering: [], first: 0, facets, relevance, ...page };
  const answers = await askShardsOfSegments(shards, preparedQuery, query, options);
  if (isUnsupported(answers)) return answers;
  let total = 0;
  for (const each of answers) for (let i = 1; i < each.counts.length; i += 2) total += each.counts[i]!; // prettier-ignore
  const rankedPage = rowsOfRankedPage(mergeRanked(answers.map((answer) => answer.ranked)).slice(offset, offset + limit)); // prettier-ignore
  return {
    ...rankedPage,
    total: cursor?.total ?? total,
    facets: mergedFacetsJson(facets, answers),
    records: recordsOfAnswers(answers, rankedPage.rows, selection.layout),
    access: totalAccess(answers),
  };
}

function totalAccess(answers: readonly ShardAnswer[]): SegmentAccess {
  const sum = (of: keyof SegmentAccess): number =>
    answers.reduce((total, { access }) => total + access[of], 0);
  return { bounds: sum('bounds'), filters: sum('filters'), pages: sum('pages'), searches: sum('searches'), hashes: sum('hashes'), columns: sum('columns') }; // prettier-ignore
}

function mergedFacetsJson(
  facets: Selection['facets'],
  answers: readonly ShardAnswer[],
): readonly string[] | null {
  return facets && facetJson(facets, answers.map((answer) => answer.facets)); // prettier-ignore
}

/**
 * Returns the rows of a page far from the first, read from the segments that contain it; `counts` has the number of matches of each
 * segment.
 */
async function selectRowsOfFarPage(
  shards: Shards,
  { knownSnapshot }: PreparedQuery,
  counts: readonly RowRef[],
  { predicate, offset, limit }: Pick<Selection, 'predicate' | 'offset' | 'limit'>,
  options: RunOptions,
): Promise<readonly RowRef[] | Unsupported> {
  const rows: RowRef[] = [];
  let matchesBefore = 0;
  for (const [segment, count] of counts) {
    const from = Math.max(0, offset - matchesBefore);
    const to = Math.min(count, offset + limit - matchesBefore);
    matchesBefore += count;
    if (from >= to) continue;
    const query = { predicate, ordering: [], first: to, facets: null };
    const preparedQuery = { knownSnapshot, segments: [segment] };
    const answers = await askShardsOfSegments(shards, preparedQuery, query, options);
    if (isUnsupported(answers)) return answers;
    rows.push(...rowRefsOfPairs(answers[0]!.rows).slice(from));
  }
  return rows;
}

/** Converts a cursor position in insertion order to a row. File 0 of a snapshot holds the schema, so segment i is file i + 1. */
function rowRefOfPosition({ file, row }: Position): RowRef {
  return [file - 1, Number(row)];
}
