import { viewerOf } from '../../../engine/catalog/access.js';
import type { VaultFilter } from '../../../engine/catalog/vaults.js';
import { crudController } from '../../http/crud.js';
import { ids, omitUndefined, value, anyOf } from '../../http/list-query.js';
import { crudOperations } from '../../http/operation-row.js';
import type { QueryParams } from '../../http/page.js';
import type { Caller } from '../../http/request.js';
import { removeFiles } from '../objects/remove-files.js';
import { presenterFor } from '../presenter.js';
import { provider, vault, type VaultContext } from './vault.js';

/** The operations on vaults. */
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
    user_id: 'Creator.',
    vault_type: 'user, personal or general.',
    provider: 'Provider.',
    tags: 'One tag.',
    tag: 'The same as tags.',
    storage_class: 'Default storage class.',
    query: 'Text in the name or the description.',
    q: 'The same as query.',
    permission: 'read, write or admin: what the user may do in the vault.',
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
  filter,
  contexts: (context, request, rows, options) =>
    presenterFor(context, request).vaultContexts(rows, options?.isDeleted),
  delete: async (context, { id }) => removeFiles(context, await context.catalog.vaults.delete(id)),
});

function filter(query: QueryParams, caller: Caller): VaultFilter {
  const type = anyOf(query, 'vault_type', ['user', 'personal', 'general'])?.[0];
  const wantedProvider = value(query, 'provider');
  // All vaults have the same provider; any other matches none.
  const noIds = wantedProvider !== undefined && wantedProvider !== provider ? [0] : undefined;
  return {
    viewer: viewerOf(caller),
    ...omitUndefined<VaultFilter>({
      ids: noIds ?? ids(query, 'id'),
      accountIds: ids(query, 'account_id'),
      userIds: ids(query, 'user_id'),
      name: value(query, 'name'),
      fullPath: value(query, 'full_path'),
      accountDomain: value(query, 'account_domain'),
      vaultType: type === undefined ? undefined : type === 'general' ? 'general' : 'user',
      tag: value(query, 'tags', 'tag'),
      storageClass: value(query, 'storage_class'),
      query: value(query, 'query', 'q'),
      permission: anyOf(query, 'permission', ['read', 'write', 'admin'])?.[0],
    }),
  };
}
