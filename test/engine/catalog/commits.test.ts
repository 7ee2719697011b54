import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveAsOf } from '../../../api/resources/records/as-of.js';
import { openCatalog } from '../../../engine/catalog/catalog.js';
import { commitTable, type CommitTable } from '../../../engine/catalog/commits.js';
import { SqliteDatabase } from '../../../engine/catalog/database.js';
import { sql } from '../../../engine/catalog/sql.js';
import { publicationOf, World } from './world.js';

const start = Date.UTC(2026, 0, 1);
/** When the commits of the dataset completed, in the order of its versions. */
const times = Array.from({ length: 30 }, (_, i) => start + i * 1_000);

let folder: string;
let db: SqliteDatabase;
let commits: CommitTable;
let datasetId: number;
/** The ids of the commits, in the order of `times`. */
let ids: readonly number[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strandlake-commits-'));
  const file = join(folder, 'catalog.sqlite');
  const world = new World(await openCatalog(file));
  const ann = await world.user('ann@example.org');
  datasetId = await world.dataset(ann);
  const other = await world.dataset(ann, 'other');
  const made: number[] = [];
  for (const [i, time] of times.entries()) {
    for (const id of [datasetId, other]) {
      const task = await world.import(ann, id);
      await world.catalog.tasks.claim();
      // A merge has every second version.
      const change = { logVersion: 2 * i, time, recordsModified: 1 + i };
      const publication = await publicationOf(world.catalog, task, change);
      await world.catalog.publish(publication);
      if (id === datasetId) made.push(publication.commitId);
    }
  }
  ids = made;
  await world.catalog.close();
  db = new SqliteDatabase(file);
  commits = commitTable(db);
});
afterEach(async () => {
  await db.close();
  await rm(folder, { recursive: true });
});

const at = async (time: number): Promise<number | undefined> =>
  (await commits.lastAt(datasetId, time))?.id;

test('finds the last commit that had completed at a time, of that dataset alone', async () => {
  expect(await at(start - 1)).toBeUndefined();
  for (const [i, time] of times.entries())
    expect([await at(time), await at(time + 999)]).toEqual([ids[i], ids[i]]);
  expect(await at(Date.UTC(9999, 0, 1))).toBe(ids.at(-1));
  expect(await commits.lastAt(datasetId + 1_000, start)).toBeUndefined();
});

test('passes over commits that are not completed, and those that completed later than they began', async () => {
  await db.run(sql`UPDATE commits SET status = 'running' WHERE id = ${ids[29]!}`);
  expect(await at(times[29]!)).toBe(ids[28]);
  const late = JSON.stringify([['running', 'completed', times[29]! + 5]]);
  // More of them than a statement returns.
  for (const id of ids.slice(4, 29))
    await db.run(sql`UPDATE commits SET timestamps = ${late} WHERE id = ${id}`);
  expect(await at(times[29]!)).toBe(ids[3]);
  expect(await at(times[29]! + 5)).toBe(ids[28]);
});

test('as_of refuses a commit that is not completed, and names its status', async () => {
  const readableVersion = (_: number, version: number) => Promise.resolve(version);
  const context = { catalog: { commits }, store: { readableVersion } };
  expect(await resolveAsOf(context, datasetId, ids[3])).toEqual({
    commit_id: ids[3],
    version: 6,
  });
  await db.run(sql`UPDATE commits SET status = 'running' WHERE id = ${ids[3]!}`);
  await expect(resolveAsOf(context, datasetId, ids[3])).rejects.toMatchObject({
    code: 'invalid',
    fields: {
      as_of: [`Commit ${ids[3]} is running: only a completed commit is a version of the dataset.`],
    },
  });
});

test('an append adds what it changes', async () => {
  expect(await commits.get(ids[4]!)).toMatchObject({
    recordsModified: 5,
    recordsAdded: 5,
    recordsChanged: 0,
    recordsRemoved: 0,
  });
});
