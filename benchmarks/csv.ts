import { version as duckdbVersion } from '@duckdb/node-api';
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { csvFile } from './csv-data.js';
import { cache } from './data.js';
import { startServer } from './server.js';
import { type Line, machine, markdown, median, writeResult } from './table.js';

/** The usual size is about 200 MB; memory is compared with that of five times as much. */
interface Size {
  readonly records: number;
  readonly runs: number;
}
const full: Size = { records: 1_200_000, runs: 5 };
const quick: Size = { records: 20_000, runs: 2 };

const toParquet = fileURLToPath(new URL('./peers/csv-to-parquet.js', import.meta.url));

/** `npm run bench -- csv`: the import of a CSV file of 30 columns against DuckDB's `read_csv` to Parquet, and memory. */
export async function run(flags: ReadonlySet<string>): Promise<void> {
  const size = flags.has('--quick') ? quick : full;
  const text = `${markdown(await compare(size))}\n\n${machine({ DuckDB: duckdbVersion() })}`;
  process.stdout.write(`${text}\n`);
  if (flags.has('--write')) writeResult('csv', text);
}

async function compare({ records, runs }: Size): Promise<Line[]> {
  const file = await csvFile(records);
  const large = await csvFile(5 * records);
  const ours: number[] = [];
  const theirs: number[] = [];
  const server = await startServer();
  try {
    const objectId = await server.upload(file);
    server.peakMb();
    for (let run = 0; run < runs; run++) {
      theirs.push(peerSeconds(file, records));
      const datasetId = await server.newDataset(`run-${run}`);
      ours.push(await server.import(datasetId, objectId, records));
      process.stderr.write(`DuckDB ${theirs.at(-1)?.toFixed(2)} s, ${ours.at(-1)?.toFixed(2)} s\n`);
      await server.call('DELETE', `/v2/objects/${datasetId}`);
    }
    const peakMb = server.peakMb();
    const largeId = await server.upload(large);
    server.peakMb();
    await server.import(await server.newDataset('large'), largeId, 5 * records);
    const largeMb = server.peakMb();
    const [mine, peer] = [median(ours), median(theirs)];
    return [
      {
        question: `import of a CSV file, ${records.toLocaleString('en-US')} records of 30 columns`,
        ours: `${mine.toFixed(2)} s`,
        peer: `DuckDB read_csv to Parquet ${peer.toFixed(2)} s`,
        ratio: mine / peer,
        limit: 1,
      },
      {
        question: 'peak memory, API and worker, five times the records',
        ours: `${largeMb.toFixed(0)} MB`,
        peer: `${peakMb.toFixed(0)} MB`,
        ratio: largeMb / peakMb,
        limit: 1.2,
      },
    ];
  } finally {
    await server.stop();
  }
}

function peerSeconds(file: string, records: number): number {
  const target = join(cache, 'peer.parquet');
  rmSync(target, { force: true });
  const from = performance.now();
  const { stdout, status } = spawnSync(process.execPath, [toParquet, file, target], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const seconds = (performance.now() - from) / 1000;
  rmSync(target, { force: true });
  if (status !== 0 || Number(stdout) !== records) throw new Error(`the peer wrote ${stdout}`);
  return seconds;
}
