import { schemas } from '../../api/resources/index.js';
import type { Schema } from '../../api/http/schema.js';

/** Returns the schema that a `$ref` names, and a function that resolves the references in that schema. */
export type ResolveReference = (ref: string) => {
  readonly schema: Schema;
  readonly resolve: ResolveReference;
};

const schemaByReference = new Map(
  schemas.map(({ name, schema }) => [`#/components/schemas/${name}`, schema]),
);
const resolveInterfaceSchema: ResolveReference = (ref) => ({
  schema: schemaByReference.get(ref) ?? throwUnknownSchema(ref),
  resolve: resolveInterfaceSchema,
});

type CheckKeyword = (
  expected: never,
  value: unknown,
  path: string,
  schema: Schema,
  resolve: ResolveReference,
) => readonly string[];

/** Keywords that do not constrain values. */
const annotationKeywords = ['description', 'example', 'examples', 'title', 'default', 'deprecated', 'discriminator', 'maxLength', 'maturity', 'version', '$schema', '$comment', '$comments', '$defs', 'definitions']; // prettier-ignore

/** For each format, whether a value has it. */
const formatChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  'date-time': (value) => new Date(String(value)).toISOString() === value,
  uri: (value) => URL.canParse(String(value)),
  'uri-template': (value) => URL.canParse(String(value).replaceAll(/\{\w+\}/g, 'x')),
  int32: (value) => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31,
  int64: Number.isSafeInteger,
};

/** The checks of the JSON Schema keywords that the interface and the standards behind its answers use; an unknown keyword throws. */
const keywordChecks: Readonly<Record<string, CheckKeyword>> = {
  ...Object.fromEntries(annotationKeywords.map((keyword) => [keyword, () => []])),
  $ref: (ref: string, value, path, _, resolve) => {
    const found = resolve(ref);
    return schemaErrors(found.schema, value, path, found.resolve);
  },
  type: (expected: string | readonly string[], value, path) =>
    [expected].flat().includes(jsonTypeOf(value)) ||
    ([expected].flat().includes('number') && jsonTypeOf(value) === 'integer')
      ? []
      : [`${path} is ${JSON.stringify(value)}, not ${String(expected)}`],
  enum: (values: readonly unknown[], value, path) =>
    values.includes(value)
      ? []
      : [`${path} is ${JSON.stringify(value)}, not one of ${values.join(', ')}`],
  const: (expected: unknown, value, path) =>
    value === expected ? [] : [`${path} is ${JSON.stringify(value)}, not ${String(expected)}`],
  format: (format: string, value, path) =>
    value === null || (formatChecks[format] ?? throwUnknownSchema(`format ${format}`))(value)
      ? []
      : [`${path} is no ${format}`],
  pattern: (pattern: string, value, path) =>
    typeof value !== 'string' || new RegExp(pattern).test(value)
      ? []
      : [`${path} is ${JSON.stringify(value)}, which does not match ${pattern}`],
  minimum: (least: number, value, path) =>
    value === null || Number(value) >= least ? [] : [`${path} is below ${least}`],
  minItems: (least: number, value, path) =>
    (value as unknown[]).length >= least ? [] : [`${path} has fewer than ${least} items`],
  maxItems: (most: number, value, path) =>
    (value as unknown[]).length <= most ? [] : [`${path} has more than ${most} items`],
  uniqueItems: (_: true, value, path) =>
    new Set((value as unknown[]).map((one) => JSON.stringify(one))).size ===
    (value as unknown[]).length
      ? []
      : [`${path} has an item twice`],
  minProperties: (least: number, value, path) =>
    Object.keys(value as object).length >= least ? [] : [`${path} has fewer than ${least} keys`],
  maxProperties: (most: number, value, path) =>
    Object.keys(value as object).length <= most ? [] : [`${path} has more than ${most} keys`],
  items: (items: Schema, value, path, _, resolve) =>
    Array.isArray(value)
      ? value.flatMap((item, i) => schemaErrors(items, item, `${path}[${i}]`, resolve))
      : [],
  properties: (properties: Readonly<Record<string, Schema>>, value, path, _, resolve) =>
    Object.entries(properties).flatMap(([key, schema]) =>
      hasKey(value, key)
        ? schemaErrors(schema, (value as never)[key], `${path}.${key}`, resolve)
        : [],
    ),
  required: (keys: readonly string[], value, path) =>
    keys.flatMap((key) => (hasKey(value, key) ? [] : [`${path}.${key} is missing`])),
  additionalProperties: (others: boolean | Schema, value, path, { properties }, resolve) =>
    Object.entries(value as object).flatMap(([key, member]) => {
      if (others === true || hasKey(properties, key)) return [];
      if (others === false) return [`${path}.${key} is not declared`];
      return schemaErrors(others, member, `${path}.${key}`, resolve);
    }),
  anyOf: (choices: readonly Schema[], value, path, _, resolve) => {
    const found = choices.map((schema) => schemaErrors(schema, value, path, resolve));
    return found.some((list) => list.length === 0) ? [] : found[0]!;
  },
  oneOf: (choices: readonly Schema[], value, path, _, resolve) => {
    const found = choices.map((schema) => schemaErrors(schema, value, path, resolve));
    const fitting = found.filter((list) => list.length === 0).length;
    if (fitting === 1) return [];
    return fitting > 1 ? [`${path} satisfies ${fitting} schemas of one`] : found.flat();
  },
  allOf: (parts: readonly Schema[], value, path, _, resolve) =>
    parts.flatMap((schema) => schemaErrors(schema, value, path, resolve)),
};

/**
 * Returns an error for each part of a value that does not satisfy a schema, with the path of the part; an empty list if all do. References
 * are resolved in the OpenAPI document, unless `resolve` is given.
 */
export function schemaErrors(
  schema: Schema,
  value: unknown,
  path = '$',
  resolve: ResolveReference = resolveInterfaceSchema,
): readonly string[] {
  const { type, ...others } = schema;
  const found = type === undefined ? [] : [...keywordChecks['type']!(type as never, value, path, schema, resolve)]; // prettier-ignore
  // If the type of the value is wrong, the other keywords are not checked.
  for (const [keyword, expected] of Object.entries(others)) {
    const check = keywordChecks[keyword] ?? throwUnknownSchema(`keyword ${keyword}`);
    if (found.length === 0) found.push(...check(expected as never, value, path, schema, resolve));
  }
  return found;
}

function hasKey(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint' || Number.isInteger(value)) return 'integer';
  return typeof value;
}

function throwUnknownSchema(name: string): never {
  throw new Error(`the checker of schemas does not know ${name}`);
}
