import { setImmediate as nextTurn } from 'node:timers/promises';
import { budgets } from '../core/budgets.js';
import { AppError } from '../core/errors.js';
import type { Facet } from '../query/request/facets.js';
import { Lanes } from '../query/sql/lanes.js';
import type { Predicate } from '../query/predicate/predicate.js';
import { Best } from './best.js';
import { documentField, type SearchDocument } from './document.js';
import { answersOf, tallyOf } from './facets.js';
import { matcherOf } from './matches.js';
import { necessary } from './necessary.js';
import { rankOf } from './rank.js';
import type { SearchRequest } from './request.js';
import type { SearchColumn, SearchTable, SearchVault } from './table.js';

/** What a search found. */
export interface SearchAnswer {
  readonly total: number;
  readonly documents: readonly SearchDocument[];
  /** The offset of the next page, null on the last. */
  readonly offset: number | null;
  /** Absent if none was asked for. */
  readonly facets?: object;
  /** The vaults that what was found is in, and how much of it; absent if not asked for. */
  readonly vaults?: readonly { readonly vault: SearchVault; readonly count: number }[];
  /** Milliseconds. */
  readonly took: number;
}

/** When to give up. */
export interface SearchOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Objects read at once, and how long a search works before others get their turn. */
const objectsPerSlice = 2_000;
const turnMs = 5;

/** A search works on the thread that serves all requests: two take turns, the others wait. */
const lanes = new Lanes(async () => null, 2);

/** Searches what the user may read, as it is now. */
export async function search<Access>(
  table: SearchTable<Access>,
  access: Access,
  request: SearchRequest,
  options: SearchOptions = {},
): Promise<SearchAnswer> {
  const started = performance.now();
  const { signal, timeoutMs = budgets.queryMs } = options;
  const ending = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]);
  try {
    const lane = await lanes.take(false, ending);
    try {
      const answer = await found(table, access, request, ending);
      return { ...answer, took: Math.round(performance.now() - started) };
    } finally {
      lane.release();
    }
  } catch (error) {
    if (!ending.aborted || error !== ending.reason) throw error;
    if (signal?.aborted) throw new AppError('canceled', 'The client gave up', undefined, error);
    const text = `The search took longer than ${timeoutMs / 1000} s (budget queryMs)`;
    throw new AppError('budget', text, undefined, error);
  }
}

async function found<Access>(
  table: SearchTable<Access>,
  access: Access,
  request: SearchRequest,
  ending: AbortSignal,
): Promise<Omit<SearchAnswer, 'took'>> {
  const scope = request.vaultScope === 'access' ? 'own' : 'readable';
  const vaults = await table.vaults(access, scope);
  const rank = rankOf(request.scores);
  const best = new Best(request.offset + request.limit, request.ordering, rank);
  const tallies = (request.facets ?? []).map(tallyOf);
  const counts = new Map<number, number>();
  const take = (document: SearchDocument): void => {
    best.add(document);
    for (const tally of tallies) tally.add(document);
    const { id } = document.vault;
    if (request.includeVaults) counts.set(id, (counts.get(id) ?? 0) + 1);
  };
  await visit(table, vaults, request, ending, take);
  const page = best.from(request.offset);
  const next = request.offset + page.length;
  return {
    total: best.found,
    documents: await whole(table, page),
    offset: page.length > 0 && next < best.found ? next : null,
    ...(request.facets && { facets: answersOf(request.facets, tallies) }),
    ...(request.includeVaults && {
      vaults: vaults.flatMap((vault) => {
        const count = counts.get(vault.id);
        return count === undefined ? [] : [{ vault, count }];
      }),
    }),
  };
}

/** Hands over the vaults that match, then the objects. */
async function visit(
  table: SearchTable<unknown>,
  vaults: readonly SearchVault[],
  request: SearchRequest,
  ending: AbortSignal,
  take: (document: SearchDocument) => void,
): Promise<void> {
  const matches = matcherOf(request.predicate);
  const turn = new Turn(ending);
  for (const vault of vaults) {
    if (turn.isOver()) await turn.next();
    const document = { vault, object: null };
    if (matches(document)) take(document);
  }
  const byId = new Map(vaults.map((vault) => [vault.id, vault]));
  const condition = necessary(request.predicate, vaults);
  const columns = columnsOf(request);
  let upTo: number | undefined;
  for (let after = 0; ; after = upTo) {
    upTo = await table.boundary(after, objectsPerSlice);
    if (upTo === undefined) return;
    for (const object of await table.objects({ after, upTo, condition, columns })) {
      const vault = byId.get(object.vaultId);
      if (vault === undefined) continue;
      if (turn.isOver()) await turn.next();
      const document = { vault, object };
      if (matches(document)) take(document);
    }
    if (turn.isOver()) await turn.next();
  }
}

/** A stretch of work on the thread that serves all requests. */
class Turn {
  readonly #ending: AbortSignal;
  #began = performance.now();

  constructor(ending: AbortSignal) {
    this.#ending = ending;
  }

  isOver(): boolean {
    return performance.now() - this.#began > turnMs;
  }

  /** Lets others work; throws if the search has to end. */
  async next(): Promise<void> {
    await nextTurn();
    this.#ending.throwIfAborted();
    this.#began = performance.now();
  }
}

/** What of each object the search looks at. */
function columnsOf({ predicate, ordering, facets, scores }: SearchRequest): Set<SearchColumn> {
  const names = [
    ...fieldsOf(predicate),
    ...scores.flatMap(({ item }) => fieldsOf(item)),
    ...ordering.map(({ field }) => field.name),
    ...(facets ?? []).flatMap(fieldsOfFacet),
  ];
  return new Set(names.flatMap((name) => documentField(name).columns));
}

function fieldsOf(predicate: Predicate): readonly string[] {
  if ('items' in predicate) return predicate.items.flatMap(fieldsOf);
  if (predicate.kind === 'not') return fieldsOf(predicate.item);
  return 'field' in predicate ? [predicate.field.name] : [];
}

function fieldsOfFacet(facet: Facet): readonly string[] {
  const nested = 'nested' in facet ? facet.nested : [];
  return [facet.field.name, ...nested.flatMap(fieldsOfFacet)];
}

/** The documents with all that is shown of them; what was deleted in between is left out. */
async function whole(
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
