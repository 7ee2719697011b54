import type { BenchmarkQuery } from './benchmark-queries.js';

/** Milliseconds of Strandlake, followed by those of the peer engines; null for an engine that is not asked. */
export type EngineTimes = readonly (number | null)[];

/** A table with a row for each query, and Strandlake's milliseconds by the name of the query. */
export interface QueryTable {
  readonly lines: string[];
  readonly times: ReadonlyMap<string, number>;
}

/** Measures all queries. A query that fails, or whose answers differ, is reported as failed; the run continues. */
export async function measureQueryTable(
  title: string,
  queries: readonly BenchmarkQuery[],
  limitOf: (query: BenchmarkQuery) => number,
  measure: (query: BenchmarkQuery) => Promise<EngineTimes>,
): Promise<QueryTable> {
  const lines = [
    `**${title}**\n`,
    '| Measurement | Strandlake ms | DuckDB ms | chdb ms | Ratio to the better | Limit | |',
    '|---|---|---|---|---|---|---|',
  ];
  const timesByQuery = new Map<string, number>();
  for (const query of queries) {
    const limit = limitOf(query);
    try {
      const queryTimes = await measure(query);
      timesByQuery.set(query.name, queryTimes[0]!);
      lines.push(tableRowOf(query.name, queryTimes, limit));
    } catch (error) {
      process.exitCode = 1;
      process.stderr.write(`${String(error)}\n`);
      lines.push(`| ${query.name} | - | - | - | - | ${limit} | failed |`);
    }
    process.stderr.write(`${lines.at(-1)!}\n`);
  }
  return { lines, times: timesByQuery };
}

function tableRowOf(name: string, [ours, ...theirs]: EngineTimes, limit: number): string {
  const ratio = ours! / Math.min(...theirs.filter((ms) => ms !== null));
  const shownTimes = [ours!, ...theirs].map((ms) => ms?.toFixed(1) ?? '-');
  const verdict = ratio <= limit ? 'kept' : 'missed';
  return `| ${[name, ...shownTimes, ratio.toFixed(2), limit, verdict].join(' | ')} |`;
}
