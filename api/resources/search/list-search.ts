import { viewerOf } from '../../../engine/catalog/access.js';
import { isQueryString, parseSearch } from '../../../engine/search/search-request.js';
import { searchIds, type SearchedIds } from '../../../engine/search/search.js';
import type { AppContext } from '../../http/app-context.js';
import type { Caller } from '../../http/api-request.js';

/** The filter that the parameter `query` of a list becomes: a text that entries contain, or the ids that a search has found (`among`). */
interface SearchFilter {
  readonly query?: string;
  readonly among?: readonly number[];
}

/**
 * Reads the parameter `query` of a list. If it is a query string, a search is made, because clients send the query strings of their
 * advanced search to lists as well; an error in it is answered with 400.
 */
export async function readSearchFilter(
  { catalog }: AppContext,
  caller: Caller,
  kind: keyof SearchedIds,
  query: string | undefined,
): Promise<SearchFilter> {
  if (query === undefined) return {};
  if (!isQueryString(query)) return { query };
  const searchedIds = await searchIds(catalog.search, viewerOf(caller), parseSearch({ query }));
  return { among: searchedIds[kind] };
}
