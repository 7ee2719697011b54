import { DuckDBInstance } from '@duckdb/node-api';

/*
 * The alternative to importing a JSONL file, in a process of its own:
 * node json-to-parquet.js <JSONL file> <Parquet file>
 */
const [source = '', target = ''] = process.argv.slice(2);
const duckdb = await DuckDBInstance.create(':memory:', { threads: '2' });
const connection = await duckdb.connect();
await connection.run(
  `COPY (SELECT * FROM read_json('${source}')) TO '${target}' (FORMAT parquet, COMPRESSION zstd)`,
);
const countResult = await connection.runAndReadAll(
  `SELECT count(*) FROM read_parquet('${target}')`,
);
process.stdout.write(`${String(countResult.getRows()[0]?.[0])}\n`);
