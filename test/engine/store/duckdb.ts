import {
  DuckDBInstance,
  DuckDBListValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import type { Value } from '../../../engine/core/types.js';

const duckdbInstance = await DuckDBInstance.create(':memory:', { threads: '1' });

/** Returns all records of some Parquet files, column by column, read by DuckDB as an independent engine. */
export async function readWithDuckdb(
  files: readonly string[],
  select = '*',
): Promise<{
  names: readonly string[];
  types: readonly string[];
  columns: readonly (readonly Value[])[];
}> {
  const connection = await duckdbInstance.connect();
  try {
    const list = files.map((file) => `'${file.replaceAll("'", "''")}'`).join(',');
    const sql = `select ${select} from read_parquet([${list}], union_by_name = true)`;
    const result = await connection.runAndReadAll(sql);
    const columns = result.getColumns().map((column) => column.map(valueOfDuckdb));
    return { names: result.columnNames(), types: result.columnTypes().map(String), columns };
  } finally {
    connection.closeSync();
  }
}

function valueOfDuckdb(value: DuckDBValue): Value {
  if (value instanceof DuckDBListValue) return value.items.map(valueOfDuckdb);
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([k, v]) => [k, valueOfDuckdb(v)]));
  }
  if (value instanceof DuckDBTimestampTZValue) return value.micros;
  return value as Value;
}
