import { invalidError } from '../../../engine/core/errors.js';
import { castTypes, type CastType } from '../../../engine/expression/annotate/cast-result.js';
import type { RequestedField } from '../../../scheduler/expressions/host-call-protocol.js';
import { Form, isObject } from '../../http/form.js';
import type { RequestedTask } from './run-expressions.js';

/** The most records of a request to annotate. */
const maxRecords = 500;
/** The most fields of a request to annotate. */
const maxFields = 1000;

/** Reads the body of `POST /v1/evaluate` (contract 19.2). Throws a 400. */
export function readEvaluate(body: unknown): Omit<RequestedTask<'evaluate'>, 'body'> {
  const form = new Form(body);
  const expression = form.requiredText('expression');
  const dataType = form.choice<CastType>('data_type', castTypes) ?? 'string';
  const isList = form.boolean('is_list') ?? false;
  form.object('data');
  form.object('fields');
  form.throwIfInvalid();
  return { expression, dataType, isList };
}

/** Reads the body of `POST /v1/annotate` (contract 19.1). Throws a 400. */
export function readAnnotate(body: unknown): Omit<RequestedTask<'annotate'>, 'body'> {
  const form = new Form(body);
  const records = form.raw('records') ?? [];
  const isList = Array.isArray(records);
  if (!form.has('records')) form.fail('records', 'This field is required.');
  else if (!isList || !records.every(isObject)) form.fail('records', 'Must be a list of objects.');
  else if (records.length > maxRecords)
    form.fail('records', `A request takes at most ${maxRecords} records, not ${records.length}: annotate them in several requests.`); // prettier-ignore
  const fields = readComputedFields(form, 'fields');
  form.object('data');
  const params = new Form(form.object('annotator_params') ?? {});
  params.object('data');
  // The keys may stand at the top level of the body or in `annotator_params` (contract 19.1).
  const from = (key: string): Form => (form.raw(key) === undefined ? params : form);
  const text = (key: string): string => from(key).text(key) ?? '';
  const task = {
    fields,
    includeErrors: from('include_errors').boolean('include_errors') ?? true,
    preExpression: text('pre_annotation_expression'),
    postExpression: text('post_annotation_expression'),
  };
  form.collectErrorsOfPart('annotator_params', params, (name, messages) => `${name}: ${messages}`);
  form.throwIfInvalid();
  return task;
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
    const expression = fieldForm.raw('expression') ?? null;
    const isConstant = expression !== null && typeof expression !== 'string';
    const read = {
      name: fieldForm.requiredText('name'),
      expression: isConstant ? null : expression,
      isConstant,
      dataType: fieldForm.choice<CastType>('data_type', castTypes) ?? 'auto',
      isList: fieldForm.boolean('is_list') ?? null,
      ordering: fieldForm.integer('ordering') ?? 0,
      dependsOn: fieldForm.textList('depends_on') ?? [],
      isTransient: fieldForm.boolean('is_transient') ?? false,
    };
    form.collectErrorsOfPart(
      key,
      fieldForm,
      (name, messages) => `${key}[${i}].${name}: ${messages}`,
    );
    return read;
  });
}
