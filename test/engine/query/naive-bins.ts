import type { StoredType } from '../../../engine/core/types.js';
import { shownDate } from './naive-record.js';
import { compareComparables, type Comparable } from './naive-values.js';

/** A bin of a histogram: the value that it is shown as, and a value that identifies it and by which bins are sorted. */
export interface NaiveBin {
  readonly shown: unknown;
  readonly order: Comparable;
}

/** Returns a function that gives the bin of each value of a field of the given type. */
export function naiveBinOf(
  type: StoredType,
  interval: unknown,
  scale: unknown,
): (value: Comparable) => NaiveBin {
  if (type === 'date') {
    return (value) => {
      const edge = dateBinStart(value as bigint, (interval ?? 'month') as string);
      return { shown: shownDate(edge), order: edge };
    };
  }
  const isLog = scale === 'log';
  const [digits, decimals] = parseDecimal(interval ?? (isLog ? 1 : 100));
  if (isLog) return (value) => logBin(value, digits, decimals);
  return (value) =>
    typeof value === 'bigint'
      ? integerBin(value, digits, decimals)
      : doubleBin(value as number, digits, decimals);
}

/** Returns a positive decimal number as its digits and the number of digits after the point. */
function parseDecimal(input: unknown): readonly [bigint, number] {
  const [mantissa = '', exponent = '0'] = String(input).trim().toLowerCase().split('e');
  const [before = '', after = ''] = mantissa.split('.');
  const decimals = after.length - Number(exponent);
  const digits = BigInt(before + after);
  return decimals < 0 ? [digits * 10n ** BigInt(-decimals), 0] : [digits, decimals];
}

function floorDivide(a: bigint, b: bigint): bigint {
  return a / b - (a % b < 0n ? 1n : 0n);
}

/** Returns the number with the given digits, of which `decimals` are after the point; a bigint if it is an integer. */
function scaledNumber(digits: bigint, decimals: number): bigint | number {
  const unit = 10n ** BigInt(decimals);
  return digits % unit === 0n ? digits / unit : Number(`${digits}e-${decimals}`);
}

function integerBin(value: bigint, digits: bigint, decimals: number): NaiveBin {
  const bin = floorDivide(value * 10n ** BigInt(decimals), digits);
  return { shown: scaledNumber(bin * digits, decimals), order: bin };
}

/** Edges of bins are doubles, so the exact quotient only finds the bins whose edges must be compared. */
function doubleBin(value: number, digits: bigint, decimals: number): NaiveBin {
  const [numerator, denominator] = [Number(digits), Number(`1e${decimals}`)];
  if (Math.abs(value) >= (2 ** 50 * numerator) / denominator) return { shown: value, order: value };
  const [top, bottom] = exactFraction(value);
  const middleBin = floorDivide(top * 10n ** BigInt(decimals), bottom * digits);
  const edges = [-2n, -1n, 0n, 1n, 2n].map(
    (by) => (Number(middleBin + by) * numerator) / denominator,
  );
  const edge = edges.findLast((candidate) => candidate <= value)! + 0;
  return { shown: edge, order: edge };
}

/** Returns a double as a fraction of two integers. */
function exactFraction(value: number): readonly [bigint, bigint] {
  let denominator = 1n;
  let top = value;
  while (!Number.isInteger(top)) {
    top *= 2;
    denominator *= 2n;
  }
  return [BigInt(top), denominator];
}

function logBin(value: Comparable, digits: bigint, decimals: number): NaiveBin {
  if (compareComparables(value, 0) === 0) return { shown: 0, order: 0 };
  const isNegative = compareComparables(value, 0) < 0;
  const size =
    typeof value === 'bigint' ? (isNegative ? -value : value) : Math.abs(value as number);
  const step = Number(`${digits}e-${decimals}`);
  const smallestSize = typeof size === 'bigint' ? 1 : Number.MIN_VALUE;
  const middlePower = Math.floor(Math.log10(Number(size)) / step);
  // Tries powers of ten near the expected one, in descending order.
  for (let bin = middlePower + 3; ; bin--) {
    const exponent = Number(scaledNumber(BigInt(bin) * digits, decimals));
    const power = Number.isInteger(exponent) ? Number(`1e${exponent}`) : 10 ** exponent;
    const edge = Math.max(power, smallestSize);
    if (edge <= size) return { shown: isNegative ? -edge : edge, order: isNegative ? -edge : edge };
  }
}

const secondsByUnit: Readonly<Record<string, bigint>> = { second: 1n, minute: 60n, hour: 3_600n, day: 86_400n }; // prettier-ignore

function dateBinStart(micros: bigint, unit: string): bigint {
  const wholeMultiple = (width: bigint, from = 0n): bigint => micros - ((((micros - from) % width) + width) % width); // prettier-ignore
  const width = secondsByUnit[unit];
  if (width !== undefined) return wholeMultiple(width * 1_000_000n);
  // 1970-01-05 was a Monday, on which a week begins.
  if (unit === 'week') return wholeMultiple(7n * 86_400_000_000n, 4n * 86_400_000_000n);
  const date = new Date(Number(wholeMultiple(86_400_000_000n) / 1000n));
  const month = date.getUTCMonth();
  date.setUTCDate(1);
  date.setUTCMonth(unit === 'year' ? 0 : unit === 'quarter' ? month - (month % 3) : month);
  return BigInt(date.getTime()) * 1000n;
}
