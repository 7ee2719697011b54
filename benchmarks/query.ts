import { measureCold } from './query-cold.js';
import { measureCommits } from './query-commits.js';
import { prepareQueryDataset } from './query-dataset.js';
import { measureExport } from './query-export.js';
import { measureFirstPage } from './query-first-page.js';
import { type SizeResult, growthLines, measureAtSize } from './query-growth.js';
import { peerVersions } from './query-tables.js';
import { measureThroughput } from './query-throughput.js';
import { measureWarm } from './query-warm.js';
import { lineOrFailure, machineText, markdownTable, writeResult } from './table.js';

/** Numbers of records; the second number is more than the cache of columns holds. */
const datasetSizes = [5_000_000, 50_000_000];
const quickDatasetSizes = [20_000];

/** The parts of the benchmark `query`; the flag `--<name>` selects a part. */
const benchmarkParts = ['warm', 'cold', 'growth', 'export', 'start'] as const;
type BenchmarkPart = (typeof benchmarkParts)[number];

/**
 * `npm run bench -- query`: compares every kind of query with DuckDB on its own table and with ClickHouse with its indexes, on warm engines
 * and on engines that have just been opened. `--throughput` and `--commits` are other measurements; `--all` runs all three.
 */
export async function runQueries(flags: ReadonlySet<string>): Promise<void> {
  const versions = peerVersions();
  const isQuick = flags.has('--quick');
  const givenSizes = numbersOfFlag(flags, 'records');
  const chosenSizes =
    givenSizes.length > 0 ? givenSizes : isQuick ? quickDatasetSizes : datasetSizes;
  const isFresh = flags.has('--import');
  const isAll = flags.has('--all');
  const isOther = flags.has('--throughput') || flags.has('--commits');
  const selectedParts = benchmarkParts.filter((part) => flags.has(`--${part}`));
  const numberOfFlag = (name: string, usual: number): number =>
    numbersOfFlag(flags, name)[0] ?? usual;
  const write = (name: string, text: string): void => {
    if (flags.has('--write')) writeResult(name, text);
  };
  if (isAll || !isOther) {
    const wantedParts = new Set(selectedParts.length > 0 ? selectedParts : benchmarkParts);
    // The results are written after each table, so that an interrupted run keeps the finished tables. A run of selected parts only prints
    // its tables, so that it does not replace the results of a complete run.
    await compareEngines(chosenSizes, wantedParts, isFresh, (text) => {
      if (selectedParts.length === 0) write('query', `${text}\n\n${machineText(versions)}`);
    });
  }
  const { DuckDB = '' } = versions;
  const writeOtherTable = (name: string, table: string): void => {
    const text = `${table}\n\n${machineText({ DuckDB })}`;
    process.stdout.write(`${text}\n`);
    write(name, text);
  };
  if (isAll || flags.has('--throughput')) {
    const dataset = await prepareQueryDataset(chosenSizes[0]!, isFresh && !isAll);
    writeOtherTable('query-throughput', await measureThroughput(dataset, numberOfFlag, isQuick));
  }
  if (isAll || flags.has('--commits'))
    writeOtherTable('query-commits', await measureCommits(numberOfFlag, isQuick));
}

/** Prints the tables of all sizes; `write` is called with all tables so far after each new table. */
async function compareEngines(
  sizesToCompare: readonly number[],
  wantedParts: ReadonlySet<BenchmarkPart>,
  isFresh: boolean,
  write: (text: string) => void,
): Promise<void> {
  const tables: string[] = [];
  const add = (table: string): void => {
    process.stdout.write(`${table}\n\n`);
    tables.push(table);
    write(tables.join('\n\n'));
  };
  const results: SizeResult[] = [];
  for (const records of sizesToCompare) {
    const size = `${records.toLocaleString('en-US')} records`;
    const dataset = await prepareQueryDataset(records, isFresh);
    const warm = wantedParts.has('warm') ? await measureWarm(dataset) : undefined;
    if (warm) add(warm.queries.lines.join('\n'));
    const cold = wantedParts.has('cold') ? await measureCold(dataset) : undefined;
    if (cold) add(cold.lines.join('\n'));
    const otherRows = [
      ...(warm?.words ?? []),
      ...(wantedParts.has('export')
        ? [await lineOrFailure('CSV export of all records', () => measureExport(dataset))]
        : []),
    ];
    if (otherRows.length > 0) add(`**${size}, words and export**\n\n${markdownTable(otherRows)}`);
    if (!wantedParts.has('growth') || sizesToCompare.length === 1) continue;
    results.push(
      warm && cold
        ? { dataset, warm: warm.queries.times, cold: cold.times }
        : await measureAtSize(dataset),
    );
  }
  const [small, ...larger] = results;
  for (const large of larger) {
    const [largeText, smallText] = [large, small!].map(({ dataset }) =>
      dataset.records.toLocaleString('en-US'),
    );
    add(
      `**${largeText} records against ${smallText}**\n\n${markdownTable(growthLines(large, small!))}`,
    );
  }
  if (wantedParts.has('start')) {
    const line = await lineOrFailure('first page of the bundled ClinVar', measureFirstPage);
    add(`**After a start**\n\n${markdownTable([line])}`);
  }
}

/**
 * Returns the numbers in a flag of the command line, such as `--records=200000` or `--records=20000,200000`; empty if the flag is absent.
 */
function numbersOfFlag(flags: ReadonlySet<string>, name: string): readonly number[] {
  const flag = [...flags].find((one) => one.startsWith(`--${name}=`));
  const values = flag?.slice(name.length + 3).split(',') ?? [];
  return values.map((text) => {
    const value = Number(text);
    if (text === '' || !(value >= 0))
      throw new Error(`--${name} wants a number, as in --${name}=10`);
    return value;
  });
}
