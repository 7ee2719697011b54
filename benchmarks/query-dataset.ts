import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { segmentFormat } from '../engine/store/segment.js';
import { cache } from './generate.js';
import { openDuckdb, makeTables } from './query-tables.js';
import { targetFields, textVcfFile } from './query-data.js';
import type { Sample } from './query-questions.js';
import { segmentsOf } from './segments.js';
import { peakResidentMb, startServer } from './server.js';
import { median } from './table.js';

/** An import of the records, measured. */
interface MeasuredImport {
  readonly datasetId: number;
  /** Time until a query counts every record. */
  readonly seconds: number;
  /** Peak memory of the worker process, background tasks after the import included. */
  readonly workerMb: number;
}

/** The records in a data folder, and the peers' tables of them. */
export interface QueryDataset extends MeasuredImport {
  readonly records: number;
  /** The data folder. No server runs on it. */
  readonly data: string;
  /** Path of the dataset's queries. */
  readonly path: string;
  readonly sample: Sample;
}

/** True for datasets that need not fit into the cache of columns. */
export const isLarge = (records: number): boolean => records > 20_000_000;

/**
 * Imports the records into a data folder in the cache, or takes the one that an earlier run has left there, unless `isFresh`. A folder
 * belongs to one format of segments. A file that is written last marks an import as complete.
 */
export async function queryDataset(records: number, isFresh: boolean): Promise<QueryDataset> {
  const file = await textVcfFile(records);
  const folder = resolve(cache, `query-data-${records}-format-${segmentFormat}`);
  const data = join(folder, 'data');
  const mark = join(folder, 'imported.json');
  if (isFresh || !existsSync(mark)) {
    // A small import is over soon, and one time of it says little.
    const takes: MeasuredImport[] = [];
    for (let run = 0; run < (isLarge(records) ? 1 : 3); run++) {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(data, { recursive: true });
      takes.push(await importOnce(data, file, records));
    }
    const seconds = median(takes.map((take) => take.seconds));
    const workerMb = Math.max(...takes.map((take) => take.workerMb));
    writeFileSync(mark, JSON.stringify({ ...takes.at(-1), seconds, workerMb }));
  }
  const imported = JSON.parse(readFileSync(mark, 'utf8')) as MeasuredImport;
  await makeTables(file, records, segmentsOf(data, imported.datasetId));
  const path = `/v2/datasets/${imported.datasetId}/data`;
  return { ...imported, records, data, path, sample: await sampleOf(records) };
}

async function importOnce(data: string, file: string, records: number): Promise<MeasuredImport> {
  const server = await startServer({ data });
  try {
    const objectId = await server.upload(file);
    const datasetId = await server.newDataset(`query-${records}`);
    // The generated names of conditions are one text each, not ClinVar's lists.
    const readerParams = { known_sources: false };
    const more = { target_fields: targetFields };
    const seconds = await server.import(datasetId, objectId, records, readerParams, more);
    await server.idle();
    const workerMb = peakResidentMb(server.workerPid());
    const shown = `${records.toLocaleString('en-US')} records in ${seconds.toFixed(1)} s`;
    process.stderr.write(`Strandlake imported ${shown}, worker ${workerMb.toFixed(0)} MB\n`);
    return { datasetId, seconds, workerMb };
  } finally {
    await server.stop();
  }
}

/** Values to ask for. The process that finds them ends, so that its memory is not that of a measured one. */
async function sampleOf(records: number): Promise<Sample> {
  const duckdb = await openDuckdb(records);
  try {
    const one = async (sql: string): Promise<readonly (readonly unknown[])[]> =>
      (await duckdb.run([{ sql, shape: 'values' }])).rows[0]!;
    const [middle = []] = await one(
      `SELECT variant, chromosome, "start", GENE, row_id FROM t WHERE row_id IS NOT NULL
        LIMIT 1 OFFSET (SELECT count(row_id) // 2 FROM t)`,
    );
    const [variant, chromosome, start, gene, rowId] = middle.map(String);
    const variants = await one('SELECT variant FROM t ORDER BY hash(variant) LIMIT 10000');
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
