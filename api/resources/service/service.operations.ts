import { declareOperations, emptyAnswer } from '../../http/operation-row.js';
import { pageAnswer } from '../../http/page-policy.js';
import { answerSchema, enumOf, jsonObject, jsonObjects, text } from '../../http/json-schema.js';

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

/** The schema of an answer that is only a message, such as the answer to setting a password. */
export const detailSchema = answerSchema('Detail', 'A message for people.', {
  detail: { type: text, example: 'The credentials are valid: ada@acme.org.' },
});

const healthSchema = answerSchema('Health', 'Whether the server can work.', {
  status: { type: enumOf('ok', 'degraded'), example: 'ok' },
  detail: { type: text, example: 'The server can work.' },
});

const openapiSchema = answerSchema(
  'OpenapiDocument',
  'A description of an interface, OpenAPI 3.1.',
  {
    openapi: { type: text, description: 'The version of OpenAPI.', example: '3.1.0' },
    info: { type: jsonObject, example: { title: 'Strandlake', version: '2' } },
    servers: { type: jsonObjects, example: [{ url: 'http://localhost:7878' }] },
    security: { type: jsonObjects, example: [{ bearer: [] }] },
    paths: {
      type: jsonObject,
      description: 'The operations, by path and method.',
      example: { '/healthz': { get: { operationId: 'healthz' } } },
    },
    components: { type: jsonObject, example: { schemas: { Liveness: { type: 'object' } } } },
  },
);

export const serviceSchemas = [errorSchema, detailSchema, healthSchema, openapiSchema];

const getMethod = 'GET' as const;

/** The operations at the root of the server. */
export const rootOperations = declareOperations('root', 'Service', {
  head: {
    method: 'HEAD',
    paths: ['/'],
    summary: 'Answers 200 when the server runs.',
    answer: emptyAnswer('The server runs.'),
  },
  get: {
    method: getMethod,
    paths: ['/'],
    summary:
      'Confirms that the credentials are valid; a browser gets a page that says what this is.',
    answer: detailSchema,
  },
});

/** The operations by which the service describes itself, and the page of invitations. */
export const serviceOperations = declareOperations('', 'Service', {
  health: {
    method: getMethod,
    paths: ['/health'],
    summary: 'Reports whether the server can work.',
    answer: healthSchema,
  },
  openapi: {
    method: getMethod,
    paths: ['/openapi.json'],
    summary: 'Returns this description, OpenAPI 3.1.',
    answer: openapiSchema,
  },
  docs: {
    method: getMethod,
    paths: ['/docs'],
    summary: 'A page that documents every operation and can send requests.',
    answer: pageAnswer('The page.', 'Strandlake API'),
  },
  join: {
    method: getMethod,
    paths: ['/join'],
    summary: 'The page that the link of an invitation leads to.',
    answer: pageAnswer('The page.', 'Join Strandlake'),
  },
  swagger: {
    method: getMethod,
    paths: ['/swagger'],
    summary: 'Redirects to /docs.',
    answer: emptyAnswer('The header `Location` has the address of that page.'),
    status: 302,
  },
});
