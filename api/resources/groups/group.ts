import type { GroupCounts, GroupRow } from '../../../engine/catalog/groups.js';
import { checkName } from '../../../engine/catalog/object-names.js';
import type { Permission } from '../../../engine/catalog/permission.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import { constantField, declareResource, type ResourceField } from '../../http/resource.js';
import { id, integer, nullable, enumOf, withReader, text } from '../../http/json-schema.js';
import { readCheckedName } from '../shared/checked-name.js';
import { timestampFields, descriptionField } from '../shared/common-fields.js';
import {
  permissionFlagsOf,
  permissionFlags,
  permissionNames,
  vaultFields,
  type VaultContext,
} from '../shared/vault.js';

/** The data that the view of a group shows and its row does not have. */
export interface GroupContext extends GroupCounts {
  /** Whether the caller is an administrator of the account. */
  readonly isAdministrator: boolean;
  readonly origin: string;
}

const nameField: ResourceField<GroupRow, unknown> = {
  type: withReader(text, (form, key) =>
    form.raw(key) === undefined ? undefined : readCheckedName(form, key, checkName),
  ),
  description: 'Unique in the account.',
  example: 'Cardiology',
  create: 'required',
  update: true,
};

/** The form of a group that another resource shows: its class, id and name. */
export const groupSummary = declareResource<GroupRow>({
  name: 'GroupSummary',
  description: 'A group inside another resource.',
  fields: { class_name: constantField('Group'), id: { type: id, example: 2 }, name: nameField },
});

function addressField(part: string): ResourceField<GroupRow, GroupContext> {
  return {
    type: text,
    example: `http://localhost:7878/v1/groups/2${part}`,
    show: (row, { origin }) => `${origin}/v1/groups/${row.id}${part}`,
  };
}

/** A group of users (contract 4.2). */
export const group = declareResource<GroupRow, GroupContext>({
  name: 'Group',
  description: 'A group of users, to which permissions on vaults can be given.',
  fields: {
    class_name: constantField('Group'),
    id: { type: id, example: 2 },
    account_id: { type: id, example: 1 },
    name: nameField,
    description: { ...descriptionField, example: 'Who reads and writes the vaults of cardiology.' },
    role: {
      type: nullable(enumOf('admin', 'member')),
      description: 'admin: the caller may change it; member: the caller is in it; null: neither.',
      example: 'admin',
      show: (_, { isAdministrator, isMember }) =>
        isAdministrator ? 'admin' : isMember ? 'member' : null,
    },
    memberships_count: { type: integer, example: 4, show: (_, { members }) => members },
    vaults_count: {
      type: integer,
      description: 'The vaults on which it has a permission and that the caller may read.',
      example: 1,
      show: (_, { vaults }) => vaults,
    },
    memberships_url: addressField('/memberships'),
    vaults_url: addressField('/vaults'),
    url: addressField(''),
    ...timestampFields,
  },
  examples: { update: { description: 'Readers of the vaults of cardiology.' } },
});

/** A vault on which a group has a permission. */
export const groupVault = declareResource<
  VaultRow,
  VaultContext & { readonly grantedPermission: Permission | null }
>({
  name: 'GroupVault',
  description: 'A vault on which a group has a permission.',
  fields: {
    ...(vaultFields as Readonly<Record<string, ResourceField<VaultRow, unknown>>>),
    permission: {
      type: enumOf(...permissionNames),
      description: 'The permission of the group.',
      example: 'read',
      show: (_, { grantedPermission }) => grantedPermission,
    },
    vault_permissions: {
      type: permissionFlags,
      description: 'The permissions of the group in the vault, as in flags.',
      example: { read: true, write: false, admin: false },
      show: (_, { grantedPermission }) => permissionFlagsOf(grantedPermission),
    },
  },
});
