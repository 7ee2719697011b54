import type { Column, Columns } from '../../core/types.js';
import { reservedColumns } from '../../store/arrow-columns.js';
import type { FieldRef } from '../predicate/predicate.js';
import type { Unsupported } from '../unsupported.js';

/**
 * Returns true for a field of which segments may have a text index: a stored text field, also in objects and lists. Large indexes of lists
 * are not stored (index-writer.ts).
 */
export function isIndexable(columns: Columns, field: FieldRef): boolean {
  return field.type === 'text' && columnOfField(field, columns)?.type === 'text';
}

/**
 * Returns the column of a field; `columns` are those of a dataset without the reserved ones, which are also searched. Undefined if no
 * record stores the field.
 */
export function columnOfField({ path }: FieldRef, columns: Columns): Column | undefined {
  const [top, ...below] = path;
  const isTop = ({ name }: Column): boolean => name === top;
  let column = reservedColumns.find(isTop) ?? columns.find(isTop);
  for (const name of below) column = column?.children?.find((child) => child.name === name);
  return column;
}

/** Returns the reason why the index cannot compute the relevance of a phrase that may begin in one value of a list and end in another. */
export function unsupportedAcrossValues({ name }: FieldRef): Unsupported {
  return { unsupported: `values of ${name} that follow one another may form the phrase` };
}
