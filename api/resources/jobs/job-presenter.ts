import { readPermissionOn } from '../../../engine/catalog/access.js';
import type { JobRow } from '../../../engine/catalog/jobs.js';
import type { AppContext } from '../../http/app-context.js';
import type { ApiRequest } from '../../http/api-request.js';
import { callerOf, Presenter } from '../shared/presenter.js';
import type { JobContext } from './job-view.js';

type JobDatasetContext = Pick<JobContext, 'dataset' | 'vaultId'>;

/** Looks up what the answers for jobs show besides their row, each dataset only once. */
export class JobPresenter extends Presenter {
  readonly #datasets = new Map<number, Promise<JobDatasetContext>>();

  constructor(context: AppContext, request: ApiRequest) {
    super(context.catalog, callerOf(request), request.origin);
  }

  /** Returns the data that the views of jobs on datasets show and their rows do not have. */
  async loadJobContext({ datasetId, userId }: JobRow): Promise<JobContext> {
    const jobDatasetContext = await this.loadJobDatasetContext(datasetId);
    return { ...jobDatasetContext, user: await this.loadUser(userId), origin: this.origin };
  }

  /**
   * Returns the views of rows, made one after another: concurrent look-ups would gain nothing, because the catalogue has one connection.
   */
  async presentEach<R>(
    rows: readonly R[],
    view: (row: R) => Promise<object>,
  ): Promise<readonly object[]> {
    const views: object[] = [];
    for (const row of rows) views.push(await view(row));
    return views;
  }

  /** Returns whether the object exists and the caller may read it. */
  async mayRead(objectId: number | null): Promise<boolean> {
    const object = objectId === null ? undefined : await this.tables.objects.get(objectId);
    return (
      object !== undefined &&
      (await readPermissionOn(this.tables, this.caller, object.vaultId)) !== null
    );
  }

  /** Returns the view of a dataset and the id of its vault; both are null if the dataset has been deleted. */
  loadJobDatasetContext(id: number): Promise<JobDatasetContext> {
    const contextPromise = this.#datasets.get(id) ?? this.#readJobDatasetContext(id);
    this.#datasets.set(id, contextPromise);
    return contextPromise;
  }

  async #readJobDatasetContext(id: number): Promise<JobDatasetContext> {
    const row = await this.tables.datasets.get(id);
    const object = row && (await this.tables.objects.get(id));
    if (!row || !object) return { dataset: null, vaultId: null };
    return { dataset: await this.datasetView(row, object), vaultId: object.vaultId };
  }
}
