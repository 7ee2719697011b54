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

/** The JSON schema of a value, and how it is read from a request body. */
export interface ValueType {
  readonly schema: Schema;
  /** Reads the value of a key; notes a mistake in the form. Absent for types that only answers use. */
  readonly read?: (form: Form, key: string) => unknown;
  /** Turns the stored value into its JSON; the identity when absent. */
  readonly format?: (value: unknown) => unknown;
}

/** A string. */
export const text: ValueType = { schema: { type: 'string' }, read: (form, key) => form.text(key) };
/** Text that must not be blank. */
export const filledText: ValueType = {
  schema: { type: 'string' },
  read: (form, key) => form.requiredText(key),
};
/** A string or null. */
export const nullableText: ValueType = {
  schema: { type: ['string', 'null'] },
  read: (form, key) => form.nullableText(key),
};
/** A whole number. */
export const integer: ValueType = {
  schema: { type: 'integer' },
  read: (form, key) => form.integer(key),
};
/** `true` or `false`. */
export const boolean: ValueType = {
  schema: { type: 'boolean' },
  read: (form, key) => form.boolean(key),
};
/** A JSON object of any keys; a request may write an empty one as `[]`. */
export const jsonObject: ValueType = {
  schema: { type: 'object' },
  read: (form, key) => form.object(key),
};
/** A list of JSON objects of any keys. */
export const jsonObjects: ValueType = {
  schema: { type: 'array', items: { type: 'object' } },
  read: (form, key) => form.objectList(key),
};
/** A list of strings. */
export const strings: ValueType = {
  schema: { type: 'array', items: { type: 'string' } },
  read: (form, key) => form.textList(key),
};
/** A list of whole numbers, in answers only. */
export const integers: ValueType = { schema: { type: 'array', items: { type: 'integer' } } };
/** Any JSON value. */
export const anyType: ValueType = { schema: {}, read: (form, key) => form.raw(key) };
/** The value null. */
export const nullType: ValueType = { schema: { type: 'null' } };
/** An id: a positive whole number; a request may write its digits as a string. */
export const id: ValueType = { schema: { type: 'integer', minimum: 1 } };
/** A time, stored in milliseconds since 1970; ISO 8601 with milliseconds in UTC in JSON. */
export const timestamp: ValueType = {
  schema: { type: 'string', format: 'date-time' },
  format: (millis) => (millis === null ? null : new Date(millis as number).toISOString()),
};

/** Returns the type of a string that must be one of `values`, which are case-sensitive. */
export function enumOf(...values: readonly string[]): ValueType {
  return { schema: { enum: values }, read: (form, key) => form.choice(key, values) };
}

/** Returns a type that also allows null. An explicit null in a request removes the value. */
export function nullable({ schema, read, format }: ValueType): ValueType {
  const orNull = 'enum' in schema ? { enum: [...(schema['enum'] as unknown[]), null] } : null;
  const type = schema['type'];
  return {
    schema:
      orNull ??
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
export function reference(name: string): ValueType {
  return { schema: { $ref: `#/components/schemas/${name}` } };
}

/** Returns the type of lists of a type; it has no `read`. */
export function listOf({ schema }: ValueType): ValueType {
  return { schema: { type: 'array', items: schema } };
}

/** Returns a type whose values in requests are read by another function. */
export function withReader(type: ValueType, read: (form: Form, key: string) => unknown): ValueType {
  return { ...type, read };
}

/** Returns the type of objects that have only these keys, each optional. Mistakes in a member are noted under the key of the object. */
export function objectOf(properties: Properties): ValueType {
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
      return Object.fromEntries(values);
    },
  };
}

/** A key of a body or of an answer. */
export interface Property {
  readonly type: ValueType;
  readonly description?: string;
  /** An example of the value; the field is left out of examples without one. */
  readonly example?: unknown;
  /** Whether the field is required in a request body. */
  readonly required?: boolean;
  /** For a field of an answer: whether it may be absent. */
  readonly optional?: boolean;
}
type Properties = Readonly<Record<string, Property>>;

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

/** Declares a request body. `known-keys.ts` checks unknown keys; the schema admits them. */
export function bodySchema(
  name: string,
  description: string,
  properties: Properties,
  example: unknown = examplesOf(properties),
): NamedSchema {
  const required = Object.entries(properties).flatMap(([key, property]) =>
    property.required === true ? [key] : [],
  );
  const schema = {
    ...objectSchema(description, properties),
    ...(required.length > 0 && { required }),
  };
  return { name, schema: { ...schema, example }, example };
}

/** Returns a body schema that also admits the keys of the answer, which have no effect (contract 1.5). */
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
