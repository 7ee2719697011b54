import { DuckDBInstance } from '@duckdb/node-api';
import { servePeer } from './query-peer.js';

/* DuckDB on its own table file: node query-duckdb.js <file> */
const [file = ''] = process.argv.slice(2);
const instance = await DuckDBInstance.create(file, { threads: '2' });
const connection = await instance.connect();

servePeer(async ({ sql, shape }) => {
  const text = shape === 'records' ? `SELECT CAST(to_json(r) AS VARCHAR) FROM (${sql}) AS r` : sql;
  const result = await connection.runAndReadAll(text);
  if (shape === 'values') return () => result.getRowsJson();
  const lines = result.getRows().map(([record]) => record as string);
  const { length } = lines.join('\n');
  return () => [[length, lines.length]];
});
