import type { Column, Columns } from '../../core/types.js';
import type { FieldRef } from '../predicate/predicate.js';

/** True for a field whose segments have a text index: a text field that is not in a list. */
export function isIndexable(columns: Columns, { type, path }: FieldRef): boolean {
  if (type !== 'text') return false;
  let found: Column | undefined;
  for (const name of path) {
    const among: Columns = found === undefined ? columns : (found.children ?? []);
    found = among.find((column) => column.name === name);
    if (found === undefined || found.isList) return false;
  }
  return found?.type === 'text';
}
