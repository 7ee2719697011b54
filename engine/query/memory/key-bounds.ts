import { columnFinder } from '../predicate/kinds/segment-column.js';
import type { StoredRows } from '../predicate/kinds/kind.js';
import { boundOrderOf, isShortened, stringOrder } from '../predicate/value-bounds.js';
import type { OrderKey } from '../request/query-request.js';
import { compareValues, type KeyBound } from './top-rows.js';

/** Returns a function that finds the bound of a sort key in a segment by the statistics of the log. */
export function keyBoundFinder({ field, descending }: OrderKey): (segment: StoredRows) => KeyBound {
  const find = columnFinder(field);
  const order = field.isNumberInText ? undefined : boundOrderOf(field.type);
  const isString = order === stringOrder;
  return (segment) => {
    const column = find(segment);
    if (column === 'absent') return null;
    if (column === 'unknown' || column.isList || order === undefined) return undefined;
    if (!isStoredAs(column.type, field.type)) return undefined;
    const { nulls, min, max } = column.stats;
    if (nulls === segment.rows) return null;
    const statistic = descending ? max : min;
    if (statistic === undefined) return undefined;
    // A string may have another order than its bytes only if it is not well-formed, and an upper bound that was shortened has no exact
    // value.
    if (isString && typeof statistic === 'string')
      return statistic.isWellFormed() && !isShortened(statistic) ? statistic : undefined;
    return order.lower(statistic) as number | bigint | undefined;
  };
}

/** Returns whether reading values of type `column` as values of type `field` changes neither the values nor their order. */
function isStoredAs(column: string, field: string): boolean {
  const areIntegers = (column === 'integer' || column === 'long') && field === 'long';
  return column === field || areIntegers || (column === 'float' && field === 'double');
}

/** Returns the segments in the order of the bounds of their first sort key; those whose bound is not known come first. */
export function inOrderOfBounds<S>(
  segments: readonly S[],
  boundOf: (segment: S) => KeyBound,
  { descending }: OrderKey,
): readonly S[] {
  const sign = descending ? -1 : 1;
  const boundedSegments = segments.map((segment) => ({ segment, bound: boundOf(segment) }));
  boundedSegments.sort((a, b) => {
    if (a.bound === undefined || b.bound === undefined)
      return Number(a.bound !== undefined) - Number(b.bound !== undefined);
    return compareValues(a.bound, b.bound, sign);
  });
  return boundedSegments.map(({ segment }) => segment);
}
