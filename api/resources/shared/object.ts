import { templateIdField } from './named-template.js';
import type { AccountRow } from '../../../engine/catalog/accounts.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { GlobalBeaconRow } from '../../../engine/catalog/global-beacons.js';
import { checkFilename } from '../../../engine/catalog/object-names.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import type { Form } from '../../http/form.js';
import { constantField, declareResource, type ResourceField } from '../../http/resource.js';
import {
  boolean,
  id,
  integer,
  integers,
  jsonObject,
  jsonObjects,
  listOf,
  nullable,
  nullableText,
  enumOf,
  withReader,
  reference,
  text,
} from '../../http/json-schema.js';
import { readCheckedName } from './checked-name.js';
import {
  timestampFields,
  descriptionField,
  metadataField,
  ownerFields,
  tagsField,
} from './common-fields.js';
import { capacityField } from './dataset.js';
import { globalBeacon } from './global-beacon.js';
import { readStorageClass, storageClass } from './storage-class.js';
import { shortcutTarget } from './shortcut.js';

/** The data that the view of an object inside another resource shows and its row does not have. */
export interface ObjectSummaryContext {
  readonly vault: VaultRow;
  readonly account: AccountRow;
  /** The dataset, if the object is one. */
  readonly dataset: DatasetRow | undefined;
  readonly origin: string;
}

/** The data that the view of an object shows and its row does not have. */
export interface ObjectContext extends ObjectSummaryContext {
  readonly user: UserRow | undefined;
  readonly numChildren: number;
  readonly numDescendants: number;
  readonly hasFolderChildren: boolean;
  /** Whether the file has a format that can be imported. */
  readonly isTransformable: boolean;
  readonly globalBeacon: GlobalBeaconRow | undefined;
  /** The number of versions of the file that are not deleted. */
  readonly numVersions: number;
  /** The target of a shortcut; null if it was deleted or the caller may not read it, and for any other object. */
  readonly target: object | null;
  /** The metadata of the vault and of the folders that hold it. */
  readonly inheritedMetadata: ObjectRow['metadata'];
  /** The upload address, in the answer that creates a file or a version of one, unless it is uploaded in parts. */
  readonly uploadUrl?: string;
  /** The parts of the upload, in the answer that creates a file or a version that is uploaded in parts. */
  readonly multipart?: { readonly uploadId: string; readonly parts: readonly object[] };
  /** Whether the object is being deleted; the answer shows its state before the deletion. */
  readonly isDeleted?: boolean;
}

/** The values of a request that creates or changes an object. */
export interface ObjectValues {
  readonly vaultId?: number;
  readonly filename?: string;
  readonly parentId?: number | null;
  readonly objectType?: ObjectRow['objectType'];
  readonly description?: string | null;
  readonly metadata?: ObjectRow['metadata'];
  readonly tags?: readonly string[];
  readonly mimetype?: string | null;
  readonly size?: number;
  readonly md5?: string;
  readonly capacity?: DatasetRow['capacity'];
  readonly storageClass?: string;
  readonly fields?: readonly ObjectRow['metadata'][];
}

/** The type of an object's name in a request; in an update, null leaves the name unchanged. */
const filenameType = withReader(text, (form, key) =>
  form.raw(key) === undefined ? undefined : readCheckedName(form, key, checkFilename),
);

/** The type of a parent folder's id in a request: null or blank for the root. */
const parentIdType = withReader(nullable(id), (form, key) => {
  if (form.raw(key) === undefined || form.raw(key) === '') return null;
  return form.id(key, 'The parent must be a folder in the same vault.') ?? null;
});

const isDataset = ({ objectType }: ObjectRow): boolean => objectType === 'dataset';
const documentsCountOf = (row: ObjectRow, { dataset }: ObjectSummaryContext): number | null =>
  dataset?.documentsCount ?? row.documentsCount;
const optionalOnCreate = { create: 'optional' } as const;

const summaryFields: Readonly<Record<string, ResourceField<ObjectRow, ObjectSummaryContext>>> = {
  class_name: constantField('Object'),
  id: { type: id, example: 4811 },
  object_type: {
    type: enumOf('file', 'folder', 'dataset', 'shortcut'),
    description: 'Cannot be changed.',
    example: 'file',
    create: 'required',
    update: true,
    lookup: 'update',
  },
  filename: {
    type: filenameType,
    description:
      'Without slashes. If the name is taken, `-1`, `-2` … is appended to it, or, in a vault that keeps versions, the file gets another version.',
    example: 'family-17.vcf.gz',
    create: 'required',
    update: true,
  },
  path: { type: text, example: '/calls/family-17.vcf.gz' },
  full_path: {
    type: text,
    description: '`domain:vault:/path`',
    example: 'acme:Cardiomyopathy families:/calls/family-17.vcf.gz',
    show: (row, { vault, account }) => `${account.domain}:${vault.name}:${row.path}`,
  },
  vault_id: {
    type: id,
    description: 'Cannot be changed.',
    example: 12,
    create: 'required',
    update: true,
    lookup: 'update',
  },
  vault_name: {
    type: text,
    example: 'Cardiomyopathy families',
    show: (_, { vault }) => vault.name,
  },
  parent_object_id: {
    type: parentIdType,
    property: 'parentId',
    description: 'The folder that holds it; null: the root of the vault.',
    example: 4810,
    create: 'optional',
    update: true,
  },
  documents_count: {
    type: nullable(integer),
    description:
      'Number of records of a dataset; of an uploaded file, once a query of the file or an import has counted them.',
    example: null,
    show: documentsCountOf,
  },
  dataset_id: {
    type: nullable(id),
    example: null,
    show: (row) => (isDataset(row) ? row.id : null),
  },
  dataset_documents_count: {
    type: nullable(integer),
    example: null,
    show: (row, context) => (isDataset(row) ? documentsCountOf(row, context) : null),
  },
  dataset_description: {
    type: nullableText,
    example: null,
    show: (row) => (isDataset(row) ? row.description : null),
  },
  dataset_full_name: {
    type: nullableText,
    example: null,
    show: (row) => (isDataset(row) ? String(row.id) : null),
  },
  is_deleted: { type: boolean, example: false, show: () => false },
  ...timestampFields,
  last_accessed: { ...timestampFields.updated_at, property: 'updatedAt' },
  last_modified: { ...timestampFields.updated_at, property: 'updatedAt' },
  url: {
    type: nullableText,
    description: 'Address of the dataset.',
    example: null,
    show: (row, { origin }) => (isDataset(row) ? `${origin}/v2/datasets/${row.id}` : null),
  },
};

/** An object inside another resource, such as a task (contract 15.1). */
export const objectSummary = declareResource<ObjectRow, ObjectSummaryContext>({
  name: 'ObjectSummary',
  description: 'An object inside another resource.',
  fields: summaryFields,
});

/** An object (contract 6.1). */
export const object = declareResource<ObjectRow, ObjectContext, ObjectValues>({
  name: 'Object',
  description: 'An object: a file, a folder, a dataset or a shortcut in a vault.',
  fields: {
    ...(summaryFields as Readonly<Record<string, ResourceField<ObjectRow, ObjectContext>>>),
    ancestor_object_ids: {
      type: integers,
      property: 'ancestorIds',
      description: 'The folders that hold it, from the root downwards.',
      example: [4810],
    },
    depth: { type: integer, description: 'Level in the vault, 0 at the root.', example: 1 },
    description: descriptionField,
    metadata: metadataField,
    tags: tagsField,
    mimetype: {
      ...optionalOnCreate,
      type: nullableText,
      example: 'application/gzip',
      update: true,
    },
    size: {
      ...optionalOnCreate,
      type: withReader(nullable(integer), readSize),
      description: 'Bytes of a file.',
      example: 48_112_901,
    },
    md5: {
      ...optionalOnCreate,
      type: withReader(nullableText, readMd5),
      description: 'Of the bytes of a file, 32 hex digits.',
      example: '9e107d9d372bb6826bd81d3542a419d6',
    },
    storage_class: {
      ...optionalOnCreate,
      type: withReader(nullable(storageClass), readStorageClass),
      description: 'Of a dataset; null for files and folders.',
      update: true,
      lookup: 'update',
      example: null,
      show: (_, { dataset }) => dataset?.storageClass ?? null,
    },
    availability: {
      type: nullableText,
      description: 'available once the bytes of a file have arrived.',
      example: 'available',
      show: (row, { dataset }) => dataset?.availability ?? row.availability,
    },
    has_children: { type: boolean, example: false, show: (_, { numChildren }) => numChildren > 0 },
    has_folder_children: {
      type: boolean,
      example: false,
      show: (_, { hasFolderChildren }) => hasFolderChildren,
    },
    num_children: { type: integer, example: 0, show: (_, { numChildren }) => numChildren },
    num_descendants: { type: integer, example: 0, show: (_, { numDescendants }) => numDescendants },
    is_deleted: { type: boolean, example: false, show: (_, { isDeleted }) => isDeleted ?? false },
    is_transformable: {
      type: boolean,
      description: 'Whether the file has a format that can be imported.',
      example: true,
      show: (_, { isTransformable }) => isTransformable,
    },
    upload_url: {
      type: nullableText,
      description: 'Address to PUT the bytes to; only in the answer to creating a file.',
      example: null,
      show: (_, { uploadUrl }) => uploadUrl ?? null,
    },
    is_multipart: {
      type: boolean,
      description:
        'Whether the bytes are uploaded in parts; like the next three only in the answer to creating a file.',
      example: false,
      show: (_, { multipart }) => multipart !== undefined,
    },
    upload_id: {
      type: nullableText,
      description: 'Names the upload in parts.',
      example: null,
      show: (_, { multipart }) => multipart?.uploadId ?? null,
    },
    upload_key: {
      type: nullableText,
      example: null,
      show: (row, { multipart }) => (multipart ? String(row.id) : null),
    },
    presigned_urls: {
      type: jsonObjects,
      description: 'The parts, with the address to PUT the bytes of each to.',
      example: [],
      show: (_, { multipart }) => multipart?.parts ?? [],
    },
    version_count: {
      type: integer,
      example: 1,
      description: 'The number of versions of a file, without deleted ones; 1 for a shortcut.',
      show: ({ objectType }, { numVersions }) => (objectType === 'shortcut' ? 1 : numVersions),
    },
    global_beacon: {
      type: nullable(reference('GlobalBeacon')),
      example: null,
      show: (_, { globalBeacon: row }) =>
        row ? globalBeacon.view(row, { isDeleted: false }) : null,
    },
    target: {
      type: nullable(shortcutTarget),
      description:
        'What a shortcut leads to: an `object_type` of file, folder, dataset or vault with an `id`, or url with a `url`. Null when it was deleted or the caller may not read it.',
      example: null,
      create: 'optional',
      lookup: true,
      show: (_, { target }) => target,
    },
    ...ownerFields,
    updated_by: ownerFields.user,
    account_id: { type: id, example: 1, show: (_, { account }) => account.id },
    inherited_metadata: {
      type: jsonObject,
      description:
        'The metadata of the vault and of the folders that hold it; of equal keys, that of the nearest.',
      example: { study: 'CMP-2026' },
      show: (_, { inheritedMetadata }) => inheritedMetadata,
    },
    url: constantField(null),
    capacity: { ...capacityField, show: null, create: 'optional', update: true, lookup: 'update' },
    template_id: templateIdField,
    fields: {
      ...optionalOnCreate,
      type: withReader(listOf(reference('FieldCreate')), (form, key) => form.objectList(key)),
      description: 'The fields of a dataset.',
      example: [],
      show: null,
    },
  },
  examples: {
    create: {
      vault_id: 12,
      object_type: 'file',
      filename: 'family-17.vcf.gz',
      parent_object_id: 4810,
      description: 'Joint calls of family 17, GRCh38.',
      metadata: { family: 17 },
      tags: ['germline'],
      mimetype: 'application/gzip',
    },
    update: {
      filename: 'family-17.grch38.vcf.gz',
      description: 'Joint calls of family 17, GRCh38, with ClinVar annotation.',
      tags: ['germline', 'annotated'],
    },
  },
});

function readSize(form: Form, key: string): number | undefined {
  const bytes = form.integer(key);
  return bytes !== undefined && bytes < 0 ? form.fail(key, 'Must not be negative.') : bytes;
}

function readMd5(form: Form, key: string): string | undefined {
  const digest = form.text(key);
  if (digest === undefined || digest === '') return undefined;
  if (/^[0-9a-fA-F]{32}$/.test(digest)) return digest.toLowerCase();
  return form.fail(key, 'Must be 32 hex digits.');
}
