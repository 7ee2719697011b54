import { schemas } from '../../api/resources/index.js';
import type { Schema } from '../../api/http/schema.js';

const named = new Map(schemas.map(({ name, schema }) => [`#/components/schemas/${name}`, schema]));

type Check = (expected: never, value: unknown, path: string, schema: Schema) => readonly string[];

/** The keywords of JSON schema that the interface uses; an unknown one throws. */
const checks: Readonly<Record<string, Check>> = {
  description: () => [],
  example: () => [],
  $ref: (name: string, value, path) => mistakes(named.get(name) ?? fail(name), value, path),
  type: (expected: string | readonly string[], value, path) =>
    [expected].flat().includes(typeOf(value)) ||
    ([expected].flat().includes('number') && typeOf(value) === 'integer')
      ? []
      : [`${path} is ${JSON.stringify(value)}, not ${String(expected)}`],
  enum: (values: readonly unknown[], value, path) =>
    values.includes(value)
      ? []
      : [`${path} is ${JSON.stringify(value)}, not one of ${values.join(', ')}`],
  format: (_: string, value, path) =>
    value === null || new Date(String(value)).toISOString() === value ? [] : [`${path} is no time`],
  minimum: (least: number, value, path) =>
    value === null || Number(value) >= least ? [] : [`${path} is below ${least}`],
  minItems: (least: number, value, path) =>
    (value as unknown[]).length >= least ? [] : [`${path} has fewer than ${least} items`],
  maxItems: (most: number, value, path) =>
    (value as unknown[]).length <= most ? [] : [`${path} has more than ${most} items`],
  maxProperties: (most: number, value, path) =>
    Object.keys(value as object).length <= most ? [] : [`${path} has more than ${most} keys`],
  maxLength: () => [],
  items: (items: Schema, value, path) =>
    Array.isArray(value) ? value.flatMap((item, i) => mistakes(items, item, `${path}[${i}]`)) : [],
  properties: (properties: Readonly<Record<string, Schema>>, value, path) =>
    Object.entries(properties).flatMap(([key, schema]) =>
      has(value, key) ? mistakes(schema, (value as never)[key], `${path}.${key}`) : [],
    ),
  required: (keys: readonly string[], value, path) =>
    keys.flatMap((key) => (has(value, key) ? [] : [`${path}.${key} is missing`])),
  additionalProperties: (_: false, value, path, { properties }) =>
    Object.keys(value as object).flatMap((key) =>
      has(properties, key) ? [] : [`${path}.${key} is not declared`],
    ),
  anyOf: (choices: readonly Schema[], value, path) => {
    const found = choices.map((schema) => mistakes(schema, value, path));
    return found.some((list) => list.length === 0) ? [] : found[0]!;
  },
  allOf: (parts: readonly Schema[], value, path) =>
    parts.flatMap((schema) => mistakes(schema, value, path)),
};

/** Where a value does not satisfy a schema; empty if it does. */
export function mistakes(schema: Schema, value: unknown, path = '$'): readonly string[] {
  const found: string[] = [];
  for (const [keyword, expected] of Object.entries(schema)) {
    const check = checks[keyword] ?? fail(`keyword ${keyword}`);
    if (keyword === 'type' || found.length === 0) {
      found.push(...check(expected as never, value, path, schema));
    }
  }
  return found;
}

function has(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint' || Number.isInteger(value)) return 'integer';
  return typeof value;
}

function fail(name: string): never {
  throw new Error(`the checker of schemas does not know ${name}`);
}
