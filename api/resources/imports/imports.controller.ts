import { Body, Query, Req, Res } from '@nestjs/common';
import type { ImportPatch, ImportRow } from '../../../engine/catalog/imports.js';
import { removeFile } from '../../../engine/core/files.js';
import { Access, Resource, CurrentCaller } from '../../http/access-rule.js';
import { cancelJobIfActive } from '../jobs/cancel-job.js';
import { Form } from '../../http/form.js';
import { createImport } from './create-import.js';
import { jobController } from '../jobs/job.controller.js';
import { JobPresenter } from '../jobs/job-presenter.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { importOperations } from './imports.operations.js';
import type { QueryParams } from '../../http/page.js';
import { requireResource } from '../../http/require-resource.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/api-request.js';
import { importResource, importView, serverMetadataKeys } from './import.js';
import { answerRejectedDownload } from '../downloads/answer-download.js';

/** Imports: from file objects, URLs, or records in the request (contract 10). */
export class ImportsController extends jobController({
  kind: 'import',
  operations: importOperations,
  table: ({ imports }) => imports,
  view: importView,
  update: {
    // One client sends back all metadata when it saves an import, including outdated values of keys that the server sets; these are
    // ignored.
    ignored: (form) => serverMetadataKeys(form).map((key) => `metadata.${key}`),
    read: (form) => importResource.readUpdate(form),
    write: ({ imports }, id, patch: ImportPatch) => imports.update(id, patch),
  },
}) {
  @CreateOperation(importOperations.create, async (context, caller, id, request) =>
    importView(
      new JobPresenter(context, request),
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

  @Operation(importOperations.delete)
  @Access('write', 'import')
  async delete(@Resource() row: ImportRow, @Req() request: ApiRequest): Promise<object> {
    await cancelJobIfActive(this.context, row);
    const view = await this.view((await this.context.catalog.imports.get(row.id)) ?? row, request);
    await this.context.catalog.imports.delete(row.id);
    await removeFile(this.context.data.inlineRecords(row.id));
    await removeFile(this.context.data.rejectedLines(row.id));
    return view;
  }

  @Operation(importOperations.rejected)
  @Access('read', 'import')
  rejected(
    @Resource() row: ImportRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return answerRejectedDownload(this.context, row, query, request, reply);
  }
}
