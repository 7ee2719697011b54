import { version as duckdbVersion } from '@duckdb/node-api';
import { infoKeys, generateVcfFile } from './data.js';
import { bcftoolsPeers, bcftoolsVersion } from './peers/bcftools-duckdb.js';
import { fixedColumns, infoColumns } from './peers/columns.js';
import { timeQueries } from './queries.js';
import { startServer } from './server.js';
import { type ResultLine, machineText, markdownTable, median, writeResult } from './table.js';

/** Size of a run. With `--quick`, the benchmark is only checked to work; its numbers mean nothing. */
interface BenchmarkSize {
  readonly small: number;
  readonly large: number;
  readonly runs: number;
  readonly queryRuns: number;
}
const fullSize: BenchmarkSize = { small: 1_000_000, large: 5_000_000, runs: 5, queryRuns: 31 };
const quickSize: BenchmarkSize = { small: 10_000, large: 50_000, runs: 2, queryRuns: 3 };

/**
 * `npm run bench -- import`: compares a whole import with bcftools and DuckDB, measures memory, and compares queries on the imported
 * dataset.
 */
export async function runImports(flags: ReadonlySet<string>): Promise<void> {
  const size = flags.has('--quick') ? quickSize : fullSize;
  const lines = [...(await timeImports(size)), ...(await importAtLargeSize(size))];
  const versions = { bcftools: bcftoolsVersion() ?? 'not installed', DuckDB: duckdbVersion() };
  const text = `${markdownTable(lines)}\n\n${machineText(versions)}`;
  process.stdout.write(`${text}\n`);
  if (flags.has('--write')) writeResult('import', text);
}

let smallImportPeakMb = 0;

async function timeImports(size: BenchmarkSize): Promise<ResultLine[]> {
  const vcf = await generateVcfFile(size.small);
  const version = bcftoolsVersion();
  if (version === undefined)
    printLine('bcftools is not installed: the comparison with it is skipped');
  const peers =
    version === undefined ? [] : bcftoolsPeers([...fixedColumns, ...infoColumns(infoKeys)]);
  const ourTimes: number[] = [];
  const theirTimes = peers.map((): number[] => []);
  const server = await startServer();
  try {
    const objectId = await server.upload(vcf);
    server.takePeakMb();
    for (let run = 0; run < size.runs; run++) {
      for (const [i, peer] of peers.entries()) {
        const seconds = await peer.run(vcf, size.small);
        theirTimes[i]?.push(seconds);
        printLine(`${peer.name}: ${seconds.toFixed(2)} s`);
      }
      const datasetId = await server.createDataset(`run-${run}`);
      ourTimes.push(await server.import(datasetId, objectId, size.small));
      printLine(`Strandlake: ${ourTimes.at(-1)?.toFixed(2)} s`);
      await server.waitUntilIdle();
      await server.call('DELETE', `/v2/objects/${datasetId}`);
    }
    smallImportPeakMb = server.takePeakMb();
  } finally {
    await server.stop();
  }
  const ourMedian = median(ourTimes);
  const medians = theirTimes.map(median);
  const best = Math.min(...medians);
  const measurement = `import of ${size.small.toLocaleString('en-US')} records`;
  const timeLines: ResultLine[] = peers.map(({ name }, i) => ({
    measurement,
    ours: `${ourMedian.toFixed(2)} s`,
    peer: `${name} ${medians[i]?.toFixed(2)} s`,
    ratio: ourMedian / (medians[i] ?? Number.NaN),
    limit: medians[i] === best ? 1 : null, // the limit applies to the faster program
  }));
  const importAlone = {
    measurement,
    ours: `${ourMedian.toFixed(2)} s`,
    peer: 'skipped',
    ratio: null,
    limit: null,
  };
  return [
    ...(timeLines.length === 0 ? [importAlone] : timeLines),
    memoryResultLine(
      `peak memory, API and worker, ${size.small.toLocaleString('en-US')} records`,
      smallImportPeakMb,
      1200,
      1,
    ),
  ];
}

/**
 * Imports the larger of the benchmark's two files, measures whether memory grows with the size of the file, then compares queries on the
 * dataset.
 */
async function importAtLargeSize(size: BenchmarkSize): Promise<ResultLine[]> {
  const vcf = await generateVcfFile(size.large);
  const server = await startServer();
  try {
    const objectId = await server.upload(vcf);
    server.takePeakMb();
    const datasetId = await server.createDataset('large');
    const seconds = await server.import(datasetId, objectId, size.large);
    printLine(`Strandlake, ${size.large} records: ${seconds.toFixed(2)} s`);
    const measurement = `peak memory, ${size.large.toLocaleString('en-US')} records`;
    const memory = memoryResultLine(measurement, server.takePeakMb(), smallImportPeakMb, 1.2);
    return [memory, ...(await timeQueries(server, datasetId, size.queryRuns))];
  } finally {
    await server.stop();
  }
}

function memoryResultLine(
  measurement: string,
  mb: number,
  peerMb: number,
  limit: number,
): ResultLine {
  const peer = `${peerMb.toFixed(0)} MB`;
  return { measurement, ours: `${mb.toFixed(0)} MB`, peer, ratio: mb / peerMb, limit };
}

function printLine(text: string): void {
  process.stderr.write(`${text}\n`);
}
