import { outputDelimiters } from '../../../engine/query/request/query-request.js';
import { describedTableExtensions } from '../../../scheduler/jobs/table/file-table.js';
import { declareOperations, pagingParams, updateDescription } from '../../http/operation-row.js';
import {
  answerSchema,
  bodySchema,
  boolean,
  id,
  integer,
  nullType,
  nullable,
  enumOf,
  reference,
  strings,
  text,
} from '../../http/json-schema.js';
import { explainDescription } from '../records/record-schemas.js';
import { object } from '../shared/object.js';

export const downloadSchema = answerSchema('Download', 'Where a file can be downloaded.', {
  download_url: {
    type: text,
    description: 'A signed address that works without credentials until it expires.',
    example: 'http://localhost:7878/v2/downloads/objects/4811/1?expires=1772530841&signature=q0…',
  },
  object_id: { type: nullType, example: null },
});

const fileFieldsSchema = answerSchema('FileFields', 'The columns of an uploaded file.', {
  fields: {
    type: strings,
    description: 'The names of the columns, in the order of the file.',
    example: ['gene', 'variant', 'clinical_significance'],
  },
});

const fileQueryBody = bodySchema('FileQuery', 'A query of an uploaded file.', {
  filters: {
    type: { schema: {} },
    description: 'As for a dataset, without `regexp` and `regex`.',
    example: [['gene', 'MYH7']],
  },
  fields: { type: strings, example: ['gene', 'variant'] },
  exclude_fields: { type: strings },
  ordering: { type: strings, example: ['gene'] },
  limit: { type: integer, description: '0 to 10,000; 100 when absent.', example: 10 },
  offset: { type: integer },
  output_format: {
    type: enumOf(...outputDelimiters.keys()),
    description: 'With csv and tsv, each result is a line of text.',
    example: 'json',
  },
  explain: { type: boolean, description: explainDescription },
  query: { type: text, description: 'Not for files.' },
  entities: { type: { schema: { type: 'array' } }, description: 'Not for files.' },
  facets: { type: { schema: { type: ['object', 'array'] } }, description: 'Not for files.' },
  cursor: { type: { schema: {} }, description: 'Not for files.' },
});

const fileAnswerSchema = answerSchema('FileAnswer', 'A page of the records of an uploaded file.', {
  object_id: { type: id, example: 4811 },
  results: {
    type: { schema: { type: 'array' } },
    description: 'Records; lines of text with output_format csv or tsv.',
    example: [{ gene: 'MYH7', variant: 'GRCH38-14-23424840-23424840-T' }],
  },
  total: { type: integer, description: 'Number of matching records.', example: 1 },
  offset: {
    type: nullable(integer),
    description: 'Offset of the next page; null when there is none.',
    example: null,
  },
  took: { type: integer, description: 'Milliseconds.', example: 12 },
  explain: {
    type: reference('Explanation'),
    description: 'Only if requested.',
    optional: true,
  },
});

export const objectSchemas = [downloadSchema, fileFieldsSchema, fileQueryBody, fileAnswerSchema];

/** The query parameters of operations that answer where a file can be downloaded. */
export const downloadParams = {
  redirect: { description: 'true: answer 302 to the address.', example: 'false' },
};

const objectPath: [string] = ['/v2/objects/:id'];
const changeDescription = `${updateDescription} \`parent_object_id\` moves an object, \`filename\` renames it.`;

/** The HTTP operations on files, folders, datasets and shortcuts as objects. */
export const objectOperations = declareOperations('objects', 'Objects', {
  create: {
    method: 'POST',
    paths: ['/v2/objects'],
    summary:
      'Creates a file, a folder, a dataset or a shortcut. The answer for a file has an `upload_url`.',
    body: object.createSchema,
    status: 201,
    answer: object.schema,
  },
  list: {
    method: 'GET',
    paths: ['/v2/objects'],
    summary: 'Lists the objects in the vaults that the user may read.',
    query: {
      id: 'One object.',
      full_path: 'Exact full path.',
      follow_shortcuts: {
        description: 'true: follow the shortcuts on the way of full_path.',
        example: 'true',
      },
      vault_id: 'Vault.',
      vault_name: 'Name of the vault.',
      vault_full_path: {
        description: '`domain:vault`.',
        example: 'acme:Cardiomyopathy families',
      },
      path: 'Exact path.',
      filename: 'Exact name.',
      object_type: 'file, folder, dataset or shortcut.',
      type: { sameAs: 'object_type' },
      parent_object_id: 'Children of this folder; null: of the root.',
      ancestor_id: {
        description: 'Everything below this folder; null: below the root.',
        example: '4810',
      },
      min_distance: {
        description: 'With ancestor_id: minimum number of levels below that folder.',
        example: '1',
      },
      depth: 'Level in the vault, 0 at the root.',
      query: {
        description: 'Text in the path, or a query string as of a search.',
        example: 'family',
      },
      q: { sameAs: 'query' },
      regex: {
        description: 'Regular expression found anywhere in the path, case-insensitive.',
        example: 'family-\\d+',
      },
      glob: {
        description: 'Pattern of the full path with `*`, `?` and `**`.',
        example: 'acme:*:/calls/**',
      },
      tags: 'One tag.',
      tag: { sameAs: 'tags' },
      storage_class: { description: 'Datasets with this storage class.', example: 'Standard' },
      permission: {
        description: 'read, write or admin: what the user may do in the vault.',
        example: 'read',
      },
      ...pagingParams,
    },
    answer: { listOf: object.schema },
  },
  get: { method: 'GET', paths: objectPath, summary: 'Returns an object.', answer: object.schema },
  put: {
    method: 'PUT',
    paths: objectPath,
    summary: changeDescription,
    body: object.updateSchema,
    answer: object.schema,
  },
  patch: {
    method: 'PATCH',
    paths: objectPath,
    summary: changeDescription,
    body: object.updateSchema,
    answer: object.schema,
  },
  delete: {
    method: 'DELETE',
    paths: objectPath,
    summary: 'Deletes an object with everything below it.',
    answer: object.schema,
  },
  download: {
    method: 'GET',
    paths: ['/v2/objects/:id/download'],
    summary: 'Returns a signed address of the bytes of a file.',
    query: downloadParams,
    answer: downloadSchema,
  },
  fields: {
    method: 'GET',
    paths: ['/v2/objects/:id/fields'],
    summary: `Returns the column names of an uploaded file: ${describedTableExtensions}.`,
    answer: fileFieldsSchema,
  },
  query: {
    method: 'POST',
    paths: ['/v2/objects/:id/data'],
    summary: 'Returns a page of the records of an uploaded file, without an import.',
    body: fileQueryBody,
    answer: fileAnswerSchema,
  },
});
