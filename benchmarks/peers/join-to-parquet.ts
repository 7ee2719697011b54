import { DuckDBInstance } from '@duckdb/node-api';

/*
 * The alternative to an import that looks up a value for each record, in a process of its own:
 * node join-to-parquet.js <CSV file of keys> <Parquet file>
 * The file with the values has the name of the first one, with `-values` before its extension.
 */
const [source = '', target = ''] = process.argv.slice(2);
const values = source.replace(/\.csv$/, '-values.csv');
const connection = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
await connection.run(`CREATE TABLE found AS SELECT * FROM read_csv('${values}')`);
await connection.run(`COPY (
  SELECT given.*, found.name FROM read_csv('${source}') given LEFT JOIN found USING (key))
  TO '${target}' (FORMAT parquet, COMPRESSION zstd)`);
const rows = await connection.runAndReadAll(`SELECT count(*) FROM read_parquet('${target}')`);
process.stdout.write(`${String(rows.getRows()[0]?.[0])}\n`);
