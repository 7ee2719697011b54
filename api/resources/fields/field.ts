import type { FieldRow, NewFieldRow } from '../../../engine/catalog/fields.js';
import { entityTypes, type DataType } from '../../../engine/core/types.js';
import { constantField, declareResource, type ResourceField } from '../../http/resource.js';
import {
  anyType,
  boolean,
  filledText,
  id,
  integer,
  nullable,
  nullableText,
  enumOf,
  withReader,
  withReadOnlyKeys,
  strings,
  text,
} from '../../http/json-schema.js';
import { timestampFields } from '../shared/common-fields.js';
import { readExpression } from './stored-expressions.js';

/** The data that the view of a field shows and its row does not have. */
interface FieldContext {
  readonly vaultId: number;
  readonly origin: string;
}

/** The data types that the interface knows. */
const dataTypes: readonly DataType[] = [
  'auto',
  'boolean',
  'date',
  'double',
  'float',
  'integer',
  'long',
  'object',
  'string',
  'text',
  'blob',
];

const optionallyWritable = { create: 'optional', update: true } as const;

/** The keys of a field definition that a request may set. */
const definitionFields: Readonly<Record<string, ResourceField<FieldRow, unknown>>> = {
  name: {
    type: text,
    createType: filledText,
    description: 'The key in records; dots separate the levels of objects.',
    example: 'review_status',
    create: 'required',
    update: true,
  },
  title: { ...optionallyWritable, type: text, example: 'Review status' },
  description: {
    ...optionallyWritable,
    type: text,
    example: 'How well the ClinVar classification is reviewed.',
  },
  data_type: {
    type: enumOf(...dataTypes),
    description: 'auto: decided by the first import. Other types do not change.',
    example: 'string',
    create: 'optional',
    update: true,
  },
  entity_type: { ...optionallyWritable, type: nullable(enumOf(...entityTypes)), example: null },
  expression: {
    ...optionallyWritable,
    type: withReader(nullableText, readExpression),
    description:
      'Computes the field of the records of each import into the dataset, and of each migration, whose target_fields do not.',
    example: null,
  },
  is_hidden: { ...optionallyWritable, type: boolean, example: false },
  is_list: {
    type: withReader(nullable(boolean), (form, key) => form.boolean(key)),
    description: 'null: decided by the first import. Fixed once the field holds data.',
    example: false,
    create: 'optional',
    update: true,
  },
  ordering: { ...optionallyWritable, type: nullable(integer), example: 7 },
  depends_on: {
    ...optionallyWritable,
    type: strings,
    description: 'Fields that are computed before this one.',
    example: [],
  },
  url_template: {
    ...optionallyWritable,
    type: withReader(nullableText, (form, key) => {
      const template = form.nullableText(key);
      if (!template || (template.includes('{value}') && isWebAddress(template))) return template;
      return form.fail(key, 'Must be a http or https address, with {value} where the value goes.');
    }),
    description: 'A http or https address with `{value}` in the place of the value.',
    example: 'https://www.ncbi.nlm.nih.gov/clinvar/?term={value}',
  },
};

/** The definition of a field, in a request that creates its dataset, or creates or changes the field. */
export const fieldDefinition = declareResource<FieldRow, unknown, Partial<NewFieldRow>>({
  name: 'Field',
  description: 'A field of a dataset.',
  fields: definitionFields,
  examples: {
    update: { title: 'ClinVar review status', description: 'ClinVar, release of March 2026.' },
  },
});

/** A dataset field. It has exactly these keys, because clients compare the set of keys (contract 9). */
export const field = declareResource<FieldRow, FieldContext>({
  name: 'DatasetField',
  description: 'A field of a dataset.',
  fields: {
    class_name: constantField('DatasetField'),
    id: { type: id, example: 9021 },
    dataset_id: { type: id, example: 4812, create: 'required' },
    vault_id: { type: id, example: 12, show: (_, { vaultId }) => vaultId },
    ...(definitionFields as Readonly<Record<string, ResourceField<FieldRow, FieldContext>>>),
    is_read_only: {
      type: boolean,
      description: 'Whether no request can change the field; true for _commit.',
      example: false,
    },
    is_valid: {
      type: boolean,
      description: 'Whether the field holds data.',
      example: false,
    },
    facets_url: {
      type: text,
      example: 'http://localhost:7878/v2/dataset_fields/9021/facets',
      show: (row, { origin }) => `${origin}/v2/dataset_fields/${row.id}/facets`,
    },
    url: {
      type: text,
      example: 'http://localhost:7878/v2/dataset_fields/9021',
      show: (row, { origin }) => `${origin}/v2/dataset_fields/${row.id}`,
    },
    ...timestampFields,
  },
});

/** The definition of a field inside another request; a client may send a field as an answer showed it (contract 9). */
export const fieldCreate = withReadOnlyKeys(fieldDefinition.createSchema, field.schema);
export const fieldUpdate = withReadOnlyKeys(fieldDefinition.updateSchema, field.schema);

/** A target field of an import, a migration or a template. */
export const targetField = withReadOnlyKeys(
  declareResource<FieldRow>({
    name: 'TargetField',
    description: 'A field to create, or to change, by an import.',
    fields: {
      ...definitionFields,
      expression: {
        type: anyType,
        description:
          'Computes the value of each record: a text in the language of expressions, or a constant of another type.',
        example: null,
        create: 'optional',
      },
      is_transient: {
        type: boolean,
        description: 'The values are read and not stored.',
        example: false,
        create: 'optional',
      },
    },
  }).createSchema,
  field.schema,
);

/** Returns whether a value is a URL template that a browser may follow: only http and https are allowed (threat A12). */
function isWebAddress(template: string): boolean {
  const filledTemplate = template.replaceAll('{value}', 'x');
  return URL.canParse(filledTemplate) && /^https?:$/.test(new URL(filledTemplate).protocol);
}
