import type { Database } from './database.js';
import { listPage, type AccessFilter, type Listed, type Page } from './page.js';
import { mayAccess } from './permission.js';
import type { TaskStatus } from './rows.js';
import { all, isOneOf, sql, type Sql } from './sql.js';
import type { TableShape } from './table.js';

/** The list filters of imports, exports and commits. */
export interface JobFilter extends AccessFilter {
  readonly ids?: readonly number[];
  readonly datasetId?: number;
  readonly vaultId?: number;
  readonly statuses?: readonly TaskStatus[];
  readonly userIds?: readonly number[];
}

/** The jobs on datasets that the user may read, newest first. */
export async function listJobs<R>(
  db: Database,
  shape: TableShape<R, object>,
  filter: JobFilter,
  page: Page,
): Promise<Listed<R>> {
  const jobs = shape.name;
  const found: Sql[] = [mayAccess(filter.access)];
  if (filter.ids) found.push(isOneOf(sql`${jobs}.id`, filter.ids));
  if (filter.datasetId !== undefined) found.push(sql`${jobs}.dataset_id = ${filter.datasetId}`);
  if (filter.vaultId !== undefined) found.push(sql`objects.vault_id = ${filter.vaultId}`);
  if (filter.statuses) found.push(isOneOf(sql`${jobs}.status`, filter.statuses));
  if (filter.userIds) found.push(isOneOf(sql`${jobs}.user_id`, filter.userIds));
  const from = sql`${jobs} JOIN objects ON objects.id = ${jobs}.dataset_id
    JOIN vaults ON vaults.id = objects.vault_id`;
  return listPage(db, shape, { from, where: all(found), orderBy: sql`${jobs}.id DESC` }, page);
}
