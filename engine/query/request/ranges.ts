import { isNumeric, type StoredType } from '../../core/types.js';
import {
  and,
  node,
  none,
  type FieldRef,
  type Predicate,
  type RangeEnd,
} from '../predicate/predicate.js';
import { Problem, shownValue } from './problem.js';
import { floatingValue, floorOf, typeLimits, momentOf, numberOf } from './values.js';

export const isRanged = (type: StoredType | 'auto'): boolean => isNumeric(type) || type === 'date';

/** A range from a list of its two ends. */
export function twoEnded(
  name: string,
  field: FieldRef,
  value: unknown,
  inclusive: boolean,
): Predicate {
  if (!Array.isArray(value) || value.length !== 2) {
    throw new Problem(`Action ${name} expects a list of two values, not ${shownValue(value)}`);
  }
  const [from, to] = value as [unknown, unknown];
  if (orderValue(field, from) > orderValue(field, to)) {
    throw new Problem(
      `Action ${name} expects its smaller value first, not ${shownValue(from)} before ${shownValue(to)}`,
    );
  }
  return and([
    rangePredicate(field, lowEnd(field, from, inclusive), highEnd(field, to, inclusive)),
  ]);
}

/**
 * The form in which the ends of a range are compared: as the field stores them, since a decimal and the double nearest to it are then one value.
 */
function orderValue({ type }: FieldRef, value: unknown): bigint | number {
  if (type === 'date') return momentOf(value).start;
  const number = numberOf(value);
  return type === 'double' || type === 'float' ? floatingValue(type, number) : number;
}

/** A range from two ends, each inclusive, exclusive or open (null). Throws a `Problem` as `conditionOfAction` does. */
export function intervalPredicate(
  field: FieldRef,
  from: RangeEndText | null,
  to: RangeEndText | null,
): Predicate {
  if (field.type === 'string') {
    const bound = (end: RangeEndText | null): RangeEnd | null =>
      end && { value: end.text, inclusive: end.inclusive };
    return rangePredicate(field, bound(from), bound(to));
  }
  if (!isRanged(field.type))
    throw new Problem(`${field.name} is of type ${field.type}: it has no ranges`);
  return rangePredicate(
    field,
    from && lowEnd(field, from.text, from.inclusive),
    to && highEnd(field, to.text, to.inclusive),
  );
}

/** An end of a range, as text of the request. */
export interface RangeEndText {
  readonly text: string;
  readonly inclusive: boolean;
}

/** A bound of a range; `none` if no stored value can satisfy it. */
type End = RangeEnd | 'none';

export function rangePredicate(field: FieldRef, from: End | null, to: End | null): Predicate {
  if (from === 'none' || to === 'none') return none;
  return node({ kind: 'range', field, low: from, high: to });
}

export function lowEnd(field: FieldRef, value: unknown, inclusive: boolean): End {
  const { type } = field;
  if (type === 'date') {
    const { start, end } = momentOf(value);
    return { value: inclusive ? start : end, inclusive: true };
  }
  const number = numberOf(value);
  if (type === 'double' || type === 'float')
    return { value: floatingValue(type, number), inclusive };
  // Among whole numbers, above 1.5 is above 1.
  if (typeof number === 'number') return lowEnd(field, floorOf(value), false);
  const [smallest, largest] = typeLimits(type);
  if (number > largest) return 'none';
  return number < smallest ? { value: smallest, inclusive: true } : { value: number, inclusive };
}

export function highEnd(field: FieldRef, value: unknown, inclusive: boolean): End {
  const { type } = field;
  if (type === 'date') {
    const { start, end } = momentOf(value);
    return { value: inclusive ? end : start, inclusive: false };
  }
  const number = numberOf(value);
  if (type === 'double' || type === 'float')
    return { value: floatingValue(type, number), inclusive };
  if (typeof number === 'number') return highEnd(field, floorOf(value), true);
  const [smallest, largest] = typeLimits(type);
  if (number < smallest) return 'none';
  return number > largest ? { value: largest, inclusive: true } : { value: number, inclusive };
}
