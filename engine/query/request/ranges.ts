import { isNumeric, type StoredType } from '../../core/types.js';
import {
  and,
  freezePredicate,
  none,
  type FieldRef,
  type Predicate,
  type RangeEnd,
} from '../predicate/predicate.js';
import { Problem, valueForMessage } from './problem.js';
import {
  roundToFieldType,
  readFloor,
  typeLimits,
  readDateInterval,
  readNumber,
} from './request-values.js';

export const isRangeType = (type: StoredType | 'auto'): boolean =>
  isNumeric(type) || type === 'date';

/** Returns a range from a list of its two ends. */
export function twoEndedRange(
  name: string,
  field: FieldRef,
  value: unknown,
  inclusive: boolean,
): Predicate {
  if (!Array.isArray(value) || value.length !== 2) {
    throw new Problem(`Action ${name} expects a list of two values, not ${valueForMessage(value)}`);
  }
  const [from, to] = value as [unknown, unknown];
  if (comparableValue(field, from) > comparableValue(field, to)) {
    throw new Problem(
      `Action ${name} expects its smaller value first, not ${valueForMessage(from)} before ${valueForMessage(to)}`,
    );
  }
  return and([
    rangePredicate(field, lowEnd(field, from, inclusive), highEnd(field, to, inclusive)),
  ]);
}

/**
 * Returns the end of a range in the form in which two ends are compared. For a double or float, this is the stored form, because a decimal
 * and the double nearest to it are stored as one value.
 */
function comparableValue({ type }: FieldRef, value: unknown): bigint | number {
  if (type === 'date') return readDateInterval(value).start;
  const number = readNumber(value);
  return type === 'double' || type === 'float' ? roundToFieldType(type, number) : number;
}

/**
 * Returns a range from two ends, each inclusive, exclusive or open (null). Throws a `Problem` if the field's type has no ranges or an end
 * is invalid.
 */
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
  if (!isRangeType(field.type))
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

/** A parsed end of a range; `none` if no stored value can satisfy it. */
type RangeBound = RangeEnd | 'none';

export function rangePredicate(
  field: FieldRef,
  from: RangeBound | null,
  to: RangeBound | null,
): Predicate {
  if (from === 'none' || to === 'none') return none;
  return freezePredicate({ kind: 'range', field, low: from, high: to });
}

export function lowEnd(field: FieldRef, value: unknown, inclusive: boolean): RangeBound {
  const { type } = field;
  if (type === 'date') {
    const { start, end } = readDateInterval(value);
    return { value: inclusive ? start : end, inclusive: true };
  }
  const number = readNumber(value);
  if (type === 'double' || type === 'float')
    return { value: roundToFieldType(type, number), inclusive };
  // For whole numbers, greater than 1.5 is the same as greater than 1.
  if (typeof number === 'number') return lowEnd(field, readFloor(value), false);
  const [smallest, largest] = typeLimits(type);
  if (number > largest) return 'none';
  return number < smallest ? { value: smallest, inclusive: true } : { value: number, inclusive };
}

export function highEnd(field: FieldRef, value: unknown, inclusive: boolean): RangeBound {
  const { type } = field;
  if (type === 'date') {
    const { start, end } = readDateInterval(value);
    return { value: inclusive ? end : start, inclusive: false };
  }
  const number = readNumber(value);
  if (type === 'double' || type === 'float')
    return { value: roundToFieldType(type, number), inclusive };
  if (typeof number === 'number') return highEnd(field, readFloor(value), true);
  const [smallest, largest] = typeLimits(type);
  if (number < smallest) return 'none';
  return number > largest ? { value: largest, inclusive: true } : { value: number, inclusive };
}
