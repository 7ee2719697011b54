import { parseJson } from '../../engine/core/json.js';
import { clickhouseDialect } from '../../engine/query/sql/clickhouse.js';
import { queryEngine, type QueryEngine } from '../../engine/query/plan/query-engine.js';
import type { Param } from '../../engine/query/sql/params.js';
import type { Scalar } from '../../engine/query/predicate/predicate.js';

/** The used part of chdb: a statement with values for its placeholders `{p1:String}`, which the engine itself fills in. */
export type QueryBind = (sql: string, values: object, format: string) => string;

/** ClickHouse, embedded, as an engine for queries over the Delta tables that `folderOf` names. */
export function openChdb(
  queryBind: QueryBind,
  folderOf: (datasetId: number) => string,
): QueryEngine {
  const run = (sql: string, params: readonly Param[]): readonly (readonly unknown[])[] => {
    const values = Object.fromEntries(
      params.map((param, index) => [`p${index + 1}`, bindable(param)]),
    );
    const text = queryBind(sql, values, 'JSONCompactEachRowWithNamesAndTypes');
    const [, types, ...rows] = text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => parseJson(line) as readonly unknown[]);
    return rows.map((row) => row.map((value, index) => handedOver(value, types![index] as string)));
  };
  return queryEngine({
    language: clickhouseDialect(folderOf),
    // Wrapped in a promise, so that a thrown error becomes a rejection.
    run: (sql, params) => Promise.resolve().then(() => run(sql, params)),
    async *stream(sql, params) {
      await Promise.resolve();
      yield run(sql, params);
    },
    close: () => Promise.resolve(),
  });
}

/** The binding refuses infinity, and whole doubles beyond 2^53 for fear of their last digits; it loses the sign of zero. */
function bindable({ value }: Param): unknown {
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

/** Converts values to the form in which DuckDB returns them. */
function handedOver(value: unknown, type: string): unknown {
  if (value === null) return null;
  if (type.includes('DateTime64')) return { micros: microsOf(value as string) };
  if (/\bInt64\b|\bInt256\b/.test(type)) return BigInt(value as bigint);
  return /\bFloat(32|64)\b/.test(type) ? Number(value) : value;
}

/** The microseconds of `2016-05-01 12:30:00.123456`. */
function microsOf(text: string): bigint {
  const [date, time] = text.split(' ') as [string, string];
  const seconds = BigInt(Date.parse(`${date}T${time.slice(0, 8)}Z`)) / 1000n;
  return seconds * 1_000_000n + BigInt(time.slice(9));
}
