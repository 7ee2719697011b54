import { Body, Controller, Query, Req } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { CommitRow } from '../../../engine/catalog/commits.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { JobFilter } from '../../../engine/catalog/jobs.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { isCancelRequest, cancelJob } from '../tasks/cancel-job.js';
import { JobPresenter } from '../tasks/job-presenter.js';
import { jobFilter } from '../tasks/job-filter.js';
import { Operation } from '../../http/operation.js';
import { commitOperations } from '../tasks/jobs.operations.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import type { ApiRequest, Caller } from '../../http/request.js';

/** Commits: what imports have changed (contract 16). */
@Controller()
export class CommitsController {
  constructor(private readonly context: AppContext) {}

  @Operation(commitOperations.list)
  @Access('read')
  list(
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.page(jobFilter(query, caller), query, request);
  }

  @Operation(commitOperations.ofDataset)
  @Access('read', 'dataset')
  ofDataset(
    @Resource() dataset: DatasetRow,
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.page({ access: accessOf(caller), datasetId: dataset.id }, query, request);
  }

  @Operation(commitOperations.get)
  @Access('read', 'commit')
  get(@Resource() row: CommitRow, @Req() request: ApiRequest): Promise<object> {
    return new JobPresenter(this.context, request).ofCommit(row);
  }

  @Operation(commitOperations.put)
  @Access('write', 'commit', 'read')
  put(
    @Resource() row: CommitRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(row, body, request);
  }

  @Operation(commitOperations.patch)
  @Access('write', 'commit', 'read')
  async patch(
    @Resource() row: CommitRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    if (isCancelRequest(body, request)) await cancelJob(this.context, row);
    return new JobPresenter(this.context, request).ofCommit(row);
  }

  private async page(filter: JobFilter, query: QueryString, request: ApiRequest): Promise<object> {
    const page = readPage(query);
    const { rows, total } = await this.context.catalog.commits.list(filter, page);
    const presenter = new JobPresenter(this.context, request);
    const views = await presenter.each(rows, (row) => presenter.ofCommit(row));
    return listEnvelope(request.origin, request.url, page, total, views);
  }
}
