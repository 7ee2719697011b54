import type { Database } from './database.js';
import type { Viewer } from './permission.js';
import { sql, type Sql } from './sql.js';
import type { TableCodec } from './table-codec.js';

/** The range of a list to return; `offset` counts from 0. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** A page of a list; `total` is the number of all matches. */
export interface ListedRows<R> {
  readonly rows: readonly R[];
  readonly total: number;
}

/** The filter of lists that contain only what a user may read. `viewer` is null for the server itself, never for a request. */
export interface AccessFilter {
  readonly viewer: Viewer | null;
}

/** The page that contains all rows, for internal callers. */
export const unlimitedPage: Page = { limit: Number.MAX_SAFE_INTEGER, offset: 0 };

/** Reads one page of a table and counts all matches. */
export async function listPage<R, X>(
  db: Database,
  codec: TableCodec<R, X>,
  source: { readonly from: Sql; readonly where: Sql; readonly orderBy: Sql },
  page: Page,
): Promise<ListedRows<R>> {
  const { from, where, orderBy } = source;
  // Both statements start before either promise is awaited, so that no write by this process comes between them.
  const [countRow, rows] = await Promise.all([
    db.get(sql`SELECT COUNT(*) AS total FROM ${from} WHERE ${where}`),
    db.all(
      sql`SELECT ${codec.columns} FROM ${from} WHERE ${where} ORDER BY ${orderBy}
          LIMIT ${page.limit} OFFSET ${page.offset}`,
    ),
  ]);
  return { rows: rows.map((row) => codec.parse(row)), total: countRow!['total'] as number };
}
