import type { StoredType } from '../../core/types.js';
import type { Dialect } from './dialect.js';

/** The part of the dialect that facets use. */
type AggregatingDialect = Pick<
  Dialect,
  | 'with'
  | 'jsonArray'
  | 'countDistinct'
  | 'sum'
  | 'mean'
  | 'sumOfSquares'
  | 'pivot'
  | 'variance'
  | 'quantiles'
  | 'truncate'
  | 'floorDivide'
  | 'floorEdge'
  | 'powerBin'
>;

/** The aggregates and bins of facets in the SQL of ClickHouse. */
export function aggregatingFunctions(each: Dialect['each']): AggregatingDialect {
  return {
    // ClickHouse evaluates a relation again for every use.
    with: () => 'AS',
    jsonArray: (texts) =>
      `('[' || arrayStringConcat([${texts.map((text) => `coalesce(${text}, 'null')`).join(', ')}], ',') || ']')`,
    countDistinct: (value, type) =>
      isReal(type) ? `uniqExact(if(${value} = 0, 0, ${value}))` : `uniqExact(${value})`,
    sum: (value, type) => sumOf(value, type),
    mean: (value, type) => meanOf(value, type),
    sumOfSquares: (value) =>
      `if(count(${value}) = 0, NULL, sumKahan(${toDouble(value)} * ${toDouble(value)}))`,
    pivot: (value, type, keys) => {
      const overPartition =
        keys.length === 0 ? 'OVER ()' : `OVER (PARTITION BY ${keys.join(', ')})`;
      if (isReal(type)) return meanOf(value, type, overPartition);
      // The whole number nearest to the mean; intDiv rounds towards zero.
      const [all, count] = [
        `sum(toInt256(${value})) ${overPartition}`,
        `count(${value}) ${overPartition}`,
      ];
      return `intDiv(${all} + sign(${all}) * intDiv(${count}, 2), greatest(${count}, 1))`;
    },
    variance: (value, pivot, type) => {
      const spreadOf = (off: string): string =>
        `greatest(0, sumKahan(${off} * ${off}) - sumKahan(${off}) * (sumKahan(${off}) / count(${value}))) / count(${value})`;
      const plainSpread = spreadOf(
        isReal(type)
          ? `(${toDouble(value)} - ${pivot})`
          : toDouble(`toInt256(${value}) - ${pivot}`),
      );
      const scaledSpread = spreadOf(
        `(${toDouble(value)} * ${smallFactor} - ${toDouble(pivot)} * ${smallFactor})`,
      );
      return `multiIf(count(${value}) = 0, NULL, min(${value}) = max(${value}), 0, isFinite(${plainSpread}), ${plainSpread}, ${scaledSpread} * ${largeFactor} * ${largeFactor})`;
    },
    quantiles: (value, fractions) => {
      // Aggregates accept no bound parameters, so the quantiles are looked up in the sorted values.
      const values = `arraySort(groupArray(${toDouble(value)}))`;
      return each(fractions, (fraction) => {
        const position = `(toFloat64(length(${values})) - 1) * ${fraction}`;
        const part = `(${position} - floor(${position}))`;
        const at = (index: string): string => `${values}[toInt64(${index}(${position})) + 1]`;
        return `if(empty(${values}), NULL, ${at('floor')} * (1 - ${part}) + ${at('ceil')} * ${part})`;
      });
    },

    truncate: (date, unit) => {
      const length = lengths[unit];
      if (length) return floorDate(date, ...length);
      // Counted from midnight, because dateTrunc assigns the last second before 1970 to the year 1970.
      return `toDateTime64(dateTrunc('${unit}', ${floorDate(date, ...day)}), 6, 'UTC')`;
    },
    floorDivide: (value, factor, divisor) => {
      const product = `(toInt256(${value}) * ${factor})`;
      // The result is corrected because intDiv rounds towards zero.
      return `intDiv(${product}, ${divisor}) - if(${product} % ${divisor} < 0, 1, 0)`;
    },
    floorEdge: (value, numerator, denominator) => {
      const real = toDouble(value);
      const bin = `floor(${real} * ${denominator} / ${numerator})`;
      const edge = (number: string): string => `${number} * ${numerator} / ${denominator}`;
      // The quotient may round to the neighbouring bin.
      return `(CASE WHEN abs(${real}) >= ${edge('1125899906842624')} THEN ${real}
        WHEN ${edge(`(${bin} + 1)`)} <= ${real} THEN ${edge(`(${bin} + 1)`)}
        WHEN ${edge(bin)} > ${real} THEN ${edge(`(${bin} - 1)`)}
        ELSE ${edge(bin)} END + 0)`;
    },
    powerBin: (value, isWhole, starts, first, step) => {
      const size = isWhole ? `abs(toInt256(${value}))` : `abs(${toDouble(value)})`;
      // ClickHouse evaluates nulls, too, where the logarithm of zero would be an error.
      const knownSize = `if(isNull(${value}) OR ${value} = 0, 1, assumeNotNull(${toDouble(size)}))`;
      const guess = `toInt64(floor(log10(${knownSize}) / ${step})) - ${first} + 1`;
      const bin = `greatest(toInt64(1), least(toInt64(length(${starts})) - 1, ${guess}))`;
      return `CASE WHEN ${value} = 0 THEN toInt64(0) ELSE toInt64(sign(${value})) * CASE
        WHEN ${starts}[${bin} + 1] <= ${size} THEN ${bin} + 1
        WHEN ${starts}[${bin}] > ${size} THEN ${bin} - 1 ELSE ${bin} END END`;
    },
  };
}

/** Units of fixed length: length and start of one unit, microseconds since 1970. 1970-01-05 was a Monday. */
type FixedUnit = readonly [size: number, start: number];
const day: FixedUnit = [86_400_000_000, 0];
const lengths: Readonly<Record<string, FixedUnit>> = {
  week: [604_800_000_000, 345_600_000_000],
  day,
  hour: [3_600_000_000, 0],
  minute: [60_000_000, 0],
  second: [1_000_000, 0],
};

function floorDate(date: string, size: number, start: number): string {
  const micros = `toUnixTimestamp64Micro(${date})`;
  // The cast is needed because a literal of this size is unsigned.
  const length = `toInt64(${size})`;
  const remainder = `(((${micros} - toInt64(${start})) % ${length}) + ${length}) % ${length}`;
  return `fromUnixTimestamp64Micro(${micros} - ${remainder}, 'UTC')`;
}

function toDouble(value: string): string {
  return `toFloat64(${value})`;
}

function isReal(type: StoredType): boolean {
  return type === 'double' || type === 'float';
}

/** 2^-540 and 2^540: the square of the largest double, made smaller by the one, does not overflow. */
const smallFactor = String(2 ** -540);
const largeFactor = String(2 ** 540);

/** The parts of a sum of doubles may overflow where the whole does not. */
function sumOf(value: string, type: StoredType, over = ''): string {
  const all = isReal(type) ? kahanSums(value, over) : [`sum(toInt256(${value})) ${over}`];
  const wholeSum =
    all.length === 1
      ? all[0]!
      : `if(isFinite(${all[0]!}), ${all[0]!}, ${all[1]!} * ${largeFactor})`;
  return `if(count(${value}) ${over} = 0, NULL, ${wholeSum})`;
}

function meanOf(value: string, type: StoredType, over = ''): string {
  const count = `count(${value}) ${over}`;
  if (!isReal(type)) return `${toDouble(sumOf(value, type, over))} / ${count}`;
  const [all, scaled] = kahanSums(value, over);
  return `if(isFinite(${all!}), ${all!} / ${count}, ${scaled!} / ${count} * ${largeFactor})`;
}

function kahanSums(value: string, over: string): readonly string[] {
  return [
    `sumKahan(${toDouble(value)}) ${over}`,
    `sumKahan(${toDouble(value)} * ${smallFactor}) ${over}`,
  ];
}
