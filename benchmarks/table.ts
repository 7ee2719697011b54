import { readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, totalmem } from 'node:os';
import { join } from 'node:path';

/** A row of a result table. `limit` is the highest allowed ratio, or null if the row has none. */
export interface ResultLine {
  readonly measurement: string;
  readonly ours: string;
  readonly peer: string;
  readonly ratio: number | null;
  readonly limit: number | null;
}

/** Returns the median; of an even number of values, the lower of the two middle ones. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}

/** Formats rows as a Markdown table. */
export function markdownTable(lines: readonly ResultLine[]): string {
  const rows = lines.map(({ measurement, ours, peer, ratio, limit }) => {
    const ratioText = ratio === null ? '-' : ratio.toFixed(2);
    const keptText = ratio === null || limit === null ? '' : ratio <= limit ? 'kept' : 'missed';
    return `| ${measurement} | ${ours} | ${peer} | ${ratioText} | ${limit ?? '-'} | ${keptText} |`;
  });
  const head = [
    '| Measurement | Strandlake | Peer | Ratio | Limit | |',
    '|---|---|---|---|---|---|',
  ];
  return [...head, ...rows].join('\n');
}

/** Measures a row of a result table. If that fails, the row is reported as failed and the run continues. */
export async function lineOrFailure(
  measurement: string,
  measure: () => Promise<ResultLine>,
): Promise<ResultLine> {
  try {
    return await measure();
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${measurement}: ${String(error)}\n`);
    return { measurement, ours: 'failed', peer: '-', ratio: null, limit: null };
  }
}

/** Returns the date, the machine and the versions of the compared programs in one line. */
export function machineText(versions: Readonly<Record<string, string>>): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB`;
  const cores = `${cpus().length} cores (${cpus()[0]?.model ?? arch()})`;
  const day = new Date().toISOString().slice(0, 10);
  return `${day}, ${cores}, ${memory}, Node ${process.versions.node}, ${list.join(', ')}`;
}

/** Replaces the result with the name `name` in benchmarks/README.md by `text`. */
export function writeResult(name: string, text: string): void {
  const file = join('benchmarks', 'README.md');
  const page = readFileSync(file, 'utf8');
  const [from, to] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [start, end] = [page.indexOf(from), page.indexOf(to)];
  if (start === -1 || end < start)
    throw new Error(
      `${file} has no section for ${name}: add <!-- ${name} --> and <!-- end of ${name} -->`,
    );
  writeFileSync(file, `${page.slice(0, start + from.length)}\n\n${text}\n\n${page.slice(end)}`);
}
