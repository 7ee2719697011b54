import type { FieldPatch, FieldRow, NewFieldRow } from '../../../engine/catalog/fields.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { Form } from '../../http/form.js';
import { omitUndefined } from '../../http/list-query.js';
import { refuseChange, unchangeableMessages } from '../shared/unchangeable.js';
import { fieldDefinition } from './field.js';
import { refuseCyclicExpressions } from './stored-expressions.js';

/** Reads the definition of a field in a list of fields; the name is empty if it is missing, which is noted in the form. */
export function readFieldDefinition(form: Form): Omit<NewFieldRow, 'datasetId'> {
  const values = fieldDefinition.readCreate(form);
  return { ...values, name: values.name ?? '' };
}

/** Reads the definitions of the fields of a new dataset. Mistakes are noted under the key `fields`. */
export function readFieldList(
  form: Form,
  list: readonly JsonObject[],
): readonly Omit<NewFieldRow, 'datasetId'>[] {
  const names = new Set<string>();
  const fields = list.map((definition, index) => {
    const fieldForm = new Form(definition);
    const values = readFieldDefinition(fieldForm);
    if (names.has(values.name)) fieldForm.fail('name', 'The name is given twice.');
    names.add(values.name);
    const label = `Field ${index + 1} ${JSON.stringify(values.name)}`;
    form.collectErrorsOfPart(
      'fields',
      fieldForm,
      (key, messages) => `${label}, ${key}: ${messages}`,
    );
    return values;
  });
  const cycleForm = new Form({});
  refuseCyclicExpressions(
    cycleForm,
    fields.map((one) => ({ dependsOn: [], expression: null, ...one })),
  );
  form.collectErrorsOfPart('fields', cycleForm, (key, messages) => `${key}: ${messages}`);
  return fields;
}

/**
 * Reads the changes to a field. The name and the type cannot change (specification, "Dataset field"), except the type `auto`, which may
 * become another type. Whether the field is a list can change until the field holds data. Nothing of a read-only field can change (contract
 * 7.1). A request may repeat a present value.
 */
export function readFieldPatch(form: Form, row: FieldRow): FieldPatch {
  refuseChange(form, 'dataset_id', row.datasetId, unchangeableMessages.dataset);
  if (row.isReadOnly) {
    for (const [key, presentValue] of Object.entries(fieldDefinition.view(row, undefined)))
      refuseChange(form, key, presentValue, unchangeableMessages.readOnlyField);
    return {};
  }
  const { name, dataType, isList, ...others } = fieldDefinition.readUpdate(form);
  if (name !== undefined && name !== row.name)
    form.fail('name', 'The name of a field cannot be changed.');
  if (dataType !== undefined && dataType !== row.dataType && row.dataType !== 'auto') {
    form.fail('data_type', 'The type of a field cannot be changed; migrate the dataset instead.');
  }
  if (isList !== undefined && isList !== (row.isList ?? false) && row.isValid) {
    form.fail('is_list', 'A field that holds data cannot be changed from or to a list.');
  }
  return {
    ...(others as FieldPatch),
    // An inferred type that a client sends back stays inferred.
    ...omitUndefined<FieldPatch>({
      dataType: dataType === row.dataType ? undefined : dataType,
      isList,
    }),
  };
}
