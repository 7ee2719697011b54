import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { HttpConnectionPool } from './connections.js';
import type { BenchServer } from './server.js';
import { median, type ResultLine } from './table.js';

export const measuredRuns = 9;
export const warmupRuns = 2;

/** What the measurements of the benchmark `versions` share. */
export interface VersionsSetup {
  readonly server: BenchServer;
  readonly datasetId: number;
  readonly duckdb: DuckDBConnection;
  readonly connections: HttpConnectionPool;
  readonly records: number;
  /** The number of records that a change names. */
  readonly fewRecords: number;
  /** The ids of all records, in random order. */
  readonly ids: readonly string[];
  readonly folder: string;
}

/** Writes a file of some records, with the value of `depth` increased by one, as JSON lines. */
export async function writeUpsertFile(setup: VersionsSetup, run: number): Promise<string> {
  const { duckdb, folder } = setup;
  const file = join(folder, `upsert-${run}.json`);
  await duckdb.run(`COPY (SELECT t.* EXCLUDE (_commit) REPLACE (t.depth + 1 AS depth) FROM t SEMI JOIN read_json('${writeIdFile(setup, run)}') AS g ON t._id = g._id ORDER BY hash(t._id)) TO '${file}' (FORMAT json)`); // prettier-ignore
  return file;
}

/**
 * Writes a file of the ids of random records, in random order, as JSON lines; up to `records / fewRecords` consecutive runs name different
 * records.
 */
export function writeIdFile(
  { folder, fewRecords, ids }: VersionsSetup,
  run: number,
  otherMembers = '',
): string {
  const first = (run * fewRecords) % ids.length;
  const lines = ids
    .slice(first, first + fewRecords)
    .map((id) => `{"_id":"${id}"${otherMembers}}\n`);
  const file = join(folder, `ids-${run}.json`);
  writeFileSync(file, lines.join(''));
  return file;
}

/** Changes the records that a file names by `idFields`, or else by their ids; returns the seconds that it takes. */
export async function changeRecords(
  { server, datasetId }: VersionsSetup,
  objectId: number,
  recordsLeft: number,
  mode: 'delete' | 'upsert',
  idFields?: readonly string[],
): Promise<number> {
  const importParams = { commit_mode: mode, ...(idFields && { id_fields: idFields }) };
  flushWrites();
  return server.import(datasetId, objectId, recordsLeft, undefined, importParams);
}

export async function fetchLastCommitId(server: BenchServer, datasetId: number): Promise<number> {
  const { data } = await server.call('GET', `/v2/datasets/${datasetId}/commits?limit=1`);
  return data[0]!.id;
}

export async function measureSeconds(work: () => Promise<unknown>): Promise<number> {
  flushWrites();
  const from = performance.now();
  await work();
  return (performance.now() - from) / 1000;
}

/** Writes to the disk what the other engine and the preparation have left in the page cache, so that no change waits for it. */
function flushWrites(): void {
  execFileSync('sync');
}

export function resultLineOfChange(
  measurement: string,
  ours: readonly number[],
  peer: string,
  theirs: readonly number[],
  limit: number | null,
): ResultLine {
  const [ourMedian, theirMedian] = [median(ours), median(theirs)];
  process.stderr.write(
    `${measurement}: ${timeText(ourMedian)}, ${peer} ${timeText(theirMedian)}\n`,
  );
  return {
    measurement,
    ours: timeText(ourMedian),
    peer: `${peer} ${timeText(theirMedian)}`,
    ratio: ourMedian / theirMedian,
    limit,
  };
}

/** Returns the result line of repeated changes, without the first ones, which are warm-up. */
export function resultLineOfChangeAfterWarmup(
  ...line: Parameters<typeof resultLineOfChange>
): ResultLine {
  const [measurement, ours, peer, theirs, limit] = line;
  return resultLineOfChange(
    measurement,
    ours.slice(warmupRuns),
    peer,
    theirs.slice(warmupRuns),
    limit,
  );
}

function timeText(time: number): string {
  return time < 1 ? `${(1000 * time).toFixed(1)} ms` : `${time.toFixed(2)} s`;
}
