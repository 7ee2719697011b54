import type { KeyColumn } from '../../../engine/change/row-keys.js';
import { columnPath } from '../../../engine/core/dataset-field.js';
import { AppError } from '../../../engine/core/errors.js';
import type { Columns } from '../../../engine/core/types.js';

/**
 * Returns the columns of key fields, which are found by their dotted names as in a query. Throws `input` if a field does not exist or does
 * not have a single value per record.
 */
export function keyColumnsOf(names: readonly string[], columns: Columns): readonly KeyColumn[] {
  return names.map((name) => {
    const above = columnPath(name, columns);
    if (above === undefined)
      throw new AppError('input', `id_fields: no record has a field ${JSON.stringify(name)}`);
    const { type } = above.at(-1)!;
    if (above.some(({ isList }) => isList) || type === 'object' || type === 'json')
      throw new AppError(
        'input',
        `id_fields: ${JSON.stringify(name)} is a list or an object; name fields with a single value`,
      );
    const path = above.map(({ physical }) => physical);
    return { given: path, stored: path, type };
  });
}

/** Whether a column at the top level can be or contain one of the key fields; all columns of a source need not be known yet. */
export function mayHoldKey(column: string, names: readonly string[]): boolean {
  return names.some((name) => name === column || name.startsWith(`${column}.`));
}
