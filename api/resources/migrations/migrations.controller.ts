import { Body, Query, Req, Res } from '@nestjs/common';
import type { DatasetMigrationRow } from '../../../engine/catalog/dataset-migrations.js';
import { removeFile } from '../../../engine/core/files.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import type { AppContext } from '../../http/app-context.js';
import { Form } from '../../http/form.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import { listEnvelope, type QueryParams } from '../../http/page.js';
import { requireResource } from '../../http/require-resource.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/api-request.js';
import { answerRejectedDownload } from '../downloads/answer-download.js';
import { cancelJobIfActive } from '../jobs/cancel-job.js';
import { JobPresenter } from '../jobs/job-presenter.js';
import { jobController } from '../jobs/job.controller.js';
import { migrationOperations } from './migrations.operations.js';
import { createMigration } from './create-migration.js';
import { migrationView } from './migration.js';

/**
 * Migrations, which apply the records of a query to a dataset: they add, change or delete records there (contract 12). Access to a
 * migration is decided by the permissions on the target.
 */
export class MigrationsController extends jobController({
  kind: 'migration',
  cancelPermission: 'read',
  operations: migrationOperations,
  table: ({ datasetMigrations }) => datasetMigrations,
  view: migrationView,
}) {
  @CreateOperation(migrationOperations.create, async (context, caller, id, request) =>
    answerCreation(
      context,
      await requireResource(context.catalog, caller, 'migration', id, 'read'),
      request,
    ),
  )
  @Access('write')
  async create(
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const row = await createMigration(this.context, caller, new Form(body));
    return answerCreation(this.context, row, request);
  }

  @Operation(migrationOperations.delete)
  @Access('write', 'migration')
  async delete(@Resource() row: DatasetMigrationRow, @Req() request: ApiRequest): Promise<object> {
    const { datasetMigrations } = this.context.catalog;
    await cancelJobIfActive(this.context, row);
    const view = await this.view((await datasetMigrations.get(row.id)) ?? row, request);
    await datasetMigrations.delete(row.id);
    await removeFile(this.context.data.rejectedLines(row.id));
    return view;
  }

  @Operation(migrationOperations.rejected)
  @Access('read', 'migration')
  rejected(
    @Resource() row: DatasetMigrationRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    return answerRejectedDownload(this.context, row, query, request, reply);
  }
}

/**
 * Answers a request that creates a migration, and its repetitions. With `parallel: true` the answer is a list, whose `url` returns the same
 * list.
 */
async function answerCreation(
  context: AppContext,
  row: DatasetMigrationRow,
  request: ApiRequest,
): Promise<object> {
  const view = await migrationView(new JobPresenter(context, request), row);
  if (new Form(request.body).boolean('parallel') !== true) return view;
  const path = `${migrationOperations.list.paths[0]}?id=${row.id}`;
  return listEnvelope(request.origin, path, { limit: 1, offset: 0 }, 1, [view]);
}
