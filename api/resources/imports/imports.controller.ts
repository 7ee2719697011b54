import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { ImportRow } from '../../../engine/catalog/imports.js';
import type { JobFilter } from '../../../engine/catalog/jobs.js';
import { budgets } from '../../../engine/core/budgets.js';
import { notFound } from '../../../engine/core/errors.js';
import { fileStats, removeFile } from '../../../engine/core/files.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { cancelAsked, cancelJob } from '../tasks/cancel-job.js';
import { Form } from '../../http/form.js';
import { createImport } from './create-import.js';
import { JobPresenter } from '../tasks/job-presenter.js';
import { isUnderWay, jobFilter } from '../tasks/job-filter.js';
import { Operation } from '../../http/operation.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { isRedirect } from '../downloads/redirect.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/request.js';
import { omitUndefined } from '../shape.js';
import { rejectedTarget } from '../downloads/signed-addresses.js';

/** Imports: from a file object or from records of the request (contract 10). */
@Controller()
export class ImportsController {
  constructor(private readonly context: AppContext) {}

  @Operation('imports.create')
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.view(await createImport(this.context, caller, new Form(body)), request);
  }

  @Operation('imports.list')
  @Access('read')
  list(
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.page(jobFilter(query, caller), query, request);
  }

  @Operation('imports.ofDataset')
  @Access('read', 'dataset')
  ofDataset(
    @Resource() dataset: DatasetRow,
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.page({ access: accessOf(caller), datasetId: dataset.id }, query, request);
  }

  @Operation('imports.get')
  @Access('read', 'import')
  get(@Resource() row: ImportRow, @Req() request: ApiRequest): Promise<object> {
    return this.view(row, request);
  }

  @Operation('imports.put')
  @Access('write', 'import')
  put(
    @Resource() row: ImportRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(row, body, request);
  }

  @Operation('imports.patch')
  @Access('write', 'import')
  async patch(
    @Resource() row: ImportRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const isCancel = cancelAsked(body, request);
    const form = new Form(body);
    // `metadata` comes along with every save of one client, stale progress and all: it stays ours.
    const patch = omitUndefined<Pick<ImportRow, 'description' | 'tags'>>({
      description: form.nullableText('description'),
      tags: form.textList('tags'),
    });
    form.done();
    if (isCancel) await cancelJob(this.context, row);
    const { imports } = this.context.catalog;
    const changed =
      Object.keys(patch).length > 0
        ? await imports.update(row.id, patch)
        : await imports.get(row.id);
    if (!changed) throw notFound();
    return this.view(changed, request);
  }

  @Operation('imports.delete')
  @Access('write', 'import')
  async delete(@Resource() row: ImportRow, @Req() request: ApiRequest): Promise<object> {
    if (isUnderWay(row)) await cancelJob(this.context, row);
    const view = await this.view((await this.context.catalog.imports.get(row.id)) ?? row, request);
    await this.context.catalog.imports.delete(row.id);
    await removeFile(this.context.data.inlineRecords(row.id));
    await removeFile(this.context.data.rejectedLines(row.id));
    return view;
  }

  @Operation('imports.rejected')
  @Access('read', 'import')
  async rejected(
    @Resource() row: ImportRow,
    @Query() query: QueryString,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const { data, signer } = this.context;
    if (!(await fileStats(data.rejectedLines(row.id)))) throw notFound();
    const expiresAt = Date.now() + budgets.exportUrlMs;
    const url = request.origin + rejectedTarget(signer, row, expiresAt);
    if (isRedirect(query)) reply.code(302).header('Location', url);
    return { url, download_url: url };
  }

  private view(row: ImportRow, request: ApiRequest): Promise<object> {
    return new JobPresenter(this.context, request).ofImport(row);
  }

  private async page(filter: JobFilter, query: QueryString, request: ApiRequest): Promise<object> {
    const page = readPage(query);
    const { rows, total } = await this.context.catalog.imports.list(filter, page);
    const presenter = new JobPresenter(this.context, request);
    const views = await presenter.each(rows, (row) => presenter.ofImport(row));
    return listEnvelope(request.origin, request.url, page, total, views);
  }
}
