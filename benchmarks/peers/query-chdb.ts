import { createRequire } from 'node:module';
import { join } from 'node:path';
import { servePeer } from './query-peer.js';

/**
 * The functions of the npm package chdb that this program calls. The package is installed in test/interop, so its types are not available
 * here.
 */
interface Chdb {
  readonly Session: new (path: string) => { query(sql: string, format: string): string };
}

/* Runs ClickHouse in this process, with its tables in a folder: node query-chdb.js <project> <folder> */
const [project = '', folder = ''] = process.argv.slice(2);
const { Session } = createRequire(join(project, 'test', 'interop', 'run.mjs'))('chdb') as Chdb;
process.chdir(join(folder, '..')); // ClickHouse only opens files below its working folder
const session = new Session(folder);
session.query('SET max_threads = 2', 'CSV');
// 64-bit integers are written without quotes, as DuckDB and Strandlake write them.
session.query('SET output_format_json_quote_64bit_integers = 0', 'CSV');

servePeer(({ sql, shape }) => {
  const format = shape === 'records' ? 'JSONEachRow' : 'JSONCompactEachRow';
  const text = session.query(sql, format);
  const lines = (): string[] => text.split('\n').filter((line) => line !== '');
  if (shape === 'records') return Promise.resolve(() => [[text.length, lines().length]]);
  return Promise.resolve(() => lines().map((line) => JSON.parse(line) as unknown[]));
});
