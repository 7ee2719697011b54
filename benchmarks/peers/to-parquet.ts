import { DuckDBInstance } from '@duckdb/node-api';
import type { PeerColumn } from './columns.js';

/*
 * The second step of the alternative with bcftools: DuckDB converts the text of bcftools to Parquet, in a process of its own:
 * node to-parquet.js <tab-separated text> <Parquet file> <columns as JSON>
 */
const [source = '', target = '', columnsJson = '[]'] = process.argv.slice(2);
const columns = JSON.parse(columnsJson) as PeerColumn[];
const csvColumnTypes = columns.map(({ name }) => `'${name}': 'VARCHAR'`).join(', ');
const selectList = columns.map(({ name, expression }) => `${expression} AS "${name}"`).join(', ');
const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
await connection.run(`COPY (
  SELECT ${selectList} FROM read_csv('${source}', delim = '\t', header = false, quote = '', escape = '',
    nullstr = '.', auto_detect = false, columns = {${csvColumnTypes}}))
  TO '${target}' (FORMAT parquet, COMPRESSION zstd)`);
const countResult = await connection.runAndReadAll(
  `SELECT count(*) FROM read_parquet('${target}')`,
);
process.stdout.write(`${String(countResult.getRows()[0]?.[0])}\n`);
