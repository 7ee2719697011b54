import { parseJson } from '../../engine/core/json.js';
import { clickhouseDialect } from '../../engine/query/sql/dialect/clickhouse.js';
import { queryEngine, type QueryEngine } from '../../engine/query/plan/query-engine.js';
import type { Param } from '../../engine/query/sql/dialect/params.js';
import type { Scalar } from '../../engine/query/predicate/predicate.js';

/**
 * The function of chdb that is used: it runs a statement with values for placeholders such as `{p1:String}`, which ClickHouse itself fills
 * in.
 */
export type BoundQuery = (sql: string, values: object, format: string) => string;

/** Opens ClickHouse, embedded in this process, as an engine for queries over the Delta tables that `folderOf` names. */
export function openChdb(
  queryBind: BoundQuery,
  folderOf: (datasetId: number) => string,
): QueryEngine {
  const run = (sql: string, params: readonly Param[]): readonly (readonly unknown[])[] => {
    const values = Object.fromEntries(
      params.map((param, index) => [`p${index + 1}`, bindableValue(param)]),
    );
    const text = queryBind(sql, values, 'JSONCompactEachRowWithNamesAndTypes');
    const [, types, ...rows] = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => parseJson(line) as readonly unknown[]);
    return rows.map((row) =>
      row.map((value, index) => valueAsDuckdbReturns(value, types![index] as string)),
    );
  };
  return queryEngine({
    language: clickhouseDialect(folderOf),
    // The call is inside a promise, so that a thrown error becomes a rejection.
    run: (sql, params) => Promise.resolve().then(() => run(sql, params)),
    async *stream(sql, params) {
      await Promise.resolve();
      yield run(sql, params);
    },
    close: () => Promise.resolve(),
  });
}

/**
 * Converts a parameter to a form that chdb's binding accepts: it refuses infinity and integers beyond 2^53 as doubles, and loses the sign
 * of zero.
 */
function bindableValue({ value }: Param): unknown {
  const plainScalar = (scalar: Scalar): unknown => {
    if (typeof scalar !== 'number') return scalar;
    if (Object.is(scalar, -0) && !Array.isArray(value)) return '-0';
    if (!Number.isFinite(scalar)) return scalar > 0 ? 'inf' : '-inf';
    return Number.isInteger(scalar) && !Number.isSafeInteger(scalar) ? BigInt(scalar) : scalar;
  };
  return Array.isArray(value)
    ? (value as readonly Scalar[]).map(plainScalar)
    : plainScalar(value as Scalar);
}

/** Converts a value to the form in which DuckDB returns it. */
function valueAsDuckdbReturns(value: unknown, type: string): unknown {
  if (value === null) return null;
  if (type.includes('DateTime64')) return { micros: microsOf(value as string) };
  if (/\bInt64\b|\bInt256\b/.test(type)) return BigInt(value as bigint);
  return /\bFloat(32|64)\b/.test(type) ? Number(value) : value;
}

/** Returns the microseconds of a text such as `2016-05-01 12:30:00.123456`. */
function microsOf(text: string): bigint {
  const [date, time] = text.split(' ') as [string, string];
  const seconds = BigInt(Date.parse(`${date}T${time.slice(0, 8)}Z`)) / 1000n;
  return seconds * 1_000_000n + BigInt(time.slice(9));
}
