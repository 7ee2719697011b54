import type { EntityType } from '../../core/types.js';
import { fieldRef, type FieldIndex } from './field-index.js';
import {
  freezePredicate,
  none,
  or,
  type FieldRef,
  type Predicate,
} from '../predicate/predicate.js';
import { Problem } from './problem.js';
import { readScalar } from './request-values.js';

/** Matches records that have one of these names in a field of the entity type. Throws a `Problem` if there is no such field. */
export function entityFieldsEqualAny(
  fields: FieldIndex,
  type: EntityType,
  names: readonly string[],
): Predicate {
  const entityFields = fieldsOfEntities(fields, type);
  if (entityFields.length === 0)
    throw new Problem(`The dataset has no field of the entity type ${type}`);
  return or(entityFields.map((field) => fieldEqualsAny(field, names)));
}

/** Returns the fields of these entity types. */
export function fieldsOfEntities(
  fields: FieldIndex,
  ...types: readonly EntityType[]
): readonly FieldRef[] {
  return fields.fields
    .filter(({ entityType }) => entityType !== null && types.includes(entityType))
    .map(fieldRef);
}

/**
 * Matches records in which a value of the field equals one of these names, ignoring case in strings and texts. Matches none if no name is
 * a value of the field's type, if the field holds dates, objects or JSON, or if it has no values yet.
 */
export function fieldEqualsAny(field: FieldRef, names: readonly string[]): Predicate {
  const { type } = field;
  if (type === 'auto' || type === 'object' || type === 'json' || type === 'date') return none;
  const values = names.flatMap((name) => {
    try {
      return readScalar(type, name) ?? [];
    } catch (error) {
      if (error instanceof Problem) return []; // not a value of the field's type, so no record can hold it
      throw error;
    }
  });
  const distinct = [...new Set(values)];
  if (distinct.length === 0) return none;
  const ignoreCase = type === 'string' || type === 'text';
  return freezePredicate({ kind: 'in', field, values: distinct, ignoreCase });
}
