import type { NewField } from '../../../engine/core/dataset-field.js';
import type { FieldRow } from '../../../engine/catalog/fields.js';
import { PhysicalNames } from '../../../engine/ingest/physical-names.js';
import type { Column, Columns, JsonObject, StoredType } from '../../../engine/core/types.js';

/*
 * Choice: a target field's name is that of the dataset's field and of the source's value alike; another name will need an
 * expression. What it says of a field with data replaces what the field had, all but its type.
 *
 * What `target_fields` say of the fields of an import. They were checked when it was created. Names are dotted below
 * objects; a field of a flat file may have a dot in its own name, so both readings of a name are declared.
 */

/** The columns whose types an import keeps: known ones as they are, then those that target fields give a type. */
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

/** What target fields say about fields beyond their types, by both readings of their names. */
export function describedBy(targetFields: readonly JsonObject[]): readonly Partial<NewField>[] {
  return targetFields.flatMap((field) => {
    const { name } = field;
    if (typeof name !== 'string') return [];
    const said = saidOf(field);
    const paths = name.includes('.') ? [[name], name.split('.')] : [[name]];
    return paths.map((path) => ({ name, path, ...said }));
  });
}

function saidOf(field: JsonObject): Partial<NewField> {
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

/** What target fields say about fields that the dataset has already: what may always be edited. */
export function editsBy(
  targetFields: readonly JsonObject[],
  fields: readonly FieldRow[],
): readonly (Partial<NewField> & { readonly name: string })[] {
  const known = new Set(fields.map(({ name }) => name));
  return targetFields.flatMap((field) => {
    const { name } = field;
    if (typeof name !== 'string' || !known.has(name)) return [];
    const said = saidOf(field);
    return Object.keys(said).length === 0 ? [] : [{ name, ...said }];
  });
}

/** The names of target fields that are read and not stored. */
export function transientBy(targetFields: readonly JsonObject[]): readonly string[] {
  return targetFields.flatMap(({ name, is_transient: isTransient }) =>
    isTransient === true && typeof name === 'string' ? [name] : [],
  );
}

/** The names of fields whose entity type is said, and of those that have had data. */
export function settledEntities(
  fields: readonly FieldRow[],
  targetFields: readonly JsonObject[],
): readonly string[] {
  const kept = fields.filter((field) => field.isValid || field.entityType !== null);
  const said = targetFields.filter((field) => typeof field['entity_type'] === 'string');
  return [...kept.map(({ name }) => name), ...said.map(({ name }) => name as string)];
}
