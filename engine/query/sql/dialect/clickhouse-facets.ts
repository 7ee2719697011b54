import type { StoredType } from '../../../core/types.js';
import type { Dialect } from './dialect.js';

/** The functions of the dialect that facets use. */
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

/** Returns the functions for the aggregates and bins of facets in the SQL of ClickHouse. */
export function aggregatingFunctions(each: Dialect['each']): AggregatingDialect {
  return {
    // ClickHouse evaluates a WITH relation again for every use, so there is no keyword for materialising it.
    with: () => 'AS',
    jsonArray: (texts) =>
      `('[' || arrayStringConcat([${texts.map((text) => `coalesce(${text}, 'null')`).join(', ')}], ',') || ']')`,
    countDistinct: (value, type) =>
      isReal(type) ? `uniqExact(if(${value} = 0, 0, ${value}))` : `uniqExact(${value})`,
    sum: (value, type) => sumSql(value, type),
    mean: (value, type) => meanSql(value, type),
    sumOfSquares: (value) =>
      `if(count(${value}) = 0, NULL, sumKahan(${castToDouble(value)} * ${castToDouble(value)}))`,
    pivot: (value, type, keys) => {
      const overPartition =
        keys.length === 0 ? 'OVER ()' : `OVER (PARTITION BY ${keys.join(', ')})`;
      if (isReal(type)) return meanSql(value, type, overPartition);
      // Computes the whole number nearest to the mean; intDiv rounds towards zero.
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
          ? `(${castToDouble(value)} - ${pivot})`
          : castToDouble(`toInt256(${value}) - ${pivot}`),
      );
      const scaledSpread = spreadOf(
        `(${castToDouble(value)} * ${downscaleFactor} - ${castToDouble(pivot)} * ${downscaleFactor})`,
      );
      return `multiIf(count(${value}) = 0, NULL, min(${value}) = max(${value}), 0, isFinite(${plainSpread}), ${plainSpread}, ${scaledSpread} * ${upscaleFactor} * ${upscaleFactor})`;
    },
    quantiles: (value, fractions) => {
      // Aggregate functions accept no bound parameters, so the quantiles are looked up in the sorted values.
      const values = `arraySort(groupArray(${castToDouble(value)}))`;
      return each(fractions, (fraction) => {
        const position = `(toFloat64(length(${values})) - 1) * ${fraction}`;
        const part = `(${position} - floor(${position}))`;
        const at = (index: string): string => `${values}[toInt64(${index}(${position})) + 1]`;
        return `if(empty(${values}), NULL, ${at('floor')} * (1 - ${part}) + ${at('ceil')} * ${part})`;
      });
    },

    truncate: (date, unit) => {
      const length = fixedUnits[unit];
      if (length) return floorDateSql(date, ...length);
      // The date is first rounded down to midnight, because dateTrunc assigns the last second before 1970 to the year 1970.
      return `toDateTime64(dateTrunc('${unit}', ${floorDateSql(date, ...dayUnit)}), 6, 'UTC')`;
    },
    floorDivide: (value, factor, divisor) => {
      const product = `(toInt256(${value}) * ${factor})`;
      // `intDiv` rounds towards zero, so 1 is subtracted if the remainder is negative.
      return `intDiv(${product}, ${divisor}) - if(${product} % ${divisor} < 0, 1, 0)`;
    },
    floorEdge: (value, numerator, denominator) => {
      const real = castToDouble(value);
      const bin = `floor(${real} * ${denominator} / ${numerator})`;
      const edge = (number: string): string => `${number} * ${numerator} / ${denominator}`;
      // The quotient may be rounded into a neighbouring bin.
      return `(CASE WHEN abs(${real}) >= ${edge('1125899906842624')} THEN ${real}
        WHEN ${edge(`(${bin} + 1)`)} <= ${real} THEN ${edge(`(${bin} + 1)`)}
        WHEN ${edge(bin)} > ${real} THEN ${edge(`(${bin} - 1)`)}
        ELSE ${edge(bin)} END + 0)`;
    },
    powerBin: (value, isWhole, starts, first, step) => {
      const size = isWhole ? `abs(toInt256(${value}))` : `abs(${castToDouble(value)})`;
      // ClickHouse evaluates the logarithm for nulls, too, and the logarithm of zero would be an error, so both are replaced by 1.
      const knownSize = `if(isNull(${value}) OR ${value} = 0, 1, assumeNotNull(${castToDouble(size)}))`;
      const guess = `toInt64(floor(log10(${knownSize}) / ${step})) - ${first} + 1`;
      const bin = `greatest(toInt64(1), least(toInt64(length(${starts})) - 1, ${guess}))`;
      return `CASE WHEN ${value} = 0 THEN toInt64(0) ELSE toInt64(sign(${value})) * CASE
        WHEN ${starts}[${bin} + 1] <= ${size} THEN ${bin} + 1
        WHEN ${starts}[${bin}] > ${size} THEN ${bin} - 1 ELSE ${bin} END END`;
    },
  };
}

/** A unit of fixed length: its length, and the start of one unit in microseconds since 1970. 1970-01-05 was a Monday. */
type FixedUnit = readonly [size: number, start: number];
const dayUnit: FixedUnit = [86_400_000_000, 0];
const fixedUnits: Readonly<Record<string, FixedUnit>> = {
  week: [604_800_000_000, 345_600_000_000],
  day: dayUnit,
  hour: [3_600_000_000, 0],
  minute: [60_000_000, 0],
  second: [1_000_000, 0],
};

function floorDateSql(date: string, size: number, start: number): string {
  const micros = `toUnixTimestamp64Micro(${date})`;
  // The cast is needed because ClickHouse treats a literal of this size as unsigned.
  const length = `toInt64(${size})`;
  const remainder = `(((${micros} - toInt64(${start})) % ${length}) + ${length}) % ${length}`;
  return `fromUnixTimestamp64Micro(${micros} - ${remainder}, 'UTC')`;
}

function castToDouble(value: string): string {
  return `toFloat64(${value})`;
}

function isReal(type: StoredType): boolean {
  return type === 'double' || type === 'float';
}

/** 2^-540 and 2^540: with the small factor, the square of the largest double does not overflow; the large factor reverses the scaling. */
const downscaleFactor = String(2 ** -540);
const upscaleFactor = String(2 ** 540);

/** Returns SQL for a sum, null without a value. Parts of a sum of doubles may overflow although the whole sum does not. */
function sumSql(value: string, type: StoredType, over = ''): string {
  const all = isReal(type) ? kahanSumsSql(value, over) : [`sum(toInt256(${value})) ${over}`];
  const wholeSum =
    all.length === 1
      ? all[0]!
      : `if(isFinite(${all[0]!}), ${all[0]!}, ${all[1]!} * ${upscaleFactor})`;
  return `if(count(${value}) ${over} = 0, NULL, ${wholeSum})`;
}

function meanSql(value: string, type: StoredType, over = ''): string {
  const count = `count(${value}) ${over}`;
  if (!isReal(type)) return `${castToDouble(sumSql(value, type, over))} / ${count}`;
  const [all, scaled] = kahanSumsSql(value, over);
  return `if(isFinite(${all!}), ${all!} / ${count}, ${scaled!} / ${count} * ${upscaleFactor})`;
}

function kahanSumsSql(value: string, over: string): readonly string[] {
  return [
    `sumKahan(${castToDouble(value)}) ${over}`,
    `sumKahan(${castToDouble(value)} * ${downscaleFactor}) ${over}`,
  ];
}
