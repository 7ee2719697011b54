import type { FieldRow, Json, NewField } from '../../engine/catalog/rows.js';
import { PhysicalNames } from '../../engine/ingest/physical.js';
import type { Columns, StoredType } from '../../engine/types.js';

/** What `target_fields` say about the types of top-level columns that are not known yet. They were checked at creation. */
export function declaredBy(targetFields: readonly Json[], known: Columns): Columns {
  const names = new PhysicalNames(
    known.map((column) => column.physical),
    true,
  );
  const taken = new Set(known.map((column) => column.name));
  const declared = targetFields.flatMap((field) => {
    const { name, data_type: type, is_list: isList } = field;
    if (typeof name !== 'string' || taken.has(name)) return [];
    if (typeof type !== 'string' || type === 'auto' || type === 'object') return [];
    taken.add(name);
    const physical = names.give(name);
    return [{ name, physical, type: type as StoredType, isList: isList === true }];
  });
  return [...known, ...declared];
}

/** What `target_fields` say about fields beyond their types. */
export function describedBy(targetFields: readonly Json[]): readonly Partial<NewField>[] {
  return targetFields.flatMap((field) => {
    const {
      name,
      title,
      description,
      entity_type: entityType,
      is_hidden: isHidden,
      ordering,
    } = field;
    if (typeof name !== 'string') return [];
    return [
      {
        name,
        path: [name],
        ...(typeof title === 'string' && { title }),
        ...(typeof description === 'string' && { description }),
        ...(typeof entityType === 'string' && {
          entityType: entityType as NonNullable<NewField['entityType']>,
        }),
        ...(typeof isHidden === 'boolean' && { isHidden }),
        ...(typeof ordering === 'number' && { ordering }),
      },
    ];
  });
}

/** The names of fields whose entity type is said, and of those that have had data. */
export function settledEntities(
  fields: readonly FieldRow[],
  targetFields: readonly Json[],
): readonly string[] {
  const kept = fields.filter((field) => field.isValid || field.entityType !== null);
  const said = targetFields.filter((field) => typeof field['entity_type'] === 'string');
  return [...kept.map(({ name }) => name), ...said.map(({ name }) => name as string)];
}
