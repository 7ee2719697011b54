import type { TemplateRow } from '../../../engine/catalog/templates.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { Form, isObject } from '../../http/form.js';
import { constantField, declareResource } from '../../http/resource.js';
import {
  boolean,
  filledText,
  id,
  jsonObject,
  listOf,
  nullable,
  enumOf,
  withReader,
  reference,
  text,
  type ValueType,
} from '../../http/json-schema.js';
import {
  timestampFields,
  descriptionField,
  tagsField,
  userField,
  type WithUser,
} from '../shared/common-fields.js';
import { readImportFields } from '../imports/computed-fields.js';
import { targetFieldView } from '../imports/import.js';
import { annotatorParams, entityParams, validationParams } from '../shared/import-params.js';

/** The data that the view of a template shows and its row does not have. */
export interface TemplateContext extends WithUser {
  readonly origin: string;
}

const optionallyWritable = { create: 'optional', update: true } as const;

/** Reads the fields of a template from a list, an object by name, or a single field. */
function readFields(form: Form, key: string): readonly JsonObject[] | undefined {
  const rawValue = form.raw(key);
  if (rawValue === undefined || rawValue === null) return undefined;
  const isSingle = isObject(rawValue) && typeof rawValue['name'] === 'string';
  const fieldsForm = new Form({ [key]: isSingle ? [rawValue] : rawValue });
  const fields = readImportFields(fieldsForm, key);
  form.collectErrorsOfPart(key, fieldsForm, (_name, messages) => messages);
  return fields;
}

function readVersion(form: Form, key: string): string | undefined {
  const version = form.text(key);
  if (version === undefined || !/\s/.test(version)) return version;
  return form.fail(key, `${JSON.stringify(version.slice(0, 200))} has spaces; write it without.`);
}

function paramField(type: ValueType, description: string) {
  return { ...optionallyWritable, type, description, example: {}, initial: {} };
}

/** A template (contract 13). */
export const template = declareResource<TemplateRow, TemplateContext>({
  name: 'DatasetTemplate',
  description: 'A template: definitions of fields and parameters, for datasets and imports.',
  fields: {
    class_name: constantField('DatasetTemplate'),
    id: {
      type: nullable(id),
      description: 'null for the template of a dataset, which is not saved.',
      example: 7,
    },
    url: {
      type: nullable(text),
      example: 'http://localhost:7878/v2/dataset_templates/7',
      show: (row, { origin }) => `${origin}/v2/dataset_templates/${row.id}`,
    },
    name: { type: filledText, example: 'Somatic variants', create: 'required', update: true },
    description: { ...descriptionField, initial: null },
    version: {
      ...optionallyWritable,
      type: withReader(text, readVersion),
      description: 'Without spaces.',
      example: '1.0.0',
      initial: '',
    },
    template_type: {
      ...optionallyWritable,
      type: enumOf('dataset', 'recipe', 'search'),
      example: 'dataset',
      initial: 'dataset',
    },
    is_public: {
      ...optionallyWritable,
      type: boolean,
      description: 'Whether users of every account may read it.',
      example: false,
      initial: false,
    },
    tags: { ...tagsField, initial: [] },
    fields: {
      ...optionallyWritable,
      type: withReader(listOf(reference('TargetFieldCreate')), readFields),
      description: 'Definitions of fields, as target_fields of an import.',
      example: [],
      initial: [],
      show: ({ fields }) => fields.map(targetFieldView),
    },
    entity_params: paramField(entityParams.type, 'As of an import.'),
    reader_params: paramField(jsonObject, 'As of an import.'),
    validation_params: paramField(validationParams.type, 'As of an import.'),
    annotator_params: paramField(annotatorParams.type, 'As of an import.'),
    account_id: {
      type: nullable(id),
      description:
        'The account whose users may read it; null: only its owner. A request may only set null, or the own account.',
      example: 1,
      create: 'optional',
      update: true,
      lookup: true,
      show: ({ accountId, isShared }) => (isShared ? accountId : null),
    },
    account: { type: id, example: 1, show: ({ accountId }) => accountId },
    user: userField,
    user_id: { type: id, example: 3 },
    ...timestampFields,
  },
  examples: {
    create: {
      name: 'Somatic variants',
      fields: [
        { name: 'vaf', data_type: 'double', expression: 'record.ad[1] / sum(record.ad)' },
        { name: 'gene', entity_type: 'gene' },
      ],
    },
  },
});
