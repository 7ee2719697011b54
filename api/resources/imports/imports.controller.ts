import { Body, Controller, Query, Req, Res } from '@nestjs/common';
import { accessOf } from '../../../engine/catalog/access.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { ImportPatch, ImportRow } from '../../../engine/catalog/imports.js';
import type { JobFilter } from '../../../engine/catalog/jobs.js';
import { isActive } from '../../../engine/catalog/task-row.js';
import { budgets } from '../../../engine/core/budgets.js';
import { notFound } from '../../../engine/core/errors.js';
import { fileStats, removeFile } from '../../../engine/core/files.js';
import { Access, Resource, CurrentCaller } from '../../http/access.js';
import { isCancelRequest, cancelJob } from '../tasks/cancel-job.js';
import { Form } from '../../http/form.js';
import { createImport } from './create-import.js';
import { JobPresenter } from '../tasks/job-presenter.js';
import { jobFilter } from '../tasks/job-filter.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { importOperations } from '../tasks/jobs.operations.js';
import { listEnvelope, readPage, type Query as QueryString } from '../../http/page.js';
import { AppContext } from '../../http/app-context.js';
import { requireResource } from '../../http/require-resource.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/request.js';
import { importJob } from './import.js';
import { rejectedTarget, isRedirect } from '../downloads/signed-addresses.js';

/** Imports: from a file object or from records of the request (contract 10). */
@Controller()
export class ImportsController {
  constructor(private readonly context: AppContext) {}

  @CreateOperation(importOperations.create, async (context, caller, id, request) =>
    new JobPresenter(context, request).ofImport(
      await requireResource(context.catalog, caller, 'import', id, 'read'),
    ),
  )
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.view(await createImport(this.context, caller, new Form(body)), request);
  }

  @Operation(importOperations.list)
  @Access('read')
  list(
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.page(jobFilter(query, caller), query, request);
  }

  @Operation(importOperations.ofDataset)
  @Access('read', 'dataset')
  ofDataset(
    @Resource() dataset: DatasetRow,
    @Query() query: QueryString,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.page({ access: accessOf(caller), datasetId: dataset.id }, query, request);
  }

  @Operation(importOperations.get)
  @Access('read', 'import')
  get(@Resource() row: ImportRow, @Req() request: ApiRequest): Promise<object> {
    return this.view(row, request);
  }

  @Operation(importOperations.put)
  @Access('write', 'import')
  put(
    @Resource() row: ImportRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.patch(row, body, request);
  }

  @Operation(importOperations.patch)
  @Access('write', 'import')
  async patch(
    @Resource() row: ImportRow,
    @Body() body: unknown,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const isCancel = isCancelRequest(body, request);
    const form = new Form(body);
    // One client sends all of a resource when it saves, with outdated progress in `metadata`, which is therefore ignored.
    const patch = importJob.readUpdate(form) as ImportPatch;
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

  @Operation(importOperations.delete)
  @Access('write', 'import')
  async delete(@Resource() row: ImportRow, @Req() request: ApiRequest): Promise<object> {
    if (isActive(row.status)) await cancelJob(this.context, row);
    const view = await this.view((await this.context.catalog.imports.get(row.id)) ?? row, request);
    await this.context.catalog.imports.delete(row.id);
    await removeFile(this.context.data.inlineRecords(row.id));
    await removeFile(this.context.data.rejectedLines(row.id));
    return view;
  }

  @Operation(importOperations.rejected)
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
