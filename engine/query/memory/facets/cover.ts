import { reservedColumns } from '../../../store/arrow.js';
import type { Facet } from '../../request/facets.js';
import type { FieldRef } from '../../predicate/predicate.js';
import type { Column, Columns } from '../../../core/types.js';

/**
 * True if facets over a dataset of these columns may be counted from columns in memory. What the values are can still forbid it:
 * then the accumulator throws NotCovered.
 */
export function canCount(facets: readonly Facet[], columns: Columns): boolean {
  return facets.every((facet) => isCovered(facet, columns, false));
}

function isCovered(facet: Facet, columns: Columns, isNested: boolean): boolean {
  const { field } = facet;
  const path = pathOf(field, columns);
  // Ids are different in all records: a table of them all is nothing for memory.
  if (field.name === '_id' || field.isNumberInText) return false;
  const nested = 'nested' in facet ? facet.nested : [];
  // Declared only: it has no values, whatever is stored under its name.
  if (field.type === 'auto' && path) return false;
  if (path) {
    if (path.at(-1)!.type !== field.type || !types.has(field.type)) return false;
    if ((isNested || nested.length > 0) && path.some(({ isList }) => isList)) return false;
  }
  if (facet.kind === 'histogram' && facet.bins.kind === 'whole') {
    const { digits, scale } = facet.bins;
    if (digits > BigInt(Number.MAX_SAFE_INTEGER) || scale > 15) return false;
  }
  return nested.every((below) => isCovered(below, columns, true));
}

const types: ReadonlySet<FieldRef['type']> = new Set([
  'boolean',
  'date',
  'double',
  'float',
  'integer',
  'long',
  'string',
]);

/** The columns on the way to a field; undefined if no record has it. */
function pathOf(field: FieldRef, columns: Columns): readonly Column[] | undefined {
  const path: Column[] = [];
  let siblings: Columns | undefined = [...reservedColumns, ...columns];
  for (const name of field.path) {
    const column: Column | undefined = siblings?.find((candidate) => candidate.name === name);
    if (!column) return undefined;
    path.push(column);
    siblings = column.children;
  }
  return path;
}
