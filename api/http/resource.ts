import type { Form } from './form.js';
import {
  answerSchema,
  bodySchema,
  camelCase,
  type NamedSchema,
  type Property,
  type ValueType,
} from './json-schema.js';

/** The declaration of one field of a resource: its type, which requests may write it, its value in answers and its description. */
export interface ResourceField<Row, Context> {
  readonly type: ValueType;
  readonly description?: string;
  readonly example: unknown;
  /** Whether a create request must or may have the key; if undefined, the key has no effect in a create request. */
  readonly create?: 'required' | 'optional';
  /** The type in create requests, if it differs from that of answers. */
  readonly createType?: ValueType;
  /** The type in answers, if it is wider than that in requests because answers repeat values as clients sent them. */
  readonly answerType?: ValueType;
  /** Whether an update request may change the field. */
  readonly update?: boolean;
  /**
   * If set, the code of the resource reads and checks the field, because the check needs the catalogue; with `update`, only in update
   * requests.
   */
  readonly lookup?: true | 'update';
  /** The value of the field if a create request leaves it out; if undefined, the catalogue decides. */
  readonly initial?: unknown;
  /** The property of the row, if it is not the key in camelCase. */
  readonly property?: string;
  /** Returns the value in answers, if it is not the property of the row; null if answers do not have the field. */
  readonly show?: ((row: Row, context: Context) => unknown) | null;
  /** Whether answers may lack the field; they lack it if its value is undefined. */
  readonly optional?: boolean;
}

/** The declaration of a resource; from it come the parsing of requests, the answers and the OpenAPI description. */
interface ResourceDeclaration<Row, Context> {
  /** The name of the schema; the schemas of requests are `<name>Create` and `<name>Update`. */
  readonly name: string;
  readonly description: string;
  readonly fields: Readonly<Record<string, ResourceField<Row, Context>>>;
  /** Examples of requests, for resources of which a request with all fields would make no sense. */
  readonly examples?: { readonly create?: object; readonly update?: object };
}

/** A declared resource. `Values` is what requests may write, in camelCase. */
export interface Resource<Row, Context, Values> {
  readonly schema: NamedSchema;
  readonly createSchema: NamedSchema;
  readonly updateSchema: NamedSchema;
  /**
   * Returns the JSON of a row; `Context` is the data that the JSON shows and the row does not contain. A key without a value is
   * null or empty (contract 1.3); only a key that the schema declares as optional may be missing.
   */
  view(row: Row, context: Context): Readonly<Record<string, unknown>>;
  /** Reads a request that creates; notes all mistakes in the form and returns what it could read. */
  readCreate(form: Form): Values;
  /** Reads an update request, which changes only the keys that it contains. */
  readUpdate(form: Form): Values;
}

/** Returns the declaration of a field that always has the same value. */
export function constantField(value: string | number | boolean | null): {
  readonly type: ValueType;
  readonly example: unknown;
  readonly show: () => unknown;
} {
  return { type: { schema: { enum: [value] } }, example: value, show: () => value };
}

/** Returns the declaration of a field that always holds an empty object or list, kept for clients that read it. */
export function emptyField(value: readonly [] | object): {
  readonly type: ValueType;
  readonly example: unknown;
  readonly show: () => unknown;
} {
  const schema = Array.isArray(value)
    ? { type: 'array', maxItems: 0 }
    : { type: 'object', maxProperties: 0 };
  return { type: { schema }, example: value, show: () => value };
}

/** Declares a resource. Its keys are in snake case, as the interface has them; the properties of rows and values are in camel case. */
export function declareResource<Row extends object, Context = object, Values = Partial<Row>>(
  declaration: ResourceDeclaration<Row, Context>,
): Resource<Row, Context, Values> {
  const { name, description, examples = {} } = declaration;
  const fields = Object.entries(declaration.fields).map(([key, field]) => ({
    ...field,
    key,
    property: field.property ?? camelCase(key),
  }));
  const shownFields = fields.filter(({ show }) => show !== null);
  const creatableFields = fields.filter(({ create }) => create !== undefined);
  const updatableFields = fields.filter(({ update }) => update === true);
  const properties = (
    list: typeof fields,
    extra: (field: (typeof fields)[number]) => Partial<Property> = () => ({}),
  ): Readonly<Record<string, Property>> =>
    Object.fromEntries(list.map((field) => [field.key, { ...propertyOf(field), ...extra(field) }]));
  const namesWithout = (list: typeof fields): readonly string[] =>
    fields.filter((field) => !list.includes(field)).map(({ key }) => key);
  const createSchema = bodySchema(
    `${name}Create`,
    `The body of a request that creates: ${description}`,
    properties(creatableFields, ({ create, createType, type, lookup, initial, property }) => ({
      required: create === 'required',
      type: unlessLookup(createType ?? type, lookup === true),
      initial,
      property,
    })),
    examples.create,
  );
  const updateSchema = bodySchema(
    `${name}Update`,
    'The keys that it gives are changed, the others stay.',
    properties(updatableFields, ({ type, lookup, property }) => ({
      type: unlessLookup(type, lookup !== undefined),
      property,
    })),
    examples.update,
  );
  return {
    schema: answerSchema(
      name,
      description,
      properties(shownFields, ({ answerType, type }) => ({ type: answerType ?? type })),
    ),
    createSchema: { ...createSchema, readOnly: namesWithout(creatableFields) },
    updateSchema: { ...updateSchema, readOnly: namesWithout(updatableFields) },
    view: (row, context) => {
      const answer: Record<string, unknown> = {};
      for (const { key, property, type, show } of shownFields) {
        const value = show ? show(row, context) : (row as Record<string, unknown>)[property];
        if (value !== undefined) answer[key] = type.format && !show ? type.format(value) : value;
      }
      return answer;
    },
    readCreate: (form) => createSchema.read(form) as Values,
    readUpdate: (form) => updateSchema.read(form) as Values,
  };
}

/** Returns the type of a field in a request, which has no reader if the code of the resource reads the field. */
function unlessLookup(type: ValueType, isLookup: boolean): ValueType {
  return isLookup ? { schema: type.schema } : type;
}

function propertyOf<Row, Context>(field: ResourceField<Row, Context>): Property {
  const { type, description, example, optional } = field;
  return {
    type,
    example,
    ...(description !== undefined && { description }),
    ...(optional !== undefined && { optional }),
  };
}
