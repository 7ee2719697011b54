import { answerSchema, enumOf, text } from '../../http/schema.js';
import { declareOperations } from '../../http/operation-row.js';

/** The schema of the error answer of any operation. */
const errorSchema = {
  name: 'Error',
  schema: {
    type: 'object',
    description:
      'Either `{"detail": "…"}`, or messages by key of the request; `non_field_errors` holds those of no single key.',
  },
  example: { dataset_id: ['This field is required.'] },
};

/** A message for users: the answer of an operation that has no resource. */
export const detailSchema = answerSchema('Detail', 'A message for people.', {
  detail: { type: text, example: 'The credentials are valid: ada@acme.org.' },
});

const healthSchema = answerSchema('Health', 'Whether the server can work.', {
  status: { type: enumOf('ok', 'degraded'), example: 'ok' },
  detail: { type: text, example: 'The server can work.' },
});

export const serviceSchemas = [errorSchema, detailSchema, healthSchema];

const get = 'GET' as const;

/** The operations at the root of the server. */
export const rootOperations = declareOperations('root', 'Service', {
  head: {
    method: 'HEAD',
    paths: ['/'],
    summary: 'Answers 200 when the server runs.',
    answer: 'nothing',
  },
  get: {
    method: get,
    paths: ['/'],
    summary:
      'Confirms that the credentials are valid; a browser gets a page that says what this is.',
    answer: detailSchema,
  },
});

/** The operations that describe the service. */
export const serviceOperations = declareOperations('', 'Service', {
  health: {
    method: get,
    paths: ['/health'],
    summary: 'Reports whether the server can work.',
    answer: healthSchema,
  },
  openapi: {
    method: get,
    paths: ['/openapi.json'],
    summary: 'Returns this description, OpenAPI 3.1.',
    answer: 'page',
  },
  docs: {
    method: get,
    paths: ['/docs'],
    summary: 'A page that documents every operation and can send requests.',
    answer: 'page',
  },
  join: {
    method: get,
    paths: ['/join'],
    summary: 'The page that the link of an invitation leads to.',
    answer: 'page',
  },
  swagger: {
    method: get,
    paths: ['/swagger'],
    summary: 'Redirects to /docs.',
    answer: 'nothing',
    status: 302,
  },
});
