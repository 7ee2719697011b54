import type { ListedRows, Page } from '../../engine/catalog/list-page.js';
import { budgets } from '../../engine/core/budgets.js';
import { AppError, invalidError } from '../../engine/core/errors.js';
import type { ApiRequest } from './api-request.js';

/** A parsed query string; the value of a repeated key is a list. */
export type QueryParams = Readonly<Record<string, unknown>>;

/** Reads `limit`, `page` and `offset` (contract 3.2); `offset` wins over `page`. */
export function readPage(query: QueryParams, defaultLimit = 100): Page {
  const limit = readPagingNumber(query, 'limit', 1) ?? defaultLimit;
  if (limit > budgets.listLimit) {
    throw invalidError(
      'limit',
      `A limit is at most ${budgets.listLimit}, not ${limit}: read the others as further pages, with page or offset.`,
    );
  }
  const offset = readPagingNumber(query, 'offset', 0);
  const page = readPagingNumber(query, 'page', 1) ?? 1;
  return { limit, offset: offset ?? (page - 1) * limit };
}

/** The functions that return the rows of a page of a list and their JSON. */
interface ListSource<Row> {
  /** The page size of a request that names none; 100 when absent. */
  readonly defaultLimit?: number;
  rows(page: Page): Promise<ListedRows<Row>>;
  views(rows: readonly Row[]): Promise<readonly object[]>;
}

/**
 * Answers a list request: reads the page that the URL parameters select, and returns its items as JSON in the list envelope (contract 3).
 */
export async function answerList<Row>(
  request: ApiRequest,
  query: QueryParams,
  source: ListSource<Row>,
): Promise<ListEnvelope<object>> {
  const page = readPage(query, source.defaultLimit);
  for (let attempts = 1; ; attempts++) {
    const { rows, total } = await source.rows(page);
    try {
      return listEnvelope(request.origin, request.url, page, total, await source.views(rows));
    } catch (error) {
      // The object that the row belongs to was deleted after the row was read, so the row is no longer in any list.
      const isGone = error instanceof AppError && error.code === 'not-found';
      if (!isGone || attempts === maxListAttempts) throw error;
    }
  }
}

const maxListAttempts = 5;

/** The answer of every list: envelope, links and this page's own address (contract 3.1). */
interface ListEnvelope<T> {
  readonly class_name: 'list';
  readonly url: string;
  readonly total: number;
  readonly links: { readonly next: string | null; readonly prev: string | null };
  readonly data: readonly T[];
}

/** Wraps one page of views. `origin` is the public base address, `target` the request's path and query. */
export function listEnvelope<T>(
  origin: string,
  target: string,
  page: Page,
  total: number,
  data: readonly T[],
): ListEnvelope<T> {
  const address = urlWithoutParameters(origin, target, new Set(['access_token']));
  const { limit, offset } = page;
  const next = offset + limit < total ? offset + limit : null;
  const prev = offset > 0 ? Math.max(0, offset - limit) : null;
  return {
    class_name: 'list',
    url: address,
    total,
    links: {
      next: pageLink(origin, target, limit, next),
      prev: pageLink(origin, target, limit, prev),
    },
    data,
  };
}

/** Returns the URL of another page: `page=N`, or `offset=N` if the offset is not a multiple of the page size. */
function pageLink(
  origin: string,
  target: string,
  limit: number,
  offset: number | null,
): string | null {
  if (offset === null) return null;
  const base = urlWithoutParameters(origin, target, new Set(['access_token', 'page', 'offset']));
  const pageParameter = offset % limit === 0 ? `page=${offset / limit + 1}` : `offset=${offset}`;
  return `${base}${base.includes('?') ? '&' : '?'}${pageParameter}`;
}

/** Returns the URL without the named parameters; other parameters stay as the client wrote them. No link contains a token (threat A8). */
function urlWithoutParameters(origin: string, target: string, names: ReadonlySet<string>): string {
  const [path = '/', query = ''] = splitTarget(target);
  const parameters = query
    .split('&')
    .filter((part) => part !== '' && !names.has(parameterName(part)));
  return origin + path + (parameters.length > 0 ? `?${parameters.join('&')}` : '');
}

function splitTarget(target: string): [string, string] {
  const queryStart = target.indexOf('?');
  return queryStart === -1
    ? [target, '']
    : [target.slice(0, queryStart), target.slice(queryStart + 1)];
}

function parameterName(part: string): string {
  const name = part.split('=', 1)[0] ?? '';
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name; // a name that cannot be decoded is not among `names`
  }
}

function readPagingNumber(query: QueryParams, name: string, minimum: number): number | undefined {
  const values = query[name];
  const rawValue: unknown = Array.isArray(values) ? values.at(-1) : values;
  if (rawValue === undefined || rawValue === null || rawValue === '') return undefined;
  const number =
    typeof rawValue === 'string' && /^\d{1,15}$/.test(rawValue) ? Number(rawValue) : NaN;
  if (Number.isNaN(number) || number < minimum) {
    throw invalidError(name, `${name} must be a whole number of at least ${minimum}`);
  }
  return number;
}
