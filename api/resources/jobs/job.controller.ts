import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { viewerOf, type AccessRows } from '../../../engine/catalog/access.js';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { JobFilter } from '../../../engine/catalog/jobs.js';
import type { ListedRows } from '../../../engine/catalog/list-page.js';
import type { Permission } from '../../../engine/catalog/permission.js';
import type { JobResourceKind } from '../../../engine/catalog/task-row.js';
import { notFoundError } from '../../../engine/core/errors.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Form } from '../../http/form.js';
import { choiceParams, paramIds, omitUndefined } from '../../http/list-query.js';
import { Operation } from '../../http/operation.js';
import type { OperationRow } from '../../http/operation-row.js';
import type { Page } from '../../../engine/catalog/list-page.js';
import { answerList, type QueryParams } from '../../http/page.js';
import { reportIgnoredKeys } from '../../http/known-keys.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/api-request.js';
import { refuseChange } from '../shared/unchangeable.js';
import { requireResource } from '../../http/require-resource.js';
import { waitAsPreferred } from './preferred-wait.js';
import { cancelJob, isCancelRequest } from './cancel-job.js';
import { JobPresenter } from './job-presenter.js';
import { taskStatuses } from './job-view.js';
import type { JobAction } from './job.operations.js';

/** The kinds of job that belong to a dataset; its permissions decide who may access the job. */
type DatasetJobKind = Exclude<JobResourceKind, 'copy'>;

/** How the jobs of a kind are listed and shown. */
interface JobListDescription<K extends DatasetJobKind> {
  readonly kind: K;
  readonly operations: Readonly<Record<'list' | 'get', OperationRow>>;
  table(tables: Tables): {
    get(id: number): Promise<AccessRows[K] | undefined>;
    list(filter: JobFilter, page: Page): Promise<ListedRows<AccessRows[K]>>;
  };
  view(presenter: JobPresenter, row: AccessRows[K]): Promise<object>;
}

/** What distinguishes the controller of one kind of job from another. */
interface JobControllerDescription<K extends DatasetJobKind> extends JobListDescription<K> {
  /** The permission that PUT and PATCH need, by which a job is canceled or changed; write when absent. */
  readonly cancelPermission?: Permission;
  readonly operations: Readonly<Record<JobAction, OperationRow> & { create?: OperationRow }>;
  /** Describes how a request may change a job, besides canceling it. `read` notes mistakes in the form. */
  readonly update?: {
    /** Returns the keys of the request that are accepted without effect: clients send a resource back with them unchanged. */
    ignored(form: Form): readonly string[];
    read(form: Form): object;
    write(tables: Tables, id: number, patch: object): Promise<AccessRows[K] | undefined>;
  };
}

/** The base class of job controllers; the handlers of a subclass use its `context`. */
type JobControllerClass<Row> = new (context: AppContext) => {
  readonly context: AppContext;
  view(row: Row, request: ApiRequest): Promise<object>;
  page(filter: JobFilter, query: QueryParams, request: ApiRequest): Promise<object>;
};

/** Returns the base class for the controller of a kind of job that clients only read: the list of all readable jobs, and get. */
export function jobListController<K extends DatasetJobKind>(
  job: JobListDescription<K>,
): JobControllerClass<AccessRows[K]> {
  type Row = AccessRows[K];

  @Controller()
  class JobListController {
    constructor(readonly context: AppContext) {}

    @Operation(job.operations.list)
    @Access('read')
    list(
      @Query() query: QueryParams,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
    ): Promise<object> {
      return this.page(jobFilter(query, caller), query, request);
    }

    @Operation(job.operations.get)
    @Access('read', job.kind)
    async get(
      @Resource() row: Row,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
      @Res({ passthrough: true }) reply: ApiReply,
    ): Promise<object> {
      const { taskId, id } = row;
      const hasWaited =
        taskId !== null && (await waitAsPreferred(this.context, taskId, request, reply));
      // The caller's permissions may have changed while the request waited for the end of the task.
      const currentRow = hasWaited
        ? await requireResource(this.context.catalog, caller, job.kind, id, 'read')
        : row;
      return this.view(currentRow, request);
    }

    view(row: Row, request: ApiRequest): Promise<object> {
      return job.view(new JobPresenter(this.context, request), row);
    }

    page(filter: JobFilter, query: QueryParams, request: ApiRequest): Promise<object> {
      const presenter = new JobPresenter(this.context, request);
      return answerList<Row>(request, query, {
        rows: (page) => job.table(this.context.catalog).list(filter, page),
        views: (rows) => presenter.presentEach(rows, (row) => job.view(presenter, row)),
      });
    }
  }
  return JobListController;
}

/** Returns the base class for the controller of a kind of job: two lists, get, and changes and cancellation by PUT and PATCH. */
export function jobController<K extends DatasetJobKind>(
  job: JobControllerDescription<K>,
): JobControllerClass<AccessRows[K]> {
  type Row = AccessRows[K];
  const { kind, operations, cancelPermission } = job;
  const changeableKeys = bodyKeysOf(operations.patch);
  const fixedKeys = bodyKeysOf(operations.create).filter((key) => !changeableKeys.includes(key));

  @Controller()
  class JobController extends jobListController<K>(job) {
    @Operation(operations.ofDataset)
    @Access('read', 'dataset')
    ofDataset(
      @Resource() dataset: DatasetRow,
      @Query() query: QueryParams,
      @CurrentCaller() caller: Caller,
      @Req() request: ApiRequest,
    ): Promise<object> {
      const filter = { ...jobFilter(query, caller), datasetIds: [dataset.id] };
      return this.page(filter, query, request);
    }

    @Operation(operations.put)
    @Access('write', kind, cancelPermission)
    put(
      @Resource() row: Row,
      @Body() body: unknown,
      @Req() request: ApiRequest,
      @Res({ passthrough: true }) reply: ApiReply,
    ): Promise<object> {
      return this.patch(row, body, request, reply);
    }

    @Operation(operations.patch)
    @Access('write', kind, cancelPermission)
    async patch(
      @Resource() row: Row,
      @Body() body: unknown,
      @Req() request: ApiRequest,
      @Res({ passthrough: true }) reply: ApiReply,
    ): Promise<object> {
      const isCancel = isCancelRequest(body, request);
      const form = new Form(body);
      const patch = job.update?.read(form) ?? {};
      await this.#refuseChanges(form, row, request);
      form.throwIfInvalid();
      reportIgnoredKeys(this.context, request, reply, job.update?.ignored(form) ?? []);
      if (isCancel) await cancelJob(this.context, row);
      const { catalog } = this.context;
      const changedRow =
        job.update && Object.keys(patch).length > 0
          ? await job.update.write(catalog, row.id, patch)
          : await job.table(catalog).get(row.id);
      if (!changedRow) throw notFoundError(); // the job was deleted meanwhile
      return this.view(changedRow, request);
    }

    /** Notes a mistake for every key that cannot change after the job is created and to which the request gives another value. */
    async #refuseChanges(form: Form, row: Row, request: ApiRequest): Promise<void> {
      const givenFixedKeys = fixedKeys.filter((key) => form.raw(key) !== undefined);
      if (givenFixedKeys.length === 0) return;
      const shownJob = (await this.view(row, request)) as Readonly<Record<string, unknown>>;
      for (const key of givenFixedKeys)
        refuseChange(
          form,
          key,
          shownJob[key],
          `The ${key} of ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind} cannot be changed.`,
        );
    }
  }
  return JobController;
}

/** Returns the keys that the body of an operation may have. */
function bodyKeysOf(operation: OperationRow | undefined): readonly string[] {
  const body = operation?.body;
  return body !== undefined && 'schema' in body ? Object.keys(body.schema['properties'] as object) : []; // prettier-ignore
}

/** Reads the filter of a list of a kind of job. */
function jobFilter(query: QueryParams, caller: Caller): JobFilter {
  return {
    viewer: viewerOf(caller),
    ...omitUndefined<JobFilter>({
      ids: paramIds(query, 'id'),
      datasetIds: paramIds(query, 'dataset_id'),
      vaultIds: paramIds(query, 'vault_id'),
      statuses: choiceParams(query, 'status', taskStatuses),
      userIds: paramIds(query, 'user_id') ?? paramIds(query, 'user'),
    }),
  };
}
