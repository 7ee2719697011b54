import { Body, Controller, Param, Query, Req } from '@nestjs/common';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import { shareVault } from '../../../engine/catalog/share-vault.js';
import type {
  PermissionHolder,
  VaultPermissionRow,
} from '../../../engine/catalog/vault-permissions.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import { invalidError, notFoundError } from '../../../engine/core/errors.js';
import { Access, CurrentCaller, Resource } from '../../http/access-rule.js';
import { AppContext } from '../../http/app-context.js';
import { Form, readId } from '../../http/form.js';
import { Operation } from '../../http/operation.js';
import { declareOperations, pagingParams } from '../../http/operation-row.js';
import { answerList, type QueryParams } from '../../http/page.js';
import type { ApiRequest, Caller } from '../../http/api-request.js';
import { readUser } from '../users/named-user.js';
import { permissionGrant, vaultPermission } from './vault-permission.js';

/**
 * The HTTP operations on permissions of a vault.
 * Choice: the contract has no operations on permissions, so a vault has a list `permissions`. PUT sets the permission of a user or group,
 * and DELETE revokes a permission by its id. Only administrators of the vault see the list.
 */
export const permissionOperations = declareOperations('vaultPermissions', 'Vaults', {
  list: {
    method: 'GET',
    paths: ['/v2/vaults/:id/permissions'],
    summary: 'Lists the permissions that users and groups were given on a vault.',
    query: pagingParams,
    answer: { listOf: vaultPermission.schema },
  },
  grant: {
    method: 'PUT',
    paths: ['/v2/vaults/:id/permissions'],
    summary: 'Gives a user or a group a permission on a vault, or changes the one they have.',
    body: permissionGrant,
    answer: vaultPermission.schema,
  },
  revoke: {
    method: 'DELETE',
    paths: ['/v2/vaults/:id/permissions/:permission_id'],
    summary: 'Revokes a permission on a vault.',
    answer: vaultPermission.schema,
  },
});

/** Permissions of vaults; whoever may administer a vault may change its permissions. */
@Controller()
export class PermissionsController {
  constructor(private readonly context: AppContext) {}

  @Operation(permissionOperations.list)
  @Access('read', 'vault', 'admin')
  list(
    @Resource() { id }: VaultRow,
    @Query() query: QueryParams,
    @Req() request: ApiRequest,
  ): Promise<object> {
    const { catalog } = this.context;
    return answerList<VaultPermissionRow>(request, query, {
      rows: (page) => catalog.vaultPermissions.list({ vaultId: id }, page),
      views: (rows) => Promise.all(rows.map((row) => permissionView(catalog, row))),
    });
  }

  @Operation(permissionOperations.grant)
  @Access('write', 'vault', 'admin')
  grant(
    @Resource() vault: VaultRow,
    @Body() body: unknown,
    @CurrentCaller() { user }: Caller,
  ): Promise<object> {
    const form = new Form(body);
    const { permission, groupId } = permissionGrant.read(form);
    return this.context.catalog.transaction(async (tx) => {
      const holder = await readHolder(tx, form, vault, groupId);
      form.throwIfInvalid();
      const row = await shareVault(tx, user, vault, holder!, permission!);
      return permissionView(tx, row!);
    });
  }

  @Operation(permissionOperations.revoke)
  @Access('write', 'vault', 'admin')
  revoke(
    @Resource() vault: VaultRow,
    @Param('permission_id') id: string,
    @CurrentCaller() { user }: Caller,
  ): Promise<object> {
    return this.context.catalog.transaction(async (tx) => {
      const row = await tx.vaultPermissions.get(readId(id) ?? 0);
      if (row?.vaultId !== vault.id) throw notFoundError();
      const shownPermission = await permissionView(tx, row);
      const { userId, groupId } = row;
      await shareVault(tx, user, vault, userId === null ? { groupId: groupId! } : { userId }, null);
      return shownPermission;
    });
  }
}

/**
 * Returns the user or the group that the request names: a group of the vault's account, or an active user of the account who does not own
 * the vault; undefined, with a mistake in the form, for any other.
 */
async function readHolder(
  tx: Tables,
  form: Form,
  vault: VaultRow,
  groupId: number | undefined,
): Promise<PermissionHolder | undefined> {
  const keys = ['user_id', 'email', 'group_id'] as const;
  const givenKeys = keys.filter((key) => (form.raw(key) ?? '') !== '');
  if (givenKeys.length !== 1)
    throw invalidError(givenKeys[1] ?? 'user_id', 'Give one of user_id, email and group_id.');
  if (givenKeys[0] === 'group_id') {
    if (groupId === undefined) return undefined;
    const group = await tx.groups.get(groupId);
    if (group?.accountId === vault.accountId) return { groupId };
    return form.fail('group_id', `The account has no group ${groupId}.`);
  }
  const user = await readUser(tx, form, vault.accountId);
  if (user === undefined) return undefined;
  if (user.id === vault.userId) {
    return form.fail(
      givenKeys[0] ?? 'user_id',
      `${user.email} owns the vault and needs no permission.`,
    );
  }
  return { userId: user.id };
}

async function permissionView(tables: Tables, row: VaultPermissionRow): Promise<object> {
  const { userId, groupId } = row;
  return vaultPermission.view(row, {
    user: userId === null ? undefined : await tables.users.get(userId),
    group: groupId === null ? undefined : await tables.groups.get(groupId),
  });
}
