import type { JsonObject } from '../core/types.js';
import type { Database } from './database.js';
import {
  savedResourceColumns,
  savedResourceTable,
  type SavedResourceRow,
  type SavedResourceTable,
} from './saved-resource.js';
import { savedResourceTableSchema } from './catalog-schema.js';
import { sql } from './sql.js';
import { tableCodec } from './table-codec.js';
import { normalizeTags } from './tags.js';

/**
 * A template of datasets and imports: definitions of fields, and parameters of imports. A shared template can be read by all users of the
 * account.
 */
export interface TemplateRow extends SavedResourceRow {
  readonly name: string;
  readonly version: string;
  readonly templateType: string;
  /** Whether users of every account may read the template. */
  readonly isPublic: boolean;
  readonly tags: readonly string[];
  /** The fields, in the form of an import's target fields. */
  readonly fields: readonly JsonObject[];
  readonly entityParams: JsonObject;
  readonly readerParams: JsonObject;
  readonly validationParams: JsonObject;
  readonly annotatorParams: JsonObject;
}

const templates = tableCodec<TemplateRow>(
  'datasetTemplates',
  {
    ...savedResourceColumns,
    name: 'plain',
    version: 'plain',
    templateType: 'plain',
    isPublic: 'flag',
    tags: 'json',
    fields: 'json',
    entityParams: 'json',
    readerParams: 'json',
    validationParams: 'json',
    annotatorParams: 'json',
  },
  {},
);

/** The statements that create the table of templates for datasets and imports. */
export const templateSchema: readonly string[] = [
  `INSERT INTO counters (name, value) VALUES ('template', 0)`,
  ...savedResourceTableSchema(
    'dataset_templates',
    `
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    template_type TEXT NOT NULL,
    is_public SMALLINT NOT NULL,
    tags TEXT NOT NULL,
    fields TEXT NOT NULL,
    entity_params TEXT NOT NULL,
    reader_params TEXT NOT NULL,
    validation_params TEXT NOT NULL,
    annotator_params TEXT NOT NULL`,
  ),
];

/** Returns access to the table of templates. */
export function templateTable(db: Database): SavedResourceTable<TemplateRow> {
  const from = sql`dataset_templates`;
  const table = savedResourceTable(db, templates, 'template', {
    from,
    owner: from,
    isPublic: sql`dataset_templates.is_public = 1`,
    conditions: ({ name, templateType, isPublic, tags }) => [
      ...(name === undefined ? [] : [sql`dataset_templates.name = ${name}`]),
      ...(templateType === undefined
        ? []
        : [sql`dataset_templates.template_type = ${templateType}`]),
      ...(isPublic === undefined ? [] : [sql`dataset_templates.is_public = ${isPublic}`]),
      ...(tags ?? []).map(
        (tag) => sql`EXISTS (SELECT 1 FROM json_each(dataset_templates.tags) WHERE value = ${tag})`,
      ),
    ],
  });
  return {
    ...table,
    create: (row) => table.create({ ...row, tags: normalizeTags(row.tags) }),
    update: (id, patch) =>
      table.update(id, { ...patch, ...(patch.tags && { tags: normalizeTags(patch.tags) }) }),
  };
}
