import type { JobResourceKind, TaskRow } from '../../../engine/catalog/task-row.js';
import { restoreTask, snapshotTask } from '../archives/archive-task.js';
import { commitView } from '../commits/commit.js';
import { exportView } from '../exports/export.js';
import { importView } from '../imports/import.js';
import { JobPresenter } from '../jobs/job-presenter.js';
import { migrationView } from '../migrations/migration.js';
import { objectCopyView } from '../object-copies/object-copy.js';
import { task, taskTypeByKind } from './task.js';

/** Makes the views of tasks, with the jobs that they run. */
export class TaskPresenter extends JobPresenter {
  /** For each kind of job, reads the job of a task and returns its view. */
  readonly #viewReaders: Readonly<Record<JobResourceKind, (id: number) => Promise<object | null>>> =
    {
      import: async (id) =>
        viewOf(await this.tables.imports.get(id), (row) => importView(this, row)),
      export: async (id) =>
        viewOf(await this.tables.exports.get(id), (row) => exportView(this, row)),
      migration: async (id) =>
        viewOf(await this.tables.datasetMigrations.get(id), (row) => migrationView(this, row)),
      commit: async (id) =>
        viewOf(await this.tables.commits.get(id), (row) => commitView(this, row)),
      snapshot: async (id) =>
        viewOf(await this.tables.snapshots.get(id), async (row) =>
          snapshotTask.view(row, await this.loadJobContext(row)),
        ),
      restore: async (id) =>
        viewOf(await this.tables.restores.get(id), async (row) =>
          restoreTask.view(row, await this.loadJobContext(row)),
        ),
      copy: async (id) =>
        viewOf(await this.tables.objectCopies.get(id), (row) => objectCopyView(this, row)),
    };

  /** Returns the view of a task; if `isComplete`, with the job that it runs. */
  async taskView(row: TaskRow, isComplete = false): Promise<object> {
    const { targetObjectId, sourceObjectId } = row;
    // A user may be allowed to read the target of a migration but not its source.
    const isHidden = targetObjectId !== null && !(await this.mayRead(sourceObjectId));
    const sourceId = isHidden ? null : sourceObjectId;
    return task.view(row, {
      targetObject: await this.objectSummaryView(row.targetObjectId),
      targetVault: await this.vaultSummaryView(row.targetObjectId),
      sourceObject: await this.objectSummaryView(sourceId),
      sourceVault: await this.vaultSummaryView(sourceId),
      user: await this.loadUser(row.userId),
      origin: this.origin,
      offersRollback: await this.#offersRollback(row),
      ...(isComplete && { taskObject: await this.#jobView(row) }),
    });
  }

  /**
   * Returns the view of the job that a task runs, null if it has been deleted; for a standalone task, its parameters, error and result.
   */
  async #jobView({
    kind,
    resourceId,
    params,
    errorMessage,
    result,
  }: TaskRow): Promise<object | null> {
    if (taskTypeByKind.get(kind)?.standalone) {
      return { class_name: 'BackgroundTask', params, error_message: errorMessage, result };
    }
    return this.#viewReaders[kind as JobResourceKind](resourceId);
  }

  /** Returns whether a task is that of a completed commit that is no rollback and was not rolled back. */
  async #offersRollback({ kind, status, resourceId }: TaskRow): Promise<boolean> {
    if (kind !== 'commit' || status !== 'completed') return false;
    const { commits } = this.tables;
    const row = await commits.get(resourceId);
    if (row === undefined || row.mode === 'rollback') return false;
    return (await commits.rollbackOf(row.id)) === undefined;
  }
}

async function viewOf<R>(
  row: R | undefined,
  view: (row: R) => Promise<object>,
): Promise<object | null> {
  return row === undefined ? null : view(row);
}
