import { viewerOf } from '../../../engine/catalog/access.js';
import { recordAudit } from '../../../engine/catalog/audit-log.js';
import type { Tables } from '../../../engine/catalog/catalog-tables.js';
import type { Viewer } from '../../../engine/catalog/permission.js';
import { transferVault, vaultSubject } from '../../../engine/catalog/share-vault.js';
import type { NewVault, VaultFilter, VaultRow } from '../../../engine/catalog/vaults.js';
import { crudController } from '../../http/crud.js';
import { readProperties } from '../../http/json-schema.js';
import {
  choiceParams,
  paramIds,
  omitUndefined,
  idParam,
  firstParamValue,
} from '../../http/list-query.js';
import { crudOperations } from '../../http/operation-row.js';
import type { QueryParams } from '../../http/page.js';
import type { Caller } from '../../http/api-request.js';
import { requireResource } from '../../http/require-resource.js';
import { removeFiles } from '../objects/remove-files.js';
import { readSearchFilter } from '../search/list-search.js';
import { presenterFor } from '../shared/presenter.js';
import { namedUserProperties, readUser } from '../users/named-user.js';
import { vaultProvider, vault, type VaultContext } from '../shared/vault.js';

export const vaultOperations = crudOperations('vaults', {
  tag: 'Vaults',
  path: '/v2/vaults',
  noun: 'a vault',
  resource: vault,
  query: {
    id: 'One vault.',
    name: 'Exact name, case-insensitive.',
    full_path: '`domain:vault`, or a path in the vault.',
    account_domain: 'Domain of the account.',
    account_id: 'Account.',
    user_id: 'Owner.',
    vault_type: 'user, personal or general.',
    provider: 'Provider.',
    tags: 'One tag.',
    tag: { sameAs: 'tags' },
    storage_class: { description: 'Default storage class.', example: 'Standard' },
    query: {
      description: 'Text in the name or the description, or a query string as of a search.',
      example: 'cardiomyopathy',
    },
    q: { sameAs: 'query' },
    permission: {
      description: 'read, write or admin: what the user may do in the vault.',
      example: 'write',
    },
    exclude_group_id: {
      description: 'A group whose permissions do not count for what the user may do.',
      example: '2',
    },
  },
  summaries: {
    list: 'Lists the vaults that the user may read.',
    delete: 'Deletes a vault with everything in it.',
  },
});

/** Vaults: the top-level containers (contract 5). */
export const VaultsController = crudController<'vault', VaultContext, VaultFilter>({
  kind: 'vault',
  deletePermission: 'admin',
  operations: vaultOperations,
  declaration: vault,
  table: ({ vaults }) => vaults,
  filter: vaultFilter,
  list: async (context, caller, params, page) => {
    const { query, ...rest } = vaultFilter(params, caller);
    const searchFilter = await readSearchFilter(context, caller, 'vaults', query);
    return context.catalog.vaults.list({ ...rest, ...searchFilter }, page);
  },
  contexts: (context, request, rows, options) =>
    presenterFor(context, request).loadVaultContexts(rows, {
      ...options,
      viewer: viewerExcludingGroup(request.query as QueryParams, request.caller!),
    }),
  create: async ({ catalog }, { caller, form, values }) => {
    form.throwIfInvalid();
    const owner = { userId: caller.user.id, accountId: caller.account.id };
    return catalog.transaction(async (tx) => {
      const row = await tx.vaults.create({ ...(values as NewVault), ...owner });
      if (row.isPublic) await auditPublication(tx, caller, row);
      return row;
    });
  },
  update: async ({ catalog }, { caller, form, values }, { id, accountId }) => {
    const { userId: ownerId } = readProperties(form, { user_id: namedUserProperties.user_id });
    if (ownerId !== undefined && (form.raw('email') ?? '') !== '')
      form.fail('email', 'Give one of user_id and email.');
    form.throwIfInvalid();
    return catalog.transaction(async (tx) => {
      let currentRow = await tx.vaults.get(id);
      // A request may repeat the present owner. That owner may be a removed user, whom `readUser` would not find.
      if (currentRow !== undefined && ownerId !== currentRow.userId) {
        const owner = await readUser(tx, form, accountId);
        form.throwIfInvalid();
        if (owner !== undefined && owner.id !== currentRow.userId)
          currentRow = await transferVault(tx, caller.user, currentRow, owner);
      }
      const row = await tx.vaults.update(id, values);
      if (row !== undefined && row.isPublic !== currentRow?.isPublic) {
        await requireResource(tx, caller, 'vault', id, 'admin');
        await auditPublication(tx, caller, row);
      }
      return row;
    });
  },
  delete: async (context, row, { user }) => {
    const deletion = await context.catalog.transaction(async (tx) => {
      await recordAudit(tx, { actor: user, action: 'vault.delete', subject: vaultSubject(row) });
      return tx.vaults.delete(row.id);
    });
    await removeFiles(context, deletion);
  },
});

async function auditPublication(tx: Tables, { user }: Caller, row: VaultRow): Promise<void> {
  const action = row.isPublic ? 'vault.publish' : 'vault.unpublish';
  await recordAudit(tx, { actor: user, action, subject: vaultSubject(row) });
}

function vaultFilter(query: QueryParams, caller: Caller): VaultFilter {
  const type = choiceParams(query, 'vault_type', ['user', 'personal', 'general'])?.[0];
  const wantedProvider = firstParamValue(query, 'provider');
  // All vaults have the same provider, so a filter by any other provider matches none.
  const noIds = wantedProvider !== undefined && wantedProvider !== vaultProvider ? [0] : undefined;
  return {
    viewer: viewerExcludingGroup(query, caller),
    ...omitUndefined<VaultFilter>({
      ids: noIds ?? paramIds(query, 'id'),
      accountIds: paramIds(query, 'account_id'),
      userIds: paramIds(query, 'user_id'),
      name: firstParamValue(query, 'name'),
      fullPath: firstParamValue(query, 'full_path'),
      accountDomain: firstParamValue(query, 'account_domain'),
      vaultType: type === undefined ? undefined : type === 'general' ? 'general' : 'user',
      tag: firstParamValue(query, 'tags', 'tag'),
      storageClass: firstParamValue(query, 'storage_class'),
      query: firstParamValue(query, 'query', 'q'),
      permission: choiceParams(query, 'permission', ['read', 'write', 'admin'])?.[0],
    }),
  };
}

/** Returns the viewer of a list of vaults; permissions of the group that the query string excludes do not count. */
function viewerExcludingGroup(query: QueryParams, caller: Caller): Viewer {
  const excludedGroupId = idParam(query, 'exclude_group_id');
  return { ...viewerOf(caller), ...(excludedGroupId !== undefined && { excludedGroupId }) };
}
