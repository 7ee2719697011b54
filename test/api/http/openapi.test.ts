import { expect, test } from '@jest/globals';
import { OpenapiDocument, exampleOfAnswer, schemaOfAnswer } from '../../../api/http/openapi.js';
import { operations, schemas } from '../../../api/resources/index.js';
import { schemaErrors } from '../json-schema.js';

/* Checks the OpenAPI document without a server; `schemas.test.ts` and `raw-content.test.ts` carry out its examples. */

const operationRows = Object.values(operations);
const { json: document } = new OpenapiDocument(operationRows, schemas);

interface DescribedOperation {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly example?: unknown;
  }[];
}

test.each(schemas.map((one) => [one.name, one] as const))(
  '%s: its example satisfies it',
  (_, { schema, example }) => {
    expect(schemaErrors(schema, example)).toEqual([]);
  },
);

test.each([
  ['an unknown key', { detail: 'a', other: 1 }, '$.other is not declared'],
  ['a missing key', {}, '$.detail is missing'],
  ['another type', { detail: 1 }, '$.detail is 1, not string'],
])('the checker finds %s', (_, value, expected) => {
  const { schema } = schemas.find(({ name }) => name === 'Detail')!;
  expect(schemaErrors(schema, value)).toEqual([expected]);
});

test('every operation with a body has a request example, every one with JSON an example of its answer', () => {
  for (const { id, body, answer } of operationRows) {
    if (body !== undefined && 'schema' in body) expect([id, body.example]).not.toEqual([id, undefined]); // prettier-ignore
    if ('examples' in answer) continue;
    expect([id, schemaErrors(schemaOfAnswer(answer), exampleOfAnswer(answer))]).toEqual([id, []]);
  }
});

test('every parameter has an example, unless the server refuses every value', () => {
  const methodsOfPaths = Object.values(document['paths'] as object) as readonly object[];
  const describedOperations =
    methodsOfPaths.flatMap((methods) => Object.values(methods) as readonly DescribedOperation[]); // prettier-ignore
  const paramsWithoutExample = describedOperations.flatMap(({ operationId, parameters }) =>
    parameters
      .filter(({ example }) => typeof example !== 'string')
      .map(({ name, description }) => [operationId, name, description]),
  );
  const refusedParams = paramsWithoutExample.filter(
    ([, , text]) => text === 'Not supported: answered with 400.',
  );
  expect(paramsWithoutExample).toEqual(refusedParams);
  expect(refusedParams).toHaveLength(6);
});

/** Specification, HTTP operations: deleting these is discouraged, because nothing tells any more where records came from. */
test.each(['/v2/dataset_imports/{id}', '/v2/dataset_migrations/{id}', '/v2/dataset_commits/{id}'])(
  'deleting %s is described as discouraged, with the reason',
  (path) => {
    const methods = (document['paths'] as Readonly<Record<string, object>>)[path];
    const { delete: deleteOperation } = methods as {
      readonly delete?: { readonly summary: string; readonly deprecated?: boolean };
    };
    expect(deleteOperation?.summary).toMatch(/^Deletes .* Discouraged: .*nothing tells where /);
    expect(deleteOperation?.deprecated).toBeUndefined();
  },
);

test('all that operations use stand in the description', () => {
  const usedSchemas = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
    ([, name]) => name,
  );
  const knownSchemas = new Set(schemas.map(({ name }) => name));
  const unknownSchemas = new Set(usedSchemas.filter((name) => !knownSchemas.has(name!)));
  const advice = [...unknownSchemas].map((name) => `add ${name} to \`schemas\` of its entry in api/resources/index.ts`); // prettier-ignore
  expect(advice).toEqual([]);
});
