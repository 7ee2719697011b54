import { isNumeric, type StoredType } from '../../core/types.js';
import {
  and,
  node,
  none,
  type FieldRef,
  type Predicate,
  type RangeEnd,
} from '../predicate/predicate.js';
import { Problem, show } from './problem.js';
import { floating, floorOf, limits, momentOf, numberOf } from './values.js';

export const ranged = (type: StoredType | 'auto'): boolean => isNumeric(type) || type === 'date';

/** A range from a list of its two ends. */
export function twoEnded(
  name: string,
  field: FieldRef,
  value: unknown,
  inclusive: boolean,
): Predicate {
  if (!Array.isArray(value) || value.length !== 2) {
    throw new Problem(`Action ${name} expects a list of two values, not ${show(value)}`);
  }
  const [from, to] = value as [unknown, unknown];
  if (order(field, from) > order(field, to)) {
    throw new Problem(
      `Action ${name} expects its smaller value first, not ${show(from)} before ${show(to)}`,
    );
  }
  return and([range(field, low(field, from, inclusive), high(field, to, inclusive))]);
}

/**
 * The form in which the ends of a range are compared: as the field stores them, since a decimal and the double nearest to it are then one value.
 */
function order({ type }: FieldRef, value: unknown): bigint | number {
  if (type === 'date') return momentOf(value).start;
  const number = numberOf(value);
  return type === 'double' || type === 'float' ? floating(type, number) : number;
}

/** A range from two ends, each inclusive, exclusive or open (null). Throws a `Problem` as `condition` does. */
export function interval(
  field: FieldRef,
  from: RangeEndText | null,
  to: RangeEndText | null,
): Predicate {
  if (field.type === 'string') {
    const bound = (end: RangeEndText | null): RangeEnd | null =>
      end && { value: end.text, inclusive: end.inclusive };
    return range(field, bound(from), bound(to));
  }
  if (!ranged(field.type))
    throw new Problem(`${field.name} is of type ${field.type}: it has no ranges`);
  return range(
    field,
    from && low(field, from.text, from.inclusive),
    to && high(field, to.text, to.inclusive),
  );
}

/** An end of a range, as text of the request. */
export interface RangeEndText {
  readonly text: string;
  readonly inclusive: boolean;
}

/** A bound of a range; `none` if no stored value can satisfy it. */
type End = RangeEnd | 'none';

export function range(field: FieldRef, from: End | null, to: End | null): Predicate {
  if (from === 'none' || to === 'none') return none;
  return node({ kind: 'range', field, low: from, high: to });
}

export function low(field: FieldRef, value: unknown, inclusive: boolean): End {
  const { type } = field;
  if (type === 'date') {
    const { start, end } = momentOf(value);
    return { value: inclusive ? start : end, inclusive: true };
  }
  const number = numberOf(value);
  if (type === 'double' || type === 'float') return { value: floating(type, number), inclusive };
  // Among whole numbers, above 1.5 is above 1.
  if (typeof number === 'number') return low(field, floorOf(value), false);
  const [smallest, largest] = limits(type);
  if (number > largest) return 'none';
  return number < smallest ? { value: smallest, inclusive: true } : { value: number, inclusive };
}

export function high(field: FieldRef, value: unknown, inclusive: boolean): End {
  const { type } = field;
  if (type === 'date') {
    const { start, end } = momentOf(value);
    return { value: inclusive ? end : start, inclusive: false };
  }
  const number = numberOf(value);
  if (type === 'double' || type === 'float') return { value: floating(type, number), inclusive };
  if (typeof number === 'number') return high(field, floorOf(value), true);
  const [smallest, largest] = limits(type);
  if (number < smallest) return 'none';
  return number > largest ? { value: largest, inclusive: true } : { value: number, inclusive };
}
