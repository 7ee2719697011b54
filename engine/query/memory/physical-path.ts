import { reservedColumns } from '../../store/arrow.js';
import type { Column, Columns } from '../../core/types.js';

/** The names by which a segment stores a field of a dataset; undefined if no record stores it, or it is an object. */
export function physicalPath(
  columns: Columns,
  path: readonly string[],
): readonly string[] | undefined {
  const physical: string[] = [];
  let siblings: Columns | undefined = [...reservedColumns, ...columns];
  let column: Column | undefined;
  for (const name of path) {
    column = siblings?.find((candidate) => candidate.name === name);
    if (column === undefined) return undefined;
    physical.push(column.physical);
    siblings = column.children;
  }
  return column === undefined || column.type === 'object' ? undefined : physical;
}
