import {
  DuckDBInstance,
  DuckDBListValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  type DuckDBValue,
} from '@duckdb/node-api';
import type { Value } from '../../../engine/core/types.js';

const instance = await DuckDBInstance.create(':memory:', { threads: '1' });

/** All records of these Parquet files, column by column, as a second engine reads them. */
export async function readWithDuckdb(
  files: readonly string[],
  select = '*',
): Promise<{
  names: readonly string[];
  types: readonly string[];
  columns: readonly (readonly Value[])[];
}> {
  const connection = await instance.connect();
  try {
    const list = files.map((file) => `'${file.replaceAll("'", "''")}'`).join(',');
    const sql = `select ${select} from read_parquet([${list}], union_by_name = true)`;
    const result = await connection.runAndReadAll(sql);
    const columns = result.getColumns().map((column) => column.map(plainValue));
    return { names: result.columnNames(), types: result.columnTypes().map(String), columns };
  } finally {
    connection.closeSync();
  }
}

function plainValue(value: DuckDBValue): Value {
  if (value instanceof DuckDBListValue) return value.items.map(plainValue);
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([k, v]) => [k, plainValue(v)]));
  }
  if (value instanceof DuckDBTimestampTZValue) return value.micros;
  return value as Value;
}
