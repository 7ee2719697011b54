import type { Database } from './database.js';
import { jobResources } from './jobs.js';
import { isOneOf, sql, type Sql } from './sql.js';
import { activeStatuses, isActiveTask } from './task-row.js';

/** The error message of a migration that is canceled because its source was deleted. */
export const sourceDeletedMessage = 'The source dataset was deleted.';

/** The rows that a deletion removes, so that their files can be deleted and their unfinished tasks canceled after the transaction. */
export interface Deletion {
  readonly objectIds: readonly number[];
  readonly datasetIds: readonly number[];
  /** All versions of all deleted files. */
  readonly files: readonly { readonly objectId: number; readonly revision: number }[];
  readonly exports: readonly { readonly id: number; readonly filename: string | null }[];
  readonly imports: readonly number[];
  readonly migrations: readonly number[];
  readonly activeTaskIds: readonly number[];
}

/** Collects what the deletion of a vault removes. */
export async function collectVaultDeletion(db: Database, vaultId: number): Promise<Deletion> {
  return collectDeletion(db, sql`objects.vault_id = ${vaultId}`);
}

/**
 * Collects what the deletion of the objects that meet a condition removes, and cancels the open migrations that read the datasets, except
 * those that are being published. Must run in the same transaction as the DELETE and before it. Records the datasets as dropped, so that if
 * the process is killed before it has deleted their files, the next start deletes them.
 */
export async function collectDeletion(db: Database, condition: Sql): Promise<Deletion> {
  const objects = await db.all(
    sql`SELECT objects.id, objects.object_type FROM objects WHERE ${condition}
        ORDER BY objects.id`,
  );
  const datasets = sql`SELECT objects.id FROM objects
    WHERE objects.object_type = 'dataset' AND ${condition}`;
  const exports = await db.all(
    sql`SELECT exports.id, exports.filename FROM exports WHERE exports.dataset_id IN (${datasets})`,
  );
  const importIds = await db.all(
    sql`SELECT imports.id FROM imports WHERE imports.dataset_id IN (${datasets})`,
  );
  const migrationIds = await db.all(
    sql`SELECT dataset_migrations.id FROM dataset_migrations WHERE dataset_migrations.dataset_id IN (${datasets})`,
  );
  const files = await db.all(sql`SELECT file_versions.object_id, file_versions.revision
    FROM file_versions JOIN objects ON objects.id = file_versions.object_id WHERE ${condition}
    ORDER BY file_versions.object_id, file_versions.revision`);
  await detachPublishingMigrations(db, datasets);
  const tasks = await db.all(sql`SELECT tasks.id FROM tasks
    WHERE ${isActiveTask(sql`tasks`)}
      AND (tasks.target_object_id IN (${datasets}) OR tasks.source_object_id IN (${datasets}))`);
  await cancelMigrationsOf(db, datasets);
  await db.run(
    sql`INSERT INTO dropped_datasets (id, dropped_at) SELECT dropped.id, ${Date.now()}
        FROM (${datasets}) AS dropped`,
  );
  const ofType = (type: string) => objects.filter((row) => row['object_type'] === type);
  return {
    objectIds: objects.map((row) => row['id'] as number),
    datasetIds: ofType('dataset').map((row) => row['id'] as number),
    files: files.map((row) => ({
      objectId: row['object_id'] as number,
      revision: row['revision'] as number,
    })),
    exports: exports.map((row) => ({
      id: row['id'] as number,
      filename: row['filename'] as string | null,
    })),
    imports: importIds.map((row) => row['id'] as number),
    migrations: migrationIds.map((row) => row['id'] as number),
    activeTaskIds: tasks.map((row) => row['id'] as number),
  };
}

/**
 * Detaches migrations from their source if it is one of these datasets and they are already being published: they no longer need the
 * source, unless their result is outdated, and their tasks must not be deleted with it.
 */
async function detachPublishingMigrations(db: Database, datasets: Sql): Promise<void> {
  await db.run(sql`UPDATE tasks SET source_object_id = NULL
    WHERE kind = 'migration' AND is_publishing = 1 AND source_object_id IN (${datasets})`);
}

/**
 * Cancels the open migrations whose source is one of these datasets, except those that are being published. Their tasks are deleted with
 * the source; the rows of the migrations stay.
 */
async function cancelMigrationsOf(db: Database, datasets: Sql): Promise<void> {
  const { codec: migration } = jobResources.migration;
  const rows = await db.all(sql`SELECT ${migration.columns} FROM dataset_migrations
    WHERE source_id IN (${datasets}) AND ${isOneOf(sql`status`, activeStatuses)}
    AND id NOT IN (SELECT resource_id FROM tasks WHERE kind = 'migration' AND is_publishing = 1)`);
  const now = Date.now();
  for (const { id, status, timestamps } of rows.map((row) => migration.parse(row))) {
    const change = migration.update(id, {
      status: 'canceled',
      errorMessage: sourceDeletedMessage,
      timestamps: [...timestamps, [status, 'canceled', now]],
      updatedAt: now,
    });
    await db.run(change!);
  }
}
