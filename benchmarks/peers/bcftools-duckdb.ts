import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '../generate.js';
import type { PeerColumn } from './columns.js';
import type { Peer } from './peer.js';

const toParquetScript = fileURLToPath(new URL('./to-parquet.js', import.meta.url));

/** Returns the version of the installed bcftools; undefined if there is none. */
export function bcftoolsVersion(): string | undefined {
  const { status, stdout } = spawnSync('bcftools', ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.split('\n')[0]?.replace('bcftools ', '') : undefined;
}

/**
 * The alternative to importing a VCF: bcftools writes text, and DuckDB turns the text into Parquet with zstd. The two programs are
 * connected by a pipe or by a file; the limit applies to the faster combination.
 */
export function bcftoolsPeers(columns: readonly PeerColumn[]): readonly Peer[] {
  return [
    {
      name: 'bcftools to DuckDB, pipe',
      version: bcftoolsVersion,
      run: (vcf, records) => timePeer(records, (out) => pipeThroughBcftools(vcf, columns, out)),
    },
    {
      name: 'bcftools to DuckDB, file',
      version: bcftoolsVersion,
      run: (vcf, records) => timePeer(records, (out) => convertViaTextFile(vcf, columns, out)),
    },
  ];
}

function bcftoolsFormatOf(columns: readonly PeerColumn[]): string {
  return `${columns.map((column) => column.format).join('\\t')}\\n`;
}

async function timePeer(
  records: number,
  work: (target: string) => Promise<number>,
): Promise<number> {
  const target = join(cacheFolder, 'peer.parquet');
  rmSync(target, { force: true });
  const from = performance.now();
  const rows = await work(target);
  const seconds = (performance.now() - from) / 1000;
  rmSync(target, { force: true });
  if (rows !== records) throw new Error(`the peer wrote ${rows} of ${records} records`);
  return seconds;
}

/**
 * Runs bcftools and DuckDB through the shell: DuckDB needs a real pipe, and Node's are sockets. If bcftools fails, the record count shows
 * it.
 */
async function pipeThroughBcftools(
  vcf: string,
  columns: readonly PeerColumn[],
  target: string,
): Promise<number> {
  const script = 'bcftools query -f "$1" "$2" | "$3" "$4" /dev/stdin "$5" "$6"';
  const columnsJson = JSON.stringify(columns);
  const format = bcftoolsFormatOf(columns);
  const args = [
    '-c',
    script,
    'sh',
    format,
    vcf,
    process.execPath,
    toParquetScript,
    target,
    columnsJson,
  ];
  return readNumberFromStdout(spawn('sh', args, { stdio: ['ignore', 'pipe', 'inherit'] }));
}

async function convertViaTextFile(
  vcf: string,
  columns: readonly PeerColumn[],
  target: string,
): Promise<number> {
  const textFile = join(cacheFolder, 'peer.tsv');
  const args = ['query', '-f', bcftoolsFormatOf(columns), '-o', textFile, vcf];
  await waitForExit(spawn('bcftools', args, { stdio: ['ignore', 'ignore', 'inherit'] }));
  const rows = await readNumberFromStdout(
    spawn(process.execPath, [toParquetScript, textFile, target, JSON.stringify(columns)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  rmSync(textFile);
  return rows;
}

async function readNumberFromStdout(child: ChildProcess): Promise<number> {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => (text += part));
  await waitForExit(child);
  return Number(text);
}

async function waitForExit(child: ChildProcess): Promise<void> {
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code !== 0) throw new Error(`${child.spawnfile} ended with ${signal ?? code}`);
}
