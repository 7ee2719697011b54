import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { openConnections } from './connections.js';
import { cacheFolder, generateFile } from './generate.js';
import { recordLines } from './query-commits.js';
import { seededRandom } from './random.js';
import { segmentsOf } from './segments.js';
import { type BenchServer, startServer } from './server.js';
import {
  type ResultLine,
  lineOrFailure,
  machineText,
  markdownTable,
  writeResult,
} from './table.js';
import {
  changeRecords,
  fetchLastCommitId,
  measuredRuns,
  measureSeconds,
  resultLineOfChange,
  resultLineOfChangeAfterWarmup,
  warmupRuns,
  writeIdFile,
  writeUpsertFile,
  type VersionsSetup,
} from './version-changes.js';
import { measureKeyedChanges, writeKeyFile } from './version-keys.js';
import { measureQueries, sortedRollbackLine } from './version-queries.js';

const seed = 12;
/** The sum of the defaults of `--api-memory-mb` and `--worker-memory-mb`, with which the server runs. */
const memorySettingsMb = 1_024 + 1_024;

/**
 * `npm run bench -- versions`: compares deletes, upserts, rollbacks and archives with DuckDB on its own table with an index on the id
 * (changes in both are durable), and queries of changed and of earlier versions with queries of the newest version.
 */
export async function runVersions(flags: ReadonlySet<string>): Promise<void> {
  const isQuick = flags.has('--quick');
  const givenSizes = [...flags].flatMap((flag) => /^--records=(\d+)$/.exec(flag)?.[1] ?? []);
  const records = givenSizes.length > 0 ? Number(givenSizes[0]) : isQuick ? 20_000 : 5_000_000;
  const folder = join(cacheFolder, 'versions');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const file = await generateFile(`versions-${records}.jsonl`, () => recordLines(0, records));
  const server = await startServer();
  const instance = await DuckDBInstance.create(join(folder, 'peer.duckdb'), { threads: '2' });
  try {
    const datasetId = await importFile(server, 'versions', file, records);
    const duckdb = await instance.connect();
    const segments = segmentsOf(server.data, datasetId).map((path) => `'${path}'`);
    await duckdb.run(`CREATE TABLE t AS FROM read_parquet([${segments.join(', ')}])`);
    await duckdb.run('CREATE UNIQUE INDEX ids ON t (_id)');
    await duckdb.run('CHECKPOINT');
    const connections = openConnections(server.origin, server.token, 1);
    const fewRecords = Math.min(100_000, records / 50);
    const ids = shuffledIds((await duckdb.runAndReadAll('SELECT _id FROM t')).getRows().map(([id]) => String(id))); // prettier-ignore
    const setup = { server, datasetId, duckdb, connections, records, fewRecords, ids, folder };
    const linesOfChanges = [
      ...(await measureDeletes(setup)),
      ...(await measureUpserts(setup)),
      await lineOrFailure('rollback after an upsert', () => readdingLine(setup)),
      ...(await measureKeyedChanges(setup)),
      ...(await memoryLines(setup)),
      await lineOrFailure('rollback of an append', () => measureAppend(setup)),
    ];
    // Imported only now, because the lines above include the memory of the server.
    const unchangedId = await importFile(server, 'unchanged', file, records);
    const lines = [
      ...linesOfChanges,
      ...(await measureQueries(setup, unchangedId, 'upserts')),
      await lineOrFailure('rollback after a sort', () => sortedRollbackLine(setup)),
      await lineOrFailure('archive and restore', () => measureArchive(setup)),
      ...(await measureQueries(setup, unchangedId, 'deletes')),
    ];
    connections.close();
    const version = String((await duckdb.runAndReadAll('SELECT version()')).getRows()[0]?.[0]);
    const text = `${markdownTable(lines)}\n\n${machineText({ DuckDB: version })}`;
    process.stdout.write(`${text}\n`);
    if (flags.has('--write')) writeResult('versions', text);
  } finally {
    instance.closeSync();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Imports a file of records into a new dataset, and returns its id. */
async function importFile(
  server: BenchServer,
  name: string,
  file: string,
  records: number,
): Promise<number> {
  const datasetId = await server.createDataset(name);
  await server.import(datasetId, await server.upload(file), records);
  await server.waitUntilIdle();
  return datasetId;
}

/**
 * Measures deletes of random records and their rollbacks, several times, of which the first are warm-up. Instead of a rollback, DuckDB
 * inserts the deleted records again.
 */
async function measureDeletes(setup: VersionsSetup): Promise<readonly ResultLine[]> {
  const { server, datasetId, duckdb, records, fewRecords } = setup;
  const secondsByStep: Record<'deletes' | 'theirDeletes' | 'rollbacks' | 'theirInserts', number[]> =
    {
      deletes: [],
      theirDeletes: [],
      rollbacks: [],
      theirInserts: [],
    };
  for (let run = 0; run < warmupRuns + measuredRuns; run++) {
    const file = writeIdFile(setup, run);
    await duckdb.run(`CREATE OR REPLACE TABLE gone AS SELECT t.* FROM t SEMI JOIN read_json('${file}') AS g ON t._id = g._id`); // prettier-ignore
    const objectId = await server.upload(file);
    secondsByStep.deletes.push(
      await changeRecords(setup, objectId, records - fewRecords, 'delete'),
    );
    secondsByStep.theirDeletes.push(await measureSeconds(() => duckdb.run(`DELETE FROM t USING read_json('${file}') AS g WHERE t._id = g._id`))); // prettier-ignore
    const commitId = await fetchLastCommitId(server, datasetId);
    secondsByStep.rollbacks.push(await measureSeconds(() => server.call('POST', `/v2/dataset_commits/${commitId}/rollback`))); // prettier-ignore
    secondsByStep.theirInserts.push(
      await measureSeconds(() => duckdb.run('INSERT INTO t FROM gone')),
    );
  }
  const count = fewRecords.toLocaleString('en-US');
  return [
    resultLineOfChangeAfterWarmup(`delete of ${count} records by _id`, secondsByStep.deletes, 'DuckDB DELETE', secondsByStep.theirDeletes, 0.5), // prettier-ignore
    resultLineOfChangeAfterWarmup(`rollback of that`, secondsByStep.rollbacks, 'DuckDB INSERT of the same records', secondsByStep.theirInserts, 0.5), // prettier-ignore
  ];
}

/**
 * Measures upserts of random records with all fields and their rollbacks, for which DuckDB restores the earlier records, and upserts of one
 * field.
 */
async function measureUpserts(setup: VersionsSetup): Promise<readonly ResultLine[]> {
  const { server, datasetId, duckdb, records, fewRecords } = setup;
  const secondsByStep: Record<'whole' | 'theirWhole' | 'field' | 'theirField' | 'rollbacks' | 'theirRollbacks', number[]> = { whole: [], theirWhole: [], field: [], theirField: [], rollbacks: [], theirRollbacks: [] }; // prettier-ignore
  const insertOrReplace = "INSERT OR REPLACE INTO t BY NAME SELECT *, 'x' AS _commit FROM";
  for (let run = 0; run < warmupRuns + measuredRuns; run++) {
    // Other records than those of the deletes: what DuckDB has inserted again lies together at the end of its table.
    const file = await writeUpsertFile(setup, 26 + run);
    await duckdb.run(`CREATE OR REPLACE TABLE gone AS SELECT t.* FROM t SEMI JOIN read_json('${file}') AS g ON t._id = g._id`); // prettier-ignore
    secondsByStep.whole.push(
      await changeRecords(setup, await server.upload(file), records, 'upsert'),
    );
    secondsByStep.theirWhole.push(
      await measureSeconds(() => duckdb.run(`${insertOrReplace} read_json('${file}')`)),
    );
    const commitId = await fetchLastCommitId(server, datasetId);
    secondsByStep.rollbacks.push(await measureSeconds(() => server.call('POST', `/v2/dataset_commits/${commitId}/rollback`))); // prettier-ignore
    secondsByStep.theirRollbacks.push(
      await measureSeconds(() => duckdb.run('INSERT OR REPLACE INTO t FROM gone')),
    );
    const depthsFile = writeIdFile(setup, 65 + run, ',"depth":7');
    secondsByStep.field.push(
      await changeRecords(setup, await server.upload(depthsFile), records, 'upsert'),
    );
    secondsByStep.theirField.push(await measureSeconds(() => duckdb.run(`UPDATE t SET depth = g.depth FROM read_json('${depthsFile}') AS g WHERE t._id = g._id`))); // prettier-ignore
    await server.call('POST', `/v2/dataset_commits/${await fetchLastCommitId(server, datasetId)}/rollback`); // prettier-ignore
  }
  const count = fewRecords.toLocaleString('en-US');
  return [
    resultLineOfChangeAfterWarmup(`upsert of ${count} records by _id`, secondsByStep.whole, 'DuckDB INSERT OR REPLACE', secondsByStep.theirWhole, 0.5), // prettier-ignore
    resultLineOfChangeAfterWarmup('rollback of that', secondsByStep.rollbacks, 'DuckDB INSERT OR REPLACE of the earlier records', secondsByStep.theirRollbacks, 0.5), // prettier-ignore
    resultLineOfChangeAfterWarmup(`upsert of one field of ${count} records`, secondsByStep.field, 'DuckDB UPDATE', secondsByStep.theirField, null), // prettier-ignore
  ];
}

/**
 * Measures rollbacks of deletes after an upsert that only adds records. Such an upsert might have added the deleted records again, so the
 * rollback looks their ids up. DuckDB inserts the deleted records again.
 */
async function readdingLine(setup: VersionsSetup): Promise<ResultLine> {
  const { server, datasetId, duckdb, records, fewRecords, folder } = setup;
  const addedFile = join(folder, 'added.json');
  writeFileSync(
    addedFile,
    Array.from({ length: fewRecords }, (_, i) => `{"_id":"new-${i}"}\n`).join(''),
  );
  const addedObjectId = await server.upload(addedFile);
  const [rollbacks, theirInserts]: [number[], number[]] = [[], []];
  for (let run = 0; run < warmupRuns + measuredRuns; run++) {
    const file = writeIdFile(setup, 100 + run);
    await duckdb.run(`CREATE OR REPLACE TABLE gone AS SELECT t.* FROM t SEMI JOIN read_json('${file}') AS g ON t._id = g._id`); // prettier-ignore
    await duckdb.run('DELETE FROM t USING gone AS g WHERE t._id = g._id');
    await changeRecords(setup, await server.upload(file), records - fewRecords, 'delete');
    const deletionId = await fetchLastCommitId(server, datasetId);
    await changeRecords(setup, addedObjectId, records, 'upsert');
    const upsertId = await fetchLastCommitId(server, datasetId);
    rollbacks.push(await measureSeconds(() => server.call('POST', `/v2/dataset_commits/${deletionId}/rollback`))); // prettier-ignore
    theirInserts.push(await measureSeconds(() => duckdb.run('INSERT INTO t FROM gone')));
    await server.call('POST', `/v2/dataset_commits/${upsertId}/rollback`);
  }
  const count = fewRecords.toLocaleString('en-US');
  return resultLineOfChangeAfterWarmup(`rollback of a delete of ${count} after an upsert that adds as many`, rollbacks, 'DuckDB INSERT of the same records', theirInserts, 0.5); // prettier-ignore
}

/** Measures the peak memory of the API and worker processes while a fifth of the records is changed, compared with their settings. */
async function memoryLines(setup: VersionsSetup): Promise<readonly ResultLine[]> {
  const { server, datasetId, records } = setup;
  const largeSetup = { ...setup, fewRecords: records / 5 };
  const lines: ResultLine[] = [];
  const changes = [
    ['upsert', '_id'],
    ['delete', '_id'],
    ['upsert', 'variant'],
    ['delete', 'variant'],
  ] as const;
  for (const [mode, key] of changes) {
    const file = await writeKeyFile(
      largeSetup,
      150,
      `t.${key}${mode === 'upsert' ? ', 7 AS depth' : ''}`,
    );
    const objectId = await server.upload(file);
    await server.waitUntilIdle();
    server.takePeakMb();
    const recordsLeft = mode === 'delete' ? records - largeSetup.fewRecords : records;
    await changeRecords(setup, objectId, recordsLeft, mode, key === '_id' ? undefined : [key]);
    const peakMb = server.takePeakMb();
    await server.call('POST', `/v2/dataset_commits/${await fetchLastCommitId(server, datasetId)}/rollback`); // prettier-ignore
    const measurement = `peak memory, API and worker, ${mode} of ${largeSetup.fewRecords.toLocaleString('en-US')} records by ${key}`;
    process.stderr.write(`${measurement}: ${peakMb.toFixed(0)} MB\n`);
    lines.push({
      measurement,
      ours: `${peakMb.toFixed(0)} MB`,
      peer: `their settings together ${memorySettingsMb} MB`,
      ratio: peakMb / memorySettingsMb,
      limit: 1,
    });
  }
  return lines;
}

/** Measures archiving the whole dataset and restoring it; DuckDB exports its database and imports it again. */
async function measureArchive({
  server,
  datasetId,
  duckdb,
  folder,
  records,
}: VersionsSetup): Promise<ResultLine> {
  const setStorageClass = async (storageClass: string): Promise<void> => {
    await server.call('PATCH', `/v2/datasets/${datasetId}`, { storage_class: storageClass });
    const openTasksPath = `/v2/tasks?status=pending,queued,running&target_object_id=${datasetId}`;
    while ((await server.call('GET', openTasksPath)).total > 0) await pause(20);
  };
  await duckdb.run('DROP TABLE IF EXISTS gone');
  const ourSeconds = await measureSeconds(async () => {
    await setStorageClass('Archive');
    await setStorageClass('Standard');
  });
  const target = join(folder, 'exported');
  const instance = await DuckDBInstance.create(join(folder, 'imported.duckdb'), { threads: '2' });
  const theirSeconds = await measureSeconds(async () => {
    await duckdb.run(`EXPORT DATABASE '${target}' (FORMAT parquet)`);
    const connection = await instance.connect();
    await connection.run(`IMPORT DATABASE '${target}'`);
    await connection.run('CHECKPOINT');
  });
  instance.closeSync();
  const count = records.toLocaleString('en-US');
  return resultLineOfChange(`archive and restore of ${count} records`, [ourSeconds], 'DuckDB EXPORT and IMPORT DATABASE', [theirSeconds], 1); // prettier-ignore
}

/** Measures the rollback of an append of a fifth of the records; DuckDB deletes them by their commit. */
async function measureAppend({
  server,
  datasetId,
  duckdb,
  records,
}: VersionsSetup): Promise<ResultLine> {
  const addedRecords = records / 5;
  const name = `versions-${records}-added.jsonl`;
  const file = await generateFile(name, () => recordLines(records, addedRecords));
  await server.import(datasetId, await server.upload(file), records + addedRecords);
  await server.waitUntilIdle();
  const commitId = await fetchLastCommitId(server, datasetId);
  const segments = segmentsOf(server.data, datasetId).map((path) => `'${path}'`);
  const parquet = `read_parquet([${segments.join(', ')}], union_by_name = true)`;
  await duckdb.run(`INSERT INTO t SELECT * FROM ${parquet} WHERE _commit = '${commitId}'`);
  await duckdb.run('CHECKPOINT');
  const ourSeconds = await measureSeconds(() =>
    server.call('POST', `/v2/dataset_commits/${commitId}/rollback`),
  );
  const theirSeconds = await measureSeconds(() =>
    duckdb.run(`DELETE FROM t WHERE _commit = '${commitId}'`),
  );
  const count = addedRecords.toLocaleString('en-US');
  return resultLineOfChange(
    `rollback of an append of ${count} records`,
    [ourSeconds],
    'DuckDB DELETE',
    [theirSeconds],
    0.05,
  );
}

/** Returns the elements of a list in random order. */
function shuffledIds(ids: readonly string[]): readonly string[] {
  const random = seededRandom(seed);
  const shuffledList = [...ids];
  for (let i = shuffledList.length - 1; i > 0; i--) {
    const other = Math.floor(random.next() * (i + 1));
    [shuffledList[i], shuffledList[other]] = [shuffledList[other]!, shuffledList[i]!];
  }
  return shuffledList;
}
