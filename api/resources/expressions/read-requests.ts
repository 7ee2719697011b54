import { invalidError } from '../../../engine/core/errors.js';
import { castTypes } from '../../../engine/expression/annotate/cast-result.js';
import type { RequestedField } from '../../../scheduler/expressions/host-call-protocol.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { Form, isObject } from '../../http/form.js';
import {
  anyType,
  bodySchema,
  boolean,
  enumOf,
  filledText,
  integer,
  jsonObject,
  jsonObjects,
  listOf,
  nullable,
  nullableText,
  readProperties,
  reference,
  strings,
  withReader,
} from '../../http/json-schema.js';
import type { RequestedEvaluation } from './run-expressions.js';

/** The most records of a request to annotate. */
const maxRecords = 500;
/** The most fields of a request to annotate. */
const maxFields = 1000;

const castType = nullable(enumOf(...castTypes));

/** The body of `POST /v1/evaluate` (contract 19.2). */
export const evaluateBody = bodySchema('Evaluate', 'An expression and its variables.', {
  expression: { type: filledText, example: "'hello ' + my_field", required: true },
  data: {
    type: nullable(jsonObject),
    description: 'The variables by name.',
    example: { my_field: 'world' },
  },
  fields: { type: nullable(jsonObject), description: 'The older name of data.' },
  data_type: {
    type: castType,
    initial: 'string',
    description: 'The type that the result is cast to; string when absent, auto leaves it.',
    example: 'string',
  },
  is_list: {
    type: nullable(boolean),
    initial: false,
    description: 'true: the result is a list; else it is the first element of a list.',
    example: false,
  },
});

/** A computed field in a request. */
export const annotationField = bodySchema('AnnotationField', 'A field to compute.', {
  name: { type: filledText, example: 'label', required: true },
  expression: {
    type: anyType,
    description: 'An expression, or a constant that is no text; without one the value is kept.',
    example: "record.gene + ':' + str(record.n)",
  },
  data_type: {
    type: castType,
    initial: 'auto',
    description: 'auto when absent.',
    example: 'string',
  },
  is_list: {
    type: nullable(boolean),
    initial: null,
    description: 'null: as the value is.',
    example: false,
  },
  ordering: {
    type: nullable(integer),
    initial: 0,
    description: 'Lower numbers first.',
    example: 0,
  },
  depends_on: {
    type: nullable(strings),
    initial: [],
    description: 'Fields that are computed before.',
    example: [],
  },
  is_transient: {
    type: nullable(boolean),
    initial: false,
    description: 'Removed from the results.',
    example: false,
  },
});

/** The keys that have the same effect in `annotator_params` and beside it (contract 19.1). */
const sharedProperties = {
  include_errors: {
    type: nullable(boolean),
    description: 'Whether records with errors get `_errors`; true when absent.',
  },
  pre_annotation_expression: {
    type: nullableText,
    description: 'Makes records of each record before its fields.',
  },
  post_annotation_expression: {
    type: nullableText,
    description: 'Makes records of each record after its fields.',
  },
  data: { type: nullable(jsonObject), description: 'Further variables by name.' },
};

/** The key `annotator_params` of a request to annotate. */
export const annotatorParams = bodySchema('AnnotatorParams', 'How records are annotated.', {
  ...sharedProperties,
  annotator: {
    type: nullable(enumOf('simple', 'serial', 'parallel')),
    description: 'All have the same results.',
  },
  debug: { type: nullable(boolean), description: 'Without effect.' },
  block_size: { type: nullable(integer), description: 'Without effect.' },
  chunk_size: { type: nullable(integer), description: 'Without effect.' },
  keep_order: { type: nullable(boolean), description: 'Results are always in order.' },
  pool_size: { type: nullable(integer), description: 'Without effect.' },
  timeout: { type: nullable(integer), description: 'Without effect.' },
});

/** The body of `POST /v1/annotate` (contract 19.1). */
export const annotateBody = bodySchema('Annotate', 'Records, and fields to compute for each.', {
  records: {
    type: nullable(withReader(jsonObjects, readRecords)),
    description: `At most ${maxRecords}.`,
    example: [{ gene: 'MYH7', n: 1 }],
    required: true,
  },
  fields: {
    type: withReader(nullable(listOf(reference('AnnotationField'))), readComputedFields),
    initial: [],
    example: [{ name: 'label', expression: "record.gene + ':' + str(record.n)" }],
  },
  annotator_params: { type: nullable(reference('AnnotatorParams')) },
  ...sharedProperties,
});

/** Reads the body of `POST /v1/evaluate` (contract 19.2). Throws a 400. */
export function readEvaluate(body: unknown): Omit<RequestedEvaluation<'evaluate'>, 'body'> {
  const { expression, dataType, isList } = evaluateBody.parse(body);
  return { expression, dataType, isList };
}

/** Reads the body of `POST /v1/annotate` (contract 19.1). Throws a 400. */
export function readAnnotate(body: unknown): Omit<RequestedEvaluation<'annotate'>, 'body'> {
  const form = new Form(body);
  const { fields, ...ownValues } = annotateBody.read(form);
  const nestedKeys = Object.entries(form.object('annotator_params') ?? {});
  // A key beside `annotator_params` takes precedence over one in it.
  const nestedForm = new Form(Object.fromEntries(nestedKeys.filter(([key]) => key === 'data' || form.raw(key) === undefined))); // prettier-ignore
  const nestedValues = readProperties(nestedForm, sharedProperties);
  form.collectErrorsOfPart('annotator_params', nestedForm, (name, messages) => `${name}: ${messages}`); // prettier-ignore
  form.throwIfInvalid();
  return {
    fields,
    includeErrors: ownValues.includeErrors ?? nestedValues.includeErrors ?? true,
    preExpression: ownValues.preAnnotationExpression ?? nestedValues.preAnnotationExpression ?? '',
    postExpression:
      ownValues.postAnnotationExpression ?? nestedValues.postAnnotationExpression ?? '',
  };
}

function readRecords(form: Form, key: string): readonly JsonObject[] | undefined {
  const records = form.raw(key);
  if (records === undefined) return undefined;
  if (!Array.isArray(records) || !records.every(isObject))
    return form.fail(key, 'Must be a list of objects.');
  if (records.length <= maxRecords) return records;
  return form.fail(key, `A request takes at most ${maxRecords} records, not ${records.length}: annotate them in several requests.`); // prettier-ignore
}

/** Returns the computed fields under a key of the request; mistakes are added to the form. Throws a 400 if there are too many fields. */
export function readComputedFields(form: Form, key: string): readonly RequestedField[] {
  const fields = form.raw(key) ?? [];
  if (!Array.isArray(fields) || !fields.every(isObject)) {
    form.fail(key, 'Must be a list of objects.');
    return [];
  }
  if (fields.length > maxFields) throw invalidError(key, `A request takes at most ${maxFields} fields, not ${fields.length}.`); // prettier-ignore
  return fields.map((field: Readonly<Record<string, unknown>>, i) => {
    const fieldForm = new Form(field);
    const { name = '', expression = null, ...others } = annotationField.read(fieldForm);
    form.collectErrorsOfPart(
      key,
      fieldForm,
      (name, messages) => `${key}[${i}].${name}: ${messages}`,
    );
    const isConstant = expression !== null && typeof expression !== 'string';
    return { ...others, name, expression: isConstant ? null : expression, isConstant };
  });
}
