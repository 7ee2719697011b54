import { Body, Query, Req, Res } from '@nestjs/common';
import type { CommitRow } from '../../../engine/catalog/commits.js';
import { checkRollback, rollBack } from '../../../scheduler/jobs/rollback/roll-back.js';
import { Access, CurrentCaller, Resource } from '../../http/access.js';
import { Form } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import type { QueryParams } from '../../http/page.js';
import type { ApiReply, ApiRequest, Caller } from '../../http/request.js';
import { endJob } from '../tasks/cancel-job.js';
import { jobController } from '../tasks/job.controller.js';
import { commitOperations } from '../tasks/jobs.operations.js';
import { readRollbackMode, rollbackCheckView } from './rollback-check.js';

/** Commits: what imports have changed, and their rollbacks (contract 16). */
export class CommitsController extends jobController({
  kind: 'commit',
  cancelPermission: 'read',
  operations: commitOperations,
  table: ({ commits }) => commits,
  view: (presenter, row) => presenter.ofCommit(row),
}) {
  @Operation(commitOperations.checkRollback)
  @Access('write', 'commit')
  async checkRollback(
    @Resource() row: CommitRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const mode = readRollbackMode(query, new Form({}));
    const check = await checkRollback(this.context, row, mode);
    return rollbackCheckView(check, (one) => this.view(one, request));
  }

  @Operation(commitOperations.rollback)
  @Access('write', 'commit')
  async rollback(
    @Resource() row: CommitRow,
    @Query() query: QueryParams,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
    @Res({ passthrough: true }) reply: ApiReply,
  ): Promise<object> {
    const mode = readRollbackMode(query, new Form(body));
    const done = await rollBack(this.context, row, mode, caller.user.id);
    if (!('isBlocked' in done)) return this.view(done, request);
    reply.code(400);
    return rollbackCheckView(done, (one) => this.view(one, request));
  }

  @Operation(commitOperations.delete)
  @Access('write', 'commit')
  async delete(@Resource() row: CommitRow, @Req() request: ApiRequest): Promise<object> {
    await endJob(this.context, row);
    const view = await this.view(row, request);
    await this.context.catalog.commits.delete(row.id);
    return view;
  }
}
