import type { JsonObject } from '../../engine/core/types.js';
import { Form } from './form.js';

/** A JSON schema (2020-12), as OpenAPI 3.1 embeds it. */
export type Schema = Readonly<Record<string, unknown>>;

/** A schema of `#/components/schemas`, with an example that satisfies it. */
export interface NamedSchema {
  readonly name: string;
  readonly schema: Schema;
  readonly example: unknown;
  /** For a request body: keys of answers that it may repeat without effect. */
  readonly readOnly?: readonly string[];
}

/** The JSON schema of a value, and how it is read from a request body as a `T`; `never` if the type has no `read`. */
export interface ValueType<T = unknown> {
  readonly schema: Schema;
  /**
   * Reads the value of a key and notes mistakes in the form. Returns undefined, or for `filledText` the empty string, if it is absent or a
   * mistake. Without `read`, the key is not read by the declaration of a body.
   */
  readonly read?: (form: Form, key: string) => T | undefined;
  /** Turns the stored value into its JSON; the identity when absent. */
  readonly format?: (value: unknown) => unknown;
}

export const text: ValueType<string> = {
  schema: { type: 'string' },
  read: (form, key) => form.text(key),
};
/** Text that must not be blank. */
export const filledText: ValueType<string> = {
  schema: { type: 'string' },
  read: (form, key) => form.requiredText(key),
};
/** A string or null. */
export const nullableText: ValueType<string | null> = {
  schema: { type: ['string', 'null'] },
  read: (form, key) => form.nullableText(key),
};
export const integer: ValueType<number> = {
  schema: { type: 'integer' },
  read: (form, key) => form.integer(key),
};
export const boolean: ValueType<boolean> = {
  schema: { type: 'boolean' },
  read: (form, key) => form.boolean(key),
};
/** A JSON object of any keys; a request may write an empty one as `[]`. */
export const jsonObject: ValueType<JsonObject> = {
  schema: { type: 'object' },
  read: (form, key) => form.object(key),
};
/** A list of JSON objects of any keys. */
export const jsonObjects: ValueType<readonly JsonObject[]> = {
  schema: { type: 'array', items: { type: 'object' } },
  read: (form, key) => form.objectList(key),
};
export const strings: ValueType<readonly string[]> = {
  schema: { type: 'array', items: { type: 'string' } },
  read: (form, key) => form.textList(key),
};
/** A list of whole numbers, in answers only. */
export const integers: ValueType<never> = { schema: { type: 'array', items: { type: 'integer' } } };
/** Any JSON value. */
export const anyType: ValueType = { schema: {}, read: (form, key) => form.raw(key) };
export const nullType: ValueType<never> = { schema: { type: 'null' } };
/** An id: a positive whole number; a request may write its digits as a string. */
export const id: ValueType<number> = {
  schema: { type: 'integer', minimum: 1 },
  read: (form, key) => form.id(key, 'A valid integer is required.'),
};
/** A time, stored in milliseconds since 1970; ISO 8601 with milliseconds in UTC in JSON. */
export const timestamp: ValueType<never> = {
  schema: { type: 'string', format: 'date-time' },
  format: (millis) => (millis === null ? null : new Date(millis as number).toISOString()),
};

/** Returns the type of a string that must be one of `values`, which are case-sensitive. */
export function enumOf<const T extends string>(...values: readonly T[]): ValueType<T> {
  return { schema: { enum: values }, read: (form, key) => form.choice(key, values) };
}

/** Returns a type that also allows null. An explicit null in a request removes the value. */
export function nullable(type: ValueType<never>): ValueType<never>;
export function nullable<T>(type: ValueType<T>): ValueType<T | null>;
export function nullable({ schema, read, format }: ValueType): ValueType {
  const nullableEnum = 'enum' in schema ? { enum: [...(schema['enum'] as unknown[]), null] } : null;
  const type = schema['type'];
  return {
    schema:
      nullableEnum ??
      (typeof type === 'string'
        ? { ...schema, type: [type, 'null'] }
        : { anyOf: [schema, { type: 'null' }] }),
    ...(read && {
      read: (form: Form, key: string) =>
        form.has(key) && form.raw(key) === undefined ? null : read(form, key),
    }),
    ...(format && { format }),
  };
}

/** Returns the type of values that follow a schema of `#/components/schemas`; it has no `read`. */
export function reference(name: string): ValueType<never> {
  return { schema: { $ref: `#/components/schemas/${name}` } };
}

/** Returns the type of lists of a type; it has no `read`. */
export function listOf({ schema }: ValueType): ValueType<never> {
  return { schema: { type: 'array', items: schema } };
}

/** Returns a type whose values in requests are read by another function. */
export function withReader<T>(
  { schema, format }: ValueType,
  read: (form: Form, key: string) => T | undefined,
): ValueType<T> {
  return { schema, read, ...(format && { format }) };
}

/** Returns the type of objects that have only these keys, each optional. Mistakes in a member are noted under the key of the object. */
export function objectOf<const P extends Properties>(
  properties: P,
): ValueType<{ readonly [K in keyof P]?: TypeOf<P[K]> }> {
  return {
    schema: {
      type: 'object',
      properties: schemasOf(properties),
      additionalProperties: false,
    },
    read: (form, key) => {
      const objectValue = form.object(key);
      if (objectValue === undefined) return undefined;
      const members = new Form(objectValue);
      const values = Object.entries(properties).flatMap(([name, { type }]) => {
        const value = members.raw(name) === undefined ? undefined : type.read?.(members, name);
        return value === undefined ? [] : [[name, value] as const];
      });
      form.collectErrorsOfPart(key, members, (name, messages) => `${name}: ${messages}`);
      return Object.fromEntries(values) as { readonly [K in keyof P]?: TypeOf<P[K]> };
    },
  };
}

/** Returns the type of objects of which only these keys have an effect; it has no `read`. */
export function openObjectType(properties: Properties): ValueType<never> {
  return { schema: { type: 'object', properties: schemasOf(properties) } };
}

/** A key of a body or of an answer. */
export interface Property {
  readonly type: ValueType;
  readonly description?: string;
  /** An example of the value; the example of the whole object leaves out a field that has none. */
  readonly example?: unknown;
  /** Whether the field is required in a request body. */
  readonly required?: boolean;
  /** For a request body: the value that is read if the body leaves the field out or gives null. */
  readonly initial?: unknown;
  /** The property of what is read, if it is not the key in camel case. */
  readonly property?: string;
  /** For a field of an answer: whether it may be absent. */
  readonly optional?: boolean;
}
type Properties = Readonly<Record<string, Property>>;

type TypeOf<P> = P extends { readonly type: ValueType<infer T> } ? T : never;
type CamelCase<K> = K extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : K;
/** The property of what is read from a key; `never` for a key that only answers have. */
type PropertyOf<K, P> = [TypeOf<P>] extends [never]
  ? never
  : P extends { readonly property: infer Name extends string }
    ? Name
    : CamelCase<K>;
/** What is read of the keys of a body, by property; keys whose declaration satisfies `Sure` always have a value. */
type ValuesOf<P extends Properties, Sure> = {
  readonly [
    K in keyof P as P[K] extends Sure ? PropertyOf<K, P[K]> : never
  ]: P[K] extends WithInitial<infer D> ? NonNullable<TypeOf<P[K]>> | D : TypeOf<P[K]>;
} & {
  readonly [K in keyof P as P[K] extends Sure ? never : PropertyOf<K, P[K]>]?: TypeOf<P[K]>;
};
interface WithInitial<D = unknown> {
  readonly initial: D;
}
/** What is read of a body that may have mistakes. */
type GivenValues<P extends Properties> = ValuesOf<P, WithInitial>;
/** What is read of a valid body. */
type ValidValues<P extends Properties> = ValuesOf<P, WithInitial | { readonly required: true }>;

/** A declared request body. */
interface BodySchema<P extends Properties = Properties> extends NamedSchema {
  /** Reads the body in a form; notes all mistakes in the form. Keys without a value are left out. */
  read(form: Form): GivenValues<P>;
  /** Reads a body, or the one in a form; throws a 400 that names all mistakes. */
  parse(body: unknown): ValidValues<P>;
}

/** Returns the schema of a property with its description. */
function describedSchema({ type, description }: Pick<Property, 'type' | 'description'>): Schema {
  return description === undefined ? type.schema : { ...type.schema, description };
}

/** Declares an answer: it has all keys, except that optional ones may be missing, and no others. */
export function answerSchema(
  name: string,
  description: string,
  properties: Properties,
  example: unknown = examplesOf(properties),
): NamedSchema {
  const required = Object.entries(properties).flatMap(([key, { optional }]) =>
    optional === true ? [] : [key],
  );
  const schema = {
    ...objectSchema(description, properties),
    required,
    additionalProperties: false,
  };
  return { name, schema: { ...schema, example }, example };
}

/** Declares a request body, and how it is read. `known-keys.ts` checks unknown keys; the schema admits them. */
export function bodySchema<const P extends Properties>(
  name: string,
  description: string,
  properties: P,
  example: unknown = examplesOf(properties),
): BodySchema<P> {
  const required = Object.entries(properties).flatMap(([key, property]) =>
    property.required === true ? [key] : [],
  );
  const schema = {
    ...objectSchema(description, properties),
    ...(required.length > 0 && { required }),
  };
  const read = (form: Form): GivenValues<P> => readProperties(form, properties);
  const parse = (body: unknown): ValidValues<P> => {
    const form = body instanceof Form ? body : new Form(body);
    const values: object = read(form);
    form.throwIfInvalid();
    return values as ValidValues<P>;
  };
  return { name, schema: { ...schema, example }, example, read, parse };
}

/**
 * Reads the keys of a declaration from a form; notes all mistakes in the form. Keys without a value are left out. Of a key that the code of
 * the resource reads, only the absence is noted.
 */
export function readProperties<P extends Properties>(form: Form, properties: P): GivenValues<P> {
  const values: Record<string, unknown> = {};
  for (const [key, property] of Object.entries<Property>(properties)) {
    const {
      type,
      required: isRequired = false,
      initial,
      property: name = camelCase(key),
    } = property;
    if (type.read === undefined) {
      if (isRequired && form.raw(key) === undefined) form.failAbsent(key);
      continue;
    }
    const bodyValue = form.has(key) || isRequired ? type.read(form, key) : undefined;
    const value = initial === undefined ? bodyValue : (bodyValue ?? initial);
    if (value !== undefined) values[name] = value;
    else if (isRequired) form.failAbsent(key);
  }
  return values as GivenValues<P>;
}

/** Converts a key from snake case to camel case: `default_storage_class` becomes `defaultStorageClass`. */
export function camelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns a body schema that also admits the keys of the answer; those that the body does not declare have no effect (contract 1.5). */
export function withReadOnlyKeys(body: NamedSchema, answer: NamedSchema): NamedSchema {
  return { ...body, readOnly: Object.keys(answer.schema['properties'] as object) };
}

function objectSchema(description: string, properties: Properties): Schema {
  return {
    type: 'object',
    description,
    properties: schemasOf(properties),
  };
}

function schemasOf(properties: Properties): Schema {
  return Object.fromEntries(
    Object.entries(properties).map(([key, property]) => [key, describedSchema(property)]),
  );
}

function examplesOf(properties: Properties): unknown {
  const entries = Object.entries(properties).filter(([, { example }]) => example !== undefined);
  return Object.fromEntries(entries.map(([key, { example }]) => [key, example]));
}
