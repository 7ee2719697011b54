import { createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { QueryDataset } from './query-dataset.js';
import { type ComparedEngine, checkAgreement, comparedEngines } from './query-engines.js';
import { type BenchmarkQuery, benchmarkQueries } from './benchmark-queries.js';
import { type EngineTimes, type QueryTable, measureQueryTable } from './query-rows.js';
import { tablesFolder } from './query-tables.js';
import { median } from './table.js';

const startCount = 3;
/** Highest allowed ratio of Strandlake's time to that of the faster peer engine. */
const maxRatio = 2;

/** Measures the first answer of each engine after its start: each query runs in a new process. */
export async function measureCold(dataset: QueryDataset): Promise<QueryTable> {
  const engines = comparedEngines(dataset);
  for (const folder of [segmentsFolder(dataset), tablesFolder(dataset.records)])
    await readThrough(folder);
  const title = `${dataset.records.toLocaleString('en-US')} records, cold`;
  return measureQueryTable(
    title,
    benchmarkQueries(dataset.sample),
    () => maxRatio,
    (query) => measureFirstAnswers(query, engines),
  );
}

/** Returns the folder with the files of the dataset. */
export const segmentsFolder = ({ data }: QueryDataset): string => join(data, 'datasets');

/** Returns the median time of each engine's first answer after a start; the engines are started in turn, a few times each. */
export async function measureFirstAnswers(
  query: BenchmarkQuery,
  engines: readonly ComparedEngine[],
): Promise<EngineTimes> {
  const engineTimes = engines.map((): number[] => []);
  for (let start = 0; start < startCount; start++) {
    const answers = [];
    for (const [i, engine] of engines.entries()) {
      if (!engine.canRun(query)) continue;
      const openedEngine = await engine.open();
      try {
        const answer = await openedEngine.ask(query);
        engineTimes[i]!.push(answer.ms);
        answers.push(answer);
        if (start === 0) checkAgreement(query, answers[0]!, engine.name, answer);
      } finally {
        await openedEngine.close();
      }
    }
  }
  return engineTimes.map((each) => (each.length === 0 ? null : median(each)));
}

/** Reads all files of a folder once, so that the operating system has their pages in memory as far as there is room. */
export async function readThrough(folder: string): Promise<void> {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = createReadStream(join(entry.parentPath, entry.name), { highWaterMark: 1 << 20 });
    for await (const _ of bytes); // the page cache of the operating system keeps the pages
  }
}
