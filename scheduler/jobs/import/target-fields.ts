import type { NewField } from '../../../engine/core/dataset-field.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { PhysicalNames } from '../../../engine/ingest/physical-names.js';
import type { Column, Columns, JsonObject, StoredType } from '../../../engine/core/types.js';

/*
 * Choice: the name of a target field is the name of the dataset's field and of the value in the source; another name will need an
 * expression. The properties of a target field replace those of a field with data, except its type.
 *
 * `target_fields` were checked when the import was created. The name of a field inside an object is dotted, but a field of a flat
 * file may have a dot in its name; a dotted name is therefore declared both ways.
 */

/** Adds columns for the target fields that have a data type; columns in `known` stay unchanged. */
export function declaredBy(targetFields: readonly JsonObject[], known: Columns): Columns {
  return targetFields.reduce<Columns>((columns, field) => {
    const { name, data_type: type, is_list: isList } = field;
    if (typeof name !== 'string' || typeof type !== 'string') return columns;
    if (type === 'auto' || type === 'object') return columns;
    const leaf = { type: type as StoredType, isList: isList === true };
    const flat = withColumn(columns, [name], leaf, true);
    return name.includes('.') ? withColumn(flat, name.split('.'), leaf, true) : flat;
  }, known);
}

function withColumn(
  columns: Columns,
  [name = '', ...rest]: readonly string[],
  leaf: Pick<Column, 'type' | 'isList'>,
  isTop: boolean,
): Columns {
  if (name === '') return columns;
  const known = columns.find((column) => column.name === name);
  if (known !== undefined) {
    if (rest.length === 0 || known.type !== 'object') return columns;
    const children = withColumn(known.children ?? [], rest, leaf, false);
    return columns.map((column) => (column === known ? { ...known, children } : column));
  }
  const names = new PhysicalNames(
    columns.map((column) => column.physical),
    isTop,
  );
  const own = { name, physical: names.add(name) };
  if (rest.length === 0) return [...columns, { ...own, ...leaf }];
  const children = withColumn([], rest, leaf, false);
  return [...columns, { ...own, type: 'object', isList: false, isOpen: true, children }];
}

/** The properties of target fields other than their types; a dotted name is returned with both of its paths. */
export function describedBy(targetFields: readonly JsonObject[]): readonly Partial<NewField>[] {
  return targetFields.flatMap((field) => {
    const { name } = field;
    if (typeof name !== 'string') return [];
    const properties = propertiesOf(field);
    const paths = name.includes('.') ? [[name], name.split('.')] : [[name]];
    return paths.map((path) => ({ name, path, ...properties }));
  });
}

function propertiesOf(field: JsonObject): Partial<NewField> {
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

/** The properties that target fields set on fields which the dataset already has. */
export function editsBy(
  targetFields: readonly JsonObject[],
  fields: readonly FieldRow[],
): readonly (Partial<NewField> & { readonly name: string })[] {
  const known = new Set(fields.map(({ name }) => name));
  return targetFields.flatMap((field) => {
    const { name } = field;
    if (typeof name !== 'string' || !known.has(name)) return [];
    const properties = propertiesOf(field);
    return Object.keys(properties).length === 0 ? [] : [{ name, ...properties }];
  });
}

/** The names of target fields that are read and not stored. */
export function transientBy(targetFields: readonly JsonObject[]): readonly string[] {
  return targetFields.flatMap(({ name, is_transient: isTransient }) =>
    isTransient === true && typeof name === 'string' ? [name] : [],
  );
}

/** Dotted names of the fields whose entity type is not detected: it is set or requested, or the field has data. */
export function fixedEntities(
  fields: readonly FieldRow[],
  targetFields: readonly JsonObject[],
): readonly string[] {
  const set = fields.filter((field) => field.isValid || field.entityType !== null);
  const requested = targetFields.filter((field) => typeof field['entity_type'] === 'string');
  return [...set.map(({ name }) => name), ...requested.map(({ name }) => name as string)];
}
