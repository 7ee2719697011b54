import { fieldNameProblem, type NewField } from '../../../engine/core/dataset-field.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import type { DataType, JsonObject } from '../../../engine/core/types.js';
import type { FieldDeclaration } from './known-columns.js';

/*
 * Choice: a target field has the name of the field in the dataset and of the value in the source; if the two names differ, the field needs
 * an expression. The properties of a target field replace those of a field that has data, except its type.
 * `target_fields` were checked when the import or migration was created.
 */

/** Returns the types that target fields declare. */
export function declarationsIn(targetFields: readonly JsonObject[]): readonly FieldDeclaration[] {
  return targetFields.flatMap(({ name, data_type: type, is_list: isList }) =>
    typeof name === 'string'
      ? {
          name,
          dataType: typeof type === 'string' ? (type as DataType) : 'auto',
          isList: typeof isList === 'boolean' ? isList : null,
        }
      : [],
  );
}

/** Returns the fields that target fields create, with or without data: those that are stored and have a valid name. */
export function fieldsCreatedIn(targetFields: readonly JsonObject[]): readonly NewField[] {
  return targetFields.flatMap((field) => {
    const { name, is_transient: isTransient } = field;
    if (typeof name !== 'string' || isTransient === true || fieldNameProblem(name) !== null)
      return [];
    return { ...describedProperties(field), ...declarationsIn([field])[0]!, path: [name] };
  });
}

/**
 * Returns the properties of target fields other than their types; a dotted name gives two descriptions, one for a member and one for a
 * field with a dot in its name.
 */
export function fieldPropertiesIn(
  targetFields: readonly JsonObject[],
): readonly Partial<NewField>[] {
  return targetFields.flatMap((field) => {
    const { name } = field;
    if (typeof name !== 'string') return [];
    const properties = describedProperties(field);
    const paths = name.includes('.') ? [[name], name.split('.')] : [[name]];
    return paths.map((path) => ({ name, path, ...properties }));
  });
}

function describedProperties(field: JsonObject): Partial<NewField> {
  const { title, description, entity_type: entityType, is_hidden: isHidden } = field;
  const { ordering, url_template: urlTemplate } = field;
  return {
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    ...(typeof entityType === 'string' && {
      entityType: entityType as NonNullable<NewField['entityType']>,
    }),
    ...(typeof isHidden === 'boolean' && { isHidden }),
    ...(typeof ordering === 'number' && { ordering }),
    ...(typeof urlTemplate === 'string' && { urlTemplate }),
  };
}

/** Returns the properties that target fields set on fields which the dataset already has. */
export function fieldEditsOf(
  targetFields: readonly JsonObject[],
  fields: readonly FieldRow[],
): readonly (Partial<NewField> & { readonly name: string })[] {
  const knownNames = new Set(fields.map(({ name }) => name));
  return targetFields.flatMap((field) => {
    const { name } = field;
    if (typeof name !== 'string' || !knownNames.has(name)) return [];
    const properties = describedProperties(field);
    return Object.keys(properties).length === 0 ? [] : [{ name, ...properties }];
  });
}

/** Returns the names of target fields that are read and not stored. */
export function transientFieldNames(targetFields: readonly JsonObject[]): readonly string[] {
  return targetFields.flatMap(({ name, is_transient: isTransient }) =>
    isTransient === true && typeof name === 'string' ? [name] : [],
  );
}

/** Returns the dotted names of the fields whose entity type is not detected: it is set or requested, or the field has data. */
export function fieldsWithFixedEntity(
  fields: readonly FieldRow[],
  targetFields: readonly JsonObject[],
): readonly string[] {
  const fixedFields = fields.filter((field) => field.isValid || field.entityType !== null);
  const fieldsWithRequestedEntity = targetFields.filter(
    (field) => typeof field['entity_type'] === 'string',
  );
  return [
    ...fixedFields.map(({ name }) => name),
    ...fieldsWithRequestedEntity.map(({ name }) => name as string),
  ];
}
