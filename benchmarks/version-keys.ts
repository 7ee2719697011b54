import { join } from 'node:path';
import type { ResultLine } from './table.js';
import {
  changeRecords,
  fetchLastCommitId,
  measuredRuns,
  measureSeconds,
  resultLineOfChangeAfterWarmup,
  warmupRuns,
  writeIdFile,
  type VersionsSetup,
} from './version-changes.js';

const idFields = ['variant'];
const onVariant = 'ON k.variant = g.variant';

/**
 * Measures upserts and deletes of random records by `id_fields`, and upserts of a hundred records; Strandlake rolls each change back.
 * DuckDB changes a table of its own with a unique index on the field; the table is dropped at the end.
 */
export async function measureKeyedChanges(setup: VersionsSetup): Promise<readonly ResultLine[]> {
  const { duckdb, fewRecords } = setup;
  await duckdb.run('CREATE TABLE k AS FROM t');
  await duckdb.run('CREATE UNIQUE INDEX variants ON k (variant)');
  await duckdb.run('CHECKPOINT');
  const lines = [
    await upsertLine(setup, fewRecords),
    await deleteLine(setup),
    await upsertLine(setup, 100),
  ];
  await duckdb.run('DROP TABLE k');
  await duckdb.run('CHECKPOINT');
  return lines;
}

async function upsertLine(setup: VersionsSetup, count: number): Promise<ResultLine> {
  const { server, duckdb, records } = setup;
  const values = 'gene = g.gene, significance = g.significance, depth = g.depth, frequency = g.frequency, remark = g.remark'; // prettier-ignore
  const [ours, theirs]: [number[], number[]] = [[], []];
  // Records that DuckDB has not inserted again in an earlier measurement: of 5 million, those from 3.7 and from 4.1 million on.
  const firstRun = count === setup.fewRecords ? 37 : 41_000;
  for (let run = 0; run < warmupRuns + measuredRuns; run++) {
    const columns = '* EXCLUDE (_id, _commit) REPLACE (depth + 1 AS depth)';
    const file = await writeKeyFile({ ...setup, fewRecords: count }, firstRun + run, columns);
    const objectId = await server.upload(file);
    ours.push(await changeRecords(setup, objectId, records, 'upsert', idFields));
    theirs.push(await measureSeconds(() => duckdb.run(`MERGE INTO k USING (FROM read_json('${file}')) AS g ${onVariant} WHEN MATCHED THEN UPDATE SET ${values}`))); // prettier-ignore
    await rollBackLastCommit(setup);
  }
  return resultLineOfChangeAfterWarmup(`upsert of ${count.toLocaleString('en-US')} records by variant`, ours, 'DuckDB MERGE', theirs, null); // prettier-ignore
}

async function deleteLine(setup: VersionsSetup): Promise<ResultLine> {
  const { server, duckdb, records, fewRecords } = setup;
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let run = 0; run < warmupRuns + measuredRuns; run++) {
    const file = await writeKeyFile(setup, 61 + run, 'variant');
    await duckdb.run(`CREATE OR REPLACE TABLE gone AS SELECT k.* FROM k SEMI JOIN read_json('${file}') AS g ${onVariant}`); // prettier-ignore
    const objectId = await server.upload(file);
    ours.push(await changeRecords(setup, objectId, records - fewRecords, 'delete', idFields));
    theirs.push(await measureSeconds(() => duckdb.run(`DELETE FROM k USING read_json('${file}') AS g WHERE k.variant = g.variant`))); // prettier-ignore
    await duckdb.run('INSERT INTO k FROM gone');
    await rollBackLastCommit(setup);
  }
  const measurement = `delete of ${fewRecords.toLocaleString('en-US')} records by variant`;
  return resultLineOfChangeAfterWarmup(measurement, ours, 'DuckDB DELETE', theirs, 0.5);
}

/** Writes a file of random records, with the given columns, in random order, as JSON lines. */
export async function writeKeyFile(
  setup: VersionsSetup,
  run: number,
  columns: string,
): Promise<string> {
  const file = join(setup.folder, `keys-${run}.json`);
  await setup.duckdb.run(`COPY (SELECT ${columns} FROM t SEMI JOIN read_json('${writeIdFile(setup, run)}') AS g ON t._id = g._id ORDER BY hash(t._id)) TO '${file}' (FORMAT json)`); // prettier-ignore
  return file;
}

async function rollBackLastCommit({ server, datasetId }: VersionsSetup): Promise<void> {
  await server.call('POST', `/v2/dataset_commits/${await fetchLastCommitId(server, datasetId)}/rollback`); // prettier-ignore
}
