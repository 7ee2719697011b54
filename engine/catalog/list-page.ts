import type { Database } from './database.js';
import type { Access } from './permission.js';
import { sql, type Sql } from './sql.js';
import type { TableCodec } from './table.js';

/** Which part of a list to return; `offset` counts from 0. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** A page of a list; `total` counts all matches. */
export interface Listed<R> {
  readonly rows: readonly R[];
  readonly total: number;
}

/** The list filter that every resource has. `null` is the system itself, never a request. */
export interface AccessFilter {
  readonly access: Access | null;
}

/** Everything, for the callers inside that want all rows. */
export const wholeList: Page = { limit: Number.MAX_SAFE_INTEGER, offset: 0 };

/** One page of a table and the count of all matches, read at one moment. */
export async function listPage<R, X>(
  db: Database,
  shape: TableCodec<R, X>,
  source: { readonly from: Sql; readonly where: Sql; readonly orderBy: Sql },
  page: Page,
): Promise<Listed<R>> {
  const { from, where, orderBy } = source;
  // Both statements start before either promise is awaited, so no write of ours comes between them.
  const [count, rows] = await Promise.all([
    db.get(sql`SELECT COUNT(*) AS total FROM ${from} WHERE ${where}`),
    db.all(
      sql`SELECT ${shape.columns} FROM ${from} WHERE ${where} ORDER BY ${orderBy}
          LIMIT ${page.limit} OFFSET ${page.offset}`,
    ),
  ]);
  return { rows: rows.map((row) => shape.parse(row)), total: count!['total'] as number };
}
