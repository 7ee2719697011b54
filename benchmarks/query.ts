import { type Connections, openConnections } from './connections.js';
import { measureCommits } from './query-commits.js';
import { targetFields, textVcfFile } from './query-data.js';
import { type Question, type QueryAnswer, type Sample, questions } from './query-questions.js';
import { type Peers, peerVersions, startPeers } from './query-tables.js';
import { measureThroughput } from './query-throughput.js';
import { segmentsOf } from './segments.js';
import { type BenchServer, peakResidentMb, startServer } from './server.js';
import { machine, median, writeResult } from './table.js';

const warmups = 2;
const runs = 9;
/**
 * Number of times that every query runs on all three engines before the first is timed. V8 compiles hot code only after dozens of
 * requests: a variant lookup takes 2.4 ms after five requests and 0.5 ms after a hundred.
 */
const passes = 20;

/** Numbers of the command line, such as `--records=200000` or `--seconds=20`. */
export interface Numbers {
  number(name: string, usual: number): number;
}

/**
 * `npm run bench -- query`: compares every kind of query with DuckDB on its own table and with ClickHouse with its indexes, on 5
 * and 20 million records. `--throughput` and `--commits` are other measurements on the same data; `--all` runs all three.
 */
export async function runQueries(flags: ReadonlySet<string>): Promise<void> {
  const versions = peerVersions();
  const numbers = numbersOf(flags);
  const isQuick = flags.has('--quick');
  const sizes = flags.has('--quick') ? [20_000] : [5_000_000, 20_000_000];
  const given = numbers.number('records', 0);
  const isAll = flags.has('--all');
  const isOther = flags.has('--throughput') || flags.has('--commits');
  const write = (name: string, text: string): void => {
    process.stdout.write(`${text}\n`);
    if (flags.has('--write')) writeResult(name, text);
  };
  if (isAll || !isOther) {
    const tables: string[] = [];
    for (const records of given > 0 ? [given] : sizes) {
      tables.push(await withData(records, compare));
      // Written after each size, so that an interrupted run leaves its results.
      write('query', `${tables.join('\n\n')}\n\n${machine(versions)}`);
    }
  }
  if (isAll || flags.has('--throughput')) {
    const table = await withData(given > 0 ? given : sizes[0]!, (ready) =>
      measureThroughput(ready, numbers, isQuick),
    );
    write('query-throughput', `${table}\n\n${machine({ DuckDB: versions['DuckDB']! })}`);
  }
  if (isAll || flags.has('--commits')) {
    const table = await measureCommits(numbers, isQuick);
    write('query-commits', `${table}\n\n${machine({ DuckDB: versions['DuckDB']! })}`);
  }
}

/** A server with the dataset, the peers, and values to ask for. */
export interface Ready {
  readonly records: number;
  readonly server: BenchServer;
  readonly path: string;
  readonly peers: Peers;
  readonly sample: Sample;
}

async function withData(
  records: number,
  measure: (ready: Ready) => Promise<string>,
): Promise<string> {
  const file = await textVcfFile(records);
  const server = await startServer();
  try {
    const objectId = await server.upload(file);
    const datasetId = await server.newDataset(`query-${records}`);
    const more = { target_fields: targetFields };
    // The generated names of conditions are one text each, not ClinVar's lists.
    const readerParams = { known_sources: false };
    const seconds = await server.import(datasetId, objectId, records, readerParams, more);
    say(`Strandlake imported ${shown(records)} records in ${seconds.toFixed(1)} s`);
    await server.idle();
    const peers = await startPeers(file, records, segmentsOf(server.data, datasetId));
    try {
      const path = `/v2/datasets/${datasetId}/data`;
      return await measure({ records, server, path, peers, sample: await sampleOf(peers) });
    } finally {
      await peers.stop();
    }
  } finally {
    await server.stop();
  }
}

async function compare({ records, server, path, peers, sample }: Ready): Promise<string> {
  const connections = openConnections(server.origin, server.token, 1);
  const lines = [
    `**${shown(records)} records**\n`,
    '| Question | Strandlake ms | DuckDB ms | chdb ms | Ratio to the better | Limit | |',
    '|---|---|---|---|---|---|---|',
  ];
  const all = questions(sample);
  for (let pass = 0; pass < passes; pass++) {
    for (const { request, duckdb, chdb } of all) {
      await connections.post(path, JSON.stringify(request));
      await peers.duckdb.run(duckdb);
      await peers.chdb.run(chdb);
    }
  }
  for (const question of all) {
    lines.push(`| ${question.name} | ${await lineOf(question, path, connections, peers)} |`);
    say(lines.at(-1)!);
  }
  connections.close();
  const memory = [server.apiPid(), peers.duckdb.pid, peers.chdb.pid].map(peakResidentMb);
  lines.push(
    `| peak memory of the process, MB | ${memory.map((mb) => mb.toFixed(0)).join(' | ')} | - | - | |`,
  );
  return lines.join('\n');
}

/** Cells of one query. A query that fails, or whose answers differ, is reported as failed and does not end the run. */
async function lineOf(
  question: Question,
  path: string,
  connections: Connections,
  peers: Peers,
): Promise<string> {
  try {
    const times = await timed(question, path, connections, peers);
    const [ours, duckdb, chdb] = times;
    const ratio = ours / Math.min(duckdb, chdb);
    const kept = ratio <= question.bar ? 'kept' : 'missed';
    return [...times.map((ms) => ms.toFixed(1)), ratio.toFixed(2), question.bar, kept].join(' | ');
  } catch (error) {
    process.exitCode = 1;
    say(String(error));
    return `- | - | - | - | ${question.bar} | failed`;
  }
}

/** Median times of all three engines in milliseconds, measured in turn. */
async function timed(
  { name, request, duckdb, chdb, ours, theirs }: Question,
  path: string,
  connections: Connections,
  peers: Peers,
): Promise<readonly [number, number, number]> {
  const body = JSON.stringify(request);
  const times: [number[], number[], number[]] = [[], [], []];
  for (let run = -warmups; run < runs; run++) {
    const from = performance.now();
    const { status, text } = await connections.post(path, body);
    const ms = performance.now() - from;
    if (status !== 200) throw new Error(`${name}: ${status} ${text.slice(0, 500)}`);
    const answers = [await peers.duckdb.run(duckdb), await peers.chdb.run(chdb)] as const;
    if (run < 0) continue;
    for (const [i, one] of [ms, answers[0].ms, answers[1].ms].entries()) times[i]!.push(one);
    if (run > 0) continue;
    const answer = JSON.parse(text) as QueryAnswer;
    for (const [i, { rows }] of answers.entries()) {
      const peer = [peers.duckdb, peers.chdb][i]!.name;
      agree(`${name}: total`, peer, answer.total, Number(rows.at(-1)?.[0]?.[0]));
      if (ours && theirs) agree(name, peer, ours(answer), theirs(rows[0]!));
    }
  }
  return [median(times[0]), median(times[1]), median(times[2])];
}

function agree(what: string, peer: string, ours: unknown, theirs: unknown): void {
  const [a, b] = [JSON.stringify(ours), JSON.stringify(theirs)];
  if (a === b) return;
  throw new Error(`${what}: ours is ${a.slice(0, 400)}, that of ${peer} ${b.slice(0, 400)}`);
}

async function sampleOf(peers: Peers): Promise<Sample> {
  const one = async (sql: string): Promise<readonly (readonly unknown[])[]> =>
    (await peers.duckdb.run([{ sql, shape: 'values' }])).rows[0]!;
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
}

function numbersOf(flags: ReadonlySet<string>): Numbers {
  return {
    number(name, usual) {
      const flag = [...flags].find((one) => one.startsWith(`--${name}=`));
      const value = flag === undefined ? usual : Number(flag.slice(name.length + 3));
      if (!(value >= 0)) throw new Error(`--${name} wants a number, as in --${name}=${usual}`);
      return value;
    },
  };
}

function shown(count: number): string {
  return count.toLocaleString('en-US');
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
