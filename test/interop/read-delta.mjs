/*
 * Reads versions of Delta tables with ClickHouse (chdb) for the tests of random histories: for each line `[folder, version]` of the input it
 * prints a line with the rows, each an object with the values of all columns, in the order of `_id`, or the error as a text.
 */
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { query } = createRequire(import.meta.url)('chdb');

for await (const line of createInterface({ input: process.stdin })) {
  const [folder, version] = JSON.parse(line);
  // A version has only the columns that it or an earlier one has filled, so they are not named here.
  const sql = `select * from deltaLakeLocal('${folder}') order by _id
    settings delta_lake_snapshot_version = ${version},
      output_format_json_named_tuples_as_objects = 1, output_format_json_quote_64bit_integers = 0`;
  console.log(JSON.stringify(read(sql)));
}

function read(sql) {
  try {
    const lines = String(query(sql, 'JSONEachRow')).split('\n');
    return lines.filter((one) => one !== '').map((one) => JSON.parse(one));
  } catch (error) {
    return String(error);
  }
}
