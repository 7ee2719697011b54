import { templateIdField } from './named-template.js';
import type { AccountRow } from '../../../engine/catalog/accounts.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { UserRow } from '../../../engine/catalog/users.js';
import type { VaultRow } from '../../../engine/catalog/vaults.js';
import { checkFilename } from '../../../engine/catalog/object-names.js';
import { constantField, declareResource, type ResourceField } from '../../http/resource.js';
import {
  boolean,
  id,
  integer,
  listOf,
  nullable,
  enumOf,
  withReader,
  reference,
  strings,
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
import { storageClass } from './storage-class.js';

/** Returns the three spellings of a dataset's path that clients use (contract 1.1, specification "Versioning"). */
export function datasetPaths(rest: string): [string, ...string[]] {
  return [`/v2/datasets/:id${rest}`, `/v2/dataset/:id${rest}`, `/v1/datasets/:id${rest}`];
}

/** The data that the view of a dataset shows and its row does not have. */
export interface DatasetContext {
  readonly object: ObjectRow;
  readonly vault: VaultRow;
  readonly account: AccountRow;
  readonly user: UserRow | undefined;
  readonly entityTypes: readonly string[];
  readonly origin: string;
}

/** The values of a request that creates or changes a dataset. */
export interface DatasetValues {
  readonly filename?: string;
  readonly parentId?: number | null;
  readonly description?: string | null;
  readonly metadata?: ObjectRow['metadata'];
  readonly tags?: readonly string[];
  readonly mimetype?: string | null;
  readonly capacity?: DatasetRow['capacity'];
  readonly storageClass?: string;
  readonly fields?: readonly ObjectRow['metadata'][];
}

type DatasetResourceField = ResourceField<DatasetRow, DatasetContext>;
const showFromObject = (
  read: (object: ObjectRow) => unknown,
): Pick<DatasetResourceField, 'show'> => ({
  show: (_, { object }) => read(object),
});
const addressField = (rest: string): DatasetResourceField => ({
  type: text,
  example: `http://localhost:7878/v2/datasets/4812${rest}`,
  show: ({ id: datasetId }, { origin }) => `${origin}/v2/datasets/${datasetId}${rest}`,
});

/** The capacity of a dataset in a request that creates it. */
export const capacityField = {
  type: enumOf('small', 'medium', 'large', 'xlarge'),
  description: 'Cannot be changed.',
  example: 'small',
} as const;

/** A dataset (contract 7.1); its name, path and description are those of its object. */
export const dataset = declareResource<DatasetRow, DatasetContext, DatasetValues>({
  name: 'Dataset',
  description: 'A dataset: a table of records with typed fields.',
  fields: {
    class_name: constantField('Dataset'),
    id: { type: id, example: 4812 },
    url: addressField(''),
    name: {
      ...showFromObject(({ filename }) => filename),
      // In an update, null leaves the name unchanged.
      type: withReader(text, (form, key) =>
        form.raw(key) === undefined ? undefined : readCheckedName(form, key, checkFilename),
      ),
      property: 'filename',
      description: 'If the name is taken, `-1`, `-2` … is appended to it.',
      example: 'variants',
      create: 'required',
      update: true,
    },
    full_path: {
      type: text,
      example: 'acme:Cardiomyopathy families:/variants',
      show: (_, { object, vault, account }) => `${account.domain}:${vault.name}:${object.path}`,
    },
    description: {
      ...descriptionField,
      type: withReader(text, (form, key) => form.nullableText(key)),
      description: 'Empty without one; null in a request removes it.',
      ...showFromObject(({ description }) => description ?? ''),
    },
    documents_count: { type: integer, description: 'Number of records.', example: 1204 },
    account_id: { type: id, example: 1, show: (_, { account }) => account.id },
    vault_id: {
      type: id,
      example: 12,
      description: 'Cannot be changed.',
      create: 'required',
      update: true,
      lookup: 'update',
      show: (_, { vault }) => vault.id,
    },
    vault_name: {
      type: text,
      example: 'Cardiomyopathy families',
      show: (_, { vault }) => vault.name,
    },
    vault_object_id: { type: id, example: 4812, ...showFromObject((object) => object.id) },
    vault_object_filename: {
      type: text,
      example: 'variants',
      ...showFromObject(({ filename }) => filename),
    },
    vault_object_path: { type: text, example: '/variants', ...showFromObject(({ path }) => path) },
    vault_parent_object_id: {
      type: withReader(nullable(id), (form, key) =>
        form.raw(key) === undefined || form.raw(key) === ''
          ? null
          : (form.id(key, 'The parent must be a folder in the same vault.') ?? null),
      ),
      property: 'parentId',
      description: 'The folder that holds it; null: the root of the vault.',
      example: null,
      create: 'optional',
      update: true,
      ...showFromObject(({ parentId }) => parentId),
    },
    capacity: { ...capacityField, create: 'optional', update: true, lookup: 'update' },
    storage_class: { type: storageClass, example: 'Standard', create: 'optional', update: true },
    availability: {
      type: enumOf('available', 'unavailable', 'restoring', 'archived'),
      example: 'available',
    },
    status: constantField('open'),
    health: constantField('green'),
    replicas: constantField(0),
    entity_types: {
      type: strings,
      description: 'The entity types of its fields.',
      example: ['gene', 'variant'],
      show: (_, { entityTypes }) => entityTypes,
    },
    is_genomic: {
      type: boolean,
      description: 'Whether it has a genome build.',
      example: true,
      show: ({ genomeBuilds }) => genomeBuilds.length > 0,
    },
    genome_builds: { type: strings, example: ['GRCh38'] },
    metadata: { ...metadataField, ...showFromObject(({ metadata }) => metadata) },
    tags: { ...tagsField, ...showFromObject(({ tags }) => tags) },
    user: ownerFields.user,
    user_id: { type: id, example: 3, ...showFromObject(({ userId }) => userId) },
    ...timestampFields,
    data_url: addressField('/data'),
    fields_url: addressField('/fields'),
    commits_url: addressField('/commits'),
    imports_url: addressField('/imports'),
    exports_url: addressField('/exports'),
    template_url: addressField('/template'),
    beacon_url: addressField('/beacon'),
    changelog_url: addressField('/changelog'),
    mimetype: {
      type: withReader(nullable(text), (form, key) => form.nullableText(key)),
      example: null,
      create: 'optional',
      update: true,
      show: null,
    },
    template_id: templateIdField,
    fields: {
      type: withReader(listOf(reference('FieldCreate')), (form, key) => form.objectList(key)),
      description: 'The fields that exist before the first import.',
      example: [
        { name: 'gene', data_type: 'string', entity_type: 'gene', title: 'Gene' },
        { name: 'info.AF', data_type: 'double', is_list: true, title: 'Allele frequency' },
      ],
      create: 'optional',
      show: null,
    },
  },
  examples: {
    create: {
      name: 'variants',
      vault_id: 12,
      description: 'Germline variants of 120 families with cardiomyopathy.',
      metadata: { study: 'CMP-2026' },
      tags: ['germline', 'GRCh38'],
      capacity: 'small',
      fields: [
        { name: 'gene', data_type: 'string', entity_type: 'gene', title: 'Gene' },
        { name: 'info.AF', data_type: 'double', is_list: true, title: 'Allele frequency' },
      ],
    },
    update: {
      description: 'Germline variants of 131 families with cardiomyopathy.',
      tags: ['germline', 'GRCh38', 'frozen'],
      storage_class: 'Standard',
    },
  },
});
