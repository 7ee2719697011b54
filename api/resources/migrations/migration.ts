import type {
  DatasetMigrationRow,
  NewDatasetMigration,
} from '../../../engine/catalog/dataset-migrations.js';
import { schemaOfAnswer } from '../../http/openapi.js';
import { constantField, declareResource, type ResourceField } from '../../http/resource.js';
import {
  boolean,
  id,
  integer,
  jsonObject,
  listOf,
  nullable,
  strings,
  enumOf,
  withReader,
  reference,
  text,
  type NamedSchema,
} from '../../http/json-schema.js';
import { commit, commitView } from '../commits/commit.js';
import { dataset } from '../shared/dataset.js';
import { readImportFields } from '../imports/computed-fields.js';
import { readIdFields } from '../imports/import-options.js';
import { annotatorParams, entityParams, validationParams } from '../shared/import-params.js';
import { targetFieldView, userMetadata } from '../imports/import.js';
import { asOfProperty } from '../queries/as-of.js';
import type { JobPresenter } from '../jobs/job-presenter.js';
import { jobFields, priorityType, rejectedUrlField, type JobContext } from '../jobs/job-view.js';

/** The data that the view of a migration shows and its row does not have; `dataset` is the target. */
interface MigrationContext extends JobContext {
  /** The view of the source; null if it has been deleted or the user may not read it. */
  readonly source: object | null;
  /** Views of the commits that the migration made. */
  readonly commits: readonly object[];
}

const optionalOnCreate = { create: 'optional' } as const;
const { dataset: _, dataset_id: __, ...shared } = jobFields;

/** A migration (contract 12). It has no key `data`, which one client would take for a list of migrations. */
export const migrationResource = declareResource<
  DatasetMigrationRow,
  MigrationContext,
  Partial<NewDatasetMigration>
>({
  name: 'DatasetMigration',
  description: 'A migration: the records of a query, copied from one dataset to another.',
  fields: {
    class_name: constantField('DatasetMigration'),
    ...(shared as Readonly<Record<string, ResourceField<DatasetMigrationRow, MigrationContext>>>),
    url: {
      type: text,
      example: 'http://localhost:7878/v2/dataset_migrations/5107',
      show: (row, { origin }) => `${origin}/v2/dataset_migrations/${row.id}`,
    },
    source: {
      type: nullable(reference('Dataset')),
      description: 'null once it has been deleted, and for a user who may not read it.',
      example: dataset.schema.example,
      show: (_, { source }) => source,
    },
    source_id: {
      type: id,
      lookup: true,
      description: 'The dataset that is read.',
      example: 4812,
      create: 'required',
    },
    target: {
      type: nullable(reference('Dataset')),
      example: dataset.schema.example,
      show: (_, context) => context.dataset,
    },
    target_id: {
      type: id,
      lookup: true,
      property: 'datasetId',
      description: 'The dataset that is written; it may be the source.',
      example: 4813,
      create: 'required',
    },
    source_params: {
      type: reference('MigrationQuery'),
      answerType: jsonObject,
      lookup: true,
      description: 'The query of the source, as it was sent; every record without one.',
      example: { filters: [['clinical_significance', 'Pathogenic']] },
      create: 'optional',
    },
    as_of: {
      type: nullable(reference('AsOf')),
      lookup: true,
      description:
        'The version of the source that the request names, fixed when the migration is created; null without one. Requests have a commit id or a time here, or in source_params.',
      example: null,
      create: 'optional',
      createType: asOfProperty.type,
    },
    commit_mode: {
      ...optionalOnCreate,
      type: enumOf('append', 'overwrite', 'upsert', 'delete'),
      description:
        'append adds the records to the target, with new _ids; overwrite, upsert and delete change the records of the target that have the _id of one of them, as imports do.',
      example: 'append',
    },
    id_fields: {
      ...optionalOnCreate,
      type: withReader(nullable(strings), readIdFields),
      description:
        'With overwrite, upsert and delete: records of the target are found by these fields, instead of by their _id.',
      example: null,
      show: ({ idFields }) => idFields,
    },
    target_fields: {
      ...optionalOnCreate,
      type: withReader(listOf(reference('TargetFieldCreate')), readImportFields),
      description:
        'Definitions of fields: other types, to which values are cast, expressions that compute them, titles, entity types and more.',
      example: [],
      show: ({ targetFields }) => targetFields.map(targetFieldView),
    },
    include_errors: { ...optionalOnCreate, type: boolean, example: true },
    entity_params: {
      ...optionalOnCreate,
      type: entityParams.type,
      description:
        'Which entity types are detected. Fields that are copied from the source keep its entity types, and those without one are checked only if this is given.',
      example: entityParams.defaults,
      show: (row) => ({ ...entityParams.defaults, ...row.entityParams }),
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
    priority: {
      ...optionalOnCreate,
      type: priorityType,
      description: 'A lower number runs first.',
      example: 15,
    },
    // Choice: with `parallel: true`, the answer is a list, as a client expects, with the one migration, which uses all threads in any case.
    parallel: {
      ...optionalOnCreate,
      type: boolean,
      lookup: true,
      description:
        'true: the answer is a list with the one migration, which uses all threads in any case.',
      example: false,
      show: null,
    },
    dry_run: {
      ...optionalOnCreate,
      type: boolean,
      property: 'isDryRun',
      description: 'Reports in metadata.dry_run what would be written, and changes nothing.',
      example: false,
    },
    documents_count: {
      type: nullable(integer),
      description: 'Number of records that the query finds.',
      example: 1204,
    },
    metadata: {
      ...userMetadata,
      example: { progress: { processed_records: 1204 } },
      show: (row) => ({ progress: { processed_records: 0 }, ...row.metadata }),
    },
    rejected_url: rejectedUrlField('dataset_migrations'),
    dataset_commits: {
      type: listOf(reference('DatasetCommit')),
      description: 'The commits that it made.',
      example: [commit.schema.example],
      show: (_, { commits }) => commits,
    },
  },
  examples: {
    create: {
      source_id: 4812,
      target_id: 4813,
      source_params: { filters: [['gene', 'MYH7']], exclude_fields: ['clinical_significance'] },
      target_fields: [{ name: 'reviewer', data_type: 'string' }],
    },
  },
});

const { schema } = migrationResource;

/** The answer of a request that creates a migration. */
export const createdMigrationSchema: NamedSchema = {
  name: 'CreatedDatasetMigration',
  schema: {
    description: 'The migration, or with `parallel: true` a list with the migration.',
    anyOf: [reference(schema.name).schema, schemaOfAnswer({ listOf: schema })],
    example: schema.example,
  },
  example: schema.example,
};

/** Returns the view of a migration, with its commits, and its source if the caller may read it. */
export async function migrationView(
  presenter: JobPresenter,
  row: DatasetMigrationRow,
): Promise<object> {
  const commits = await presenter.tables.commits.ofMigration(row.id);
  const { dataset: source } = await presenter.loadJobDatasetContext(row.sourceId);
  return migrationResource.view(row, {
    ...(await presenter.loadJobContext(row)),
    commits: await presenter.presentEach(commits, (one) => commitView(presenter, one)),
    source: (await presenter.mayRead(row.sourceId)) ? source : null,
  });
}
