import { isNumeric, type StoredType } from '../../core/types.js';
import { Problem, valueForMessage } from './problem.js';

const dateUnits = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second'] as const;
/** The unit of the bins of a histogram of dates. */
export type DateUnit = (typeof dateUnits)[number];

/** The bins of a histogram. */
export type Bins =
  | { readonly kind: 'date'; readonly unit: DateUnit }
  /** Whole numbers: bins begin at the multiples of `digits / 10^scale`, computed exactly. */
  | { readonly kind: 'whole'; readonly digits: bigint; readonly scale: number }
  /** Doubles: bin `i` begins at the double `i * numerator / denominator`. */
  | { readonly kind: 'real'; readonly numerator: number; readonly denominator: number }
  /**
   * Powers of ten: bin `first + i` begins at `starts[i]` and is shown as `keys[i]`, the power of ten of `(first + i) * step`.
   * The bins below zero are the mirror image, and zero is a bin of its own.
   */
  | {
      readonly kind: 'log';
      readonly starts: readonly (number | bigint)[];
      readonly keys: readonly number[];
      readonly first: number;
      readonly step: number;
    };

/** Parses `interval` and `scale` of a histogram over values of this type. */
export function parseBins(interval: unknown, scale: unknown, type: StoredType | 'auto'): Bins {
  const isLog = scale === 'log';
  if (!isLog && scale !== undefined && scale !== 'linear')
    throw new Problem(`scale is linear or log, not ${valueForMessage(scale)}`);
  if (!isNumeric(type)) {
    if (isLog) throw new Problem(`scale log is for numbers, not for a field of type ${type}`);
    const unit = dateUnits.find((candidate) => candidate === (interval ?? 'month'));
    if (!unit)
      throw new Problem(
        `interval of dates is one of ${dateUnits.join(', ')}, not ${valueForMessage(interval)}`,
      );
    return { kind: 'date', unit };
  }
  const size = parseDecimal(interval ?? (isLog ? 1n : 100n));
  const isWhole = type === 'integer' || type === 'long';
  if (isLog) return logBins(size, isWhole, interval);
  return isWhole ? wholeBins(size, interval) : realBins(size, interval);
}

/** Returns the JSON text of a bin's key, from the text of the value by which the executor groups. */
export function binKey(bins: Bins, text: string): string {
  if (bins.kind === 'whole') return decimalText(BigInt(text) * bins.digits, bins.scale);
  if (bins.kind !== 'log') return text;
  const bin = Number(text);
  if (bin === 0) return '0';
  return String(Math.sign(bin) * bins.keys[Math.abs(bin) - 1]!);
}

/** A positive decimal number, `digits / 10^scale`. */
interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

const maxDecimalCharacters = 40;
const decimalPattern = /^\+?(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

function parseDecimal(input: unknown): Decimal {
  const isGiven = typeof input === 'number' || typeof input === 'bigint';
  const text = isGiven ? String(input) : typeof input === 'string' ? input.trim() : '';
  const [, before = '', after = '', exponent = '0'] =
    (text.length <= maxDecimalCharacters && decimalPattern.exec(text)) || [];
  const digits = BigInt(before + after || '0');
  if (digits === 0n)
    throw new Problem(`interval is a positive number, not ${valueForMessage(input)}`);
  const zeros = /0*$/.exec(String(digits))![0].length;
  const scale = after.length - Number(exponent) - zeros;
  const bareDigits = digits / 10n ** BigInt(zeros);
  if (scale < -100 || scale > 100)
    throw new Problem(`interval lies from 1e-100 to 1e100, not ${valueForMessage(input)}`);
  return scale < 0
    ? { digits: bareDigits * 10n ** BigInt(-scale), scale: 0 }
    : { digits: bareDigits, scale };
}

function wholeBins({ digits, scale }: Decimal, input: unknown): Bins {
  if (scale > 18 || digits > 2n ** 63n - 1n) {
    throw new Problem(
      `interval of whole numbers has at most 18 decimals and lies below 2^63, not ${valueForMessage(input)}`,
    );
  }
  return { kind: 'whole', digits, scale };
}

function realBins({ digits, scale }: Decimal, input: unknown): Bins {
  const numerator = Number(digits);
  if (numerator > 1e100)
    throw new Problem(`interval lies from 1e-100 to 1e100, not ${valueForMessage(input)}`);
  return { kind: 'real', numerator, denominator: Number(`1e${scale}`) };
}

const minLogInterval = 0.01;
const maxLogInterval = 10;

function logBins({ digits, scale }: Decimal, isWhole: boolean, input: unknown): Bins {
  const [numerator, denominator] = [Number(digits), Number(`1e${scale}`)];
  const step = numerator / denominator;
  if (step < minLogInterval || step > maxLogInterval) {
    throw new Problem(
      `interval of a log scale lies from ${minLogInterval} to ${maxLogInterval}, not ${valueForMessage(input)}`,
    );
  }
  // The bins cover the range from the smallest positive to the largest double, or from 1 to the largest long.
  const first = isWhole ? 0 : Math.floor(-323.5 / step);
  const last = Math.floor((isWhole ? 18.96 : 308.25) / step);
  const keys = Array.from({ length: last - first + 1 }, (_, index) =>
    Math.max(powerOfTen(((first + index) * numerator) / denominator), Number.MIN_VALUE),
  );
  const starts = isWhole ? keys.map((key) => BigInt(Math.ceil(key))) : keys;
  return { kind: 'log', starts, keys, first, step };
}

function powerOfTen(exponent: number): number {
  return Number.isInteger(exponent) ? Number(`1e${exponent}`) : 10 ** exponent;
}

function decimalText(digits: bigint, scale: number): string {
  if (scale === 0) return String(digits);
  const sign = digits < 0n ? '-' : '';
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0');
  const fraction = text.slice(-scale).replace(/0+$/, '');
  return `${sign}${text.slice(0, -scale)}${fraction === '' ? '' : `.${fraction}`}`;
}
