import { genomeBuilds } from '../../../engine/core/types.js';
import { annotatorParams } from '../shared/import-params.js';
import { asOfProperty, asOfSchema, asOfAnswerProperty } from '../queries/as-of.js';
import { diffAnswer } from './diff.js';
import {
  anyType,
  answerSchema,
  bodySchema,
  boolean,
  id,
  integer,
  jsonObject,
  jsonObjects,
  listOf,
  nullType,
  nullable,
  nullableText,
  enumOf,
  reference,
  text,
  type NamedSchema,
  type Property,
} from '../../http/json-schema.js';

/** The description of the key `explain` in every kind of query. */
export const explainDescription =
  'true: the answer has an explanation of what each condition matches and why the page is empty.';

const genomeBuild = enumOf(...genomeBuilds);

const queryKeys: Readonly<Record<string, Property>> = {
  filters: {
    type: { schema: {} },
    description:
      'Pairs [field__action, value], or objects with and, or, not; conditions of a list are joined by AND. {"any": {"path": list, "filters": [...]}} finds records of which one element of a list of objects satisfies all of the filters.',
    example: [
      ['clinical_significance', 'Pathogenic'],
      ['info.AF__lt', 0.001],
    ],
  },
  query: { type: text, description: 'A query string; joined with the other conditions by AND.' },
  fields: {
    type: { schema: { type: ['array', 'string'], items: { type: 'string' } } },
    description: 'Return only these fields.',
    example: ['gene', 'variant', 'clinical_significance'],
  },
  exclude_fields: {
    type: { schema: { type: ['array', 'string'], items: { type: 'string' } } },
    description: 'Return all fields but these; precedes fields.',
  },
  ordering: {
    type: { schema: { type: ['array', 'string'], items: { type: 'string' } } },
    description: 'Field names; `-` in front for descending.',
    example: ['gene'],
  },
  entities: {
    type: { schema: { type: 'array' } },
    description:
      'Pairs [entity type, value], where a value may be a list; pairs of one type are alternatives.',
  },
  genome_build: {
    type: genomeBuild,
    description: 'Only records of this build, or without one.',
  },
  facets: {
    type: { schema: { type: ['object', 'array'] } },
    description:
      'By field: {facet_type, limit, interval, scale, extended, percents, facets}; a list of field names has the defaults.',
    example: { gene: { limit: 3 } },
  },
  limit: { type: integer, description: '0 to 10,000; 100 when absent.', example: 10 },
  offset: { type: integer, description: 'Number of records to skip; 0 when absent.' },
  cursor: {
    type: anyType,
    description:
      'true for the first page, then the cursor of the previous answer; all pages are of one version of the dataset.',
  },
  as_of: asOfProperty,
  explain: { type: boolean, description: explainDescription },
};

/** Keys by which the expressions of a query compute fields of the records that it finds, or change the records; `debug` is ignored. */
const annotationKeys: Readonly<Record<string, Property>> = {
  target_fields: {
    type: jsonObjects,
    description:
      'Fields that are computed of each record: {name, expression, data_type, is_list, depends_on, ordering, is_transient}. Filters, ordering and facets may name them.',
    example: [{ name: 'length', expression: 'len(record.gene)', data_type: 'integer' }],
  },
  annotator_params: {
    type: jsonObject,
    description:
      'include_errors, data, pre_annotation_expression, post_annotation_expression, and others that imports have.',
  },
  debug: { type: anyType, description: 'Has no effect.' },
};

/**
 * Keys of a query that exports and migrations do not support but that clients send. A value that asks for an effect is an error, except
 * that of `debug`, which is ignored.
 */
const unavailableKeys: Readonly<Record<string, Property>> = {
  target_fields: { type: jsonObjects, description: 'Not available yet.' },
  annotator_params: { type: annotatorParams.type, description: 'Not available yet.' },
  debug: { type: anyType, description: 'Has no effect.' },
};

/** The body of a query of a dataset. */
export const querySchema = bodySchema('Query', 'A query of a dataset.', {
  ...queryKeys,
  ...annotationKeys,
});

const { cursor: _, explain: __, ...exportKeys } = queryKeys;

/** The query of an export. */
const exportQuery = bodySchema('ExportQuery', 'The query of an export.', {
  ...exportKeys,
  ...unavailableKeys,
  limit: { type: integer, description: '1 to 1,000,000; all records when absent.' },
  facets: { type: anyType, description: 'Not in exports.' },
  offset: { type: integer, description: 'Not in exports.' },
  explain: { type: boolean, description: 'Not in exports.' },
  csv_safe: {
    type: boolean,
    description:
      'In formats of lines of cells: cells that a spreadsheet would take for formulas begin with a quote.',
  },
});

const migrationQueryKeys = bodySchema(
  'MigrationQuery',
  'The query of a migration. A key that it does not have is an error.',
  {
    ...exportKeys,
    ...unavailableKeys,
    limit: { type: nullable(integer), description: '1 or more; all records when absent.' },
    facets: { type: anyType, description: 'Not in migrations.' },
    offset: { type: integer, description: 'Not in migrations.' },
    explain: { type: boolean, description: 'Not in migrations.' },
  },
);

/** The query of a migration. */
const migrationQuery: NamedSchema = {
  ...migrationQueryKeys,
  schema: { ...migrationQueryKeys.schema, additionalProperties: false },
};

/** The conditions that a beacon, or another resource that restricts a query, has. */
const conditionsSchema = bodySchema('Conditions', 'Conditions of a query.', {
  filters: queryKeys['filters']!,
  query: queryKeys['query']!,
  genome_build: queryKeys['genome_build']!,
});

const answerProperties = {
  dataset: { type: text, description: 'Name of the dataset.', example: 'variants' },
  dataset_id: { type: id, example: 4812 },
  as_of: asOfAnswerProperty,
  took: { type: integer, description: 'Milliseconds.', example: 4 },
  total: { type: integer, description: 'Number of matching records.', example: 1 },
};
const exampleRecord = {
  gene: 'MYH7',
  variant: 'GRCH38-14-23424840-23424840-T',
  clinical_significance: 'Pathogenic',
};

/** A page of records. */
export const queryAnswer = answerSchema('QueryAnswer', 'A page of records, and facets.', {
  ...answerProperties,
  offset: {
    type: nullable(integer),
    description: 'Offset of the next page; null when there is none.',
    example: null,
  },
  results: { type: jsonObjects, description: 'The records.', example: [exampleRecord] },
  facets: {
    type: jsonObject,
    description: 'By field; only if requested.',
    example: { gene: [['MYH7', 1]] },
    optional: true,
  },
  explain: {
    type: reference('Explanation'),
    description: 'Only if requested.',
    optional: true,
  },
  cursor: {
    type: nullableText,
    description:
      'Only if requested: the cursor of the next page, null after the last one. Other formats have it in the header X-Next-Cursor.',
    optional: true,
  },
});

/** Records looked up by id. */
export const lookupSchema = answerSchema('Lookup', 'Records by id.', {
  ...answerProperties,
  offset: { type: nullType, example: null },
  results: { type: jsonObjects, example: [exampleRecord] },
});

const conditionProperties = {
  path: { type: text, description: 'Its position in the request: `filters[0].or[1]`.' },
  condition: { type: text, description: 'The condition as sent, or `and`, `or`, `not`.' },
};

const explanationSchema = answerSchema(
  'Explanation',
  'What each condition of a query matches, and why the answer is empty.',
  {
    records: { type: integer, description: 'Number of records that were searched.' },
    nodes: {
      type: listOf(reference('ExplainedNode')),
      description: 'The conditions of the request, joined by AND in this order.',
    },
    causes: {
      type: listOf(reference('ExplainedCause')),
      description: 'Only for an empty answer: why it may be empty, each confirmed by the records.',
      optional: true,
    },
    segments: {
      type: jsonObject,
      description:
        'Segments of the dataset: {total, touched, skipped, rows, more, paths}. Those skipped cannot match by their statistics; `more` counts paths that are not listed.',
    },
    hints: {
      type: listOf(jsonObject),
      description:
        'Conditions on one list that different elements may satisfy, and the form for one element.',
      optional: true,
    },
    access: {
      type: jsonObject,
      description:
        'How columns in memory evaluated the touched segments: {bounds, filters, pages, searches, hashes, columns}, the numbers of those whose records sort after the page by the statistics in the log, ruled out by Bloom filters, evaluated on the few pages that their bounds or a search of their bytes leave, looked up in a hash table, and evaluated on whole columns.',
      optional: true,
    },
    plan: {
      type: listOf(jsonObject),
      description: 'The steps of the plan: {step, executor, columns, cost, reason}.',
      optional: true,
    },
    steps: { type: jsonObject, description: 'Milliseconds by step.' },
    computed: {
      type: jsonObject,
      description:
        'Only if the query finds, sorts or counts by computed fields: {fields, records, bytes, ms, is_cached, explain}. The other conditions are explained first; they leave `records`, of which `fields` were computed in `ms`, unless that was cached; `explain` explains the rest over these records.',
      optional: true,
    },
  },
  { records: 1204, nodes: [], segments: {}, steps: {} },
);

const explainedNodeSchema = answerSchema(
  'ExplainedNode',
  'A condition of a query and what it matches.',
  {
    ...conditionProperties,
    matches: { type: integer, description: 'Number of records that satisfy it.' },
    left: {
      type: integer,
      description: 'Number of these that satisfy every earlier condition joined by AND.',
      optional: true,
    },
    nodes: {
      type: listOf(reference('ExplainedNode')),
      description: 'The conditions that it joins.',
      optional: true,
    },
  },
  { path: 'filters[0]', condition: 'gene = MYH7', matches: 1, left: 1 },
);

const explainedCauseSchema = answerSchema(
  'ExplainedCause',
  'A reason why an answer is empty.',
  {
    ...conditionProperties,
    hint: { type: text },
    cause: { type: text, description: 'wrong_build, chr_prefix, letter_case, nearest_values …' },
    instead: { type: text, description: 'A condition that matches records.', optional: true },
    matches: {
      type: integer,
      description: 'Records that satisfy the condition; absent for several conditions.',
      optional: true,
    },
    left: {
      type: integer,
      description: 'Number of records that the request finds with that condition.',
      optional: true,
    },
    values: {
      type: { schema: { type: 'array' } },
      description: 'Stored values, or paths of other conditions.',
      optional: true,
    },
  },
  { path: 'filters[0]', condition: 'gene = myh7', hint: '…', cause: 'letter_case' },
);

/** A query of a batch; an unknown key in it makes only this query fail. */
export const batchItem = bodySchema('BatchItem', 'A query of the dataset that it names.', {
  dataset: { type: { schema: { type: ['integer', 'string'] } }, description: 'Id or full path.' },
  dataset_id: {
    type: { schema: { type: ['integer', 'string'] } },
    description: 'Id or full path of the dataset; another name of dataset.',
  },
  ...queryKeys,
  ...annotationKeys,
});

/** Several queries in one request. */
export const batchQuery = bodySchema(
  'BatchQuery',
  'Several queries; a bare list is accepted too.',
  {
    queries: {
      type: listOf(reference('BatchItem')),
      example: [
        { dataset: 4812, filters: [['gene', 'MYH7']], limit: 1 },
        { dataset: 4812, filters: [['gene', 'MYBPC3']], limit: 0 },
      ],
      required: true,
    },
  },
);

const { facets: ___, ...answerWithoutFacets } = queryAnswer.example as Record<string, unknown>;
const batchExample = [
  { status_code: 200, ...answerWithoutFacets },
  { status_code: 200, ...answerWithoutFacets, total: 3, offset: null, results: [] },
];
/** The answers of several queries. */
export const batchAnswer = {
  name: 'BatchAnswer',
  schema: {
    type: 'array',
    description:
      'In the order of the queries: answers, or errors such as `{"status_code": 404, "detail": "Not found"}`.',
    items: {
      type: 'object',
      properties: { status_code: integer.schema },
      required: ['status_code'],
    },
    example: batchExample,
  },
  example: batchExample,
};

export const recordSchemas = [
  asOfSchema,
  diffAnswer,
  querySchema,
  exportQuery,
  migrationQuery,
  conditionsSchema,
  queryAnswer,
  lookupSchema,
  explanationSchema,
  explainedNodeSchema,
  explainedCauseSchema,
  batchItem,
  batchQuery,
  batchAnswer,
];
