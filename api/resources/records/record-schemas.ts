import {
  anything,
  answerSchema,
  bodySchema,
  boolean,
  id,
  integer,
  jsonObject,
  jsonObjects,
  listOf,
  nothing,
  nullable,
  nullableText,
  oneOf,
  reference,
  text,
  type Property,
} from '../../http/schema.js';

/** The description of `explain` in every query. */
export const explainKey =
  'true: the answer has an explanation of what each condition matches and why the page is empty.';

const genomeBuild = oneOf('GRCh37', 'GRCh38');

const queryKeys: Readonly<Record<string, Property>> = {
  filters: {
    type: { schema: {} },
    description:
      'Pairs [field__action, value], or objects with and, or, not; conditions of a list are joined by AND.',
    example: [
      ['clinical_significance', 'Pathogenic'],
      ['info.AF__lt', 0.001],
    ],
  },
  query: { type: text, description: 'A query string.' },
  fields: {
    type: { schema: { type: ['array', 'string'], items: { type: 'string' } } },
    description: 'Return only these fields.',
    example: ['gene', 'variant', 'clinical_significance'],
  },
  exclude_fields: { type: { schema: { type: ['array', 'string'], items: { type: 'string' } } } },
  ordering: {
    type: { schema: { type: ['array', 'string'], items: { type: 'string' } } },
    description: 'Field names; `-` in front for descending.',
    example: ['gene'],
  },
  entities: {
    type: { schema: { type: 'array' } },
    description: 'Pairs [entity type, value].',
  },
  genome_build: { type: genomeBuild },
  facets: {
    type: { schema: { type: ['object', 'array'] } },
    description:
      'By field: {facet_type, limit, interval, scale, extended, percents, facets}; a list of field names has the defaults.',
    example: { gene: { limit: 3 } },
  },
  limit: { type: integer, description: '0 to 10,000; 100 when absent.', example: 10 },
  offset: { type: integer },
  cursor: {
    type: anything,
    description:
      'true for the first page, then the cursor of the previous answer; all pages are of one version of the dataset.',
  },
  explain: { type: boolean, description: explainKey },
};

/** The body of a query of a dataset. */
export const query = bodySchema('Query', 'A query of a dataset.', queryKeys);

const answerKeys = {
  dataset: { type: text, description: 'Name of the dataset.', example: 'variants' },
  dataset_id: { type: id, example: 4812 },
  took: { type: integer, description: 'Milliseconds.', example: 4 },
  total: { type: integer, description: 'Number of matching records.', example: 1 },
};
const record = {
  gene: 'MYH7',
  variant: 'GRCH38-14-23424840-23424840-T',
  clinical_significance: 'Pathogenic',
};

/** A page of records. */
export const queryAnswer = answerSchema('QueryAnswer', 'A page of records, and facets.', {
  ...answerKeys,
  offset: {
    type: nullable(integer),
    description: 'Offset of the next page; null when there is none.',
    example: null,
  },
  results: { type: jsonObjects, description: 'The records.', example: [record] },
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
    description: 'Only if requested: the cursor of the next page, null after the last one.',
    optional: true,
  },
});

/** Records looked up by id. */
export const lookup = answerSchema('Lookup', 'Records by id.', {
  ...answerKeys,
  offset: { type: nothing, example: null },
  results: { type: jsonObjects, example: [record] },
});

const condition = {
  path: { type: text, description: 'Its position in the request: `filters[0].or[1]`.' },
  condition: { type: text, description: 'The condition as sent, or `and`, `or`, `not`.' },
};

const explanation = answerSchema(
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
    steps: {
      type: jsonObject,
      description: 'Milliseconds by step; page and facets run at the same time.',
    },
  },
  { records: 1204, nodes: [], segments: {}, steps: {} },
);

const explainedNode = answerSchema(
  'ExplainedNode',
  'A condition of a query and what it matches.',
  {
    ...condition,
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

const explainedCause = answerSchema(
  'ExplainedCause',
  'A reason why an answer is empty.',
  {
    ...condition,
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

/** Several queries in one request. */
export const batchQuery = bodySchema(
  'BatchQuery',
  'Several queries; a bare list is accepted too.',
  {
    queries: {
      type: {
        schema: {
          type: 'array',
          items: {
            allOf: [
              { $ref: '#/components/schemas/Query' },
              {
                type: 'object',
                properties: {
                  dataset: { type: ['integer', 'string'], description: 'Id or full path.' },
                },
                required: ['dataset'],
              },
            ],
          },
        },
      },
      example: [
        { dataset: 4812, filters: [['gene', 'MYH7']], limit: 1 },
        { dataset: 4812, filters: [['gene', 'MYBPC3']], limit: 0 },
      ],
      required: true,
    },
  },
);

const batchExample = [
  { status_code: 200, ...(queryAnswer.example as object) },
  { status_code: 404, detail: 'Not found' },
];
/** The answers of several queries. */
export const batchAnswer = {
  name: 'BatchAnswer',
  schema: {
    type: 'array',
    description: 'In the order of the queries: answers, or errors, each with `status_code`.',
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
  query,
  queryAnswer,
  lookup,
  explanation,
  explainedNode,
  explainedCause,
  batchQuery,
  batchAnswer,
];
