import type { GroupRow } from '../../../engine/catalog/groups.js';
import { permissionOfLevel } from '../../../engine/catalog/permission.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import type { VaultPermissionRow } from '../../../engine/catalog/vault-permissions.js';
import { constantField, declareResource } from '../../http/resource.js';
import { bodySchema, id, nullable, enumOf, reference, withReader } from '../../http/json-schema.js';
import { timestampFields } from '../shared/common-fields.js';
import { groupSummary } from '../groups/group.js';
import { namedUserProperties } from '../users/named-user.js';
import { userSummary } from '../shared/user.js';
import { permissionNames } from '../shared/vault.js';

/** The data that the view of a permission shows and its row does not have: the user or the group that has it. */
interface PermissionContext {
  readonly user: UserRow | undefined;
  readonly group: GroupRow | undefined;
}

/** A permission on a vault. */
export const vaultPermission = declareResource<VaultPermissionRow, PermissionContext>({
  name: 'VaultPermission',
  description: 'A permission that a user or a group was given on a vault.',
  fields: {
    class_name: constantField('VaultPermission'),
    id: { type: id, example: 5 },
    vault_id: { type: id, example: 12 },
    permission: {
      type: enumOf(...permissionNames),
      description: 'A higher one includes the lower ones.',
      example: 'read',
      show: ({ level }) => permissionOfLevel(level),
    },
    user_id: { type: nullable(id), description: 'null for a group.', example: 4 },
    user: {
      type: nullable(reference('UserSummary')),
      example: userSummary.schema.example,
      show: (_, { user }) => (user ? userSummary.view(user, {}) : null),
    },
    group_id: { type: nullable(id), description: 'null for a user.', example: null },
    group: {
      type: nullable(reference('GroupSummary')),
      example: null,
      show: (_, { group }) => (group ? groupSummary.view(group, {}) : null),
    },
    ...timestampFields,
  },
});

/** The body of a request that grants or changes a permission. */
export const permissionGrant = bodySchema(
  'VaultPermissionGrant',
  'A user, by id or address, or a group, and the permission that they get.',
  {
    permission: { type: enumOf(...permissionNames), required: true, example: 'read' },
    ...namedUserProperties,
    group_id: {
      type: withReader(id, (form, key) => form.id(key, 'Must be the id of a group.')),
      description: 'A group of the account.',
    },
  },
);
