import { Body, Controller, Query, Req } from '@nestjs/common';
import { accessOf } from '../../engine/catalog/access.js';
import type { CommitRow } from '../../engine/catalog/commits.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { JobFilter } from '../../engine/catalog/jobs.js';
import { Access, Subject, Who } from '../access.js';
import { cancelAsked, cancelJob } from '../canceling.js';
import { JobPresenter } from '../job-present.js';
import { jobFilter } from '../job-query.js';
import { Operation } from '../operation.js';
import { listEnvelope, readPage, type Query as QueryString } from '../page.js';
import { Parts } from '../parts.js';
import type { ApiRequest, Caller } from '../request.js';

/** Commits: what imports have changed (contract 16). */
@Controller()
export class CommitsController {
  constructor(private readonly parts: Parts) {}

  @Operation('commits.list')
  @Access('read')
  list(
    @Query() query: QueryString,
    @Who() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.page(jobFilter(query, caller), query, request);
  }

  @Operation('commits.ofDataset')
  @Access('read', 'dataset')
  ofDataset(
    @Subject() dataset: DatasetRow,
    @Query() query: QueryString,
    @Who() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.page({ access: accessOf(caller), datasetId: dataset.id }, query, request);
  }

  @Operation('commits.get')
  @Access('read', 'commit')
  get(@Subject() row: CommitRow, @Req() request: ApiRequest): Promise<object> {
    return new JobPresenter(this.parts, request).ofCommit(row);
  }

  @Operation('commits.put')
  @Access('write', 'commit', 'read')
  put(
    @Subject() row: CommitRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(row, body, request);
  }

  @Operation('commits.patch')
  @Access('write', 'commit', 'read')
  async patch(
    @Subject() row: CommitRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    if (cancelAsked(body, request)) await cancelJob(this.parts, row);
    return new JobPresenter(this.parts, request).ofCommit(row);
  }

  private async page(filter: JobFilter, query: QueryString, request: ApiRequest): Promise<object> {
    const page = readPage(query);
    const { rows, total } = await this.parts.catalog.commits.list(filter, page);
    const presenter = new JobPresenter(this.parts, request);
    const views = await presenter.each(rows, (row) => presenter.ofCommit(row));
    return listEnvelope(request.origin, request.url, page, total, views);
  }
}
