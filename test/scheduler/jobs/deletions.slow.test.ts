import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { reservedCells } from '../../../engine/query/results/reserved-cells.js';
import { rowsOfRecords } from '../../../engine/store/deletion-vector.js';
import { liveRowCount } from '../../../engine/store/store.js';
import { openStore } from '../../../engine/store/open-store.js';
import { rollBack } from '../../../scheduler/jobs/rollback/roll-back.js';
import { verifyFolder } from '../../../scheduler/queue/verify-folder.js';
import { readWithDuckdb } from '../../engine/store/duckdb.js';
import { Lake, vcfTextOf } from '../lake.js';
import { KillableServer, recoverServer } from '../processes/killable.js';

/*
 * Kills imports that delete or replace records at every step, and makes the catalogue fail in rollbacks: acknowledged changes are stored
 * once, all others completely or not at all.
 */

const rowCount = 20_000;
const deletedPerImport = 500;

let lake: Lake;
let root: string;
let datasetId: number;
/** The ids that the dataset must contain, in order. */
let expectedIds: readonly string[];

beforeAll(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  datasetId = await lake.createDataset();
  await lake.queueFileImport(datasetId, await lake.createFile('a.vcf', vcfTextOf(rowCount)));
  await withLakeClosed(() => recoverServer(root));
  expectedIds = await readAllIds();
  expect(new Set(expectedIds).size).toBe(rowCount);
});
afterEach(async () => {
  expect(await readAllIds()).toEqual(expectedIds);
  const { catalog, data } = lake;
  const store = openStore(data);
  const differences = await verifyFolder({
    catalog,
    data,
    store,
    unreferencedBefore: Infinity,
    now: 0,
  });
  expect(differences.filter(({ where }) => !where.startsWith('scratch/spill'))).toEqual([]);
});
afterAll(() => lake.remove());

async function readAllIds(): Promise<readonly string[]> {
  const snapshot = await openStore(lake.data).snapshot(datasetId);
  const refs = snapshot.segments.flatMap((segment, number) =>
    Array.from(
      rowsOfRecords(segment.deletion, 0, liveRowCount(segment)),
      (row) => [number, row] as const,
    ),
  );
  // The ids are sorted, because after replacements the order of the segments is not that of the ids.
  return reservedCells(snapshot, refs)
    .map(([id]) => id!)
    .sort();
}

async function withLakeClosed(work: () => Promise<void>): Promise<void> {
  await lake.close();
  try {
    await work();
  } finally {
    lake = await Lake.open(root);
  }
}

/** Queues an import of a file that deletes the first `deletedPerImport` of every `n`th record; returns the id of its task. */
async function queueDeletion(n: number): Promise<number> {
  const wantedIds = expectedIds.filter((_, i) => i % n === 0).slice(0, deletedPerImport);
  const lines = wantedIds.map((id) => `{"_id":"${id}","x":1}\n`).join('');
  const file = await lake.createFile(`${n}.json`, lines);
  expectedIds = expectedIds.filter((id) => !wantedIds.includes(id));
  return (await lake.queueFileImport(datasetId, file, { commitMode: 'delete' })).id;
}

/** The crash points at which an import is killed, each with the process (API or worker) that is killed. */
const crashPoints = [
  ['segment.partial', 'worker'],
  ['journal.appended', 'worker'],
  ['segment.flushed', 'worker'],
  ['segment.renamed', 'server'],
  ['log.temp-written', 'server'],
  ['log.linked', 'server'],
  ['catalog.before-commit', 'server'],
  ['catalog.after-commit', 'server'],
  ['task.before-done', 'server'],
] as const;

// An import that deletes commits no segment, and its intermediate segments need not be durable, so it has no crash point for flushing
// segments.
test.each(crashPoints.filter(([point]) => point !== 'segment.flushed'))(
  'C1: killed at %s, an import that deletes is carried out once',
  async (point, victim) => {
    const taskId = await queueDeletion(3);
    await withLakeClosed(async () => {
      const crashingServer = new KillableServer(root, point, victim);
      await crashingServer.waitForExit();
      expect([point, crashingServer.isIdle]).toEqual([point, victim === 'worker']);
      await recoverServer(root);
    });
    expect(await lake.readTaskRow(taskId)).toMatchObject({ status: 'completed' });
    const dataset = await lake.catalog.datasets.get(datasetId);
    expect(dataset?.documentsCount).toBe(expectedIds.length);
  },
);

const changes = [
  ['upsert', 'updates'],
  ['overwrite', 'overwrites'],
] as const;

test.each(
  changes.flatMap(([mode, verb]) =>
    crashPoints.map(([point, victim]) => [point, verb, mode, victim] as const),
  ),
)(
  'C1: killed at %s, an import that %s records is carried out once',
  async (point, verb, mode, victim) => {
    const wantedIds = expectedIds.filter((_, i) => i % 5 === 0).slice(0, deletedPerImport);
    const mark = `${verb} ${point}`;
    const lines = wantedIds.map((id) => `{"_id":"${id}","point":"${mark}"}\n`).join('');
    const file = await lake.createFile(`${mark}.json`, lines);
    const taskId = (await lake.queueFileImport(datasetId, file, { commitMode: mode })).id;
    await withLakeClosed(async () => {
      const crashingServer = new KillableServer(root, point, victim);
      await crashingServer.waitForExit();
      expect([point, crashingServer.isIdle]).toEqual([point, victim === 'worker']);
      await recoverServer(root);
    });
    const task = await lake.readTaskRow(taskId);
    expect(task).toMatchObject({ status: 'completed' });
    const [commit] = await lake.catalog.commits.ofImport(task!.resourceId);
    expect(commit).toMatchObject({
      mode,
      recordsAdded: 0,
      recordsChanged: deletedPerImport,
      recordsRemoved: 0,
    });
    const snapshot = await openStore(lake.data).snapshot(datasetId);
    const isWritten = `point = '${mark}'`;
    const select = `CASE WHEN ${isWritten} THEN _id END, ${isWritten} AND allele IS NOT NULL`;
    const [ids, haveAlleles] = (await readWithDuckdb(snapshot.files, select)).columns;
    expect(ids!.filter(Boolean).map(String).sort()).toEqual(wantedIds);
    // The records keep an allele by the updates, which come first, and lose it when they are overwritten.
    const allelesKept = haveAlleles!.filter((one) => one === true).length;
    expect(allelesKept).toBe(mode === 'upsert' ? deletedPerImport : 0);
  },
);

test('C2b: a rollback that is in the log and not in the catalogue is there after the next start', async () => {
  const taskId = await queueDeletion(7);
  await withLakeClosed(() => recoverServer(root));
  const { catalog, store } = lake;
  const idsBefore = await readAllIds();
  const [commit] = await catalog.commits.ofImport((await lake.readTaskRow(taskId))!.resourceId);
  const failingCatalog = { ...catalog, publish: () => Promise.reject(new Error('the disk fails')) };
  // A rollback uses the query engine only if a later commit has added records, and none has.
  const context = {
    catalog: failingCatalog,
    store,
    queryEngine: {} as QueryEngine,
    scheduler: {
      persist: (work: () => Promise<void>) => work().then(() => true),
      committed: () => undefined,
    },
  };
  await expect(rollBack(context, commit!, 'records', lake.user.id)).rejects.toThrow('the disk fails'); // prettier-ignore
  expect(await catalog.commits.rollbackOf(commit!.id)).toBeUndefined();
  const scheduler = await lake.startScheduler();
  await scheduler.close();
  const rollback = await catalog.commits.rollbackOf(commit!.id);
  expect(await catalog.commits.get(rollback!.id)).toMatchObject({
    mode: 'rollback',
    recordsModified: deletedPerImport,
    userId: lake.user.id,
  });
  expectedIds = await readAllIds();
  expect(expectedIds).toHaveLength(idsBefore.length + deletedPerImport);
  const snapshot = await store.snapshot(datasetId);
  expect(snapshot.rows).toBe(expectedIds.length);
});
