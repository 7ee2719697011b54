import { reservedColumns } from '../../../store/arrow-columns.js';
import type { Facet } from '../../request/facet-request.js';
import type { FieldRef } from '../../predicate/predicate.js';
import type { Column, Columns } from '../../../core/types.js';

/**
 * Returns why facets over a dataset of these columns cannot be counted in memory, or undefined if they can. The accumulator reports reasons
 * that depend on the values.
 */
export function unsupportedFacetReason(
  facets: readonly Facet[],
  columns: Columns,
): string | undefined {
  for (const facet of facets) {
    const reason = unsupportedSingleFacetReason(facet, columns, false);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function unsupportedSingleFacetReason(
  facet: Facet,
  columns: Columns,
  isNested: boolean,
): string | undefined {
  const { field } = facet;
  const path = columnPath(field, columns);
  if (field.name === '_id') return 'a table of all ids would not fit in memory';
  if (field.isNumberInText) return `the numbers in the strings of ${field.name} are not a column`;
  const nested = 'nested' in facet ? facet.nested : [];
  if (field.type === 'auto' && path) return `${field.name} is declared without a type`;
  if (path) {
    if (path.at(-1)!.type !== field.type || !facetableTypes.has(field.type))
      return `${field.name} is stored as another type than ${field.type}`;
    if ((isNested || nested.length > 0) && path.some(({ isList }) => isList))
      return `${field.name} is a list in a nested facet`;
  }
  if (facet.kind === 'histogram' && facet.bins.kind === 'whole') {
    const { digits, scale } = facet.bins;
    if (digits > BigInt(Number.MAX_SAFE_INTEGER) || scale > 15)
      return `the bins of ${field.name} are not exact as doubles`;
  }
  for (const below of nested) {
    const reason = unsupportedSingleFacetReason(below, columns, true);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const facetableTypes: ReadonlySet<FieldRef['type']> = new Set([
  'boolean',
  'date',
  'double',
  'float',
  'integer',
  'long',
  'string',
]);

/** Returns the columns from the root to a field; undefined if the dataset lacks the field. */
function columnPath(field: FieldRef, columns: Columns): readonly Column[] | undefined {
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
