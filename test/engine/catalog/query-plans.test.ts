import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCatalog } from '../../../engine/catalog/catalog.js';
import { commitTable } from '../../../engine/catalog/commits.js';
import { SqliteDatabase, type Database } from '../../../engine/catalog/database.js';
import { datasetMigrationTable } from '../../../engine/catalog/dataset-migrations.js';
import { exportTable } from '../../../engine/catalog/exports.js';
import { importTable } from '../../../engine/catalog/imports.js';
import type { Viewer } from '../../../engine/catalog/permission.js';
import { joinSql, sql, type Sql } from '../../../engine/catalog/sql.js';
import { activeStatuses } from '../../../engine/catalog/task-row.js';
import { requireQueueCapacity } from '../../../engine/catalog/task-status.js';
import type { RawRow } from '../../../engine/catalog/table-codec.js';
import { taskTable } from '../../../engine/catalog/tasks.js';
import { CatalogFixture } from './catalog-fixture.js';

/*
 * The statements that run when clients poll, and at each change, must not read all tasks, jobs and commits that there ever were. The query
 * plans of SQLite show whether they do, without a large catalogue.
 */
let folder: string;
let db: SqliteDatabase;
let viewer: Viewer;
let accountId: number;
let datasetId: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strandlake-plans-'));
  const file = join(folder, 'catalog.sqlite');
  const catalogFixture = new CatalogFixture(await openCatalog(file));
  const ann = await catalogFixture.createUserOf('ann@example.org');
  viewer = await catalogFixture.readViewer(ann.user.id);
  accountId = ann.user.accountId;
  datasetId = await catalogFixture.createDataset(ann);
  await catalogFixture.queueImport(ann, datasetId);
  await catalogFixture.catalog.close();
  db = new SqliteDatabase(file);
});
afterAll(async () => {
  await db.close();
  await rm(folder, { recursive: true });
});

/** Runs statements on a database, and adds the steps of their plans to a list. */
class ExplainingDatabase implements Database {
  constructor(
    readonly target: Database,
    readonly steps: string[],
  ) {}
  async #explain(statement: Sql): Promise<Sql> {
    const rows = await this.target.all(joinSql([sql`EXPLAIN QUERY PLAN `, statement], sql``));
    this.steps.push(...rows.map((row) => row['detail'] as string));
    return statement;
  }
  async all(statement: Sql): Promise<readonly RawRow[]> {
    return this.target.all(await this.#explain(statement));
  }
  async get(statement: Sql): Promise<RawRow | undefined> {
    return this.target.get(await this.#explain(statement));
  }
  async run(statement: Sql): Promise<number> {
    return this.target.run(await this.#explain(statement));
  }
  atomic<T>(work: (db: Database) => Promise<T>): Promise<T> {
    return this.target.atomic((tx) => work(new ExplainingDatabase(tx, this.steps)));
  }
}

const page = { limit: 20, offset: 0 };
const statuses = activeStatuses;
/** The indexes of active tasks by the objects that they change and read. */
const activeOnObject = ['tasks_active_target_object', 'tasks_active_source_object'];
/** The unique indexes of ids. */
const primaryKeyIndexes = ['tasks', 'commits', 'imports'].map(
  (table) => `sqlite_autoindex_${table}_1`,
);
/** The indexes by which SQLite finds the rows that refer to a task that is deleted. */
const foreignKeyIndexes = ['tasks_parent', ...['commits', 'imports', 'exports', 'dataset_migrations'].map((table) => `${table}_task`)]; // prettier-ignore
/** The text of a plan's step that sorts rows. A case that lists it among its indexes may sort the few rows that it finds. */
const sorting = 'FOR ORDER BY';
const backgroundTask = { kind: 'merge', description: '', priority: 80, params: {}, isStarted: false, sourceObjectId: null }; // prettier-ignore

test.each<readonly [string, (db: Database) => Promise<unknown>, ...string[]]>([
  ['the capacity of a queue', (db) => requireQueueCapacity(db, accountId)],
  ['the counts of tasks', (db) => taskTable(db).counts()],
  ['the next task', (db) => taskTable(db).claim({ idleKinds: ['import'] }), 'tasks_queue', ...activeOnObject],
  ['the active task of a kind', (db) => taskTable(db).openTask('snapshot', datasetId), ...activeOnObject],
  ['the running tasks on an object', (db) => taskTable(db).runningOn(datasetId), 'tasks_queue'],
  ['a new background task', (db) => taskTable(db).addStandalone({ ...backgroundTask, targetObjectId: datasetId }), ...activeOnObject],
  ['the active tasks', (db) => taskTable(db).list({ viewer, statuses }, page), 'tasks_active_account'],
  ['the active tasks of a target', (db) => taskTable(db).list({ viewer, statuses, targetObjectIds: [datasetId] }, page), 'tasks_active_target_object'],
  ['the active tasks of a source', (db) => taskTable(db).list({ viewer, statuses, sourceObjectIds: [datasetId] }, page), 'tasks_active_source_object'],
  ['the active imports of a target', (db) => taskTable(db).list({ viewer, statuses, kinds: ['import', 'commit'], targetObjectIds: [datasetId] }, page), 'tasks_active_target_object'],
  ['all tasks', (db) => taskTable(db).list({ viewer }, page), 'tasks_account'],
  ['all tasks of a target', (db) => taskTable(db).list({ viewer, targetObjectIds: [datasetId] }, page), 'tasks_target'],
  ['all tasks of a source', (db) => taskTable(db).list({ viewer, sourceObjectIds: [datasetId] }, page), 'tasks_source'],
  ['the children of a task', (db) => taskTable(db).list({ viewer, parentIds: [5] }, page), 'tasks_parent'],
  ['the commits of a dataset', (db) => commitTable(db).list({ viewer, datasetIds: [datasetId] }, page), 'sqlite_autoindex_commits_2'],
  ['the completed commits of a dataset', (db) => commitTable(db).list({ viewer, datasetIds: [datasetId], statuses: ['completed'] }, page), 'sqlite_autoindex_commits_2'],
  ['the last commit at a time', (db) => commitTable(db).lastAt(datasetId, 7), 'sqlite_autoindex_commits_2', 'deleted_commits_version'],
  ['the last commit before a version', (db) => commitTable(db).lastBefore(datasetId, 7), 'sqlite_autoindex_commits_2', 'deleted_commits_version'],
  ['the failed imports', (db) => importTable(db).list({ viewer, statuses: ['failed'] }, page), 'imports_status'],
  ['the active imports', (db) => importTable(db).list({ viewer, statuses }, page), 'imports_status', sorting],
  ['the failed imports of a dataset', (db) => importTable(db).list({ viewer, datasetIds: [datasetId], statuses: ['failed'] }, page), 'imports_dataset_status'],
  ['the active imports of a dataset', (db) => importTable(db).list({ viewer, datasetIds: [datasetId], statuses }, page), 'imports_dataset_status', sorting],
  ['the failed exports', (db) => exportTable(db).list({ viewer, statuses: ['failed'] }, page), 'exports_status'],
  ['the active exports of a dataset', (db) => exportTable(db).list({ viewer, datasetIds: [datasetId], statuses }, page), 'exports_dataset_status', sorting],
  ['the failed migrations', (db) => datasetMigrationTable(db).list({ viewer, statuses: ['failed'] }, page), 'dataset_migrations_status'],
  ['the active migrations of a source', (db) => datasetMigrationTable(db).list({ viewer, datasetIds: [datasetId], statuses }, page), 'dataset_migrations_dataset_status', sorting],
  ['the imports of a dataset that have ended', (db) => importTable(db).list({ viewer, datasetIds: [datasetId], statuses: ['completed', 'failed'] }, page), 'imports_dataset', 'imports_dataset_status'],
  ['whether records were added after a version', (db) => commitTable(db).hasAddedAfter(datasetId, 7), 'sqlite_autoindex_commits_2', 'deleted_commits_version'],
  ['the next task beside an exclusive one', (db) => taskTable(db).claim({ exclusiveIds: [5] }), 'tasks_queue', ...activeOnObject],
])('reads no more tasks, jobs and commits than needed for %s', async (_, run, ...indexes) => {
  const steps: string[] = [];
  await run(new ExplainingDatabase(db, steps));
  expect(steps.length).toBeGreaterThan(0);
  if (!indexes.includes(sorting))
    expect(steps.filter((step) => step.includes(sorting))).toEqual([]);
  const allowedIndexes = [...indexes, ...primaryKeyIndexes, ...foreignKeyIndexes];
  const readingSteps = steps.filter((step) => /^(SCAN|SEARCH) (tasks|other|running|imports|exports|dataset_migrations|commits|deleted_commits|commit_versions)\b/.test(step));
  expect(readingSteps.filter((step) => !allowedIndexes.includes(/^SEARCH .* INDEX (\w+)/.exec(step)?.[1] ?? ''))).toEqual([]);
}); // prettier-ignore

test('looks up the rollbacks of the commits after a version only, not all rollbacks of the dataset', async () => {
  const steps: string[] = [];
  await commitTable(new ExplainingDatabase(db, steps)).changesAfter(datasetId, 7);
  const searches = steps.filter((step) => /\b(commits|deleted_commits)\b/.test(step));
  const [versionSearches, rollbackSearches] = ['log_version>?', 'parent_job_id=?'].map((terms) =>
    searches.filter((step) => step.includes(terms)),
  );
  expect([versionSearches!.length > 0, rollbackSearches!.length > 0]).toEqual([true, true]);
  expect(searches.length).toBe(versionSearches!.length + rollbackSearches!.length);
});
