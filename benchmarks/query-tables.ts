import { version as duckdbVersion } from '@duckdb/node-api';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { cacheFolder } from './generate.js';
import { type PeerStatement, type QueryPeer, startPeer } from './peers/query-peer.js';

/**
 * Columns of the tables of the peer engines. Members of objects are columns of their own, which is the fastest layout for these
 * engines.
 */
const tableColumns: readonly (readonly [name: string, source: string, clickhouse: string])[] = [
  ['_id', '_id', 'String'],
  ['_commit', '_commit', 'LowCardinality(String)'],
  ['build', 'genomic_coordinates.build', 'LowCardinality(Nullable(String))'],
  ['chromosome', 'genomic_coordinates.chromosome', 'LowCardinality(String)'],
  ['start', 'genomic_coordinates."start"', 'Int64'],
  ['stop', 'genomic_coordinates.stop', 'Int64'],
  ['variant', 'variant', 'String'],
  ['allele', 'allele', 'Nullable(String)'],
  ['row_id', 'row_id', 'Nullable(String)'],
  ['reference_allele', 'reference_allele', 'LowCardinality(Nullable(String))'],
  ['alternate_alleles', 'alternate_alleles', 'Array(Nullable(String))'],
  ['qual', 'qual', 'Nullable(Float64)'],
  ['filter', 'filter', 'Array(LowCardinality(Nullable(String)))'],
  ['AC', 'info.AC', 'Array(Nullable(Int32))'],
  ['AF', 'info.AF', 'Array(Nullable(Float64))'],
  ['AN', 'info.AN', 'Nullable(Int32)'],
  ['DP', 'info.DP', 'Nullable(Int32)'],
  ['MQ', 'info.MQ', 'Nullable(Float64)'],
  ['AD', 'info.AD', 'Array(Nullable(Int32))'],
  ['GENE', 'info.GENE', 'LowCardinality(Nullable(String))'],
  ['CSQ', 'info.CSQ', 'Array(LowCardinality(Nullable(String)))'],
  ['CLNSIG', 'info.CLNSIG', 'LowCardinality(Nullable(String))'],
  ['RS', 'info.RS', 'Nullable(Int32)'],
  ['SCORE', 'info.SCORE', 'Nullable(Float64)'],
  ['SOMATIC', 'info.SOMATIC', 'Nullable(Bool)'],
  ['DB', 'info.DB', 'Nullable(Bool)'],
  ['CLNDN', 'info.CLNDN', 'Nullable(String)'],
];

const clickhouseTable = `CREATE TABLE t (
  ${tableColumns.map(([name, , type]) => `"${name}" ${type}`).join(', ')},
  INDEX by_variant variant TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX by_gene GENE TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX by_stop stop TYPE minmax GRANULARITY 1,
  INDEX by_word CLNDN TYPE text(tokenizer = 'splitByNonAlpha', preprocessor = lower(CLNDN))
) ENGINE = MergeTree ORDER BY (chromosome, "start")`;

/**
 * The columns that hold the strings of a record, including the elements of lists but not reserved columns; a word without a field is
 * searched in these columns.
 */
export const stringColumns: readonly { readonly name: string; readonly isList: boolean }[] =
  tableColumns
    .filter(([name, , type]) => !name.startsWith('_') && type.includes('String'))
    .map(([name, , type]) => ({ name, isList: type.startsWith('Array') }));

/** Returns the versions of the peer engines. Throws if one is missing, so that a run fails before its long steps. */
export function peerVersions(): Readonly<Record<string, string>> {
  let chdb: { readonly version: string };
  try {
    const requireFromInterop = createRequire(resolve('test', 'interop', 'run.mjs'));
    const entry = requireFromInterop.resolve('chdb');
    const root = entry.slice(0, entry.lastIndexOf('chdb') + 'chdb'.length);
    chdb = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as typeof chdb;
  } catch (cause) {
    const hint = 'it is installed by `npm run bench -- query`, or by `npm run test:interop`';
    throw new Error(`chdb, a peer of this benchmark, is missing: ${hint}`, { cause });
  }
  return { DuckDB: duckdbVersion(), chdb: chdb.version };
}

/** Returns the folder of the peer engines' tables with `records` records. */
export const tablesFolder = (records: number): string => resolve(cacheFolder, `query-${records}`);

/** Starts DuckDB on its table file; the table is called `t`. */
export function openDuckdb(records: number): Promise<QueryPeer> {
  return startPeer('DuckDB', 'query-duckdb.js', [join(tablesFolder(records), 'peer.duckdb')]);
}

/** Starts ClickHouse on its folder; the table is called `t`. */
export function openChdb(records: number): Promise<QueryPeer> {
  const folder = join(tablesFolder(records), 'chdb');
  return startPeer('chdb', 'query-chdb.js', [process.cwd(), folder]);
}

/**
 * Creates the tables of the peer engines from the dataset's files, unless the cache has them, made by the same versions and definitions. A
 * file that is written last marks the tables as complete; if it is missing, as after an interrupted run, they are created again.
 */
export async function makeTables(
  source: string,
  records: number,
  segments: readonly string[],
): Promise<void> {
  const versions = Object.values(peerVersions()).join(' ');
  const folder = tablesFolder(records);
  const markFile = join(folder, 'made');
  const sourceMark = JSON.stringify([source, versions, tableColumns, clickhouseTable]);
  if (existsSync(markFile) && readFileSync(markFile, 'utf8') === sourceMark) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const flatFile = join(folder, 'flat.parquet');
  await fillTables(await openDuckdb(records), duckdbStatements(segments, flatFile));
  await fillTables(await openChdb(records), [
    clickhouseTable,
    `INSERT INTO t SELECT * FROM file('flat.parquet')`,
    'OPTIMIZE TABLE t FINAL',
  ]);
  rmSync(flatFile);
  writeFileSync(markFile, sourceMark);
}

function duckdbStatements(segments: readonly string[], flatFile: string): readonly string[] {
  const files = segments.map((file) => `'${file}'`).join(', ');
  const select = tableColumns.map(([name, source]) => `${source} AS "${name}"`).join(', ');
  return [
    `CREATE TABLE t AS SELECT ${select} FROM read_parquet([${files}], union_by_name = true)`,
    'CREATE INDEX by_variant ON t (variant)',
    'CHECKPOINT',
    `COPY t TO '${flatFile}' (FORMAT parquet, COMPRESSION zstd)`,
  ];
}

/**
 * Runs statements that fill a table, and then ends the process of the engine, so that the memory of the statements does not count towards
 * that of the queries.
 */
async function fillTables(peer: QueryPeer, statements: readonly string[]): Promise<void> {
  try {
    for (const sql of statements) {
      const statement: PeerStatement = { sql, shape: 'values' };
      const { ms } = await peer.run([statement]);
      process.stderr.write(
        `${peer.name}: ${sql.slice(0, 60).split('\n')[0]}… ${(ms / 1000).toFixed(1)} s\n`,
      );
    }
  } finally {
    await peer.stop();
  }
}
