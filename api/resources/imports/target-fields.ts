import type { JsonObject } from '../../../engine/core/types.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { Form } from '../../http/form.js';

/**
 * Refuses target fields that would give a field of the dataset another type: what is said of it otherwise replaces what it
 * had, and repeating its type is no change. The same name twice would leave open which counts.
 */
export function checkTargetFields(
  form: Form,
  targetFields: readonly JsonObject[],
  fields: readonly FieldRow[],
): void {
  const known = new Map(fields.map((field) => [field.name, field]));
  const names = new Set<unknown>();
  for (const [index, target] of targetFields.entries()) {
    const { name, data_type: type, is_list: isList, is_transient: isTransient } = target;
    const fail = (message: string): undefined =>
      form.fail(
        'target_fields',
        `Field ${index + 1} ${JSON.stringify(String(name).slice(0, 100))}, ${message}`,
      );
    if (names.has(name)) fail('name: The name is given twice.');
    names.add(name);
    const field = known.get(String(name));
    if (field === undefined) continue;
    if (typeof type === 'string' && !['auto', field.dataType].includes(type)) {
      if (field.dataType !== 'auto')
        fail(`data_type: The field is of type ${field.dataType} in this dataset.`);
    }
    if (typeof isList === 'boolean' && isList !== (field.isList ?? false) && field.isValid) {
      fail(`is_list: The field is ${field.isList ? 'a' : 'no'} list in this dataset.`);
    }
    if (isTransient === true && field.isValid) {
      fail('is_transient: The field is stored in this dataset.');
    }
  }
}
