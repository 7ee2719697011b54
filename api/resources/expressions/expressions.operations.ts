import { castTypes } from '../../../engine/expression/annotate/cast-result.js';
import { declareOperations } from '../../http/operation-row.js';
import {
  anyType,
  answerSchema,
  bodySchema,
  boolean,
  integer,
  jsonObject,
  jsonObjects,
  listOf,
  nullable,
  nullableText,
  enumOf,
  reference,
  withReadOnlyKeys,
  strings,
  text,
} from '../../http/json-schema.js';
import { field } from '../fields/field.js';

const castType = nullable(enumOf(...castTypes));

const evaluateBody = bodySchema('Evaluate', 'An expression and its variables.', {
  expression: { type: text, example: "'hello ' + my_field", required: true },
  data: {
    type: nullable(jsonObject),
    description: 'The variables by name.',
    example: { my_field: 'world' },
  },
  fields: { type: nullable(jsonObject), description: 'The older name of data.' },
  data_type: {
    type: castType,
    description: 'The type that the result is cast to; string when absent, auto leaves it.',
    example: 'string',
  },
  is_list: {
    type: nullable(boolean),
    description: 'true: the result is a list; else it is the first element of a list.',
    example: false,
  },
});

const evaluateAnswer = answerSchema('Evaluated', 'The value of an expression.', {
  result: { type: anyType, example: 'hello world' },
});

const annotationField = bodySchema('AnnotationField', 'A field to compute.', {
  name: { type: text, example: 'label', required: true },
  expression: {
    type: anyType,
    description: 'An expression, or a constant that is no text; without one the value is kept.',
    example: "record.gene + ':' + str(record.n)",
  },
  data_type: { type: castType, description: 'auto when absent.', example: 'string' },
  is_list: {
    type: nullable(boolean),
    description: 'null: as the value is.',
    example: false,
  },
  ordering: { type: nullable(integer), description: 'Lower numbers first.', example: 0 },
  depends_on: {
    type: nullable(strings),
    description: 'Fields that are computed before.',
    example: [],
  },
  is_transient: {
    type: nullable(boolean),
    description: 'Removed from the results.',
    example: false,
  },
});

const annotationProperties = {
  include_errors: {
    type: nullable(boolean),
    description: 'Whether records with errors get `_errors`; true when absent.',
  },
  pre_annotation_expression: {
    type: nullableText,
    description: 'Makes records of each record before its fields.',
  },
  post_annotation_expression: {
    type: nullableText,
    description: 'Makes records of each record after its fields.',
  },
};
const variableProperties = {
  data: { type: nullable(jsonObject), description: 'Further variables by name.' },
};
const annotatorParams = bodySchema('AnnotatorParams', 'How records are annotated.', {
  ...annotationProperties,
  ...variableProperties,
  annotator: {
    type: nullable(enumOf('simple', 'serial', 'parallel')),
    description: 'All have the same results.',
  },
  debug: { type: nullable(boolean), description: 'Without effect.' },
  block_size: { type: nullable(integer), description: 'Without effect.' },
  chunk_size: { type: nullable(integer), description: 'Without effect.' },
  keep_order: { type: nullable(boolean), description: 'Results are always in order.' },
  pool_size: { type: nullable(integer), description: 'Without effect.' },
  timeout: { type: nullable(integer), description: 'Without effect.' },
});

const annotateBody = bodySchema('Annotate', 'Records, and fields to compute for each.', {
  records: {
    type: jsonObjects,
    description: 'At most 500.',
    example: [{ gene: 'MYH7', n: 1 }],
    required: true,
  },
  fields: {
    type: nullable(listOf(reference('AnnotationField'))),
    example: [{ name: 'label', expression: "record.gene + ':' + str(record.n)" }],
  },
  annotator_params: { type: nullable(reference('AnnotatorParams')) },
  ...annotationProperties,
  ...variableProperties,
});

const annotateAnswer = answerSchema('Annotated', 'The annotated records.', {
  results: { type: jsonObjects, example: [{ gene: 'MYH7', n: 1, label: 'MYH7:1' }] },
  errors: {
    type: reference('AnnotationErrors'),
    example: { records: 0, fields: 0, examples: [] },
  },
});

const annotationErrors = answerSchema('AnnotationErrors', 'What failed.', {
  records: { type: integer, description: 'Number of records with errors.', example: 0 },
  fields: { type: integer, description: 'Number of fields that failed in them.', example: 0 },
  examples: {
    type: jsonObjects,
    description:
      'The first errors: number of the record from 0, field and message, which says where in the expression.',
    example: [{ record: 0, field: 'ratio', message: 'division by zero (line 1, column 10)' }],
  },
});

const expressionFunction = answerSchema('ExpressionFunction', 'A function of expressions.', {
  name: { type: text, example: 'get' },
  signature: { type: text, example: 'get(obj, path, default=None)' },
  text: {
    type: text,
    example:
      'The value at a path in nested objects and lists, or the default if a step is missing.',
  },
  example: { type: text, example: "get(record, 'info.samples.0.gt', 'NA')" },
});

const functionsAnswer = answerSchema('ExpressionFunctions', 'All functions of expressions.', {
  functions: {
    type: listOf(reference('ExpressionFunction')),
    example: [expressionFunction.example],
  },
});

export const expressionSchemas = [
  evaluateBody,
  evaluateAnswer,
  withReadOnlyKeys(annotationField, field.schema),
  annotatorParams,
  annotateBody,
  annotateAnswer,
  annotationErrors,
  expressionFunction,
  functionsAnswer,
];

/** The HTTP operations on expressions. */
export const expressionOperations = declareOperations('expressions', 'Expressions', {
  evaluate: {
    method: 'POST',
    paths: ['/v1/evaluate'],
    summary: 'Evaluates an expression. One that fails is a 400 with the reason.',
    body: evaluateBody,
    answer: evaluateAnswer,
  },
  annotate: {
    method: 'POST',
    paths: ['/v1/annotate'],
    summary: 'Computes fields of records by expressions. One that fails concerns its field alone.',
    body: annotateBody,
    answer: annotateAnswer,
  },
  functions: {
    method: 'GET',
    paths: ['/v1/expressions/functions'],
    summary: 'Lists the functions that expressions can call.',
    answer: functionsAnswer,
  },
});
