import type { Column, Columns } from '../../core/types.js';
import { reservedColumns } from '../../store/arrow.js';
import type { FieldRef } from '../predicate/predicate.js';
import type { Unsupported } from '../unsupported.js';

/** True for a field whose segments have a text index: a stored text field, also in objects and lists. */
export function isIndexable(columns: Columns, field: FieldRef): boolean {
  return field.type === 'text' && columnOf(field, columns)?.type === 'text';
}

/** The column of a field among those of a dataset (without the reserved ones) and the reserved ones; undefined if no record stores the field. */
export function columnOf({ path }: FieldRef, columns: Columns): Column | undefined {
  const [top, ...below] = path;
  const isTop = ({ name }: Column): boolean => name === top;
  let column = reservedColumns.find(isTop) ?? columns.find(isTop);
  for (const name of below) column = column?.children?.find((child) => child.name === name);
  return column;
}

/** The index does not tell the relevance of a phrase that may begin in one value of a list and end in another. */
export function crossesValues({ name }: FieldRef): Unsupported {
  return { unsupported: `values of ${name} that follow one another may form the phrase` };
}
