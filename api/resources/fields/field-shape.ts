import type { JsonObject } from '../../../engine/core/types.js';
import type { FieldPatch, FieldRow, NewFieldRow } from '../../../engine/catalog/fields.js';
import { entityTypes, type DataType } from '../../../engine/core/types.js';
import { Form } from '../../http/form.js';
import { omitUndefined, isWebAddress } from '../shape.js';

/** The data types of the interface. */
export const dataTypes: readonly DataType[] = [
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

/** What a field definition says, in a body of its own or in a list of fields. */
export function fieldNew(form: Form): Omit<NewFieldRow, 'datasetId'> {
  return {
    ...editable(form),
    ...omitUndefined<NewFieldRow>({
      dataType: form.choice('data_type', dataTypes),
      isList: form.boolean('is_list'),
    }),
    name: form.requiredText('name'),
  };
}

/** The definitions of a new dataset's fields: what is wrong is told with the field's number and name. */
export function fieldList(
  form: Form,
  list: readonly JsonObject[],
): readonly Omit<NewFieldRow, 'datasetId'>[] {
  const names = new Set<string>();
  return list.map((definition, index) => {
    const own = new Form(definition);
    const field = fieldNew(own);
    if (names.has(field.name)) own.fail('name', 'The name is given twice.');
    names.add(field.name);
    try {
      own.done();
    } catch (error) {
      const { fields } = error as { fields: Readonly<Record<string, readonly string[]>> };
      for (const [key, messages] of Object.entries(fields)) {
        form.fail(
          'fields',
          `Field ${index + 1} ${JSON.stringify(field.name)}, ${key}: ${messages.join(' ')}`,
        );
      }
    }
    return field;
  });
}

/**
 * The changes to a field. Its name, type and listness stay once set (specification, "Dataset field"); `auto` may still
 * become a type while there are no data, and repeating a value is no change.
 */
export function fieldPatch(form: Form, field: FieldRow): FieldPatch {
  const name = form.text('name');
  if (name !== undefined && name !== field.name)
    form.fail('name', 'The name of a field cannot be changed.');
  const dataType = form.choice('data_type', dataTypes);
  if (dataType !== undefined && dataType !== field.dataType && field.dataType !== 'auto') {
    form.fail('data_type', 'The type of a field cannot be changed; migrate the dataset instead.');
  }
  const isList = form.boolean('is_list');
  if (isList !== undefined && isList !== (field.isList ?? false) && field.isValid) {
    form.fail('is_list', 'A field that holds data cannot be changed from or to a list.');
  }
  return { ...editable(form), ...omitUndefined<FieldPatch>({ dataType, isList }) };
}

/** What may always be changed. */
function editable(
  form: Form,
): Partial<
  Pick<
    FieldRow,
    | 'title'
    | 'description'
    | 'entityType'
    | 'expression'
    | 'isHidden'
    | 'ordering'
    | 'dependsOn'
    | 'urlTemplate'
  >
> {
  const urlTemplate = form.nullableText('url_template');
  if (urlTemplate && !isWebAddress(urlTemplate)) {
    form.fail(
      'url_template',
      'Must be a http or https address, with {value} where the value goes.',
    );
  }
  return omitUndefined<FieldRow>({
    title: form.text('title'),
    description: form.text('description'),
    entityType: isNull(form, 'entity_type') ? null : form.choice('entity_type', entityTypes),
    expression: form.nullableText('expression'),
    isHidden: form.boolean('is_hidden'),
    ordering: isNull(form, 'ordering') ? null : form.integer('ordering'),
    dependsOn: form.textList('depends_on'),
    urlTemplate,
  });
}

/** `null` removes the value. */
function isNull(form: Form, key: string): boolean {
  return form.has(key) && form.raw(key) === undefined;
}
