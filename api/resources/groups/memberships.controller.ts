import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import { viewerOf } from '../../../engine/catalog/access.js';
import { recordAudit } from '../../../engine/catalog/audit-log.js';
import type { GroupRow } from '../../../engine/catalog/groups.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import { notFoundError } from '../../../engine/core/errors.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Form, readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { answerList, type QueryParams } from '../../http/page.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { presenterFor } from '../shared/presenter.js';
import { newMemberBody, readUser } from '../users/named-user.js';
import { user } from '../shared/user.js';
import { groupVault } from './group.js';
import { groupSubject } from './groups.controller.js';

/** The HTTP operations on members of a group. */
export const membershipOperations = declareOperations('memberships', 'Groups', {
  list: {
    method: 'GET',
    paths: ['/v1/groups/:id/memberships'],
    summary: 'Lists the members of a group.',
    query: pagingParams,
    answer: { listOf: user.schema },
  },
  add: {
    method: 'PUT',
    paths: ['/v1/groups/:id/memberships'],
    summary: 'Adds a user to a group and returns the user; for administrators of the account.',
    body: newMemberBody,
    answer: user.schema,
  },
  remove: {
    method: 'DELETE',
    paths: ['/v1/groups/:id/memberships/:user_id'],
    summary: 'Removes a user from a group; for administrators of the account.',
    answer: user.schema,
  },
});

/** The operation that lists the vaults of a group. */
export const groupVaultOperations = declareOperations('groups', 'Groups', {
  vaults: {
    method: 'GET',
    paths: ['/v1/groups/:id/vaults'],
    summary: 'Lists the vaults on which a group has a permission and that the user may read.',
    query: pagingParams,
    answer: { listOf: groupVault.schema },
  },
});

/** Members and vaults of groups. */
@Controller()
export class MembershipsController {
  constructor(private readonly context: AppContext) {}

  @Operation(membershipOperations.list)
  @Access('read', 'group')
  members(
    @Resource() { id }: GroupRow,
    @Query() query: QueryParams,
    @CurrentCaller() { account }: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const { origin } = request;
    return answerList<UserRow>(request, query, {
      rows: (page) => this.context.catalog.users.list({ groupId: id }, page),
      views: async (rows) => rows.map((row) => user.view(row, { account, origin })),
    });
  }

  @Operation(membershipOperations.add)
  @Access('write', 'group')
  addMember(
    @Resource() group: GroupRow,
    @Body() body: unknown,
    @CurrentCaller() caller: Caller,
    @Req() { origin }: ApiRequest,
  ): Promise<object> {
    const form = new Form(body);
    return this.context.catalog.transaction(async (tx) => {
      const member = await readUser(tx, form, group.accountId);
      if (!['user_id', 'email'].some((key) => (form.raw(key) ?? '') !== ''))
        form.fail('user_id', 'Give user_id or email.');
      form.throwIfInvalid();
      if (await tx.groups.addMember(group.id, member!.id)) {
        await recordAudit(tx, {
          actor: caller.user,
          action: 'group.add_member',
          subject: groupSubject(group),
          details: { user_id: member!.id, email: member!.email },
        });
      }
      return user.view(member!, { account: caller.account, origin });
    });
  }

  @Operation(membershipOperations.remove)
  @Access('write', 'group')
  removeMember(
    @Resource() group: GroupRow,
    @Param('user_id') userId: string,
    @CurrentCaller() caller: Caller,
    @Req() { origin }: ApiRequest,
  ): Promise<object> {
    return this.context.catalog.transaction(async (tx) => {
      const member = await tx.users.get(readId(userId) ?? 0);
      if (!member || !(await tx.groups.removeMember(group.id, member.id))) throw notFoundError();
      await recordAudit(tx, {
        actor: caller.user,
        action: 'group.remove_member',
        subject: groupSubject(group),
        details: { user_id: member.id, email: member.email },
      });
      return user.view(member, { account: caller.account, origin });
    });
  }

  @Operation(groupVaultOperations.vaults)
  @Access('read', 'group')
  vaults(
    @Resource() { id }: GroupRow,
    @Query() query: QueryParams,
    @CurrentCaller() caller: Caller,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const { catalog } = this.context;
    return answerList<VaultRow>(request, query, {
      rows: (page) => catalog.vaults.list({ viewer: viewerOf(caller), groupId: id }, page),
      views: async (rows) => {
        const permissionByVault = await catalog.groups.permissions(id);
        const contexts = await presenterFor(this.context, request).loadVaultContexts(rows);
        return rows.flatMap((row, i) => {
          const permission = permissionByVault.get(row.id);
          // The permission was revoked after the list of vaults was read, so the vault is left out.
          return permission === undefined
            ? []
            : [groupVault.view(row, { ...contexts[i]!, grantedPermission: permission })];
        });
      },
    });
  }
}
