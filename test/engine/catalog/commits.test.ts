import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveAsOf } from '../../../api/resources/queries/as-of.js';
import { openCatalog } from '../../../engine/catalog/catalog.js';
import { commitTable, type CommitTable } from '../../../engine/catalog/commits.js';
import { SqliteDatabase } from '../../../engine/catalog/database.js';
import { datasetTable } from '../../../engine/catalog/datasets.js';
import { sql } from '../../../engine/catalog/sql.js';
import { publicationOf, CatalogFixture } from './catalog-fixture.js';

const startTime = Date.UTC(2026, 0, 1);
/** The times at which the commits of the dataset completed, in the order of the versions. */
const commitTimes = Array.from({ length: 30 }, (_, i) => startTime + i * 1_000);

let folder: string;
let db: SqliteDatabase;
let commits: CommitTable;
let datasetId: number;
/** The ids of the commits, in the order of `commitTimes`. */
let createdCommitIds: readonly number[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strandlake-commits-'));
  const catalogFile = join(folder, 'catalog.sqlite');
  const catalogFixture = new CatalogFixture(await openCatalog(catalogFile));
  const ann = await catalogFixture.createUserOf('ann@example.org');
  datasetId = await catalogFixture.createDataset(ann);
  const otherDatasetId = await catalogFixture.createDataset(ann, 'other');
  const commitIds: number[] = [];
  for (const [i, time] of commitTimes.entries()) {
    for (const id of [datasetId, otherDatasetId]) {
      const task = await catalogFixture.queueImport(ann, id);
      await catalogFixture.catalog.tasks.claim();
      // Every second version has no commit, as if a merge had written it.
      const change = { logVersion: 2 * i, time, recordsModified: 1 + i };
      const publication = await publicationOf(catalogFixture.catalog, task, change);
      await catalogFixture.catalog.publish(publication);
      if (id === datasetId) commitIds.push(publication.commitId);
    }
  }
  createdCommitIds = commitIds;
  await catalogFixture.catalog.close();
  db = new SqliteDatabase(catalogFile);
  commits = commitTable(db);
});
afterEach(async () => {
  await db.close();
  await rm(folder, { recursive: true });
});

const findNewestCommitAt = async (time: number): Promise<number | undefined> =>
  (await commits.lastAt(datasetId, time))?.id;

test('finds the last commit that had completed at a time, of that dataset alone', async () => {
  expect(await findNewestCommitAt(startTime - 1)).toBeUndefined();
  for (const [i, time] of commitTimes.entries())
    expect([await findNewestCommitAt(time), await findNewestCommitAt(time + 999)]).toEqual([
      createdCommitIds[i],
      createdCommitIds[i],
    ]);
  expect(await findNewestCommitAt(Date.UTC(9999, 0, 1))).toBe(createdCommitIds.at(-1));
  expect(await commits.lastAt(datasetId + 1_000, startTime)).toBeUndefined();
});

test('passes over commits that are not completed, and those that completed later than they began', async () => {
  await db.run(sql`UPDATE commits SET status = 'running' WHERE id = ${createdCommitIds[29]!}`);
  expect(await findNewestCommitAt(commitTimes[29]!)).toBe(createdCommitIds[28]);
  const lateTimestamps = JSON.stringify([['running', 'completed', commitTimes[29]! + 5]]);
  // Many commits in succession completed after `commitTimes[29]`.
  for (const id of createdCommitIds.slice(4, 29))
    await db.run(sql`UPDATE commits SET timestamps = ${lateTimestamps} WHERE id = ${id}`);
  expect(await findNewestCommitAt(commitTimes[29]!)).toBe(createdCommitIds[3]);
  expect(await findNewestCommitAt(commitTimes[29]! + 5)).toBe(createdCommitIds[28]);
});

test('finds versions whose commits have no row any more', async () => {
  for (const i of [29, 12, 0]) await commits.delete(createdCommitIds[i]!);
  // prettier-ignore
  await expect(commits.delete(createdCommitIds[12]!)).rejects.toMatchObject({ code: 'not-found' });
  for (const [i, time] of commitTimes.entries()) {
    expect(await findNewestCommitAt(time)).toBe(createdCommitIds[i]);
    expect((await commits.lastBefore(datasetId, 2 * i + 2))?.id).toBe(createdCommitIds[i]);
    expect(await commits.version(createdCommitIds[i]!)).toEqual({
      id: createdCommitIds[i],
      datasetId,
      parentJobModel: 'datasets.DatasetImport',
      parentJobId: expect.any(Number),
      mode: 'append',
      logVersion: 2 * i,
      recordsTotal: 1,
      recordsAdded: 1 + i,
      completedAt: time,
    });
  }
  expect(await commits.get(createdCommitIds[29]!)).toBeUndefined();
  expect(await commits.lastBefore(datasetId, 0)).toBeUndefined();
});

test('as_of refuses a commit that is not completed, and names its status', async () => {
  const readableVersion = (_: number, version: number) => Promise.resolve(version);
  const context = { catalog: { commits, datasets: datasetTable(db) }, store: { readableVersion } };
  expect(await resolveAsOf(context, datasetId, createdCommitIds[3])).toEqual({
    commit_id: createdCommitIds[3],
    version: 6,
  });
  await db.run(sql`UPDATE commits SET status = 'running' WHERE id = ${createdCommitIds[3]!}`);
  await expect(resolveAsOf(context, datasetId, createdCommitIds[3])).rejects.toMatchObject({
    code: 'invalid',
    fields: {
      as_of: [
        `Commit ${createdCommitIds[3]} is running: only a completed commit is a version of the dataset.`,
      ],
    },
  });
});

test('an append adds what it changes', async () => {
  expect(await commits.get(createdCommitIds[4]!)).toMatchObject({
    recordsModified: 5,
    recordsAdded: 5,
    recordsChanged: 0,
    recordsRemoved: 0,
  });
});
