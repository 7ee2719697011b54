import { version as duckdbVersion } from '@duckdb/node-api';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { cache } from './generate.js';
import { type PeerStatement, type QueryPeer, startPeer } from './peers/query-peer.js';

/** Columns of the peers' tables. Members of objects are columns of their own there, which is the fastest layout for the peers. */
const columns: readonly (readonly [name: string, source: string, clickhouse: string])[] = [
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
  ${columns.map(([name, , type]) => `"${name}" ${type}`).join(', ')},
  INDEX by_variant variant TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX by_gene GENE TYPE bloom_filter(0.01) GRANULARITY 1,
  INDEX by_stop stop TYPE minmax GRANULARITY 1,
  INDEX by_word CLNDN TYPE text(tokenizer = 'splitByNonAlpha', preprocessor = lower(CLNDN))
) ENGINE = MergeTree ORDER BY (chromosome, "start")`;

/** Both peers. Each has a table `t` with the same records. */
export interface Peers {
  readonly duckdb: QueryPeer;
  readonly chdb: QueryPeer;
  stop(): Promise<void>;
}

/** Versions of the peers. Throws when one is missing, so that a run fails before its long steps. */
export function peerVersions(): Readonly<Record<string, string>> {
  let chdb: { readonly version: string };
  try {
    const from = createRequire(resolve('test', 'interop', 'run.mjs'));
    const entry = from.resolve('chdb');
    const root = entry.slice(0, entry.lastIndexOf('chdb') + 'chdb'.length);
    chdb = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as typeof chdb;
  } catch (cause) {
    const hint = 'it is installed by `npm run bench -- query`, or by `npm run test:interop`';
    throw new Error(`chdb, a peer of this benchmark, is missing: ${hint}`, { cause });
  }
  return { DuckDB: duckdbVersion(), chdb: chdb.version };
}

/**
 * Starts the peers. Their tables are made from the dataset's files once and kept in the cache. A file that is written last marks
 * them as complete; without it, as after an interrupted run, they are made again.
 */
export async function startPeers(
  source: string,
  records: number,
  segments: readonly string[],
): Promise<Peers> {
  const versions = Object.values(peerVersions()).join(' ');
  const folder = resolve(cache, `query-${records}`);
  const mark = join(folder, 'made');
  const wanted = JSON.stringify([source, versions, columns, clickhouseTable]);
  const isMade = existsSync(mark) && readFileSync(mark, 'utf8') === wanted;
  if (!isMade) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const flat = join(folder, 'flat.parquet');
  const started: QueryPeer[] = [];
  const stop = async (): Promise<void> => {
    for (const peer of started) await peer.stop();
  };
  try {
    const file = join(folder, 'peer.duckdb');
    let duckdb = await startPeer('DuckDB', 'query-duckdb.js', [file]);
    started.push(duckdb);
    if (!isMade) {
      await make(duckdb, duckdbStatements(segments, flat));
      await duckdb.stop(); // a new process, whose peak memory is that of the queries alone
      duckdb = await startPeer('DuckDB', 'query-duckdb.js', [file]);
      started.push(duckdb);
    }
    const args = [process.cwd(), join(folder, 'chdb')];
    let chdb = await startPeer('chdb', 'query-chdb.js', args);
    started.push(chdb);
    if (!isMade) {
      await make(chdb, [clickhouseTable, `INSERT INTO t SELECT * FROM file('flat.parquet')`]);
      await make(chdb, ['OPTIMIZE TABLE t FINAL']);
      await chdb.stop();
      chdb = await startPeer('chdb', 'query-chdb.js', args);
      started.push(chdb);
      rmSync(flat);
      writeFileSync(mark, wanted);
    }
    return { duckdb, chdb, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function duckdbStatements(segments: readonly string[], flat: string): readonly string[] {
  const files = segments.map((file) => `'${file}'`).join(', ');
  const select = columns.map(([name, source]) => `${source} AS "${name}"`).join(', ');
  return [
    `CREATE TABLE t AS SELECT ${select} FROM read_parquet([${files}], union_by_name = true)`,
    'CREATE INDEX by_variant ON t (variant)',
    'CHECKPOINT',
    `COPY t TO '${flat}' (FORMAT parquet, COMPRESSION zstd)`,
  ];
}

async function make(peer: QueryPeer, statements: readonly string[]): Promise<void> {
  for (const sql of statements) {
    const statement: PeerStatement = { sql, shape: 'values' };
    const { ms } = await peer.run([statement]);
    process.stderr.write(
      `${peer.name}: ${sql.slice(0, 60).split('\n')[0]}… ${(ms / 1000).toFixed(1)} s\n`,
    );
  }
}
