import { setImmediate as nextTick } from 'node:timers/promises';
import { budgets } from '../core/budgets.js';
import { AppError } from '../core/errors.js';
import { facetFields } from '../query/request/facet-request.js';
import { LeasePool } from '../query/sql/lease-pool.js';
import { fieldsRead } from '../query/predicate/kinds/index.js';
import { TopDocuments } from './top-documents.js';
import { documentField, type SearchDocument } from './document.js';
import { facetAnswers, createFacetCounter } from './search-facets.js';
import { compileDocumentTest } from './matches.js';
import { necessaryCondition } from './necessary-condition.js';
import { compileRank } from './rank.js';
import type { SearchRequest } from './search-request.js';
import type { SearchColumn, SearchTable, SearchVault } from './search-tables.js';

/** The result of a search. */
export interface SearchAnswer {
  readonly total: number;
  readonly documents: readonly SearchDocument[];
  /** Offset of the next page; null on the last page. */
  readonly offset: number | null;
  /** The JSON text of the answers of the facets; absent if none were requested. */
  readonly facets?: string;
  /** The vaults of the matches, with the number of matches in each; absent if not requested. */
  readonly vaults?: readonly { readonly vault: SearchVault; readonly count: number }[];
  /** Duration of the search in milliseconds. */
  readonly took: number;
}

/** Limits of one search. */
interface SearchOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Maximum number of objects that one statement reads. */
const objectsPerSlice = 2_000;
/** Time in milliseconds after which a search yields to other requests. */
const timeSliceMs = 5;

/** Searches run on the API's thread, so only two run at a time; other searches wait. */
const searchSlots = new LeasePool(async () => null, 2);

/**
 * Searches the vaults and objects that the user may read. Throws `canceled` if the signal is aborted and `budget` after the time
 * limit.
 */
export async function searchCatalog<Access>(
  table: SearchTable<Access>,
  access: Access,
  request: SearchRequest,
  options: SearchOptions = {},
): Promise<SearchAnswer> {
  const startedAt = performance.now();
  const answer = await runInSearchSlot(options, (abort) =>
    runSearch(table, access, request, abort),
  );
  return { ...answer, took: Math.round(performance.now() - startedAt) };
}

/** The ids of all vaults and objects that a search finds. */
export interface SearchedIds {
  readonly vaults: readonly number[];
  readonly objects: readonly number[];
}

/**
 * Returns the ids of all vaults and objects that a search finds, on any page and in any readable vault, whatever `vaultScope` says. Throws
 * the same errors as `searchCatalog`.
 */
export function searchIds<Access>(
  table: SearchTable<Access>,
  access: Access,
  request: SearchRequest,
  options: SearchOptions = {},
): Promise<SearchedIds> {
  return runInSearchSlot(options, async (abort) => {
    const matchingIds = { vaults: [] as number[], objects: [] as number[] };
    const vaults = await table.vaults(access, 'readable');
    await scanCatalog(table, vaults, request, abort, ({ vault, object }) => {
      if (object === null) matchingIds.vaults.push(vault.id);
      else matchingIds.objects.push(object.id);
    });
    return matchingIds;
  });
}

/** Runs a search, within its limits, as soon as one of the two slots is free. */
function runInSearchSlot<T>(
  options: SearchOptions,
  run: (abort: AbortSignal) => Promise<T>,
): Promise<T> {
  return runWithinTimeLimit(options, async (abort) => {
    const slot = await searchSlots.acquire(false, abort);
    try {
      return await run(abort);
    } finally {
      slot.release();
    }
  });
}

/**
 * Runs a part of a search. When its time is up or the client disconnects, `abort` is aborted, and the part must end; its error is replaced
 * by one that gives the reason.
 */
export async function runWithinTimeLimit<T>(
  { signal, timeoutMs = budgets.queryMs }: SearchOptions,
  run: (abort: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
  try {
    return await run(abort);
  } catch (error) {
    if (!abort.aborted) throw error;
    if (signal?.aborted) throw new AppError('canceled', 'The client gave up', undefined, error);
    const text = `The search took longer than ${timeoutMs / 1000} s, the most that one may take: narrow it with filters, such as one on the vault, or ask for fewer facets.`;
    throw new AppError('budget', text, undefined, error);
  }
}

async function runSearch<Access>(
  table: SearchTable<Access>,
  access: Access,
  request: SearchRequest,
  abort: AbortSignal,
): Promise<Omit<SearchAnswer, 'took'>> {
  const scope = request.vaultScope === 'access' ? 'own' : 'readable';
  const vaults = await table.vaults(access, scope);
  const rank = compileRank(request.scoreClauses);
  const top = new TopDocuments(request.offset + request.limit, request.ordering, rank);
  const counters = (request.facets ?? []).map(createFacetCounter);
  const counts = new Map<number, number>();
  const onMatch = (document: SearchDocument): void => {
    top.add(document);
    for (const counter of counters) counter.add(document);
    const { id } = document.vault;
    if (request.includeVaults) counts.set(id, (counts.get(id) ?? 0) + 1);
  };
  await scanCatalog(table, vaults, request, abort, onMatch);
  const page = top.documentsFrom(request.offset);
  const next = request.offset + page.length;
  return {
    total: top.addedCount,
    documents: await readAllColumns(table, page),
    offset: page.length > 0 && next < top.addedCount ? next : null,
    ...(request.facets && { facets: facetAnswers(request.facets, counters) }),
    ...(request.includeVaults && {
      vaults: vaults.flatMap((vault) => {
        const count = counts.get(vault.id);
        return count === undefined ? [] : [{ vault, count }];
      }),
    }),
  };
}

/** Calls `onMatch` for each matching vault and then for each matching object. */
async function scanCatalog(
  table: SearchTable<unknown>,
  vaults: readonly SearchVault[],
  request: SearchRequest,
  abort: AbortSignal,
  onMatch: (document: SearchDocument) => void,
): Promise<void> {
  const matches = compileDocumentTest(request.predicate);
  const yieldTimer = new SearchYieldTimer(abort);
  for (const vault of vaults) {
    if (yieldTimer.isSliceOver()) await yieldTimer.yieldToRequests();
    const document = { vault, object: null };
    if (matches(document)) onMatch(document);
  }
  const byId = new Map(vaults.map((vault) => [vault.id, vault]));
  const condition = necessaryCondition(request.predicate, vaults);
  const columns = usedColumns(request);
  let upTo: number | undefined;
  for (let after = 0; ; after = upTo) {
    upTo = await table.boundary(after, objectsPerSlice);
    if (upTo === undefined) return;
    for (const object of await table.objects({ after, upTo, condition, columns })) {
      const vault = byId.get(object.vaultId);
      if (vault === undefined) continue;
      if (yieldTimer.isSliceOver()) await yieldTimer.yieldToRequests();
      const document = { vault, object };
      if (matches(document)) onMatch(document);
    }
    if (yieldTimer.isSliceOver()) await yieldTimer.yieldToRequests();
  }
}

/** Measures the time since a search last yielded to other requests. */
class SearchYieldTimer {
  readonly #abort: AbortSignal;
  #began = performance.now();

  constructor(abort: AbortSignal) {
    this.#abort = abort;
  }

  isSliceOver(): boolean {
    return performance.now() - this.#began > timeSliceMs;
  }

  /** Yields to other requests, and then throws if the search was aborted. */
  async yieldToRequests(): Promise<void> {
    await nextTick();
    this.#abort.throwIfAborted();
    this.#began = performance.now();
  }
}

/** Returns the columns of objects that the request uses. */
function usedColumns({
  predicate,
  ordering,
  facets,
  scoreClauses,
}: SearchRequest): Set<SearchColumn> {
  const fields = [
    ...fieldsRead(predicate),
    ...scoreClauses.flatMap(({ item }) => fieldsRead(item)),
    ...ordering.map(({ field }) => field),
    ...(facets ?? []).flatMap(facetFields),
  ];
  return new Set(fields.flatMap(({ name }) => documentField(name).columns));
}

/** Returns the documents of a page with all their columns, without objects that were deleted since they were found. */
async function readAllColumns(
  table: SearchTable<unknown>,
  page: readonly SearchDocument[],
): Promise<readonly SearchDocument[]> {
  const ids = page.flatMap(({ object }) => (object ? [object.id] : []));
  const objects = new Map((await table.byIds(ids)).map((object) => [object.id, object]));
  return page.flatMap((document): readonly SearchDocument[] => {
    if (document.object === null) return [document];
    const object = objects.get(document.object.id);
    return object === undefined ? [] : [{ ...document, object }];
  });
}
