import { numberRangeTest } from '../../memory/match/number-test.js';
import { stringRangeTest } from '../../memory/match/string-parts.js';
import { paramTypeOf } from '../../sql/dialect/params.js';
import { nsPerRow, rowCost } from '../predicate-cost.js';
import { comparePlainValues, toPlainValue, type PlainTest } from '../plain-values.js';
import type { RangeEnd, PredicateOfKind } from '../predicate.js';
import { describeValues, familyOf, kindOfValueCondition } from './value-kind.js';

/** The predicate kind `range`: the value lies between two bounds, each of which may be absent. */
export const range = kindOfValueCondition<PredicateOfKind<'range'>>({
  cost: ({ field }) =>
    rowCost(familyOf(field.type) === 'string' ? nsPerRow.order : nsPerRow.numbers),
  unsupportedOver: ({ field }, family) =>
    family === 'boolean' ? `${field.name} is a boolean, which has no order` : undefined,
  spans({ low, high }, order) {
    const from = low ? order.value(low.value) : undefined;
    const to = high ? order.value(high.value) : undefined;
    if ((low && from === undefined) || (high && to === undefined)) return undefined;
    return [[from, to, low?.inclusive ?? true, high?.inclusive ?? true]];
  },
  valueSql({ field, low, high }, { params }) {
    const bounds: ((value: string) => string)[] = [];
    for (const [bound, sign] of [
      [low, '>'],
      [high, '<'],
    ] as const) {
      if (!bound) continue;
      const parameter = params.add(paramTypeOf(field), bound.value);
      bounds.push((value) => `${value} ${sign}${bound.inclusive ? '=' : ''} ${parameter}`);
    }
    return (value) => bounds.map((bound) => bound(value)).join(' AND ');
  },
  valueTest: (condition) =>
    familyOf(condition.field.type) === 'string'
      ? stringRangeTest(condition)
      : numberRangeTest(condition),
  plainTest({ low, high }) {
    const isBeyond = (bound: RangeEnd | null, sign: 1 | -1): PlainTest => {
      if (bound === null) return () => true;
      const end = toPlainValue(bound.value);
      return (value) => {
        const order = comparePlainValues(value, end) * sign;
        return order > 0 || (order === 0 && bound.inclusive);
      };
    };
    const [isAbove, isBelow] = [isBeyond(low, 1), isBeyond(high, -1)];
    return (value) => isAbove(value) && isBelow(value);
  },
  requirement: ({ low, high }) => ({ ends: { low, high } }),
  describe({ field, low, high }) {
    const from = low && `${field.name} >${low.inclusive ? '=' : ''} ${describeValues([low.value])}`;
    const to = high && `${field.name} <${high.inclusive ? '=' : ''} ${describeValues([high.value])}`; // prettier-ignore
    return from && to ? `(${from} and ${to})` : (from ?? to ?? `${field.name} has a value`);
  },
});
