import { readPermissionOn } from '../../../engine/catalog/access.js';
import type { ArchiveRow } from '../../../engine/catalog/archives.js';
import type { CommitRow } from '../../../engine/catalog/commits.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { DatasetMigrationRow } from '../../../engine/catalog/dataset-migrations.js';
import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { JobRow } from '../../../engine/catalog/jobs.js';
import type { ObjectCopyRow } from '../../../engine/catalog/object-copies.js';
import type { JobResourceKind, TaskRow } from '../../../engine/catalog/task-row.js';
import type { AppContext } from '../../http/app-context.js';
import type { ApiRequest } from '../../http/api-request.js';
import { restoreTask, snapshotTask } from '../archives/archive-task.js';
import { commit } from '../commits/commit.js';
import { exportResource } from '../exports/export.js';
import { importResource } from '../imports/import.js';
import { migrationResource } from '../migrations/migration.js';
import { objectCopy } from '../object-copies/object-copy.js';
import { presenterFor, type Presenter } from '../presenter.js';
import type { JobContext } from './job-view.js';
import { task, taskTypeByKind } from './task.js';

type JobDatasetContext = Pick<JobContext, 'dataset' | 'vaultId'>;

/** Looks up what the answers for jobs and tasks show besides their row. There is one per request. */
export class JobPresenter {
  readonly #datasets = new Map<number, Promise<JobDatasetContext>>();
  readonly #presenter: Presenter;
  /** For each kind of job, reads the job of a task and returns its view. */
  readonly #views: Readonly<Record<JobResourceKind, (id: number) => Promise<object | null>>> = {
    import: async (id) =>
      this.#view(await this.#presenter.tables.imports.get(id), (row) => this.importView(row)),
    export: async (id) =>
      this.#view(await this.#presenter.tables.exports.get(id), (row) => this.exportView(row)),
    migration: async (id) =>
      this.#view(await this.#presenter.tables.datasetMigrations.get(id), (row) =>
        this.migrationView(row),
      ),
    commit: async (id) =>
      this.#view(await this.#presenter.tables.commits.get(id), (row) => this.commitView(row)),
    snapshot: async (id) =>
      this.#view(await this.#presenter.tables.snapshots.get(id), (row) => this.snapshotView(row)),
    restore: async (id) =>
      this.#view(await this.#presenter.tables.restores.get(id), (row) => this.restoreView(row)),
    copy: async (id) =>
      this.#view(await this.#presenter.tables.objectCopies.get(id), (row) => this.copyView(row)),
  };

  constructor(context: AppContext, request: ApiRequest) {
    this.#presenter = presenterFor(context, request);
  }

  async importView(row: ImportRow): Promise<object> {
    const commits = await this.#presenter.tables.commits.ofImport(row.id);
    return importResource.view(row, {
      ...(await this.#context(row)),
      commits: await this.presentEach(commits, (one) => this.commitView(one)),
      sourceObject: await this.#presenter.objectSummaryView(row.objectId),
    });
  }

  async exportView(row: ExportRow): Promise<object> {
    return exportResource.view(row, await this.#context(row));
  }

  async migrationView(row: DatasetMigrationRow): Promise<object> {
    const commits = await this.#presenter.tables.commits.ofMigration(row.id);
    const { dataset: source } = await this.#datasetOnce(row.sourceId);
    return migrationResource.view(row, {
      ...(await this.#context(row)),
      commits: await this.presentEach(commits, (one) => this.commitView(one)),
      source: (await this.#mayRead(row.sourceId)) ? source : null,
    });
  }

  async commitView(row: CommitRow): Promise<object> {
    const { commits } = this.#presenter.tables;
    const reverted = row.mode === 'rollback' ? await commits.get(row.parentJobId) : undefined;
    const rollbackId = (await commits.rollbackOf(row.id))?.id;
    const rollback = rollbackId === undefined ? undefined : await commits.get(rollbackId);
    return commit.view(row, { ...(await this.#context(row)), reverted, rollbackId, rollback });
  }

  async snapshotView(row: ArchiveRow): Promise<object> {
    return snapshotTask.view(row, await this.#context(row));
  }

  async restoreView(row: ArchiveRow): Promise<object> {
    return restoreTask.view(row, await this.#context(row));
  }

  async copyView(row: ObjectCopyRow): Promise<object> {
    const user = await this.#presenter.user(row.userId);
    return objectCopy.view(row, { user, origin: this.#presenter.origin });
  }

  /** Returns the view of a task; if `isComplete`, with the job that it runs. */
  async taskView(row: TaskRow, isComplete = false): Promise<object> {
    const { targetObjectId, sourceObjectId } = row;
    // A user may be allowed to read the target of a migration but not its source.
    const isHidden = targetObjectId !== null && !(await this.#mayRead(sourceObjectId));
    const sourceId = isHidden ? null : sourceObjectId;
    return task.view(row, {
      targetObject: await this.#presenter.objectSummaryView(row.targetObjectId),
      targetVault: await this.#presenter.vaultSummaryView(row.targetObjectId),
      sourceObject: await this.#presenter.objectSummaryView(sourceId),
      sourceVault: await this.#presenter.vaultSummaryView(sourceId),
      user: await this.#presenter.user(row.userId),
      origin: this.#presenter.origin,
      offersRollback: await this.#offersRollback(row),
      ...(isComplete && { taskObject: await this.#job(row) }),
    });
  }

  /**
   * Returns the views of rows, made one after another: concurrent requests would gain nothing, because the catalogue has one connection.
   */
  async presentEach<R>(
    rows: readonly R[],
    view: (row: R) => Promise<object>,
  ): Promise<readonly object[]> {
    const views: object[] = [];
    for (const row of rows) views.push(await view(row));
    return views;
  }

  /**
   * Returns the view of the job that a task runs, null if it has been deleted; for a task without a job, its parameters, error and result.
   */
  async #job({ kind, resourceId, params, errorMessage, result }: TaskRow): Promise<object | null> {
    if (taskTypeByKind.get(kind)?.background) {
      return { class_name: 'BackgroundTask', params, error_message: errorMessage, result };
    }
    return this.#views[kind as JobResourceKind](resourceId);
  }

  /** Returns whether a task is that of a completed commit that is no rollback and was not rolled back. */
  async #offersRollback({ kind, status, resourceId }: TaskRow): Promise<boolean> {
    if (kind !== 'commit' || status !== 'completed') return false;
    const { commits } = this.#presenter.tables;
    const row = await commits.get(resourceId);
    if (row === undefined || row.mode === 'rollback') return false;
    return (await commits.rollbackOf(row.id)) === undefined;
  }

  async #view<R>(row: R | undefined, view: (row: R) => Promise<object>): Promise<object | null> {
    return row === undefined ? null : view(row);
  }

  async #context(row: JobRow): Promise<JobContext> {
    const found = await this.#datasetOnce(row.datasetId);
    const user = await this.#presenter.user(row.userId);
    return { ...found, user, origin: this.#presenter.origin };
  }

  /** Returns whether the object exists and the caller may read it. */
  async #mayRead(objectId: number | null): Promise<boolean> {
    const { tables, caller } = this.#presenter;
    const object = objectId === null ? undefined : await tables.objects.get(objectId);
    return (
      object !== undefined && (await readPermissionOn(tables, caller, object.vaultId)) !== null
    );
  }

  #datasetOnce(id: number): Promise<JobDatasetContext> {
    const found = this.#datasets.get(id) ?? this.#dataset(id);
    this.#datasets.set(id, found);
    return found;
  }

  async #dataset(id: number): Promise<JobDatasetContext> {
    const { tables } = this.#presenter;
    const row = await tables.datasets.get(id);
    const object = row && (await tables.objects.get(id));
    if (!row || !object) return { dataset: null, vaultId: null };
    return { dataset: await this.#presenter.datasetView(row, object), vaultId: object.vaultId };
  }
}
