import type { AccountRow } from '../../../engine/catalog/accounts.js';
import { checkVaultName } from '../../../engine/catalog/object-names.js';
import type { Permission } from '../../../engine/catalog/permission.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import {
  constantField,
  declareResource,
  emptyField,
  type ResourceField,
} from '../../http/resource.js';
import {
  boolean,
  id,
  nullable,
  enumOf,
  withReader,
  text,
  type ValueType,
} from '../../http/json-schema.js';
import {
  timestampFields,
  descriptionField,
  metadataField,
  ownerFields,
  tagsField,
} from './common-fields.js';
import { readCheckedName } from './checked-name.js';
import { storageClass } from './storage-class.js';

/** The data that the view of a vault inside another resource shows and its row does not have. */
interface VaultSummaryContext {
  readonly account: AccountRow;
  /** The caller's permission; null for none. */
  readonly permission: Permission | null;
  readonly origin: string;
}

/** The data that the view of a vault shows and its row does not have. */
export interface VaultContext extends VaultSummaryContext {
  readonly user: UserRow | undefined;
  readonly hasChildren: boolean;
  readonly hasFolderChildren: boolean;
  /** Whether the vault is being deleted; the answer shows its state before the deletion, without permissions. */
  readonly isDeleted: boolean;
}

/** The provider of all vaults, as clients expect it. */
export const vaultProvider = 'EDP';

/** The permissions, from lowest to highest. */
export const permissionNames: readonly Permission[] = ['read', 'write', 'admin'];
const versioningStates = ['disabled', 'enabled', 'suspended'] as const;

/** The permissions of a user or a group in a vault, as three flags. */
export const permissionFlags: ValueType = {
  schema: {
    type: 'object',
    properties: { read: boolean.schema, write: boolean.schema, admin: boolean.schema },
    required: ['read', 'write', 'admin'],
    additionalProperties: false,
  },
};

const nameField: ResourceField<VaultRow, unknown> = {
  // In an update, null leaves the name unchanged.
  type: withReader(text, (form, key) =>
    form.raw(key) === undefined ? undefined : readCheckedName(form, key, checkVaultName),
  ),
  description: 'Unique in the account, without `/` and `:`.',
  example: 'Cardiomyopathy families',
  create: 'required',
  update: true,
};

const summaryFields: Readonly<Record<string, ResourceField<VaultRow, VaultSummaryContext>>> = {
  class_name: constantField('Vault'),
  id: { type: id, example: 12 },
  name: nameField,
  full_path: {
    type: text,
    description: '`domain:vault`',
    example: 'acme:Cardiomyopathy families',
    show: (vault, { account }) => `${account.domain}:${vault.name}`,
  },
  provider: constantField(vaultProvider),
  vault_type: {
    type: enumOf('user', 'general'),
    description: 'user: the personal vault of a user.',
    example: 'general',
  },
  permissions: {
    type: permissionFlags,
    description: 'What the caller may do.',
    example: { read: true, write: true, admin: true },
    show: (_, { permission }) => permissionFlagsOf(permission),
  },
  is_deleted: { type: boolean, example: false, show: () => false },
  is_public: { type: boolean, example: false },
  ...timestampFields,
  url: {
    type: text,
    example: 'http://localhost:7878/v2/vaults/12',
    show: (vault, { origin }) => `${origin}/v2/vaults/${vault.id}`,
  },
};

/** Returns the flags of a permission; for null, all are false. */
export function permissionFlagsOf(permission: Permission | null): object {
  const level = permission === null ? 0 : permissionNames.indexOf(permission) + 1;
  return { read: level >= 1, write: level >= 2, admin: level >= 3 };
}

/** A vault inside another resource, such as a task (contract 15.1). */
export const vaultSummary = declareResource<VaultRow, VaultSummaryContext>({
  name: 'VaultSummary',
  description: 'A vault inside another resource.',
  fields: summaryFields,
});

/** The fields of a vault (contract 5.1). */
export const vaultFields: Readonly<Record<string, ResourceField<VaultRow, VaultContext>>> = {
  ...(summaryFields as Readonly<Record<string, ResourceField<VaultRow, VaultContext>>>),
  is_public: {
    type: boolean,
    description: 'Whether users of every account may read it; a change needs the permission admin.',
    example: false,
    create: 'optional',
    update: true,
  },
  ...ownerFields,
  user_id: {
    ...ownerFields.user_id,
    description:
      'The owner, who may give the vault to another user of the account, as may its administrators.',
    update: true,
    lookup: 'update',
  },
  email: {
    type: text,
    description: 'The address of the new owner, instead of `user_id`.',
    example: 'ada@acme.org',
    show: null,
    update: true,
    lookup: 'update',
  },
  account_domain: { type: text, example: 'acme', show: (_, { account }) => account.domain },
  description: descriptionField,
  metadata: metadataField,
  tags: tagsField,
  default_storage_class: {
    type: nullable(storageClass),
    description:
      'The storage class of new datasets; null: Standard. With Archive they are archived when Archive is set on them again.',
    example: 'Standard',
    create: 'optional',
    update: true,
  },
  is_deleted: { type: boolean, example: false, show: (_, { isDeleted }) => isDeleted },
  has_children: { type: boolean, example: true, show: (_, { hasChildren }) => hasChildren },
  has_folder_children: {
    type: boolean,
    example: true,
    show: (_, { hasFolderChildren }) => hasFolderChildren,
  },
  require_unique_paths: constantField(true),
  versioning: {
    type: withReader(enumOf(...versioningStates), (form, key) =>
      form.choice(key, versioningStates),
    ),
    description:
      'enabled: a file that is uploaded under the name of another becomes a version of that. disabled and suspended: it gets another name; versions that there are stay.',
    example: 'disabled',
    create: 'optional',
    update: true,
  },
  last_synced: constantField(null),
  vault_properties: emptyField({}),
};

/** A vault. */
export const vault = declareResource<VaultRow, VaultContext>({
  name: 'Vault',
  description:
    'A vault: the top-level container of folders, files and datasets, with permissions of its own.',
  fields: vaultFields,
  examples: {
    update: {
      name: 'Cardiomyopathy families 2026',
      description: 'Germline variants of 131 families with cardiomyopathy.',
      tags: ['germline', 'GRCh38', 'frozen'],
    },
  },
});
