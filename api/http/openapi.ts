import { Injectable } from '@nestjs/common';
import { budgets } from '../../engine/core/budgets.js';
import type { ListAnswer, OperationRow, RequestParameter, RawContent } from './operation-row.js';
import type { NamedSchema, Schema } from './json-schema.js';

/** The OpenAPI 3.1 description of the interface, made from its operations and schemas. */
@Injectable()
export class OpenapiDocument {
  readonly json: Schema;

  constructor(operations: readonly OperationRow[], schemas: readonly NamedSchema[]) {
    this.json = {
      openapi: '3.1.0',
      info: {
        title: 'Strandlake',
        version: '2',
        description:
          'Genomic data platform: vaults, objects, datasets, imports, queries, exports. ' +
          'Every error is a JSON object.',
      },
      security: [{ bearer: [] }, { basic: [] }, { query: [] }],
      paths: pathsOf(operations),
      components: {
        schemas: Object.fromEntries(schemas.map(({ name, schema }) => [name, schema])),
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description: 'A token. `Token` is accepted in the place of `Bearer`.',
          },
          basic: { type: 'http', scheme: 'basic', description: 'The token as user name.' },
          query: { type: 'apiKey', in: 'query', name: 'access_token' },
        },
      },
    };
  }
}

function pathsOf(operations: readonly OperationRow[]): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  const answers = new Map(operations.map((row) => [row.paths[0], row.answer]));
  for (const row of operations) {
    const pathParams = describePathParams(row, answers);
    row.paths.forEach((path, index) => {
      const key = path.replaceAll(/:(\w+)/g, '{$1}');
      paths[key] ??= {};
      paths[key][row.method.toLowerCase()] = describeOperation(row, pathParams, index);
    });
  }
  return paths;
}

/**
 * Describes the parameters of the paths of an operation. One that the operation does not declare names one of the resources that are listed
 * at the path before it, by the field of that name or by the id. `answers` has the answers of operations by their first paths.
 */
function describePathParams(
  { paths: [path], pathParams = {} }: OperationRow,
  answers: ReadonlyMap<string, OperationRow['answer']>,
): readonly Schema[] {
  return [...path.matchAll(/\/:(\w+)/g)].map(({ 1: name = '', index }) => {
    const listAnswer = answers.get(path.slice(0, index));
    const example = exampleOfField(listAnswer, name) ?? exampleOfField(listAnswer, 'id');
    return {
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
      ...(pathParams[name] ?? { example }),
    };
  });
}

/** Returns the query parameters of an operation, with the examples that its answer has for them. */
export function queryParamsOf({
  query = {},
  answer,
}: OperationRow): Readonly<Record<string, RequestParameter>> {
  const paramOf = (name: string): RequestParameter => {
    const declared = query[name]!;
    if (typeof declared === 'string')
      return { description: declared, example: exampleOfField(answer, name) };
    if (!('sameAs' in declared)) return declared;
    return { ...paramOf(declared.sameAs), description: `Another name of ${declared.sameAs}.` };
  };
  return Object.fromEntries(Object.keys(query).map((name) => [name, paramOf(name)]));
}

/** Returns the example of a field of an answer or of the listed resources, as it stands in an address; of a list, its first member. */
function exampleOfField(
  answer: OperationRow['answer'] | undefined,
  name: string,
): string | undefined {
  if (answer === undefined || 'examples' in answer) return undefined;
  const { example } = 'listOf' in answer ? answer.listOf : answer;
  const [value] = [(example as Readonly<Record<string, unknown>>)[name]].flat();
  return value === undefined || value === null
    ? undefined
    : String(value as string | number | boolean);
}

function describeOperation(
  row: OperationRow,
  pathParams: readonly Schema[],
  index: number,
): Schema {
  const name = row.id.replaceAll('.', '_');
  return {
    operationId: index === 0 ? name : `${name}_${index + 1}`,
    tags: [row.tag],
    summary: row.summary,
    ...(index > 0 && {
      deprecated: true,
      description: `An alternative spelling of ${row.paths[0]}.`,
    }),
    parameters: [
      ...pathParams,
      ...Object.entries(queryParamsOf(row)).map(([name, { description, example, required }]) => ({
        name,
        in: 'query',
        description,
        ...(example !== undefined && { example }),
        ...(required !== undefined && { required }),
        schema: { type: 'string' },
      })),
      ...(row.status === 201 ? [idempotencyKey] : []),
    ],
    ...(row.body && { requestBody: describeBody(row.body) }),
    responses: {
      [row.status]: describeAnswer(row.answer),
      default: {
        description: 'An error',
        content: { 'application/json': { schema: schemaReference('Error') } },
      },
    },
  };
}

function describeBody(body: NamedSchema | RawContent): Schema {
  if ('examples' in body) return { required: true, ...describeRawContent(body) };
  const { name, example, schema } = body;
  return {
    required: schema['required'] !== undefined,
    content: { 'application/json': { schema: schemaReference(name), example } },
  };
}

function describeAnswer(answer: OperationRow['answer']): Schema {
  if ('examples' in answer) return describeRawContent(answer);
  const schema = schemaOfAnswer(answer);
  return {
    description: 'Success',
    content: { 'application/json': { schema, example: exampleOfAnswer(answer) } },
  };
}

function describeRawContent({ description, examples }: RawContent): Schema {
  const content = Object.entries(examples).map(([mediaType, example]) => {
    const format = binaryMediaTypes.has(mediaType) ? { format: 'binary' } : {};
    return [mediaType, { schema: { type: 'string', ...format }, example }];
  });
  return { description, ...(content.length > 0 && { content: Object.fromEntries(content) }) };
}

/** The media types of content that need not be text. */
const binaryMediaTypes = new Set(['*/*', 'application/octet-stream']);

/** Returns the schema of an answer that is JSON. */
export function schemaOfAnswer(answer: NamedSchema | ListAnswer): Schema {
  if (!('listOf' in answer)) return schemaReference(answer.name);
  const link = { type: ['string', 'null'] };
  return {
    type: 'object',
    properties: {
      class_name: { enum: ['list'] },
      url: { type: 'string', description: 'The address of this page.' },
      total: { type: 'integer', description: 'Number of rows on all pages.' },
      links: {
        type: 'object',
        properties: { next: link, prev: link },
        required: ['next', 'prev'],
        additionalProperties: false,
      },
      data: { type: 'array', items: schemaReference(answer.listOf.name) },
    },
    required: ['class_name', 'url', 'total', 'links', 'data'],
    additionalProperties: false,
  };
}

/** Returns the example of an answer that is JSON. */
export function exampleOfAnswer(answer: NamedSchema | ListAnswer): unknown {
  if (!('listOf' in answer)) return answer.example;
  return {
    class_name: 'list',
    url: 'http://localhost:7878/v2/…',
    total: 1,
    links: { next: null, prev: null },
    data: [answer.listOf.example],
  };
}

function schemaReference(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** The header `Idempotency-Key` in the OpenAPI description of operations that create a resource. */
const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes the request safe to repeat: for a day, the same key and body answer what the first request created.',
  example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
  schema: { type: 'string', maxLength: budgets.idempotencyKeyBytes },
};
