import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { QueryPeer } from './peers/query-peer.js';
import { type QueryDataset, isLarge } from './query-dataset.js';
import { openDuckdb, tablesFolder } from './query-tables.js';
import { type BenchServer, startServer } from './server.js';
import { type ResultLine, median } from './table.js';

/** Highest allowed ratio of Strandlake's time to DuckDB's. */
const maxRatio = 1;

/** Measures a CSV export of all records against DuckDB, which writes the records of its table to a file. */
export async function measureExport(dataset: QueryDataset): Promise<ResultLine> {
  const { records } = dataset;
  const ourTimes: number[] = [];
  const theirTimes: number[] = [];
  const server = await startServer({ data: dataset.data });
  const duckdb = await openDuckdb(records);
  try {
    for (let run = 0; run < (isLarge(records) ? 1 : 3); run++) {
      const ourExport = await exportOnce(server, dataset);
      if (ourExport.records !== records)
        throw new Error(`the export has ${ourExport.records} of ${records} records`);
      ourTimes.push(ourExport.seconds);
      theirTimes.push(await copyInDuckdb(duckdb, records, ourExport.isGzip));
      process.stderr.write(`CSV: ${ourTimes.at(-1)!.toFixed(2)} s, DuckDB ${theirTimes.at(-1)!.toFixed(2)} s\n`); // prettier-ignore
    }
  } finally {
    await duckdb.stop();
    await server.stop();
  }
  const [ourMedian, theirMedian] = [median(ourTimes), median(theirTimes)];
  return {
    measurement: 'CSV export of all records',
    ours: `${ourMedian.toFixed(2)} s`,
    peer: `DuckDB ${theirMedian.toFixed(2)} s`,
    ratio: ourMedian / theirMedian,
    limit: maxRatio,
  };
}

/**
 * Exports the records and removes the file. Returns the seconds from the request until the file was complete, the number of records in the
 * file, and whether it is compressed.
 */
async function exportOnce(
  server: BenchServer,
  { path }: QueryDataset,
): Promise<{ readonly seconds: number; readonly records: number; readonly isGzip: boolean }> {
  const dataset_id = Number(path.split('/').at(-2));
  const from = performance.now();
  const { id } = await server.call('POST', '/v2/dataset_exports', { dataset_id, format: 'csv' });
  try {
    for (;;) {
      const { status, error_message } = await server.call('GET', `/v2/dataset_exports/${id}`);
      if (status === 'completed') break;
      if (status === 'failed' || status === 'canceled') throw new Error(error_message ?? status);
    }
    const seconds = (performance.now() - from) / 1000;
    const { lines, isGzip } = await countLines(server, id);
    return { seconds, records: lines - 1, isGzip };
  } finally {
    await server.call('DELETE', `/v2/dataset_exports/${id}`);
  }
}

/** Returns the number of lines of an export's file, and whether it is compressed. No cell of the generated records has a line break. */
async function countLines(
  { origin, token }: BenchServer,
  id: number,
): Promise<{ readonly lines: number; readonly isGzip: boolean }> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${origin}/v2/dataset_exports/${id}/download`, { headers });
  if (!response.ok || response.body === null) throw new Error(`download: ${response.status}`);
  const bytes = Readable.fromWeb(response.body);
  await once(bytes, 'readable');
  const magic = bytes.read(2) as Buffer;
  bytes.unshift(magic);
  const isGzip = magic[0] === 0x1f && magic[1] === 0x8b;
  let lines = 0;
  for await (const piece of isGzip ? bytes.pipe(createGunzip()) : bytes) {
    for (let at = -1; (at = (piece as Buffer).indexOf(10, at + 1)) >= 0;) lines += 1;
  }
  return { lines, isGzip };
}

/** Returns the seconds that DuckDB takes to write the exported records to a CSV file, which is compressed if Strandlake's file is. */
async function copyInDuckdb(duckdb: QueryPeer, records: number, isGzip: boolean): Promise<number> {
  const file = join(tablesFolder(records), isGzip ? 'export.csv.gz' : 'export.csv');
  const options = `FORMAT csv, HEADER, COMPRESSION ${isGzip ? 'gzip' : 'none'}`;
  try {
    const sql = `COPY (SELECT * FROM t) TO '${file}' (${options})`;
    const { ms, rows } = await duckdb.run([{ sql, shape: 'values' }]);
    if (Number(rows[0]![0]![0]) !== records)
      throw new Error(`DuckDB wrote ${String(rows[0]![0]![0])} of ${records} records`);
    return ms / 1000;
  } finally {
    rmSync(file, { force: true });
  }
}
