import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { reservedCells } from '../../../engine/query/results/reserved-cells.js';
import { rowsOfRecords } from '../../../engine/store/deletion-vector.js';
import { liveRows } from '../../../engine/store/store.js';
import { openStore } from '../../../engine/store/open.js';
import { rollBack } from '../../../scheduler/jobs/rollback/roll-back.js';
import { verifyFolder } from '../../../scheduler/queue/verify-folder.js';
import { readWithDuckdb } from '../../engine/store/duckdb.js';
import { Lake, vcfOf } from '../lake.js';
import { KillableServer, recoverServer } from '../processes/killable.js';

/*
 * Imports that delete, killed at every step, and rollbacks whose catalogue fails: what was acknowledged is there once, the rest wholly
 * or not at all.
 */

const rows = 20_000;
const share = 500;

let lake: Lake;
let root: string;
let datasetId: number;
/** The ids that must be in the dataset, in order. */
let ids: readonly string[];

beforeAll(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  datasetId = await lake.dataset();
  await lake.import(datasetId, await lake.file('a.vcf', vcfOf(rows)));
  await whileClosed(() => recoverServer(root));
  ids = await idsOf();
  expect(new Set(ids).size).toBe(rows);
});
afterEach(async () => {
  expect(await idsOf()).toEqual(ids);
  const { catalog, data } = lake;
  const store = openStore(data);
  const found = await verifyFolder({ catalog, data, store, unreferencedBefore: Infinity, now: 0 });
  expect(found.filter(({ where }) => !where.startsWith('scratch/spill'))).toEqual([]);
});
afterAll(() => lake.remove());

/** The ids of all records, in order. */
async function idsOf(): Promise<readonly string[]> {
  const snapshot = await openStore(lake.data).snapshot(datasetId);
  const refs = snapshot.segments.flatMap((segment, number) =>
    Array.from(
      rowsOfRecords(segment.deletion, 0, liveRows(segment)),
      (row) => [number, row] as const,
    ),
  );
  // The ids of these records are in their order, which is not that of the segments once records have been replaced.
  return reservedCells(snapshot, refs)
    .map(([id]) => id!)
    .sort();
}

async function whileClosed(work: () => Promise<void>): Promise<void> {
  await lake.close();
  try {
    await work();
  } finally {
    lake = await Lake.open(root);
  }
}

/** Queues an import that deletes every `n`th record, as a file; returns the id of its task. */
async function queued(n: number): Promise<number> {
  const wantedIds = ids.filter((_, i) => i % n === 0).slice(0, share);
  const lines = wantedIds.map((id) => `{"_id":"${id}","x":1}\n`).join('');
  const file = await lake.file(`${n}.json`, lines);
  ids = ids.filter((id) => !wantedIds.includes(id));
  return (await lake.import(datasetId, file, { commitMode: 'delete' })).id;
}

/** The points at which an import is killed, and which of the two processes. */
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

// An import that deletes commits no segment; those that it has written in between need not be durable.
test.each(crashPoints.filter(([point]) => point !== 'segment.flushed'))(
  'C1: killed at %s, an import that deletes is carried out once',
  async (point, victim) => {
    const taskId = await queued(3);
    await whileClosed(async () => {
      const crashing = new KillableServer(root, point, victim);
      await crashing.exit();
      expect([point, crashing.isIdle]).toEqual([point, victim === 'worker']);
      await recoverServer(root);
    });
    expect(await lake.task(taskId)).toMatchObject({ status: 'completed' });
    const dataset = await lake.catalog.datasets.get(datasetId);
    expect(dataset?.documentsCount).toBe(ids.length);
  },
);

test.each(crashPoints)(
  'C1: killed at %s, an import that updates records is carried out once',
  async (point, victim) => {
    const wantedIds = ids.filter((_, i) => i % 5 === 0).slice(0, share);
    const lines = wantedIds.map((id) => `{"_id":"${id}","point":"${point}"}\n`).join('');
    const file = await lake.file(`${point}.json`, lines);
    const taskId = (await lake.import(datasetId, file, { commitMode: 'upsert' })).id;
    await whileClosed(async () => {
      const crashing = new KillableServer(root, point, victim);
      await crashing.exit();
      expect([point, crashing.isIdle]).toEqual([point, victim === 'worker']);
      await recoverServer(root);
    });
    const task = await lake.task(taskId);
    expect(task).toMatchObject({ status: 'completed' });
    const [commit] = await lake.catalog.commits.ofImport(task!.resourceId);
    expect(commit).toMatchObject({ recordsAdded: 0, recordsChanged: share, recordsRemoved: 0 });
    const snapshot = await openStore(lake.data).snapshot(datasetId);
    const writtenIds = await readWithDuckdb(snapshot.files, "CASE WHEN point = '" + point + "' THEN _id END"); // prettier-ignore
    expect(writtenIds.columns[0]!.filter(Boolean).map(String).sort()).toEqual(wantedIds);
  },
);

test('C2b: a rollback that is in the log and not in the catalogue is there after the next start', async () => {
  const taskId = await queued(7);
  await whileClosed(() => recoverServer(root));
  const { catalog, store } = lake;
  const before = await idsOf();
  const [commit] = await catalog.commits.ofImport((await lake.task(taskId))!.resourceId);
  const failing = { ...catalog, publish: () => Promise.reject(new Error('the disk fails')) };
  // No record was added again, so the rollback runs no query.
  const context = { catalog: failing, store, queryEngine: {} as QueryEngine };
  await expect(rollBack(context, commit!, 'records', lake.user.id)).rejects.toThrow('the disk fails'); // prettier-ignore
  expect(await catalog.commits.rollbackOf(commit!.id)).toBeUndefined();
  const scheduler = await lake.schedule();
  await scheduler.close();
  const rollback = await catalog.commits.rollbackOf(commit!.id);
  expect(rollback).toMatchObject({
    mode: 'rollback',
    recordsModified: share,
    userId: lake.user.id,
  });
  ids = await idsOf();
  expect(ids).toHaveLength(before.length + share);
  const snapshot = await store.snapshot(datasetId);
  expect(snapshot.rows).toBe(ids.length);
});
