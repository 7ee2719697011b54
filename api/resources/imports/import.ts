import { serverMetadata, type ImportRow, type NewImport } from '../../../engine/catalog/imports.js';
import { genomeBuilds, type JsonObject } from '../../../engine/core/types.js';
import { isObject, type Form } from '../../http/form.js';
import {
  constantField,
  declareResource,
  emptyField,
  type ResourceField,
} from '../../http/resource.js';
import {
  bodySchema,
  boolean,
  id,
  jsonObject,
  jsonObjects,
  listOf,
  nullable,
  nullableText,
  enumOf,
  withReader,
  reference,
  strings,
  text,
} from '../../http/json-schema.js';
import { commit, commitView } from '../commits/commit.js';
import { objectSummary } from '../shared/object.js';
import type { JobPresenter } from '../jobs/job-presenter.js';
import {
  cancelProperty,
  jobFields,
  priorityType,
  rejectedUrlField,
  type JobContext,
} from '../jobs/job-view.js';
import { manifestType } from './read-manifest.js';
import { templateIdField } from '../shared/named-template.js';
import { readImportFields } from './computed-fields.js';
import { readIdFields, readGenomeBuild } from './import-options.js';
import { annotatorParams, entityParams, validationParams } from '../shared/import-params.js';

/** The data that the view of an import shows and its row does not have. */
interface ImportContext extends JobContext {
  /** The views of the commits that the import made. */
  readonly commits: readonly object[];
  readonly sourceObject: object | null;
}

const initialMetadata = {
  progress: {
    processed_records: 0,
    records_per_second: 0,
    errors: { records: 0, fields: 0, examples: [] },
  },
  validation: {
    errors: [],
    warnings: [],
    errors_count: 0,
    warnings_count: 0,
    error_codes: [],
    detections: null,
  },
};

const optionalOnCreate = { create: 'optional' } as const;
const lookupOnCreate = { create: 'optional', lookup: true } as const;
type ImportResourceField = ResourceField<ImportRow, ImportContext>;

/** What lets the requests of imports and migrations set keys of `metadata`. */
export const userMetadata = {
  type: withReader(jsonObject, (form, key) => form.object(key)),
  description:
    'Keys and values of the user, besides those of the server: `progress`, `validation`, `receipt` and others.',
  create: 'optional',
} as const;

/** An import (contract 10.1), with the commits that it made. */
export const importResource = declareResource<ImportRow, ImportContext, Partial<NewImport>>({
  name: 'DatasetImport',
  description: 'An import: the records of files, or of the request itself, added to a dataset.',
  fields: {
    class_name: constantField('DatasetImport'),
    ...(jobFields as Readonly<Record<string, ImportResourceField>>),
    dataset_id: { type: id, example: 4812, create: 'required', lookup: true },
    url: {
      type: text,
      example: 'http://localhost:7878/v2/dataset_imports/5107',
      show: (row, { origin }) => `${origin}/v2/dataset_imports/${row.id}`,
    },
    title: { type: text, example: 'Import of family-17.vcf.gz' },
    description: {
      type: withReader(nullableText, (form, key) => form.nullableText(key)),
      example: 'Joint calls of family 17.',
      create: 'optional',
      update: true,
    },
    source: { type: enumOf('data_records', 'object', 'manifest'), example: 'object' },
    object_id: {
      ...lookupOnCreate,
      type: nullable(id),
      description: 'The uploaded file.',
      example: 4811,
    },
    logical_object: { type: nullable(id), property: 'objectId', example: 4811 },
    source_object: {
      type: nullable(reference('ObjectSummary')),
      example: objectSummary.schema.example,
      show: (_, { sourceObject }) => sourceObject,
    },
    manifest: {
      ...lookupOnCreate,
      type: manifestType,
      description: 'Files to import together.',
      example: {},
    },
    data_records: {
      ...lookupOnCreate,
      type: jsonObjects,
      description: 'Up to 5,000 records; the answer comes when they are imported.',
      example: [{ gene: 'MYH7', variant: 'GRCH38-14-23424840-23424840-T' }],
      show: null,
    },
    records: {
      ...lookupOnCreate,
      type: jsonObjects,
      description: 'Records to import, as in data_records; either name may be used.',
      example: [],
      show: null,
    },
    commit_mode: {
      ...optionalOnCreate,
      type: enumOf('append', 'overwrite', 'upsert', 'delete'),
      description:
        'append adds the records. overwrite replaces the records that have the _id of a given one. upsert replaces the fields that a given record has; members of objects count one by one. Both add records that they do not find. delete removes the records that have the _id of a given one.',
      example: 'append',
    },
    id_fields: {
      ...optionalOnCreate,
      type: withReader(nullable(strings), readIdFields),
      description:
        'With overwrite, upsert and delete: records are found by these fields, instead of by their _id. Records that are replaced keep their _id.',
      example: null,
      show: ({ idFields }) => idFields,
    },
    template_id: templateIdField,
    target_fields: {
      ...optionalOnCreate,
      type: withReader(listOf(reference('TargetFieldCreate')), readImportFields),
      description: 'Definitions of fields: types, titles, entity types, expressions and more.',
      example: [],
      show: ({ targetFields }) => targetFields.map(targetFieldView),
    },
    entity_params: {
      ...optionalOnCreate,
      type: entityParams.type,
      example: entityParams.defaults,
      show: (row) => ({ ...entityParams.defaults, ...row.entityParams }),
    },
    reader_params: {
      ...optionalOnCreate,
      type: jsonObject,
      example: {},
      show: ({ readerParams }) => readerParams ?? {},
    },
    validation_params: {
      ...optionalOnCreate,
      type: validationParams.type,
      example: validationParams.defaults,
      show: (row) => ({ ...validationParams.defaults, ...row.validationParams }),
    },
    annotator_params: {
      ...optionalOnCreate,
      type: annotatorParams.type,
      example: annotatorParams.defaults,
      show: (row) => ({ ...annotatorParams.defaults, ...row.annotatorParams }),
    },
    include_errors: { ...optionalOnCreate, type: boolean, example: false },
    genome_build: {
      ...optionalOnCreate,
      type: withReader(nullable(enumOf(...genomeBuilds)), readGenomeBuild),
      example: 'GRCh38',
    },
    priority: {
      ...optionalOnCreate,
      type: priorityType,
      description: 'A lower number runs first.',
      example: 10,
    },
    dry_run: {
      ...optionalOnCreate,
      type: boolean,
      property: 'isDryRun',
      description: 'Reports in metadata.dry_run what would be imported, and imports nothing.',
      example: false,
    },
    import_messages: emptyField({}),
    metadata: {
      ...(jobFields['metadata'] as ImportResourceField),
      ...userMetadata,
      update: true,
      example: initialMetadata,
      show: ({ metadata }) => ({ ...initialMetadata, ...metadata }),
    },
    tags: { type: strings, example: ['germline'], create: 'optional', update: true },
    rejected_url: rejectedUrlField('dataset_imports'),
    dataset_commits: {
      type: listOf(reference('DatasetCommit')),
      description: 'The commits that it made.',
      example: [commit.schema.example],
      show: (_, { commits }) => commits,
    },
  },
  examples: {
    create: {
      dataset_id: 4812,
      data_records: [
        {
          gene: 'MYH7',
          variant: 'GRCH38-14-23424840-23424840-T',
          clinical_significance: 'Pathogenic',
        },
        {
          gene: 'MYBPC3',
          variant: 'GRCH38-11-47346205-47346205-A',
          clinical_significance: 'Likely pathogenic',
        },
      ],
      description: 'Curated variants of March 2026.',
      genome_build: 'GRCh38',
      tags: ['curated'],
    },
  },
});

/** Returns the keys of `metadata` in the request that only the server sets. */
export function serverMetadataKeys(form: Form): readonly string[] {
  const rawMetadata = form.raw('metadata');
  return isObject(rawMetadata)
    ? Object.keys(rawMetadata).filter((key) => serverMetadata.includes(key))
    : [];
}

/** Adds an error to the form of an import or migration to create if it has keys of `metadata` that only the server sets. */
export function checkMetadata(form: Form): void {
  const keys = serverMetadataKeys(form);
  if (keys.length > 0)
    form.fail('metadata', `The server sets ${keys.join(', ')}; choose other names.`);
}

/** The body of a request that changes an import. */
export const importChangeBody = bodySchema(
  'DatasetImportChange',
  'Cancels an import, or changes its description, metadata and tags.',
  {
    ...cancelProperty,
    description: { type: nullableText },
    metadata: {
      type: jsonObject,
      description: 'Replaces the keys of the user; those of the server stay.',
    },
    tags: { type: strings },
  },
  { description: 'Curated variants of March 2026, checked twice.', tags: ['curated', 'checked'] },
);

/** Returns a target field with all its keys (contract 10.1). */
export function targetFieldView(target: JsonObject): JsonObject {
  return {
    name: target['name'] ?? null,
    title: target['title'] ?? target['name'] ?? null,
    description: target['description'] ?? '',
    data_type: target['data_type'] ?? 'auto',
    entity_type: target['entity_type'] ?? null,
    expression: target['expression'] ?? null,
    is_hidden: target['is_hidden'] ?? false,
    is_list: target['is_list'] ?? null,
    is_transient: target['is_transient'] ?? false,
    ordering: target['ordering'] ?? null,
    depends_on: target['depends_on'] ?? [],
    url_template: target['url_template'] ?? null,
  };
}

/** Returns the view of an import, with its commits and the uploaded file. */
export async function importView(presenter: JobPresenter, row: ImportRow): Promise<object> {
  const commits = await presenter.tables.commits.ofImport(row.id);
  return importResource.view(row, {
    ...(await presenter.loadJobContext(row)),
    commits: await presenter.presentEach(commits, (one) => commitView(presenter, one)),
    sourceObject: await presenter.objectSummaryView(row.objectId),
  });
}
