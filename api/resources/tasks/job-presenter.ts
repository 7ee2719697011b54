import type { CommitRow } from '../../../engine/catalog/commits.js';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { JobRow } from '../../../engine/catalog/jobs.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { commitView, exportView, importView, taskView, type JobParts } from './job-views.js';
import type { AppContext } from '../../http/app-context.js';
import { presenterFor, type Presenter } from '../presenter.js';
import type { ApiRequest } from '../../http/request.js';

/** Looks up what the views of jobs and tasks show besides their row; one per request. */
export class JobPresenter {
  readonly #datasets = new Map<number, Promise<Pick<JobParts, 'dataset' | 'vaultId'>>>();
  readonly #presenter: Presenter;

  constructor(context: AppContext, request: ApiRequest) {
    this.#presenter = presenterFor(context, request);
  }

  async ofImport(row: ImportRow): Promise<object> {
    const { tables, origin } = this.#presenter;
    const commits = await tables.commits.ofImport(row.id);
    const parts = {
      ...(await this.#parts(row)),
      commits: await this.each(commits, (commit) => this.ofCommit(commit)),
      sourceObject: await this.#presenter.shortObject(row.objectId),
    };
    return importView(row, parts, origin);
  }

  async ofExport(row: ExportRow): Promise<object> {
    return exportView(row, await this.#parts(row), this.#presenter.origin);
  }

  async ofCommit(row: CommitRow): Promise<object> {
    return commitView(row, await this.#parts(row), this.#presenter.origin);
  }

  /** A task; with the resource that it runs where `isWhole`. */
  async ofTask(row: TaskRow, isWhole = false): Promise<object> {
    const parts = {
      targetObject: await this.#presenter.shortObject(row.targetObjectId),
      targetVault: await this.#presenter.shortVaultOf(row.targetObjectId),
      sourceObject: await this.#presenter.shortObject(row.sourceObjectId),
      sourceVault: await this.#presenter.shortVaultOf(row.sourceObjectId),
      user: await this.#presenter.user(row.userId),
    };
    const { origin } = this.#presenter;
    return taskView(row, parts, origin, isWhole ? await this.#resource(row) : undefined);
  }

  /** One after another: the catalogue has one connection, so nothing is gained by asking at once. */
  async each<R>(rows: readonly R[], view: (row: R) => Promise<object>): Promise<readonly object[]> {
    const views: object[] = [];
    for (const row of rows) views.push(await view(row));
    return views;
  }

  async #resource({ kind, resourceId }: TaskRow): Promise<object | null> {
    const { tables } = this.#presenter;
    if (kind === 'import') {
      const row = await tables.imports.get(resourceId);
      return row ? this.ofImport(row) : null;
    }
    if (kind === 'export') {
      const row = await tables.exports.get(resourceId);
      return row ? this.ofExport(row) : null;
    }
    const row = await tables.commits.get(resourceId);
    return row ? this.ofCommit(row) : null;
  }

  async #parts(row: JobRow): Promise<JobParts> {
    const found = this.#datasets.get(row.datasetId) ?? this.#dataset(row.datasetId);
    this.#datasets.set(row.datasetId, found);
    return { ...(await found), user: await this.#presenter.user(row.userId) };
  }

  async #dataset(id: number): Promise<Pick<JobParts, 'dataset' | 'vaultId'>> {
    const { tables } = this.#presenter;
    const row = await tables.datasets.get(id);
    const object = row && (await tables.objects.get(id));
    if (!row || !object) return { dataset: null, vaultId: null };
    return { dataset: await this.#presenter.dataset(row, object), vaultId: object.vaultId };
  }
}
