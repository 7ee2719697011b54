import type { LeafStats } from '../../store/store.js';
import type { FieldRef, Predicate, Scalar } from './predicate.js';
import type { Spellings } from '../sql/statement.js';

/** A test of a field's values. */
export type Condition = Exclude<
  Predicate,
  { readonly kind: 'all' | 'none' | 'and' | 'or' | 'not' | 'missing' }
>;

type Min = NonNullable<LeafStats['min']>;

/** False only if no value between these bounds, both included, satisfies the condition; undefined if bounds tell nothing. */
export function valueTest(
  predicate: Condition,
  spellings: Spellings,
): ((min: Min, max: Min) => boolean) | undefined {
  const order = orderOf(predicate.field.type);
  if (order === undefined) return undefined;
  const spans = spansOf(predicate, order, spellings);
  if (spans === undefined) return undefined;
  return (min, max) => {
    const low = order.lower(min);
    const high = order.upper(max);
    if (low === undefined || high === undefined) return true;
    return spans.some(([from, to, isFrom, isTo]) => {
      if (to !== undefined && isBefore(order, to, low, isTo)) return false;
      return from === undefined || !isBefore(order, high, from, isFrom);
    });
  };
}

/** Whether `a` lies before `b`, or on it where that is not enough. */
function isBefore<T>(order: Order<T>, a: T, b: T, isEnough: boolean): boolean {
  const sign = order.compare(a, b);
  return sign < 0 || (sign === 0 && !isEnough);
}

/** Values from one to another, undefined where there is no end, and whether the ends are among them. */
type Span<T> = readonly [from: T | undefined, to: T | undefined, isFrom: boolean, isTo: boolean];

/** Longer lists are looked at as the one span that they are in. */
const mostSpans = 64;

/** The spans that a value must be in one of; undefined if that cannot be said. */
function spansOf<T>(
  predicate: Condition,
  order: Order<T>,
  spellings: Spellings,
): readonly Span<T>[] | undefined {
  switch (predicate.kind) {
    case 'range': {
      const { low, high } = predicate;
      const from = low ? order.value(low.value) : undefined;
      const to = high ? order.value(high.value) : undefined;
      if ((low && from === undefined) || (high && to === undefined)) return undefined;
      return [[from, to, low?.inclusive ?? true, high?.inclusive ?? true]];
    }
    case 'prefix': {
      const from = order.value(predicate.text);
      const to = order.upper(`${predicate.text}${beyond}`);
      return from === undefined || to === undefined ? undefined : [[from, to, true, true]];
    }
    case 'in': {
      const spelled = predicate.ignoreCase ? spellings.get(predicate) : predicate.values;
      const pairs = spelled
        ? spelled.map((value) => [value, value] as const)
        : predicate.values.map(caseSpan);
      const spans: [T, T][] = [];
      for (const pair of pairs) {
        const from = pair && order.value(pair[0]);
        const to = pair && order.value(pair[1]);
        if (from === undefined || to === undefined) return undefined;
        spans.push([from, to]);
      }
      return joined(spans, order).map(([from, to]) => [from, to, true, true]);
    }
    default:
      return undefined;
  }
}

function joined<T>(spans: readonly [T, T][], order: Order<T>): readonly [T, T][] {
  if (spans.length <= mostSpans) return spans;
  let [from, to] = spans[0]!;
  for (const [first, last] of spans) {
    if (order.compare(first, from) < 0) from = first;
    if (order.compare(last, to) > 0) to = last;
  }
  return [[from, to]];
}

/**
 * The first and the last spelling of a text in the order of its bytes; undefined for one that is not ASCII. Beyond ASCII, only
 * the Kelvin sign and the dotted capital i become ASCII letters in lower case.
 */
function caseSpan(value: Scalar): readonly [Scalar, Scalar] | undefined {
  if (typeof value !== 'string') return [value, value];
  if (!/^\p{ASCII}*$/u.test(value)) return undefined;
  const last = value.toLowerCase().replaceAll('k', '\u212A').replaceAll('i', '\u0130');
  return [value.toUpperCase(), last];
}

/** The order of a type's values, and its values and bounds in the form that is compared; undefined where there is none. */
interface Order<T> {
  value(value: Scalar): T | undefined;
  lower(bound: Min): T | undefined;
  upper(bound: Min): T | undefined;
  compare(a: T, b: T): number;
}

function orderOf(type: FieldRef['type']): Order<unknown> | undefined {
  switch (type) {
    case 'string':
    case 'text':
      return texts as Order<unknown>;
    case 'integer':
    case 'long':
      return longs as Order<unknown>;
    case 'date':
      return dates as Order<unknown>;
    case 'double':
      return doubles as Order<unknown>;
    case 'float':
      return floats as Order<unknown>;
    default:
      return undefined; // booleans have no bounds, the others are compared in other ways
  }
}

/** What stats.ts puts behind an upper bound that it has cut: any text that goes on so comes before it. */
const beyond = '\u{10FFFF}';
/** Above all bytes of UTF-8. */
const last = Buffer.from([0xff]);

const texts: Order<Buffer> = {
  value: (value) =>
    typeof value === 'string' && value.isWellFormed() ? Buffer.from(value) : undefined,
  lower: (bound) => (typeof bound === 'string' ? Buffer.from(bound) : undefined),
  upper: (bound) => {
    if (typeof bound !== 'string' || !bound.isWellFormed()) return undefined;
    if (!bound.endsWith(beyond)) return Buffer.from(bound);
    return Buffer.concat([Buffer.from(bound.slice(0, -beyond.length)), last]);
  },
  compare: (a, b) => Buffer.compare(a, b),
};

const numeric = <T extends bigint | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

const longOf = (bound: Min): bigint | undefined =>
  typeof bound !== 'boolean' && /^-?\d+$/.test(String(bound)) ? BigInt(bound) : undefined;
const longs: Order<bigint> = {
  value: (value) => (typeof value === 'bigint' ? value : undefined),
  lower: longOf,
  upper: longOf,
  compare: numeric,
};

/** Bounds have milliseconds, rounded away from the values. */
const dateOf = (bound: Min): bigint | undefined => {
  const millis = typeof bound === 'string' ? Date.parse(bound) : NaN;
  return Number.isNaN(millis) ? undefined : BigInt(millis) * 1000n;
};
const dates: Order<bigint> = {
  value: (value) => (typeof value === 'bigint' ? value : undefined),
  lower: dateOf,
  upper: dateOf,
  compare: numeric,
};

const doubleOf = (bound: Scalar | Min): number | undefined =>
  typeof bound === 'number' && !Number.isNaN(bound) ? bound : undefined;
const doubles: Order<number> = {
  value: doubleOf,
  lower: doubleOf,
  upper: doubleOf,
  compare: numeric,
};

/** The SQL engine rounds values to the field's type before it compares. */
const floats: Order<number> = {
  ...doubles,
  value: (value) => (typeof value === 'number' ? doubleOf(Math.fround(value)) : undefined),
};
