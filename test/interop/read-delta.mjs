/*
 * Reads versions of Delta tables with ClickHouse (chdb) for the tests of random histories: for each line `[folder, version]` of the input it
 * prints a line with the rows `[_id, n, word]` in the order of `_id`, or the error as a text.
 */
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { query } = createRequire(import.meta.url)('chdb');

for await (const line of createInterface({ input: process.stdin })) {
  const [folder, version] = JSON.parse(line);
  const sql = `select _id, n, word from deltaLakeLocal('${folder}') order by _id
    settings delta_lake_snapshot_version = ${version}`;
  console.log(JSON.stringify(read(sql)));
}

function read(sql) {
  try {
    const lines = String(query(sql, 'JSONCompactEachRow')).split('\n');
    const rows = lines.filter((one) => one !== '').map((one) => JSON.parse(one));
    return rows.map(([id, n, word]) => [id, Number(n), word]);
  } catch (error) {
    return String(error);
  }
}
