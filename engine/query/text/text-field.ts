import type { Column, Columns } from '../../core/types.js';
import type { FieldRef } from '../predicate/predicate.js';
import type { Unsupported } from '../unsupported.js';

/** True for a field whose segments have a text index: a stored text field, also in objects and lists. */
export function isIndexable(columns: Columns, { type, path }: FieldRef): boolean {
  if (type !== 'text') return false;
  let found: Column | undefined;
  for (const name of path) {
    const siblingColumns: Columns = found === undefined ? columns : (found.children ?? []);
    found = siblingColumns.find((column) => column.name === name);
    if (found === undefined) return false;
  }
  return found?.type === 'text';
}

/** The index does not tell the relevance of a phrase that may begin in one value of a list and end in another. */
export function crossesValues({ name }: FieldRef): Unsupported {
  return { unsupported: `values of ${name} that follow one another may form the phrase` };
}
