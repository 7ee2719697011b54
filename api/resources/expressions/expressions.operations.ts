import { declareOperations } from '../../http/operation-row.js';
import {
  anyType,
  answerSchema,
  integer,
  jsonObjects,
  listOf,
  reference,
  withReadOnlyKeys,
  text,
} from '../../http/json-schema.js';
import { field } from '../fields/field.js';
import { annotateBody, annotationField, annotatorParams, evaluateBody } from './read-requests.js';

const evaluateAnswer = answerSchema('Evaluated', 'The value of an expression.', {
  result: { type: anyType, example: 'hello world' },
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
