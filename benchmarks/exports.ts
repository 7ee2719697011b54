import { spawnSync } from 'node:child_process';
import { closeSync, fsyncSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { cacheFolder, generateFile } from './generate.js';
import { seededRandom } from './random.js';
import { segmentsOf } from './segments.js';
import { type BenchServer, startServer } from './server.js';
import {
  type ResultLine,
  lineOrFailure,
  machineText,
  markdownTable,
  median,
  writeResult,
} from './table.js';

const runsPerFormat = 3;
/** Maximum number of records in the measured Excel workbook. */
const workbookRecords = 200_000;

/** A format, the options of DuckDB's COPY for the same kind of file, and the highest allowed ratio of Strandlake's time to DuckDB's. */
const exportFormats: readonly {
  readonly format: string;
  readonly copy: string;
  readonly limit: number;
}[] = [
  { format: 'json', copy: 'FORMAT json, COMPRESSION gzip', limit: 0.3 },
  { format: 'csv', copy: 'FORMAT csv, HEADER', limit: 1 },
  { format: 'parquet', copy: 'FORMAT parquet, COMPRESSION zstd', limit: 1 },
];

interface ExportSetup {
  readonly server: BenchServer;
  readonly datasetId: number;
  readonly duckdb: DuckDBConnection;
  readonly records: number;
  /** Path of the file with the records as JSON lines. */
  readonly source: string;
  readonly folder: string;
}

/**
 * `npm run bench -- exports`: compares exports of all records with DuckDB's COPY of its own table, and a workbook with the streaming writer
 * of exceljs, and the memory of an export with that of an export of fewer records.
 */
export async function runExports(flags: ReadonlySet<string>): Promise<void> {
  const givenSizes = [...flags].flatMap((flag) => /^--records=(\d+)$/.exec(flag)?.[1] ?? []);
  const records = Number(givenSizes[0] ?? (flags.has('--quick') ? 20_000 : 5_000_000));
  const folder = join(cacheFolder, 'exports');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const source = await generateFile(`exports-${records}.jsonl`, () => exportLines(records));
  const server = await startServer();
  const instance = await DuckDBInstance.create(join(folder, 'peer.duckdb'), { threads: '2' });
  try {
    const datasetId = await server.createDataset('exports');
    await server.import(datasetId, await server.upload(source), records);
    await server.waitUntilIdle();
    const duckdb = await instance.connect();
    const segments = segmentsOf(server.data, datasetId).map((path) => `'${path}'`);
    await duckdb.run(`CREATE TABLE t AS FROM read_parquet([${segments.join(', ')}])`);
    await duckdb.run('CHECKPOINT');
    const setup = { server, datasetId, duckdb, records, source, folder };
    const lines: ResultLine[] = [];
    for (const format of exportFormats) lines.push(...(await measureExportFormat(setup, format)));
    lines.push(await lineOrFailure('workbook', () => measureWorkbookExport(setup)));
    for (const format of ['csv', 'excel', 'parquet'])
      lines.push(
        await lineOrFailure(`memory, ${format}`, () => measureExportMemory(setup, format)),
      );
    const version = String((await duckdb.runAndReadAll('SELECT version()')).getRows()[0]?.[0]);
    const text = `${markdownTable(lines)}\n\n${machineText({ DuckDB: version, exceljs: '4.4.0' })}`;
    process.stdout.write(`${text}\n`);
    if (flags.has('--write')) writeResult('exports', text);
  } finally {
    instance.closeSync();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Yields records of ten fields: texts with few and with many values, numbers, dates and booleans. */
function* exportLines(records: number): Generator<string> {
  const random = seededRandom(20_261_124);
  for (let row = 0; row < records; row++) {
    yield `${JSON.stringify({
      variant: `GRCH38-1-${1000 * row + 1}-${1000 * row + 1}-T`,
      gene: `GENE${random.below(20_000, 2)}`,
      significance: random.pick(['Benign', 'Uncertain', 'Pathogenic']),
      remark: `seen in sample ${random.below(1_000_000)}`,
      position: 1000 * row + 1,
      depth: random.below(100),
      frequency: random.next() ** 4,
      quality: random.below(10_000) / 100,
      day: `20${10 + random.below(15)}-0${1 + random.below(9)}-${10 + random.below(18)}`,
      is_novel: random.below(2) === 1,
    })}\n`;
  }
}

/**
 * Measures exports of all records in a format, compared with DuckDB's COPY of the same columns of its table. The second result line has the
 * time until DuckDB's file is durable.
 */
async function measureExportFormat(
  { server, datasetId, duckdb, records, folder }: ExportSetup,
  { format, copy, limit }: (typeof exportFormats)[number],
): Promise<ResultLine[]> {
  const [ours, theirs, durableTimes]: [number[], number[], number[]] = [[], [], []];
  const target = join(folder, `peer.${format}`);
  const measurement = `${format}, ${recordCountText(records)} records of 10 fields`;
  const firstLine = await lineOrFailure(format, async () => {
    for (let run = 0; run < runsPerFormat; run++) {
      ours.push(await runExport(server, { dataset_id: datasetId, format }, records));
      const from = performance.now();
      await duckdb.run(`COPY t TO '${target}' (${copy})`);
      theirs.push((performance.now() - from) / 1000);
      flushFile(target);
      durableTimes.push((performance.now() - from) / 1000);
      rmSync(target);
    }
    return resultLineOfExport(measurement, ours, `DuckDB COPY (${copy})`, theirs, limit);
  });
  if (durableTimes.length < runsPerFormat) return [firstLine];
  return [
    firstLine,
    resultLineOfExport(measurement, ours, 'the same, flushed as ours', durableTimes, null),
  ];
}

function flushFile(file: string): void {
  const descriptor = openSync(file, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** Measures an export as a workbook, compared with exceljs, which has the records in memory and writes its rows as a stream. */
async function measureWorkbookExport(setup: ExportSetup): Promise<ResultLine> {
  const { server, datasetId, source, folder } = setup;
  const records = Math.min(setup.records, workbookRecords);
  const params = { limit: records, exclude_fields: ['_id', '_commit', 'genomic_coordinates'] };
  const [ours, theirs]: [number[], number[]] = [[], []];
  const script = fileURLToPath(new URL('./peers/xlsx-exceljs.js', import.meta.url));
  for (let run = 0; run < runsPerFormat; run++) {
    ours.push(await runExport(server, { dataset_id: datasetId, format: 'excel', params }, records));
    const args = [script, source, join(folder, 'peer.xlsx'), String(records)];
    const { stdout, status } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (status !== 0) throw new Error(`exceljs ended with status ${status}`);
    theirs.push(Number(stdout));
  }
  return resultLineOfExport(`excel, ${recordCountText(records)} records of 10 fields`, ours, 'exceljs, streaming', theirs, 0.25); // prettier-ignore
}

/**
 * Measures the peak memory of the API and worker processes during an export of all records, compared with an export of a fifth of them, but
 * at most a million.
 */
async function measureExportMemory(
  { server, datasetId, records }: ExportSetup,
  format: string,
): Promise<ResultLine> {
  const measurePeak = async (limit: number): Promise<number> => {
    await server.waitUntilIdle();
    server.takePeakMb();
    // The key `limit` may be at most a million; an export without it has all records.
    const params = limit < records ? { limit } : {};
    await runExport(server, { dataset_id: datasetId, format, params }, limit);
    return server.takePeakMb();
  };
  const fewRecords = Math.min(1_000_000, records / 5);
  const peakOfFew = await measurePeak(fewRecords);
  const peakOfAll = await measurePeak(records);
  return {
    measurement: `peak memory, API and worker, ${format} of ${recordCountText(records)} records`,
    ours: `${peakOfAll.toFixed(0)} MB`,
    peer: `${recordCountText(fewRecords)} records ${peakOfFew.toFixed(0)} MB`,
    ratio: peakOfAll / peakOfFew,
    limit: 1.2,
  };
}

/** Exports records, deletes the file, and returns the seconds from the request until the file was complete. */
async function runExport(server: BenchServer, body: object, records: number): Promise<number> {
  const from = performance.now();
  const { id } = await server.call('POST', '/v2/dataset_exports', body);
  for (;;) {
    const { status, error_message } = await server.call('GET', `/v2/dataset_exports/${id}`);
    if (status === 'completed') break;
    if (status === 'failed' || status === 'canceled') throw new Error(error_message ?? status);
  }
  const seconds = (performance.now() - from) / 1000;
  const exportRow = (await server.call('GET', `/v2/dataset_exports/${id}`)) as unknown as { readonly documents_count: number }; // prettier-ignore
  if (exportRow.documents_count !== records)
    throw new Error(`the export has ${exportRow.documents_count} of ${records} records`);
  await server.call('DELETE', `/v2/dataset_exports/${id}`);
  return seconds;
}

function resultLineOfExport(
  measurement: string,
  ours: readonly number[],
  peer: string,
  theirs: readonly number[],
  limit: number | null,
): ResultLine {
  const [ourMedian, theirMedian] = [median(ours), median(theirs)];
  return {
    measurement,
    ours: `${ourMedian.toFixed(2)} s`,
    peer: `${peer} ${theirMedian.toFixed(2)} s`,
    ratio: ourMedian / theirMedian,
    limit,
  };
}

function recordCountText(records: number): string {
  return records.toLocaleString('en-US');
}
