import { Body, Query, Req, Res } from '@nestjs/common';
import type { ExportRow } from '../../../engine/catalog/exports.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { removeFile } from '../../../engine/core/files.js';
import { Access, Resource, CurrentCaller } from '../../http/access-rule.js';
import { cancelJobIfActive } from '../jobs/cancel-job.js';
import { createExport } from './create-export.js';
import { exportView } from './export.js';
import { Form } from '../../http/form.js';
import { jobController } from '../jobs/job.controller.js';
import { JobPresenter } from '../jobs/job-presenter.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { exportOperations } from './exports.operations.js';
import type { QueryParams } from '../../http/page.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import {
  exportFilePath,
  signExportTarget,
  isRedirectRequested,
} from '../downloads/signed-addresses.js';

/** Exports: the records that match a query, as a file (contract 11). */
export class ExportsController extends jobController({
  kind: 'export',
  cancelPermission: 'read',
  operations: exportOperations,
  table: ({ exports }) => exports,
  view: exportView,
}) {
  @CreateOperation(exportOperations.create, async (context, caller, id, request) =>
    exportView(
      new JobPresenter(context, request),
      await requireResource(context.catalog, caller, 'export', id, 'read'),
    ),
  )
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    return this.view(
      await createExport(this.context, caller, new Form(body), request.origin),
      request,
    );
  }

  @Operation(exportOperations.delete)
  @Access('write', 'export')
  async delete(@Resource() row: ExportRow, @Req() request: ApiRequest): Promise<object> {
    await cancelJobIfActive(this.context, row);
    const currentRow = (await this.context.catalog.exports.get(row.id)) ?? row;
    const view = await this.view(currentRow, request);
    await this.context.catalog.exports.delete(row.id);
    if (currentRow.filename !== null)
      await removeFile(exportFilePath(this.context.data, row.id, currentRow.filename));
    return view;
  }

  @Operation(exportOperations.provenance)
  @Access('read', 'export')
  provenance(@Resource() { status, provenance }: ExportRow): object {
    if (status !== 'completed')
      throw new AppError('invalid', `The export is ${status}; only a completed one has a file.`);
    // Exports made by releases that did not record provenance have none.
    if (provenance === null) throw notFoundError();
    return provenance;
  }

  @Operation(exportOperations.download)
  @Access('read', 'export')
  download(
    @Resource() row: ExportRow,
    @Query() query: QueryParams,
    @CurrentCaller() { user }: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): object {
    if (row.status !== 'completed') {
      throw new AppError(
        'invalid',
        `The export is ${row.status}; only a completed one has a file.`,
      );
    }
    const url = request.origin + signExportTarget(this.context.signer, user.id, row);
    if (isRedirectRequested(query)) reply.code(302).header('Location', url);
    return { url, download_url: url };
  }
}
