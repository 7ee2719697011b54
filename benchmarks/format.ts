import { statSync } from 'node:fs';
import type { Peer } from './peers/peer.js';
import { childCpuSeconds, startServer, type BenchServer } from './server.js';
import { type ResultLine, machineText, markdownTable, median, writeResult } from './table.js';

/** One input format: its data, the reader that imports it, and the programs that it is compared with. */
export interface Format {
  readonly name: string;
  /** Content of the file, as the result table shows it. */
  readonly title: string;
  /** Number of records that make about 200 MB of uncompressed text. */
  readonly records: number;
  /** Returns the path of a file of `records` records; generates the file unless it is cached. */
  readonly file: (records: number) => Promise<string>;
  readonly reader: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** Returns the number of records that an import of a file of `records` records stores, if it differs (VCF: one per alternate allele). */
  readonly storedRecordCount?: (records: number) => number;
  /** The highest allowed ratio of Strandlake's wall time to that of the fastest compared program. */
  readonly limit: number;
  readonly peers: readonly Peer[];
}

/** Number of runs of each program. With `--quick`, the benchmark is only checked to work; its numbers mean nothing. */
const runsByMode = { full: 5, quick: 2 };

/** Compares the import of each format with other programs and prints the result table; `--write` puts the table into the README. */
export async function compareFormats(
  name: string,
  formats: readonly Format[],
  flags: ReadonlySet<string>,
): Promise<void> {
  const lines: ResultLine[] = [];
  for (const format of formats) lines.push(...(await compareFormat(format, flags.has('--quick'))));
  const versions = new Map(
    formats.flatMap(({ peers }) => peers.map((peer) => [peer.name, peer.version()] as const)),
  );
  const peerVersions = [...versions].map(([peer, version]) => [peer, version ?? 'not installed']);
  const text = `${markdownTable(lines)}\n\n${machineText(Object.fromEntries(peerVersions))}`;
  process.stdout.write(`${text}\n`);
  if (flags.has('--write')) writeResult(name, text);
}

/** Returns the number of records of a quick or a full run. */
export function recordCountOf(format: Format, isQuick: boolean): number {
  return isQuick ? Math.ceil(format.records / 50) : format.records;
}

async function compareFormat(format: Format, isQuick: boolean): Promise<ResultLine[]> {
  const records = recordCountOf(format, isQuick);
  const file = await format.file(records);
  const largeFile = await format.file(5 * records);
  const peers = format.peers.filter((peer) => peer.version() !== undefined);
  const server = await startServer();
  try {
    const objectId = await server.upload(file);
    server.takePeakMb();
    const ownTimes: TimeTaken[] = [];
    const peerTimes = peers.map((): TimeTaken[] => []);
    for (let run = 0; run < (isQuick ? runsByMode.quick : runsByMode.full); run++) {
      for (const [i, peer] of peers.entries()) {
        peerTimes[i]!.push(await measureWork(() => peer.run(file, records), childCpuSeconds));
        printTimeTaken(format, peer.name, peerTimes[i]!.at(-1)!);
      }
      ownTimes.push(await importOnce(server, format, objectId, records));
      printTimeTaken(format, 'Strandlake', ownTimes.at(-1)!);
    }
    const peakMb = server.takePeakMb();
    const largeObjectId = await server.upload(largeFile);
    server.takePeakMb();
    await importOnce(server, format, largeObjectId, 5 * records);
    const largePeakMb = server.takePeakMb();
    const megabytes = (statSync(file).size / 1e6).toFixed(0);
    const measurement = `${format.title}; ${records.toLocaleString('en-US')} records, ${megabytes} MB`;
    return [
      ...timeLines(measurement, format, peers, ownTimes, peerTimes),
      {
        measurement: `${format.name}: peak memory, API and worker, five times the records`,
        ours: `${largePeakMb.toFixed(0)} MB`,
        peer: `once ${peakMb.toFixed(0)} MB`,
        ratio: largePeakMb / peakMb,
        limit: 1.2,
      },
    ];
  } finally {
    await server.stop();
  }
}

function timeLines(
  measurement: string,
  { peers: allPeers, limit }: Format,
  peers: readonly Peer[],
  ours: readonly TimeTaken[],
  theirs: readonly (readonly TimeTaken[])[],
): ResultLine[] {
  const ourMedian = medianTimeTaken(ours);
  const medians = theirs.map(medianTimeTaken);
  const best = Math.min(...medians.map(({ seconds }) => seconds));
  const skipped = allPeers.filter((peer) => !peers.includes(peer));
  return [
    ...peers.map((peer, i) => {
      const { seconds } = medians[i]!;
      return {
        measurement,
        ours: timeTakenText(ourMedian),
        peer: `${peer.name} ${timeTakenText(medians[i]!)}`,
        ratio: ourMedian.seconds / seconds,
        limit: seconds === best ? limit : null, // the limit applies to the fastest of the compared programs
      };
    }),
    ...skipped.map((peer) => ({
      measurement,
      ours: timeTakenText(ourMedian),
      peer: `${peer.name}: not installed, skipped`,
      ratio: null,
      limit: null,
    })),
  ];
}

async function importOnce(
  server: BenchServer,
  { name, params, storedRecordCount = (n) => n }: Format,
  objectId: number,
  records: number,
): Promise<TimeTaken> {
  const datasetId = await server.createDataset(`${name}-${records}-${Date.now()}`);
  const time = await measureWork(
    () => server.import(datasetId, objectId, storedRecordCount(records), params),
    () => server.cpuSeconds(),
  );
  // If the dataset were deleted now, its compaction would be cancelled, and the next import would start in new threads without compiled
  // code.
  await server.waitUntilIdle();
  await server.call('DELETE', `/v2/objects/${datasetId}`);
  return time;
}

/** Wall time, and processor time of all processes together, in seconds. */
interface TimeTaken {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

async function measureWork(
  work: () => Promise<number>,
  readCpuSeconds: () => number,
): Promise<TimeTaken> {
  const cpuSecondsBefore = readCpuSeconds();
  const seconds = await work();
  return { seconds, cpuSeconds: readCpuSeconds() - cpuSecondsBefore };
}

function medianTimeTaken(times: readonly TimeTaken[]): TimeTaken {
  return {
    seconds: median(times.map(({ seconds }) => seconds)),
    cpuSeconds: median(times.map(({ cpuSeconds }) => cpuSeconds)),
  };
}

function timeTakenText({ seconds, cpuSeconds }: TimeTaken): string {
  return `${seconds.toFixed(2)} s (processors ${cpuSeconds.toFixed(1)} s)`;
}

function printTimeTaken({ name }: Format, who: string, time: TimeTaken): void {
  process.stderr.write(`${name}: ${who} ${timeTakenText(time)}\n`);
}
