import { parseConfig } from '../engine/core/config.js';
import { type QueryDataset, isLarge } from './query-dataset.js';
import { type OpenedEngine, checkAgreement, comparedEngines } from './query-engines.js';
import { type BenchmarkQuery, benchmarkQueries } from './benchmark-queries.js';
import { type EngineTimes, type QueryTable, measureQueryTable } from './query-rows.js';
import { peakResidentMb, residentMb } from './server.js';
import { type ResultLine, lineOrFailure, median } from './table.js';

const warmupRuns = 2;
const measuredRuns = 9;
/** Minimum number of measured runs, even if an engine needs minutes for them. */
const minRuns = 3;
/**
 * Number of times that every query runs on all engines before the first is timed. V8 compiles hot code only after dozens of
 * requests: a variant lookup takes 2.4 ms after five requests and 0.5 ms after a hundred.
 */
const warmupPasses = 20;
/** When an engine has worked on a query for this long, it answers the query only until it has `minRuns` measured runs. */
const enoughTimeMs = 20_000;
/** Highest allowed ratio of a query for words in any field to the query for the same words in one field. */
const maxOneFieldRatio = 3;

/** Tables for warm engines: all queries with the memory after them, and queries for words in any field against one field. */
export interface WarmTables {
  readonly queries: QueryTable;
  readonly words: readonly ResultLine[];
}

/** Measures all queries on engines that have answered each of them many times. */
export async function measureWarm(dataset: QueryDataset): Promise<WarmTables> {
  const allQueries = benchmarkQueries(dataset.sample);
  const enginesToCompare = comparedEngines(dataset);
  const openedEngines: OpenedEngine[] = [];
  try {
    for (const engine of enginesToCompare) openedEngines.push(await engine.open());
    const enginesFor = (query: BenchmarkQuery): readonly (OpenedEngine | null)[] =>
      enginesToCompare.map((engine, i) => (engine.canRun(query) ? openedEngines[i]! : null));
    const timer = new QueryTimer();
    await timer.warmAll(allQueries, enginesFor);
    const title = `${dataset.records.toLocaleString('en-US')} records, warm`;
    const usualMaxRatio = isLarge(dataset.records) ? 1.2 : 1;
    const table = await measureQueryTable(
      title,
      allQueries,
      ({ maxRatio }) => maxRatio ?? usualMaxRatio,
      (query) => timer.timeQuery(query, enginesFor(query)),
    );
    const words = await measureWordSearches(timer, openedEngines[0]!, allQueries, table.times);
    table.lines.push(...memoryRows(openedEngines, dataset.records));
    return { queries: table, words };
  } finally {
    for (const engine of openedEngines) await engine.close();
  }
}

/** Sends queries repeatedly, slow queries less often. */
export class QueryTimer {
  readonly #spentMs = new Map<string, number>();
  /** The number of queries that were renewed so far. */
  #renewals = 0;

  /** Sends all queries to their engines in turn, until the engines are warm. */
  async warmAll(
    allQueries: readonly BenchmarkQuery[],
    enginesFor: (query: BenchmarkQuery) => readonly (OpenedEngine | null)[],
  ): Promise<void> {
    for (let pass = 0; pass < warmupPasses; pass++)
      for (const query of allQueries)
        for (const engine of enginesFor(query)) if (engine) await this.warm(engine, query);
  }

  /** Sends a query once, unless the engine has worked on it for long enough. A failure is ignored, because `timeQuery` reports it. */
  async warm(engine: OpenedEngine, query: BenchmarkQuery): Promise<void> {
    const key = `${engine.name}: ${query.name}`;
    const spentMs = this.#spentMs.get(key) ?? 0;
    if (spentMs >= enoughTimeMs) return;
    const elapsedMs = await engine.ask(this.#renew(query)).then(
      ({ ms }) => ms,
      () => Infinity,
    );
    this.#spentMs.set(key, spentMs + elapsedMs);
  }

  #renew(query: BenchmarkQuery): BenchmarkQuery {
    return query.renew?.(this.#renewals++) ?? query;
  }

  /** Returns the median times of the engines, which are asked in turn. */
  async timeQuery(
    query: BenchmarkQuery,
    engines: readonly (OpenedEngine | null)[],
  ): Promise<EngineTimes> {
    const askedEngines = engines.filter((engine) => engine !== null);
    for (let run = 0; run < warmupRuns; run++)
      for (const engine of askedEngines) await this.warm(engine, query);
    const engineTimes = engines.map((): number[] => []);
    for (let run = 0; run < measuredRuns; run++) {
      const renewedQuery = this.#renew(query);
      const answers = [];
      for (const [i, engine] of engines.entries()) {
        if (engine === null) continue;
        const key = `${engine.name}: ${query.name}`;
        const spentMs = this.#spentMs.get(key) ?? 0;
        if (run >= minRuns && spentMs >= enoughTimeMs) continue;
        const answer = await engine.ask(renewedQuery);
        engineTimes[i]!.push(answer.ms);
        this.#spentMs.set(key, spentMs + answer.ms);
        answers.push(answer);
        if (run === 0) checkAgreement(renewedQuery, answers[0]!, engine.name, answer);
      }
    }
    return engineTimes.map((each) => (each.length === 0 ? null : median(each)));
  }
}

/** Returns the query for the words of another query in the only field that contains them. */
function queryInOneField({ renew, ...query }: BenchmarkQuery, name: string): BenchmarkQuery {
  return {
    ...query,
    name,
    request: query.oneFieldRequest!,
    ...(renew && { renew: (number) => queryInOneField(renew(number), name) }),
  };
}

/** Compares queries for words in any field with the same words in the field that contains them. */
async function measureWordSearches(
  timer: QueryTimer,
  strandlake: OpenedEngine,
  allQueries: readonly BenchmarkQuery[],
  times: ReadonlyMap<string, number>,
): Promise<readonly ResultLine[]> {
  const lines: ResultLine[] = [];
  for (const query of allQueries) {
    const { name } = query;
    const anywhereMs = times.get(name);
    if (query.oneFieldRequest === undefined || anywhereMs === undefined) continue;
    const line = lineOrFailure(name, async () => {
      const oneField = queryInOneField(query, `${name}, in one field`);
      for (let pass = 0; pass < warmupPasses; pass++) await timer.warm(strandlake, oneField);
      const [oneFieldMs] = await timer.timeQuery(oneField, [strandlake]);
      checkAgreement(
        query,
        await strandlake.ask(query),
        'one field',
        await strandlake.ask(oneField),
      );
      return {
        measurement: name,
        ours: `${anywhereMs.toFixed(1)} ms`,
        peer: `in one field ${oneFieldMs!.toFixed(1)} ms`,
        ratio: anywhereMs / oneFieldMs!,
        limit: maxOneFieldRatio,
      };
    });
    lines.push(await line);
  }
  return lines;
}

/**
 * Returns rows with the memory of the processes after all queries. If the dataset fits into the cache of columns, Strandlake is compared
 * with DuckDB; for a larger dataset, the settings limit the memory.
 */
function memoryRows(engines: readonly OpenedEngine[], records: number): readonly string[] {
  const peakMb = engines.map(({ pid }) => peakResidentMb(pid));
  const currentMb = engines.map(({ pid }) => residentMb(pid));
  const { apiMemoryMb, queryCacheMb } = parseConfig([], process.env);
  const allowedMb = apiMemoryMb + queryCacheMb;
  const [comparedMb, limit, name] = isLarge(records)
    ? [allowedMb, 1.25, `of the settings, ${allowedMb} MB`]
    : [peakMb[1]!, 1.5, 'of DuckDB'];
  const ratio = peakMb[0]! / comparedMb;
  const valuesText = (values: readonly number[]): string =>
    values.map((mb) => mb.toFixed(0)).join(' | ');
  const verdict = `${ratio.toFixed(2)} | ${limit} ${name} | ${ratio <= limit ? 'kept' : 'missed'}`;
  return [
    `| peak memory of the process, MB | ${valuesText(peakMb)} | ${verdict} |`,
    `| memory after all queries, MB | ${valuesText(currentMb)} | - | - | |`,
  ];
}
