import { DuckDBInstance } from '@duckdb/node-api';
import { peerColumns } from './columns.js';

/*
 * The second half of the peer, in a process of its own as the duckdb command would be:
 * node to-parquet.js <tab-separated text> <Parquet file>
 */
const [source = '', target = ''] = process.argv.slice(2);
const text = peerColumns.map(({ name }) => `'${name}': 'VARCHAR'`).join(', ');
const select = peerColumns.map(({ name, expression }) => `${expression} AS "${name}"`).join(', ');
const connection = await (await DuckDBInstance.create(':memory:')).connect();
await connection.run(`COPY (
  SELECT ${select} FROM read_csv('${source}', delim = '\t', header = false, quote = '', escape = '',
    nullstr = '.', auto_detect = false, columns = {${text}}))
  TO '${target}' (FORMAT parquet, COMPRESSION zstd)`);
const rows = await connection.runAndReadAll(`SELECT count(*) FROM read_parquet('${target}')`);
process.stdout.write(`${String(rows.getRows()[0]?.[0])}\n`);
