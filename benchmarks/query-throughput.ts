import { setTimeout as pause } from 'node:timers/promises';
import { openConnections } from './connections.js';
import { benchmarkQueries } from './benchmark-queries.js';
import type { QueryDataset } from './query-dataset.js';
import { type BenchServer, residentMb, startServer } from './server.js';

/** The requests sent during one period of load. */
interface LoadResult {
  /** Duration of each request in milliseconds, ascending. */
  readonly times: readonly number[];
  readonly errors: number;
  readonly seconds: number;
}

/** `--throughput`: lookups of random variants over 1, 8 and 64 connections, then memory while all queries run for `--minutes`. */
export async function measureThroughput(
  dataset: QueryDataset,
  number: (name: string, usual: number) => number,
  isQuick: boolean,
): Promise<string> {
  const server = await startServer({ data: dataset.data });
  try {
    return await measureRun({ ...dataset, server }, number, isQuick);
  } finally {
    await server.stop();
  }
}

/** A dataset and a running server with it. */
interface ServedDataset extends QueryDataset {
  readonly server: BenchServer;
}

async function measureRun(
  ready: ServedDataset,
  number: (name: string, usual: number) => number,
  isQuick: boolean,
): Promise<string> {
  const seconds = number('seconds', isQuick ? 1 : 20);
  const lines = [
    `Variant lookups, ${ready.records.toLocaleString('en-US')} records, ${seconds} s each\n`,
    '| Connections | requests/s | p50 ms | p95 ms | p99 ms | errors |',
    '|---|---|---|---|---|---|',
  ];
  const { variants } = ready.sample;
  const lookups = variants.map((one) => JSON.stringify({ filters: [['variant', one]] }));
  await loadServer(ready, lookups, 8, isQuick ? 0.5 : 3); // warm-up before the measurements
  for (const connections of [1, 8, 64]) {
    const { times, errors, ...took } = await loadServer(ready, lookups, connections, seconds);
    const shares = [0.5, 0.95, 0.99].map((share) => quantileOf(times, share).toFixed(1));
    const rate = (times.length / took.seconds).toFixed(0);
    lines.push(`| ${connections} | ${rate} | ${shares.join(' | ')} | ${errors} |`);
    printLine(lines.at(-1)!);
  }
  const minutes = number('minutes', isQuick ? 0.2 : 10);
  if (minutes > 0) lines.push('', await measureMemoryGrowth(ready, minutes));
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
async function measureMemoryGrowth(ready: ServedDataset, minutes: number): Promise<string> {
  const pid = ready.server.apiPid();
  const every = minutes < 2 ? 1 : 10;
  const samples: number[] = [];
  const bodies = benchmarkQueries(ready.sample).map(({ request }) => JSON.stringify(request));
  const endController = new AbortController();
  const watch = (async () => {
    while (!endController.signal.aborted) {
      samples.push(residentMb(pid));
      if (samples.length % 6 === 0) printLine(`memory: ${samples.at(-1)!.toFixed(0)} MB`);
      await pause(every * 1000, undefined, { signal: endController.signal }).catch(() => undefined);
    }
  })();
  const { times, errors } = await loadServer(ready, bodies, 8, minutes * 60);
  endController.abort();
  await watch;
  const second = samples.slice(Math.floor(samples.length / 2));
  const perMinute = (slopeOf(second) * 60) / every;
  const [least, most] = [Math.min(...second), Math.max(...second)];
  const growthText = `${perMinute >= 0 ? '+' : ''}${perMinute.toFixed(1)} MB per minute`;
  return (
    `Memory of the API process over ${minutes} minutes of all questions of the table at 8 connections ` +
    `(${times.length} answers, ${errors} errors, a sample every ${every} s): in the second half between ` +
    `${least.toFixed(0)} and ${most.toFixed(0)} MB, ${(most / least).toFixed(2)} times; trend ${growthText}.`
  );
}

/** Returns the slope of the least-squares line through the values, per step. */
function slopeOf(values: readonly number[]): number {
  const middleIndex = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let [above, below] = [0, 0];
  for (const [i, value] of values.entries()) {
    above += (i - middleIndex) * (value - mean);
    below += (i - middleIndex) ** 2;
  }
  return below === 0 ? 0 : above / below;
}

function quantileOf(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

function printLine(text: string): void {
  process.stderr.write(`${text}\n`);
}
