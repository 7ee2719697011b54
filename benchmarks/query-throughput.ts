import { setTimeout as pause } from 'node:timers/promises';
import { openConnections } from './connections.js';
import { benchmarkQueries } from './benchmark-queries.js';
import type { QueryDataset } from './query-dataset.js';
import { type BenchServer, residentMb, startServer } from './server.js';

/** The results of the requests sent during one period of load. */
interface LoadResult {
  /** Duration of each request without an error, in milliseconds, ascending. */
  readonly times: readonly number[];
  readonly errors: number;
  readonly seconds: number;
}

/** `--throughput`: lookups of random variants over 1, 8 and 64 connections, then memory while all queries run for `--minutes`. */
export async function measureThroughput(
  dataset: QueryDataset,
  numberOfFlag: (name: string, usual: number) => number,
  isQuick: boolean,
): Promise<string> {
  const server = await startServer({ data: dataset.data });
  try {
    return await measureRun({ ...dataset, server }, numberOfFlag, isQuick);
  } finally {
    await server.stop();
  }
}

/** A dataset and a running server with it. */
interface ServedDataset extends QueryDataset {
  readonly server: BenchServer;
}

async function measureRun(
  servedDataset: ServedDataset,
  numberOfFlag: (name: string, usual: number) => number,
  isQuick: boolean,
): Promise<string> {
  const seconds = numberOfFlag('seconds', isQuick ? 1 : 20);
  const lines = [
    `Variant lookups, ${servedDataset.records.toLocaleString('en-US')} records, ${seconds} s each\n`,
    '| Connections | requests/s | p50 ms | p95 ms | p99 ms | errors |',
    '|---|---|---|---|---|---|',
  ];
  const { variants } = servedDataset.sample;
  const lookups = variants.map((one) => JSON.stringify({ filters: [['variant', one]] }));
  await loadServer(servedDataset, lookups, 8, isQuick ? 0.5 : 3); // warm-up before the measurements
  for (const connections of [1, 8, 64]) {
    const {
      times,
      errors,
      seconds: elapsedSeconds,
    } = await loadServer(servedDataset, lookups, connections, seconds);
    const shares = [0.5, 0.95, 0.99].map((share) => quantileOf(times, share).toFixed(1));
    const rate = (times.length / elapsedSeconds).toFixed(0);
    lines.push(`| ${connections} | ${rate} | ${shares.join(' | ')} | ${errors} |`);
    printLine(lines.at(-1)!);
  }
  const minutes = numberOfFlag('minutes', isQuick ? 0.2 : 10);
  if (minutes > 0) lines.push('', await measureMemoryGrowth(servedDataset, minutes));
  return lines.join('\n');
}

/** Runs `count` clients for a time. Each sends one request after another. */
async function loadServer(
  { server, path }: ServedDataset,
  bodies: readonly string[],
  count: number,
  seconds: number,
): Promise<LoadResult> {
  const connections = openConnections(server.origin, server.token, count);
  const latencies: number[] = [];
  let errors = 0;
  let next = 0;
  const from = performance.now();
  const endTime = from + seconds * 1000;
  const client = async (): Promise<void> => {
    while (performance.now() < endTime) {
      const body = bodies[next++ % bodies.length]!;
      const sentAt = performance.now();
      const status = await connections.post(path, body).then(
        (reply) => reply.status,
        () => 0,
      );
      if (status === 200) latencies.push(performance.now() - sentAt);
      else errors += 1;
    }
  };
  await Promise.all(Array.from({ length: count }, client));
  connections.close();
  latencies.sort((a, b) => a - b);
  return { times: latencies, errors, seconds: (performance.now() - from) / 1000 };
}

/** Samples the memory of the API process while eight clients send all queries of the benchmark repeatedly. */
async function measureMemoryGrowth(servedDataset: ServedDataset, minutes: number): Promise<string> {
  const pid = servedDataset.server.apiPid();
  const intervalSeconds = minutes < 2 ? 1 : 10;
  const sampledMb: number[] = [];
  const bodies = benchmarkQueries(servedDataset.sample).map(({ request }) =>
    JSON.stringify(request),
  );
  const endController = new AbortController();
  const watchEnd = (async () => {
    while (!endController.signal.aborted) {
      sampledMb.push(residentMb(pid));
      if (sampledMb.length % 6 === 0) printLine(`memory: ${sampledMb.at(-1)!.toFixed(0)} MB`);
      await pause(intervalSeconds * 1000, undefined, { signal: endController.signal }).catch(
        () => undefined,
      );
    }
  })();
  const { times, errors } = await loadServer(servedDataset, bodies, 8, minutes * 60);
  endController.abort();
  await watchEnd;
  const secondHalf = sampledMb.slice(Math.floor(sampledMb.length / 2));
  const growthPerMinute = (slopeOf(secondHalf) * 60) / intervalSeconds;
  const [least, most] = [Math.min(...secondHalf), Math.max(...secondHalf)];
  const growthText = `${growthPerMinute >= 0 ? '+' : ''}${growthPerMinute.toFixed(1)} MB per minute`;
  return (
    `Memory of the API process over ${minutes} minutes of all queries of the table at 8 connections ` +
    `(${times.length} answers, ${errors} errors, a sample every ${intervalSeconds} s): in the second half between ` +
    `${least.toFixed(0)} and ${most.toFixed(0)} MB, ${(most / least).toFixed(2)} times; trend ${growthText}.`
  );
}

/** Returns the slope of the least-squares line through the values, per step. */
function slopeOf(values: readonly number[]): number {
  const middleIndex = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let [numerator, below] = [0, 0];
  for (const [i, value] of values.entries()) {
    numerator += (i - middleIndex) * (value - mean);
    below += (i - middleIndex) ** 2;
  }
  return below === 0 ? 0 : numerator / below;
}

function quantileOf(sortedValues: readonly number[], share: number): number {
  return (
    sortedValues[Math.min(sortedValues.length - 1, Math.floor(share * sortedValues.length))] ??
    Number.NaN
  );
}

function printLine(text: string): void {
  process.stderr.write(`${text}\n`);
}
