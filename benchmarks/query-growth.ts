import { measureFirstAnswers, readThrough, segmentsFolder } from './query-cold.js';
import type { QueryDataset } from './query-dataset.js';
import { comparedEngines } from './query-engines.js';
import { benchmarkQueries } from './benchmark-queries.js';
import { QueryTimer } from './query-warm.js';
import type { ResultLine } from './table.js';

/** Queries whose time must not grow with the dataset. */
const growthQueryNames: readonly string[] = [
  'variant lookup',
  'gene lookup',
  'region of 1 Mb',
  'word search, rare word',
  'words without a field, a rare word',
];

const maxQueryRatio = 2;
const maxImportRatio = 1.1;

/** The measurements on one size of the dataset. */
export interface SizeResult {
  readonly dataset: QueryDataset;
  /** Milliseconds by the name of the query. */
  readonly warm: ReadonlyMap<string, number>;
  readonly cold: ReadonlyMap<string, number>;
}

/** Measures, on one size of the dataset, the queries whose time must not grow with it, on Strandlake alone. */
export async function measureAtSize(dataset: QueryDataset): Promise<SizeResult> {
  const growthQueries = benchmarkQueries(dataset.sample).filter(({ name }) =>
    growthQueryNames.includes(name),
  );
  const [ourEngine] = comparedEngines(dataset);
  const [warm, cold] = [new Map<string, number>(), new Map<string, number>()];
  const engine = await ourEngine!.open();
  try {
    const timer = new QueryTimer();
    await timer.warmAll(growthQueries, () => [engine]);
    for (const query of growthQueries)
      warm.set(query.name, (await timer.timeQuery(query, [engine]))[0]!);
  } finally {
    await engine.close();
  }
  await readThrough(segmentsFolder(dataset));
  for (const query of growthQueries)
    cold.set(query.name, (await measureFirstAnswers(query, [ourEngine!]))[0]!);
  return { dataset, warm, cold };
}

/**
 * Compares a larger dataset with a smaller one: queries with few matches, the import time per record and the memory of the worker process.
 */
export function growthLines(large: SizeResult, small: SizeResult): readonly ResultLine[] {
  const lines: ResultLine[] = [];
  const add = (
    measurement: string,
    ours: number,
    peer: number,
    unit: string,
    limit: number,
  ): void => {
    const valueText = (value: number): string => `${value.toFixed(unit === 'MB' ? 0 : 2)} ${unit}`;
    lines.push({
      measurement,
      ours: valueText(ours),
      peer: valueText(peer),
      ratio: ours / peer,
      limit,
    });
  };
  for (const state of ['warm', 'cold'] as const) {
    for (const name of growthQueryNames) {
      const [ours, peer] = [large[state].get(name), small[state].get(name)];
      if (ours === undefined || peer === undefined) continue;
      add(`${name}, ${state}`, ours, peer, 'ms', maxQueryRatio);
    }
  }
  const perRecord = ({ dataset }: SizeResult): number => (1e6 * dataset.seconds) / dataset.records;
  add('import, per record', perRecord(large), perRecord(small), 'µs', maxImportRatio);
  const [ours, peer] = [large.dataset.workerMb, small.dataset.workerMb];
  add('peak memory of the worker, import', ours, peer, 'MB', maxImportRatio);
  return lines;
}
