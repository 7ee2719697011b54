import { DuckDBInstance } from '@duckdb/node-api';

/*
 * The alternative to an import that looks up a value for each record, in a process of its own:
 * node join-to-parquet.js <CSV file of keys> <Parquet file>
 * The file with the values is named like the CSV file of keys, with `-values` before the extension.
 */
const [source = '', target = ''] = process.argv.slice(2);
const valuesFile = source.replace(/\.csv$/, '-values.csv');
const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
await connection.run(`CREATE TABLE lookup AS SELECT * FROM read_csv('${valuesFile}')`);
await connection.run(`COPY (
  SELECT keys.*, lookup.name FROM read_csv('${source}') keys LEFT JOIN lookup USING (key))
  TO '${target}' (FORMAT parquet, COMPRESSION zstd)`);
const countResult = await connection.runAndReadAll(
  `SELECT count(*) FROM read_parquet('${target}')`,
);
process.stdout.write(`${String(countResult.getRows()[0]?.[0])}\n`);
