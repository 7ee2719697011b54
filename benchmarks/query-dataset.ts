import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { segmentFormat } from '../engine/store/segment.js';
import { cacheFolder } from './generate.js';
import { openDuckdb, makeTables } from './query-tables.js';
import { targetFields, generateTextVcfFile } from './query-data.js';
import type { SampleRecord } from './benchmark-queries.js';
import { segmentsOf } from './segments.js';
import { peakResidentMb, startServer } from './server.js';
import { median } from './table.js';

/** Measurements of an import of the benchmark's records. */
interface MeasuredImport {
  readonly datasetId: number;
  /** Time until a query counts every record. */
  readonly seconds: number;
  /** Peak memory of the worker process, background tasks after the import included. */
  readonly workerMb: number;
}

/** A dataset in a data folder, and the same records in the tables of the peer engines. */
export interface QueryDataset extends MeasuredImport {
  readonly records: number;
  /** The data folder. When `prepareQueryDataset` returns, no server is running on it. */
  readonly data: string;
  /** The path of requests for queries of the dataset. */
  readonly path: string;
  readonly sample: SampleRecord;
}

/** Returns whether a dataset is so large that it may not fit into the cache of columns. */
export const isLarge = (records: number): boolean => records > 20_000_000;

/**
 * Imports the records into a data folder in the cache unless an earlier run has left one and `isFresh` is false, and creates the tables of
 * the peer engines (`makeTables`). A folder is used only with the format version of segments with which it was written. A file that is
 * written last marks an import as complete.
 */
export async function prepareQueryDataset(
  records: number,
  isFresh: boolean,
): Promise<QueryDataset> {
  const file = await generateTextVcfFile(records);
  const folder = resolve(cacheFolder, `query-data-${records}-format-${segmentFormat}`);
  const data = join(folder, 'data');
  const markFile = join(folder, 'imported.json');
  if (isFresh || !existsSync(markFile)) {
    // A small import takes little time and a single measurement of it varies, so it is repeated.
    const measuredImports: MeasuredImport[] = [];
    for (let run = 0; run < (isLarge(records) ? 1 : 3); run++) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(data, { recursive: true });
      measuredImports.push(await importOnce(data, file, records));
    }
    const seconds = median(measuredImports.map((one) => one.seconds));
    const workerMb = Math.max(...measuredImports.map((one) => one.workerMb));
    writeFileSync(markFile, JSON.stringify({ ...measuredImports.at(-1), seconds, workerMb }));
  }
  const measuredImport = JSON.parse(readFileSync(markFile, 'utf8')) as MeasuredImport;
  await makeTables(file, records, segmentsOf(data, measuredImport.datasetId));
  const path = `/v2/datasets/${measuredImport.datasetId}/data`;
  return { ...measuredImport, records, data, path, sample: await readSampleRecord(records) };
}

async function importOnce(data: string, file: string, records: number): Promise<MeasuredImport> {
  const server = await startServer({ data });
  try {
    const objectId = await server.upload(file);
    const datasetId = await server.createDataset(`query-${records}`);
    // The generated names of conditions are one text each, not ClinVar's lists.
    const readerParams = { known_sources: false };
    const importParams = { target_fields: targetFields };
    const seconds = await server.import(datasetId, objectId, records, readerParams, importParams);
    await server.waitUntilIdle();
    const workerMb = peakResidentMb(server.workerPid());
    const importText = `${records.toLocaleString('en-US')} records in ${seconds.toFixed(1)} s`;
    process.stderr.write(`Strandlake imported ${importText}, worker ${workerMb.toFixed(0)} MB\n`);
    return { datasetId, seconds, workerMb };
  } finally {
    await server.stop();
  }
}

/**
 * Finds values to query for in a process that ends afterwards, so that its memory does not count towards that of the measured processes.
 */
async function readSampleRecord(records: number): Promise<SampleRecord> {
  const duckdb = await openDuckdb(records);
  try {
    const duckdbRows = async (sql: string): Promise<readonly (readonly unknown[])[]> =>
      (await duckdb.run([{ sql, shape: 'values' }])).rows[0]!;
    const [middle = []] = await duckdbRows(
      `SELECT variant, chromosome, "start", GENE, row_id FROM t WHERE row_id IS NOT NULL
        LIMIT 1 OFFSET (SELECT count(row_id) // 2 FROM t)`,
    );
    const [variant, chromosome, start, gene, rowId] = middle.map(String);
    const variants = await duckdbRows('SELECT variant FROM t ORDER BY hash(variant) LIMIT 10000');
    return {
      variant: variant!,
      chromosome: chromosome!,
      start: Number(start),
      gene: gene!,
      rowId: rowId!,
      variants: variants.map(([each]) => String(each)),
    };
  } finally {
    await duckdb.stop();
  }
}
