import type { Dialect } from './dialect.js';

/*
 * Strings and numbers as text in the SQL of ClickHouse, exactly as DuckDB writes them, so that answers do not depend on the engine.
 */

/**
 * The JSON text of a string; null for null. toJSONString escapes the line separators U+2028 and U+2029, which DuckDB does not, so what lies
 * between them is escaped by itself. It also escapes slashes: other backslashes come in pairs, so one before a slash belongs to the slash.
 */
export function jsonString(text: string): string {
  const escaped = (part: string): string => {
    const json = `replaceAll(toJSONString(${part}), '\\\\/', '/')`;
    return `substring(${json}, 2, length(${json}) - 2)`;
  };
  const joined = (list: string, separator: string, part: string, json: string): string =>
    `arrayStringConcat(arrayMap(${part} -> ${json}, splitByString('${separator}', ${list})), '${separator}')`;
  const inner = joined('_line', '\u2029', '_part', escaped('_part'));
  const whole = joined(`assumeNotNull(${text})`, '\u2028', '_line', inner);
  return `if(isNull(${text}), NULL, '"' || ${whole} || '"')`;
}

/**
 * A floating-point number as text; null for NaN and the infinities. Sizes from 0.0001 to 10^16 are written without an exponent and with
 * at least one decimal (`1.0`), others with a signed exponent of two digits or more. ClickHouse prints the same shortest digits,
 * but without an exponent from 0.000001 to 10^21, and without `.0`.
 */
export function numberText(value: string, type: 'double' | 'float', each: Dialect['each']): string {
  const size = `abs(${value})`;
  // The 32-bit float that prints as 0.0001 is a little less than 0.0001.
  const smallest = type === 'float' ? 'toFloat32(0.0001)' : '0.0001';
  const plain = `toString(${value}) || if(position(toString(${value}), '.') > 0, '', '.0')`;
  // SQL expressions cannot be named; a lambda over a list of one element stands in for a name.
  const parts = each(`[${partsOf(value)}]`, (part) => {
    const exponent = `tupleElement(${part}, 2)`;
    return `tupleElement(${part}, 1) || if(${exponent} < 0, 'e-', 'e+') || if(abs(${exponent}) < 10, '0', '') || toString(abs(${exponent}))`;
  });
  return `multiIf(${size} = 0 OR ${size} >= ${smallest} AND ${size} < 1e16, ${plain}, isFinite(${value}), ${parts}[1], NULL)`;
}

/** A pair of digits, with a point after the first, and exponent, of a number that is written with an exponent. */
function partsOf(value: string): string {
  const text = `toString(assumeNotNull(${value}))`;
  const digits = `replaceRegexpOne(replaceRegexpOne(${text}, '0\\\\.0*|0+$', ''), '^(-?[0-9])([0-9]+)$', '\\\\1.\\\\2')`;
  const written = `(splitByChar('e', ${text})[1], toInt64OrZero(splitByChar('e', ${text})[2]))`;
  const large = `(${digits}, toInt64(length(replaceOne(${text}, '-', ''))) - 1)`;
  const small = `(${digits}, toInt64(position(${text}, '.')) - toInt64(position(replaceRegexpOne(${text}, '[1-9]', '#'), '#')))`;
  return `multiIf(position(${text}, 'e') > 0, ${written}, abs(${value}) > 1, ${large}, ${small})`;
}
