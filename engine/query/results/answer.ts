import type { Position } from '../request/position.js';
import type { QueryRequest } from '../request/query-request.js';

/** The answer of a query. Its JSON texts become part of the response unchanged. */
export interface QueryAnswer<R = string> {
  readonly total: number;
  /** The records, by default as a JSON array. */
  readonly results: R;
  readonly count: number;
  /** The offset of the next page; null on the last page, and for a query with a cursor. */
  readonly offset: number | null;
  /** A JSON object from field name to answer; absent if the request has no facets. */
  readonly facets?: string;
  /** The JSON text of the explanation; absent unless requested. */
  readonly explain?: string;
  /** The cursor position after the last record of this page; null on the last page, absent if the query has no cursor. */
  readonly position?: Position | null;
  /** Duration of the query in milliseconds. */
  readonly took: number;
}

/** A page in which each record is a text. */
export interface SerializedRecordsPage extends Pick<QueryAnswer, 'total' | 'offset' | 'explain'> {
  readonly results: readonly string[];
}

/** Limits of a query, and its priority. */
export interface QueryOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** True if no client waits for the answer, so that the threads of the columns work on it only while they are idle. */
  readonly isIdle?: boolean | undefined;
}

/** Returns the offset of the next page; null on the last page and on an empty page. */
export function nextOffset(
  request: Pick<QueryRequest, 'offset'>,
  count: number,
  total: number,
): number | null {
  const next = request.offset + count;
  return count > 0 && next < total ? next : null;
}
