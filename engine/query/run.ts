import type { FieldRow } from '../catalog/rows.js';
import type { Snapshot } from '../store/store.js';
import type { QueryEngine } from './engine.js';
import type { Param } from './params.js';
import type { QueryRequest } from './request.js';

/** What a query answers; the JSON texts go into the response as they are. */
export interface QueryAnswer {
  readonly total: number;
  /** A JSON array of records. */
  readonly results: string;
  readonly count: number;
  /** The offset of the next page, null on the last. */
  readonly offset: number | null;
  /** A JSON object from field name to answer; absent if none was asked for. */
  readonly facets?: string;
  /** Milliseconds. */
  readonly took: number;
}

/** Runs a query over one version of a dataset. */
export async function runQuery(
  _engine: QueryEngine,
  _snapshot: Snapshot,
  _fields: readonly FieldRow[],
  _request: QueryRequest,
  _options: { readonly signal?: AbortSignal } = {},
): Promise<QueryAnswer> {
  throw new Error('not built yet');
}

/** The page as an Arrow IPC stream. */
export async function runArrow(
  _engine: QueryEngine,
  _snapshot: Snapshot,
  _fields: readonly FieldRow[],
  _request: QueryRequest,
  _options: { readonly signal?: AbortSignal } = {},
): Promise<{ body: Uint8Array; total: number; offset: number | null }> {
  throw new Error('not built yet');
}

/** Records by `_id`, in the order asked, unknown ids skipped: a JSON array. */
export async function lookup(
  _engine: QueryEngine,
  _snapshot: Snapshot,
  _fields: readonly FieldRow[],
  _ids: readonly string[],
  _options: { readonly signal?: AbortSignal } = {},
): Promise<string> {
  throw new Error('not built yet');
}

/** One column of an export. */
export interface ExportColumn {
  readonly name: string;
  readonly title: string;
}

/**
 * The statement of an export, for `engine.stream`. Shape `json`: one column, the JSON text of a record. Shape `csv`: one text
 * column for each of `columns`, null where there is no value.
 */
export function exportSelect(
  _snapshot: Snapshot,
  _fields: readonly FieldRow[],
  _request: QueryRequest,
  _shape: 'json' | 'csv',
): { readonly sql: string; readonly params: readonly Param[]; readonly columns: readonly ExportColumn[] } {
  throw new Error('not built yet');
}
