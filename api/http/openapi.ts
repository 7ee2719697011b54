import { budgets } from '../../engine/core/budgets.js';
import { operations, type OperationRow } from './operations.js';
import { schemas, type Schema } from './schemas.js';

/** The description of the interface, OpenAPI 3.1, made from the table of operations and the schemas. */
export function openapiDocument(): Schema {
  document ??= {
    openapi: '3.1.0',
    info: {
      title: 'Strandlake',
      version: '2',
      description:
        'Genomic data platform: vaults, objects, datasets, imports, queries, exports. ' +
        'Every error is a JSON object.',
    },
    security: [{ bearer: [] }, { basic: [] }, { query: [] }],
    paths: paths(),
    components: {
      schemas,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token; `Token` works as `Bearer`.',
        },
        basic: { type: 'http', scheme: 'basic', description: 'The token as user name.' },
        query: { type: 'apiKey', in: 'query', name: 'access_token' },
      },
    },
  };
  return document;
}
let document: Schema | undefined;

function paths(): Schema {
  const found: Record<string, Record<string, Schema>> = {};
  for (const [id, row] of Object.entries(operations) as [string, OperationRow][]) {
    row.paths.forEach((path, index) => {
      const key = path.replaceAll(/:(\w+)/g, '{$1}');
      found[key] ??= {};
      found[key][row.method.toLowerCase()] = describe(id, row, path, index);
    });
  }
  return found;
}

function describe(id: string, row: OperationRow, path: string, index: number): Schema {
  const name = id.replaceAll('.', '_');
  return {
    operationId: index === 0 ? name : `${name}_${index + 1}`,
    tags: [row.tag],
    summary: row.summary,
    ...(index > 0 && { deprecated: true, description: `Another spelling of ${row.paths[0]}.` }),
    parameters: [
      ...[...path.matchAll(/:(\w+)/g)].map(([, key]) => ({
        name: key,
        in: 'path',
        required: true,
        schema: { type: 'string' },
      })),
      ...Object.entries(row.query ?? {}).map(([key, description]) => ({
        name: key,
        in: 'query',
        description,
        schema: { type: 'string' },
      })),
      ...(row.status === 201 ? [idempotencyKey] : []),
    ],
    ...(row.body && {
      requestBody: {
        content:
          row.body === 'bytes'
            ? { '*/*': { schema: { type: 'string', format: 'binary' } } }
            : { 'application/json': { schema: ref(row.body) } },
      },
    }),
    responses: {
      [row.status]: { description: 'Success', ...content(row.answer) },
      default: { description: 'An error', ...content('Error') },
    },
  };
}

function content(answer: OperationRow['answer']): Schema {
  if (answer === 'nothing' || answer === 'page') return {};
  if (answer === 'bytes') {
    return { content: { '*/*': { schema: { type: 'string', format: 'binary' } } } };
  }
  const item = /^list of (.+)$/.exec(answer)?.[1];
  return { content: { 'application/json': { schema: item ? listOf(item) : ref(answer) } } };
}

/** The envelope of every list (contract 3.1). */
function listOf(name: string): Schema {
  const link = { type: ['string', 'null'] };
  return {
    type: 'object',
    properties: {
      class_name: { enum: ['list'] },
      url: { type: 'string' },
      total: { type: 'integer' },
      links: { type: 'object', properties: { next: link, prev: link } },
      data: { type: 'array', items: ref(name) },
    },
  };
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/** What creates look at besides the body. */
const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'For a day, the same key and body lead to what the first request made.',
  schema: { type: 'string', maxLength: budgets.idempotencyKeyBytes },
};
