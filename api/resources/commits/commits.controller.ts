import { Body, Query, Req, Res } from '@nestjs/common';
import type { CommitRow } from '../../../engine/catalog/commits.js';
import { AppError, notFoundError } from '../../../engine/core/errors.js';
import { checkRollback, rollBack } from '../../../scheduler/jobs/rollback/roll-back.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { Form } from '../../http/form.js';
import { CreateOperation, Operation } from '../../http/operation.js';
import type { QueryParams } from '../../http/page.js';
import { requireAvailableDataset, requireResource } from '../../http/require-resource.js';
import {
  connectionClosedSignal,
  type ApiReply,
  type ApiRequest,
  type Caller,
} from '../../http/api-request.js';
import { signExportTarget, isRedirectRequested } from '../downloads/signed-addresses.js';
import { cancelJobIfActive } from '../jobs/cancel-job.js';
import { JobPresenter } from '../jobs/job-presenter.js';
import { jobController } from '../jobs/job.controller.js';
import { commitOperations } from './commits.operations.js';
import { commitView } from './commit.js';
import { exportCommitRecords } from './commit-file.js';
import { readRollbackMode, rollbackCheckView } from './rollback-check.js';

/** Commits: the changes that imports and migrations have made to datasets, and rollbacks of such changes (contract 16). */
export class CommitsController extends jobController({
  kind: 'commit',
  cancelPermission: 'read',
  operations: commitOperations,
  table: ({ commits }) => commits,
  view: commitView,
}) {
  @Operation(commitOperations.checkRollback)
  @Access('read', 'commit', 'write')
  async checkRollback(
    @Resource() row: CommitRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const mode = readRollbackMode(query, new Form({}));
    const check = await checkRollback(this.context, row, mode);
    return rollbackCheckView(check, (one) => this.view(one, request));
  }

  @CreateOperation(commitOperations.rollback, async (context, caller, id, request) =>
    commitView(
      new JobPresenter(context, request),
      await requireResource(context.catalog, caller, 'commit', id, 'read'),
    ),
  )
  @Access('write', 'commit')
  async rollback(
    @Resource() row: CommitRow,
    @Query() query: QueryParams,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const mode = readRollbackMode(query, new Form(body));
    const dataset = await this.context.catalog.datasets.get(row.datasetId);
    if (dataset === undefined) throw notFoundError(); // the dataset was deleted meanwhile
    requireAvailableDataset(this.context, dataset, 'cannot be changed');
    const outcome = await rollBack(this.context, row, mode, caller.user.id);
    if (!('isBlocked' in outcome)) return this.view(outcome, request);
    throw new AppError('invalid', outcome.detail, await rollbackCheckView(outcome, (one) => this.view(one, request))); // prettier-ignore
  }

  @Operation(commitOperations.download)
  @Access('read', 'commit')
  async download(
    @Resource() row: CommitRow,
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const signal = connectionClosedSignal(request, reply);
    const exportRow = await exportCommitRecords(this.context, caller, row, signal);
    const url = request.origin + signExportTarget(this.context.signer, caller.user.id, exportRow);
    if (isRedirectRequested(query)) reply.code(302).header('Location', url);
    return { url, download_url: url };
  }

  @Operation(commitOperations.delete)
  @Access('write', 'commit')
  async delete(@Resource() row: CommitRow, @Req() request: ApiRequest): Promise<object> {
    await cancelJobIfActive(this.context, row);
    const view = await this.view(row, request);
    await this.context.catalog.commits.delete(row.id);
    return view;
  }
}
