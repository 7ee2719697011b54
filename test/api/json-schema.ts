import { schemas } from '../../api/resources/index.js';
import type { Schema } from '../../api/http/json-schema.js';

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

/** Returns messages that say where and how a value, which stands at `path`, does not satisfy a schema. */
type CheckValue = (value: unknown, path: string) => readonly string[];

/** Compiles a keyword of a schema. */
type CompileKeyword = (expected: never, schema: Schema, resolve: ResolveReference) => CheckValue;

const noErrors: readonly string[] = [];
const acceptAnything: CheckValue = () => noErrors;

/** Keywords that do not constrain values, and `maxLength`, which is not checked. */
const annotationKeywords = ['description', 'example', 'examples', 'title', 'default', 'deprecated', 'discriminator', 'maxLength', 'maturity', 'version', '$schema', '$comment', '$comments', '$defs', 'definitions']; // prettier-ignore

/** For each format, whether a value has it. */
const formatChecks: Readonly<Record<string, (value: unknown) => boolean>> = {
  'date-time': (value) => new Date(String(value)).toISOString() === value,
  uri: (value) => URL.canParse(String(value)),
  'uri-template': (value) => URL.canParse(String(value).replaceAll(/\{\w+\}/g, 'x')),
  int32: (value) => Number.isInteger(value) && Math.abs(Number(value)) < 2 ** 31,
  int64: Number.isSafeInteger,
};

/** Returns a check of a condition; `message` follows the path of a value that does not meet it. */
function createCheck(
  isMet: (value: unknown) => boolean,
  message: (value: unknown) => string,
): CheckValue {
  return (value, path) => (isMet(value) ? noErrors : [`${path} ${message(value)}`]);
}

/** Returns a check of a condition that only lists have to meet. */
function createListCheck(
  isMet: (list: readonly unknown[]) => boolean,
  message: string,
): CheckValue {
  return createCheck((value) => !Array.isArray(value) || isMet(value), () => message); // prettier-ignore
}

/** Returns a check of a condition that only objects have to meet. */
function createObjectCheck(
  isMet: (keys: readonly string[]) => boolean,
  message: string,
): CheckValue {
  return createCheck((value) => !isObject(value) || isMet(Object.keys(value)), () => message); // prettier-ignore
}

/** The JSON Schema keywords that the interface and the standards behind its answers use; an unknown keyword throws. */
const keywordCompilers: Readonly<Record<string, CompileKeyword>> = {
  ...Object.fromEntries(annotationKeywords.map((keyword) => [keyword, () => acceptAnything])),
  $ref: (ref: string, _, resolve) => {
    // Schemas may be recursive, so the reference is resolved when it is needed.
    let check: CheckValue | undefined;
    return (value, path) => {
      if (check === undefined) {
        const resolvedReference = resolve(ref);
        check = validatorOf(resolvedReference.schema, resolvedReference.resolve);
      }
      return check(value, path);
    };
  },
  type: (expected: string | readonly string[]) => {
    const types = new Set([expected].flat());
    if (types.has('number')) types.add('integer');
    return createCheck(
      (value) => types.has(jsonTypeOf(value)),
      (value) => `is ${formatJson(value)}, not ${String(expected)}`,
    );
  },
  enum: (values: readonly unknown[]) =>
    createCheck(
      (value) => values.includes(value),
      (value) => `is ${formatJson(value)}, not one of ${values.join(', ')}`,
    ),
  const: (expected: unknown) =>
    createCheck(
      (value) => value === expected,
      (value) => `is ${formatJson(value)}, not ${String(expected)}`,
    ),
  format: (format: string) => {
    const hasFormat = formatChecks[format] ?? throwUnknownSchema(`format ${format}`);
    return createCheck(
      (value) => value === null || hasFormat(value),
      () => `is no ${format}`,
    );
  },
  pattern: (pattern: string) => {
    const expression = new RegExp(pattern);
    return createCheck(
      (value) => typeof value !== 'string' || expression.test(value),
      (value) => `is ${formatJson(value)}, which does not match ${pattern}`,
    );
  },
  minimum: (least: number) =>
    createCheck(
      (value) => value === null || Number(value) >= least,
      () => `is below ${least}`,
    ),
  minItems: (least: number) =>
    createListCheck(({ length }) => length >= least, `has fewer than ${least} items`),
  maxItems: (most: number) =>
    createListCheck(({ length }) => length <= most, `has more than ${most} items`),
  uniqueItems: () =>
    createListCheck(
      (list) => new Set(list.map((one) => JSON.stringify(one))).size === list.length,
      'has an item twice',
    ),
  minProperties: (least: number) =>
    createObjectCheck(({ length }) => length >= least, `has fewer than ${least} keys`),
  maxProperties: (most: number) =>
    createObjectCheck(({ length }) => length <= most, `has more than ${most} keys`),
  items: (items: Schema, _, resolve) => {
    const check = validatorOf(items, resolve);
    return (value, path) =>
      Array.isArray(value) ? value.flatMap((item, i) => check(item, `${path}[${i}]`)) : noErrors;
  },
  properties: (properties: Readonly<Record<string, Schema>>, _, resolve) => {
    const checks = Object.entries(properties).map(
      ([key, schema]) => [key, validatorOf(schema, resolve)] as const,
    );
    return (value, path) =>
      isObject(value)
        ? checks.flatMap(([key, check]) =>
            Object.hasOwn(value, key) ? check(value[key], `${path}.${key}`) : noErrors,
          )
        : noErrors;
  },
  required: (keys: readonly string[]) => (value, path) =>
    isObject(value)
      ? keys.filter((key) => !Object.hasOwn(value, key)).map((key) => `${path}.${key} is missing`)
      : noErrors,
  additionalProperties: (others: boolean | Schema, { properties = {} }, resolve) => {
    if (others === true) return acceptAnything;
    const check: CheckValue =
      others === false ? (_, path) => [`${path} is not declared`] : validatorOf(others, resolve);
    return (value, path) =>
      isObject(value)
        ? Object.keys(value)
            .filter((key) => !Object.hasOwn(properties as object, key))
            .flatMap((key) => check(value[key], `${path}.${key}`))
        : noErrors;
  },
  anyOf: (choices: readonly Schema[], _, resolve) => {
    const checks = choices.map((schema) => validatorOf(schema, resolve));
    return (value, path) => {
      const errorsByChoice = checks.map((check) => check(value, path));
      return errorsByChoice.some((list) => list.length === 0) ? noErrors : errorsByChoice[0]!;
    };
  },
  oneOf: (choices: readonly Schema[], _, resolve) => {
    const checks = choices.map((schema) => validatorOf(schema, resolve));
    return (value, path) => {
      const errorsByChoice = checks.map((check) => check(value, path));
      const satisfiedCount = errorsByChoice.filter((list) => list.length === 0).length;
      if (satisfiedCount === 1) return noErrors;
      return satisfiedCount > 1
        ? [`${path} satisfies ${satisfiedCount} schemas of one`]
        : errorsByChoice.flat();
    };
  },
  allOf: (parts: readonly Schema[], _, resolve) => {
    const checks = parts.map((schema) => validatorOf(schema, resolve));
    return (value, path) => checks.flatMap((check) => check(value, path));
  },
};

/** Returns whether a value is a JSON object. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The compiled schemas, by the function that resolves their references and by the schema. */
const compiledSchemas = new WeakMap<ResolveReference, WeakMap<Schema, CheckValue>>();

function validatorOf(schema: Schema, resolve: ResolveReference): CheckValue {
  let checks = compiledSchemas.get(resolve);
  if (checks === undefined) compiledSchemas.set(resolve, (checks = new WeakMap()));
  let check = checks.get(schema);
  if (check === undefined) checks.set(schema, (check = compileSchema(schema, resolve)));
  return check;
}

function compileSchema(schema: Schema, resolve: ResolveReference): CheckValue {
  const { type, ...others } = schema;
  const keywords = [...(type === undefined ? [] : [['type', type]]), ...Object.entries(others)];
  const checks = (keywords as readonly [string, unknown][])
    .map(([keyword, expected]) => {
      const compile = keywordCompilers[keyword] ?? throwUnknownSchema(`keyword ${keyword}`);
      return compile(expected as never, schema, resolve);
    })
    .filter((check) => check !== acceptAnything);
  // If the type of the value, or another keyword, is wrong, the keywords after it are not checked.
  return (value, path) => {
    for (const check of checks) {
      const errors = check(value, path);
      if (errors.length > 0) return errors;
    }
    return noErrors;
  };
}

/**
 * Returns messages that say where and how a value does not satisfy a schema; none if it does. References are resolved in the OpenAPI
 * document, unless `resolve` is given.
 */
export function schemaErrors(
  schema: Schema,
  value: unknown,
  path = '$',
  resolve: ResolveReference = resolveInterfaceSchema,
): readonly string[] {
  return validatorOf(schema, resolve)(value, path);
}

function formatJson(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
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
