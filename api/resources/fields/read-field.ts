import type { FieldPatch, FieldRow, NewFieldRow } from '../../../engine/catalog/fields.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { Form } from '../../http/form.js';
import { omitUndefined } from '../../http/list-query.js';
import { dataTypes, fieldDefinition } from './field.js';
import { refuseCircles } from './stored-expressions.js';

/** A field definition, in a body of its own or in a list of fields; its dataset is not read. */
export function readFieldDefinition(form: Form): Omit<NewFieldRow, 'datasetId'> {
  const values = fieldDefinition.readCreate(form);
  return { ...values, name: values.name ?? '' };
}

/** The definitions of a new dataset's fields. Mistakes go to the key `fields` with the field's number and name. */
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
    form.absorbInto('fields', fieldForm, (key, messages) => `${label}, ${key}: ${messages}`);
    return values;
  });
  const circles = new Form({});
  refuseCircles(
    circles,
    fields.map((one) => ({ dependsOn: [], expression: null, ...one })),
  );
  form.absorbInto('fields', circles, (key, messages) => `${key}: ${messages}`);
  return fields;
}

/**
 * The changes to a field. Its name, type and whether it is a list do not change once set (specification, "Dataset
 * field"); `auto` may become a type while there are no data. Repeating a value is no change.
 */
export function readFieldPatch(form: Form, row: FieldRow): FieldPatch {
  const name = form.text('name');
  if (name !== undefined && name !== row.name)
    form.fail('name', 'The name of a field cannot be changed.');
  const dataType = form.choice('data_type', dataTypes);
  if (dataType !== undefined && dataType !== row.dataType && row.dataType !== 'auto') {
    form.fail('data_type', 'The type of a field cannot be changed; migrate the dataset instead.');
  }
  const isList = form.boolean('is_list');
  if (isList !== undefined && isList !== (row.isList ?? false) && row.isValid) {
    form.fail('is_list', 'A field that holds data cannot be changed from or to a list.');
  }
  return {
    ...(fieldDefinition.readUpdate(form) as FieldPatch),
    ...omitUndefined<FieldPatch>({ dataType, isList }),
  };
}
