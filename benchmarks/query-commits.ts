import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openConnections } from './connections.js';
import { cacheFolder, generateFile } from './generate.js';
import { seededRandom } from './random.js';
import { segmentsOf } from './segments.js';
import { type BenchServer, startServer } from './server.js';
import { type ResultLine, markdownTable, median } from './table.js';

const seed = 20_261_120;
const warmupRuns = 2;
const measuredRuns = 9;
/** The highest allowed ratio of the time with many commits to the time with one commit. */
const maxRatio = 1.5;

/**
 * `--commits`: compares a dataset of a thousand small commits with a dataset of one commit of the same records, after all compactions have
 * finished.
 */
export async function measureCommits(
  numberOfFlag: (name: string, usual: number) => number,
  isQuick: boolean,
): Promise<string> {
  const commits = numberOfFlag('commits', isQuick ? 40 : 1000);
  const recordsPerCommit = numberOfFlag('each', isQuick ? 100 : 1000);
  const records = commits * recordsPerCommit;
  const name = `query-${records}-${seed}.jsonl`;
  const wholeFile = await generateFile(name, () => recordLines(0, records));
  const folder = join(cacheFolder, 'query-commits');
  const server = await startServer();
  try {
    const oneCommitDatasetId = await server.createDataset('one commit');
    await server.import(oneCommitDatasetId, await server.upload(wholeFile), records);
    const manyCommitsDatasetId = await server.createDataset('many commits');
    mkdirSync(folder, { recursive: true });
    for (let i = 0; i < commits; i++) {
      const file = join(folder, `${i}.jsonl`);
      writeFileSync(file, [...recordLines(i * recordsPerCommit, recordsPerCommit)].join(''));
      const objectId = await server.upload(file);
      await server.import(manyCommitsDatasetId, objectId, (i + 1) * recordsPerCommit);
      if ((i + 1) % 100 === 0) printLine(`${i + 1} commits`);
    }
    const fileCountBefore = segmentsOf(server.data, manyCommitsDatasetId).length;
    printLine('waiting for merges …');
    await server.waitUntilIdle();
    const fileCountAfter = segmentsOf(server.data, manyCommitsDatasetId).length;
    const table = markdownTable(
      await compareAnswers(server, oneCommitDatasetId, manyCommitsDatasetId, commits),
    );
    const fileCounts = `${fileCountBefore} files after the last commit, ${fileCountAfter} after merging`;
    return `${table}\n\n${commits} commits of ${recordsPerCommit} records; ${fileCounts}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await server.stop();
  }
}

/** Sends the same queries in turn to a dataset of one commit and to a dataset of many commits. */
async function compareAnswers(
  server: BenchServer,
  oneCommitDatasetId: number,
  manyCommitsDatasetId: number,
  commits: number,
): Promise<ResultLine[]> {
  const connections = openConnections(server.origin, server.token, 1);
  const queries: readonly (readonly [name: string, request: object])[] = [
    [
      'filter',
      {
        filters: [
          ['depth__gt', 50],
          ['significance', 'Pathogenic'],
        ],
      },
    ],
    ['terms facet', { limit: 0, facets: { gene: { facet_type: 'terms', limit: 10 } } }],
    ['variant lookup', { filters: [['variant', variantAt(12_345 % commits)]] }],
  ];
  const rows: ResultLine[] = [];
  for (const [name, request] of queries) {
    const runTimes: [number[], number[]] = [[], []];
    const seenAnswers: [string, string] = ['', ''];
    for (let run = -warmupRuns; run < measuredRuns; run++) {
      for (const [i, datasetId] of [oneCommitDatasetId, manyCommitsDatasetId].entries()) {
        const from = performance.now();
        const reply = await connections.post(
          `/v2/datasets/${datasetId}/data`,
          JSON.stringify(request),
        );
        if (run >= 0) runTimes[i]!.push(performance.now() - from);
        if (reply.status !== 200) throw new Error(`${name}: ${reply.status} ${reply.text}`);
        const { total, facets } = JSON.parse(reply.text) as { total: number; facets?: object };
        seenAnswers[i] = JSON.stringify([total, facets]);
      }
    }
    if (seenAnswers[0] !== seenAnswers[1])
      throw new Error(`${name}: ${seenAnswers[0]} is not ${seenAnswers[1]}`);
    const [oneCommitMs, manyCommitsMs] = [median(runTimes[0]), median(runTimes[1])];
    rows.push({
      measurement: `${name}, ${commits.toLocaleString('en-US')} commits`,
      ours: `${manyCommitsMs.toFixed(1)} ms`,
      peer: `one commit ${oneCommitMs.toFixed(1)} ms`,
      ratio: manyCommitsMs / oneCommitMs,
      limit: maxRatio,
    });
  }
  connections.close();
  return rows;
}

/** Yields records as JSON lines. The record with a given number is always the same. */
export function* recordLines(from: number, count: number): Generator<string> {
  for (let row = from; row < from + count; row++) {
    const random = seededRandom(seed + row);
    yield `${JSON.stringify({
      variant: variantAt(row),
      gene: `GENE${random.below(20_000, 2)}`,
      significance: random.pick(['Benign', 'Uncertain', 'Pathogenic']),
      depth: random.below(100),
      frequency: random.next() ** 4,
      remark: `seen in sample ${random.below(1_000_000)}`,
    })}\n`;
  }
}

function variantAt(row: number): string {
  const start = 1000 * row + 1;
  return `GRCH38-1-${start}-${start}-T`;
}

function printLine(text: string): void {
  process.stderr.write(`${text}\n`);
}
