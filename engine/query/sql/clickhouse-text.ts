import type { Dialect } from './dialect.js';

/*
 * The texts of strings and numbers in ClickHouse SQL, to the letter as DuckDB writes them: an answer must not tell which engine
 * it came from.
 */

/**
 * The JSON text of a string; null if it is null. Two line separators are escaped there for the sake of JavaScript, which DuckDB
 * does not do; bytes that are in no text stand for them meanwhile. Slashes are escaped too: backslashes come in pairs, so the
 * one before a slash is the slash's own.
 */
export function jsonString(text: string): string {
  const safe = `replaceAll(replaceAll(${text}, '\u2028', '\\xFE'), '\u2029', '\\xFF')`;
  const json = `replaceAll(toJSONString(${safe}), '\\\\/', '/')`;
  return `if(isNull(${text}), NULL, replaceAll(replaceAll(${json}, '\\xFE', '\u2028'), '\\xFF', '\u2029'))`;
}

/**
 * A floating number: digits from 0.0001 up to 10^16, with `.0` if there is nothing behind the point, else an exponent with a
 * sign and two digits. ClickHouse prints the same shortest digits, but from 0.000001 up to 10^21, and no more than it must.
 * Null for infinity and what is no number.
 */
export function numberText(value: string, type: 'double' | 'float', each: Dialect['each']): string {
  const size = `abs(${value})`;
  // The float that prints as 0.0001 is a little less.
  const smallest = type === 'float' ? 'toFloat32(0.0001)' : '0.0001';
  const plain = `toString(${value}) || if(position(toString(${value}), '.') > 0, '', '.0')`;
  // Expressions have no names of their own; a list of one and a lambda stand in for one.
  const parts = each(`[${partsOf(value)}]`, (part) => {
    const exponent = `tupleElement(${part}, 2)`;
    return `tupleElement(${part}, 1) || if(${exponent} < 0, 'e-', 'e+') || if(abs(${exponent}) < 10, '0', '') || toString(abs(${exponent}))`;
  });
  return `multiIf(${size} = 0 OR ${size} >= ${smallest} AND ${size} < 1e16, ${plain}, isFinite(${value}), ${parts}[1], NULL)`;
}

/** The digits with a point behind the first, and the exponent, of a number so large or small that it has one. */
function partsOf(value: string): string {
  const text = `toString(assumeNotNull(${value}))`;
  const digits = `replaceRegexpOne(replaceRegexpOne(${text}, '0\\\\.0*|0+$', ''), '^(-?[0-9])([0-9]+)$', '\\\\1.\\\\2')`;
  const written = `(splitByChar('e', ${text})[1], toInt64OrZero(splitByChar('e', ${text})[2]))`;
  const large = `(${digits}, toInt64(length(replaceOne(${text}, '-', ''))) - 1)`;
  const small = `(${digits}, toInt64(position(${text}, '.')) - toInt64(position(replaceRegexpOne(${text}, '[1-9]', '#'), '#')))`;
  return `multiIf(position(${text}, 'e') > 0, ${written}, abs(${value}) > 1, ${large}, ${small})`;
}
