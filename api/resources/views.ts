import type { AccountRow } from '../../engine/catalog/accounts.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { FieldRow } from '../../engine/catalog/fields.js';
import type { GlobalBeaconRow } from '../../engine/catalog/global-beacons.js';
import type { ObjectRow } from '../../engine/catalog/object-row.js';
import type { Permission } from '../../engine/catalog/permission.js';
import type { Millis } from '../../engine/catalog/table.js';
import { fullName, type UserRow } from '../../engine/catalog/users.js';
import type { VaultRow } from '../../engine/catalog/vaults.js';

/*
 * Rows to the JSON of the contract: every key of a resource is always there, null or empty when it has no value
 * (contract 1.3). `origin` is the public base address.
 */

/** A time as clients read it: ISO 8601, UTC, milliseconds. */
export function time(millis: Millis): string;
export function time(millis: Millis | null): string | null;
export function time(millis: Millis | null): string | null {
  return millis === null ? null : new Date(millis).toISOString();
}

/** The user inside another resource (contract 4.1). */
export function shortUserView(user: UserRow): object {
  return {
    class_name: 'User',
    id: user.id,
    email: user.email,
    first_name: user.firstName,
    last_name: user.lastName,
    full_name: fullName(user),
    is_active: user.isActive,
    is_staff: false,
    role: user.role,
    title: '',
  };
}

/** A user with the account (contract 4.1). */
export function userView(user: UserRow, account: AccountRow, origin: string): object {
  return {
    ...shortUserView(user),
    username: user.email.split('@', 1)[0] ?? user.email,
    is_verified: true,
    date_joined: time(user.createdAt),
    password_days_remaining: null,
    url: `${origin}/v1/users/${user.id}`,
    account: { id: account.id, domain: account.domain, name: account.name },
  };
}

/** What a vault's view needs beyond its row. */
export interface VaultParts {
  readonly account: AccountRow;
  readonly user: UserRow | undefined;
  readonly permission: Permission | null;
  readonly hasChildren: boolean;
  readonly hasFolderChildren: boolean;
}

/** A vault (contract 5.1); `isDeleted` shows it as it was, with no permission left. */
export function vaultView(
  vault: VaultRow,
  parts: VaultParts,
  origin: string,
  isDeleted = false,
): object {
  return {
    ...shortVaultView(vault, parts.account, isDeleted ? null : parts.permission, origin),
    account_id: vault.accountId,
    account_domain: parts.account.domain,
    user_id: vault.userId,
    user: parts.user ? shortUserView(parts.user) : null,
    description: vault.description,
    metadata: vault.metadata,
    tags: vault.tags,
    default_storage_class: vault.defaultStorageClass,
    is_deleted: isDeleted,
    has_children: parts.hasChildren,
    has_folder_children: parts.hasFolderChildren,
    require_unique_paths: true,
    versioning: vault.versioning,
    last_synced: null,
    vault_properties: {},
  };
}

/** The vault inside a task (contract 15.1). */
export function shortVaultView(
  vault: VaultRow,
  account: AccountRow,
  permission: Permission | null,
  origin: string,
): object {
  return {
    class_name: 'Vault',
    id: vault.id,
    name: vault.name,
    full_path: `${account.domain}:${vault.name}`,
    provider: provider,
    vault_type: vault.vaultType,
    permissions: permissionsView(permission),
    is_deleted: false,
    is_public: vault.isPublic,
    created_at: time(vault.createdAt),
    updated_at: time(vault.updatedAt),
    url: `${origin}/v2/vaults/${vault.id}`,
  };
}

/** The one provider of vaults, as clients of 2026 see it. */
export const provider = 'EDP';

function permissionsView(permission: Permission | null): object {
  const level = permission === null ? 0 : levels.indexOf(permission) + 1;
  return { read: level >= 1, write: level >= 2, admin: level >= 3 };
}
const levels: readonly Permission[] = ['read', 'write', 'admin'];

/** What an object's view needs beyond its row. */
export interface ObjectParts {
  readonly vault: VaultRow;
  readonly account: AccountRow;
  readonly user: UserRow | undefined;
  readonly dataset: DatasetRow | undefined;
  readonly numChildren: number;
  readonly numDescendants: number;
  readonly hasFolderChildren: boolean;
  readonly isTransformable: boolean;
  readonly globalBeacon: GlobalBeaconRow | undefined;
}

/** An object (contract 6.1). */
export function objectView(
  object: ObjectRow,
  parts: ObjectParts,
  origin: string,
  extra: { readonly uploadUrl?: string; readonly isDeleted?: boolean } = {},
): object {
  const { vault, account, user, dataset } = parts;
  return {
    ...shortObjectView(object, parts, origin),
    ancestor_object_ids: object.ancestorIds,
    depth: object.depth,
    description: object.description,
    mimetype: object.mimetype,
    size: object.size,
    md5: object.md5,
    metadata: object.metadata,
    tags: object.tags,
    storage_class: dataset?.storageClass ?? null,
    availability: dataset?.availability ?? object.availability,
    has_children: parts.numChildren > 0,
    has_folder_children: parts.hasFolderChildren,
    num_children: parts.numChildren,
    num_descendants: parts.numDescendants,
    is_deleted: extra.isDeleted ?? false,
    is_transformable: parts.isTransformable,
    upload_url: extra.uploadUrl ?? null,
    is_multipart: false,
    upload_id: null,
    upload_key: null,
    presigned_urls: [],
    version_count: object.objectType === 'file' ? 1 : 0,
    global_beacon: parts.globalBeacon ? globalBeaconView(parts.globalBeacon) : null,
    target: null,
    user: user ? shortUserView(user) : null,
    user_id: object.userId,
    updated_by: user ? shortUserView(user) : null,
    account_id: account.id,
    vault_name: vault.name,
    inherited_metadata: {},
    url: null,
  };
}

/** A global beacon (contract 14.4). Choice: searches ask the datasets themselves, so it is ready as soon as it is enabled. */
export function globalBeaconView(row: GlobalBeaconRow, isDeleted = false): object {
  return {
    id: row.id,
    datastore_id: 1,
    dataset_id: row.datasetId,
    status: isDeleted ? 'destroying' : 'completed',
    progress_percent: 100,
    is_deleted: isDeleted,
  };
}

/** The object inside a task (contract 15.1). */
export function shortObjectView(
  object: ObjectRow,
  parts: Pick<ObjectParts, 'vault' | 'account' | 'dataset'>,
  origin: string,
): object {
  const { vault, account, dataset } = parts;
  const isDataset = object.objectType === 'dataset';
  const documentsCount = dataset?.documentsCount ?? object.documentsCount;
  return {
    class_name: 'Object',
    id: object.id,
    object_type: object.objectType,
    filename: object.filename,
    path: object.path,
    full_path: `${account.domain}:${vault.name}:${object.path}`,
    vault_id: vault.id,
    vault_name: vault.name,
    parent_object_id: object.parentId,
    documents_count: documentsCount,
    dataset_id: isDataset ? object.id : null,
    dataset_documents_count: isDataset ? documentsCount : null,
    dataset_description: isDataset ? object.description : null,
    dataset_full_name: isDataset ? String(object.id) : null,
    is_deleted: false,
    created_at: time(object.createdAt),
    updated_at: time(object.updatedAt),
    last_accessed: time(object.updatedAt),
    last_modified: time(object.updatedAt),
    url: isDataset ? `${origin}/v2/datasets/${object.id}` : null,
  };
}

/** What a dataset's view needs beyond its row. */
export interface DatasetParts {
  readonly object: ObjectRow;
  readonly vault: VaultRow;
  readonly account: AccountRow;
  readonly user: UserRow | undefined;
  readonly entityTypes: readonly string[];
}

/** A dataset (contract 7.1). */
export function datasetView(dataset: DatasetRow, parts: DatasetParts, origin: string): object {
  const { object, vault, account, user } = parts;
  const url = `${origin}/v2/datasets/${dataset.id}`;
  return {
    class_name: 'Dataset',
    id: dataset.id,
    url,
    name: object.filename,
    full_path: `${account.domain}:${vault.name}:${object.path}`,
    description: object.description ?? '',
    documents_count: dataset.documentsCount,
    account_id: account.id,
    vault_id: vault.id,
    vault_name: vault.name,
    vault_object_id: object.id,
    vault_object_filename: object.filename,
    vault_object_path: object.path,
    vault_parent_object_id: object.parentId,
    capacity: dataset.capacity,
    storage_class: dataset.storageClass,
    availability: dataset.availability,
    status: 'open',
    health: 'green',
    replicas: 0,
    entity_types: parts.entityTypes,
    is_genomic: dataset.genomeBuilds.length > 0,
    genome_builds: dataset.genomeBuilds,
    metadata: object.metadata,
    tags: object.tags,
    user: user ? shortUserView(user) : null,
    user_id: object.userId,
    created_at: time(dataset.createdAt),
    updated_at: time(dataset.updatedAt),
    data_url: `${url}/data`,
    fields_url: `${url}/fields`,
    commits_url: `${url}/commits`,
    imports_url: `${url}/imports`,
    exports_url: `${url}/exports`,
    template_url: `${url}/template`,
    beacon_url: `${url}/beacon`,
    changelog_url: `${url}/changelog`,
  };
}

/** A dataset field: exactly these keys, clients compare the set (contract 9). */
export function fieldView(field: FieldRow, vaultId: number, origin: string): object {
  const url = `${origin}/v2/dataset_fields/${field.id}`;
  return {
    class_name: 'DatasetField',
    id: field.id,
    dataset_id: field.datasetId,
    vault_id: vaultId,
    name: field.name,
    title: field.title,
    description: field.description,
    data_type: field.dataType,
    entity_type: field.entityType,
    expression: field.expression,
    is_hidden: field.isHidden,
    is_list: field.isList,
    is_read_only: field.isReadOnly,
    is_valid: field.isValid,
    ordering: field.ordering,
    depends_on: field.dependsOn,
    url_template: field.urlTemplate,
    facets_url: `${url}/facets`,
    url,
    created_at: time(field.createdAt),
    updated_at: time(field.updatedAt),
  };
}
