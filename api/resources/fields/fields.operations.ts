import { declareOperations, pagingParams, updateDescription } from '../../http/operation-row.js';
import { anyType, answerSchema, integer } from '../../http/json-schema.js';
import { datasetPaths } from '../shared/dataset.js';
import { asOfAnswerProperty, asOfParam } from '../queries/as-of.js';
import { field, fieldUpdate } from './field.js';

/** A facet of one field. */
export const fieldFacets = answerSchema('FieldFacets', 'A facet of one field over all records.', {
  facets: {
    type: anyType,
    description: 'The facet, in the form that its facet_type has in a query.',
    example: [
      ['Pathogenic', 412],
      ['Benign', 388],
    ],
  },
  total: { type: integer, description: 'Number of distinct values.', example: 6 },
  as_of: asOfAnswerProperty,
  took: { type: integer, description: 'Milliseconds.', example: 3 },
});

const fieldPaths = (rest: string): [string, string] => [
  `/v2/dataset_fields/:id${rest}`,
  `/v1/dataset_fields/:id${rest}`,
];

export const fieldOperations = declareOperations('fields', 'Dataset fields', {
  create: {
    method: 'POST',
    paths: ['/v2/dataset_fields', '/v1/dataset_fields'],
    summary: 'Adds a field to a dataset.',
    body: field.createSchema,
    status: 201,
    answer: field.schema,
  },
  list: {
    method: 'GET',
    paths: datasetPaths('/fields'),
    summary: 'Lists the fields of a dataset.',
    query: { name: 'Exact name.', ...pagingParams },
    answer: { listOf: field.schema },
  },
  get: { method: 'GET', paths: fieldPaths(''), summary: 'Returns a field.', answer: field.schema },
  put: {
    method: 'PUT',
    paths: fieldPaths(''),
    summary: updateDescription,
    body: fieldUpdate,
    answer: field.schema,
  },
  patch: {
    method: 'PATCH',
    paths: fieldPaths(''),
    summary: updateDescription,
    body: fieldUpdate,
    answer: field.schema,
  },
  delete: {
    method: 'DELETE',
    paths: fieldPaths(''),
    summary: 'Removes a field of a dataset without records.',
    answer: field.schema,
  },
  facets: {
    method: 'GET',
    paths: fieldPaths('/facets'),
    summary: 'Returns a facet of a field over all records.',
    query: {
      facet_type: {
        description: 'terms, count, stats, histogram or percentiles.',
        example: 'terms',
      },
      limit: {
        description: 'Maximum number of terms; 10 when absent, 0 for all.',
        example: '5',
      },
      interval: {
        description:
          'Width of a histogram bin: a number, a unit of time, or with `scale=log` the step of the exponent.',
        example: '0.1',
        with: { facet_type: 'histogram' },
      },
      scale: {
        description: 'Of a histogram of numbers: linear or log.',
        example: 'log',
        with: { facet_type: 'histogram' },
      },
      extended: {
        description: 'true: stats with standard deviation, variance and sum of squares.',
        example: 'true',
        with: { facet_type: 'stats' },
      },
      percents: {
        description: 'Of percentiles: numbers from 0 to 100, separated by commas or repeated.',
        example: '5,50,95',
        with: { facet_type: 'percentiles' },
      },
      facets: {
        description: 'Facets of each term or bin: field names, repeated, or facets as JSON.',
        example: '{"clinical_significance":{"limit":3}}',
      },
      as_of: asOfParam,
    },
    answer: fieldFacets,
  },
});
