import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startServerFixture } from '../api/server-fixture.js';
import { findFolderInconsistencies } from './differences.js';
import { historyRanges, startWorkerSometimes, newUpkeepCounts, runHistories } from './histories.js';
import { newEventCounts } from './random-versions.js';
import type { FastClock } from './version-model.js';

const keepVersionsMs = 7 * 86_400_000;
const historyEventCounts = newEventCounts();
const upkeepCounts = newUpkeepCounts();
const fastClock: FastClock = { aheadMs: 0, keepVersionsMs, vacuums: 0, gone: 0, lost: 0 };
const shiftedNow = (): number => Date.now() + fastClock.aheadMs;
const upkeepFixture = await startServerFixture({
  scheduler: { quietMs: 30, startWorker: startWorkerSometimes(upkeepCounts) },
  store: { keepVersionsMs, now: shiftedNow },
});

// A server without merges that depend on time, so that the files of each version are predictable.
const quietFixture = await startServerFixture({
  scheduler: { quietMs: Infinity },
  store: { keepVersionsMs, now: shiftedNow },
});

test.each(historyRanges)(
  'C6: in %d random histories, versions within the window stay as they were while others are removed (STRANDLAKE_SEED=%d)',
  (count, first) =>
    runHistories(upkeepFixture, count, first, {
      eventCounts: historyEventCounts,
      upkeep: upkeepCounts,
      clock: fastClock,
    }),
);

test('C6: everything that may happen to old versions has happened', () => {
  console.log(
    `old versions: ${JSON.stringify({ ...historyEventCounts, ...upkeepCounts, ...fastClock })}`,
  );
  const { vacuums, gone } = fastClock;
  const counts = [
    ...Object.values(historyEventCounts),
    ...Object.values(upkeepCounts),
    vacuums,
    gone,
  ];
  expect(Math.min(...counts)).toBeGreaterThan(0);
});

/** Compares the disk usage that a dataset reports with the files in its folder. */
async function expectDiskUse(id: number): Promise<void> {
  const { ann, server } = quietFixture;
  const { status, json } = await ann.get(`/v2/datasets/${id}/disk_use`);
  const folder = server.data.dataset(id);
  const readSizes = async (path: string, isIncluded: (name: string) => boolean) => {
    const names = (await readdir(path)).filter(isIncluded);
    return Promise.all(names.map(async (name) => (await stat(join(path, name))).size));
  };
  const sizeSummary = (list: readonly number[]) => ({ files: list.length, bytes: list.reduce((a, b) => a + b, 0) }); // prettier-ignore
  const livePaths = (await server.store.snapshot(id)).segments.map(({ path }) => path);
  const readSegmentSizes = (isLive: boolean) =>
    readSizes(folder, (name) => name.endsWith('.parquet') && livePaths.includes(name) === isLive);
  const logSizes = await readSizes(server.data.deltaLog(id), (name) => name.endsWith('.json'));
  const usage = { live: sizeSummary(await readSegmentSizes(true)), old_versions: sizeSummary(await readSegmentSizes(false)), log: sizeSummary(logSizes), checkpoints: { files: 0, bytes: 0 } }; // prettier-ignore
  const total = Object.values(usage).reduce((sum, { bytes }) => sum + bytes, 0);
  expect([status, json]).toEqual([200, { ...usage, version: logSizes.length - 1, readable_since: expect.stringMatching(/^20/), total_bytes: total, archive_bytes: 0 }]); // prettier-ignore
}

test('a version past the window is a 400 that says since when versions can be read, unless it was just read', async () => {
  const { ann, server } = quietFixture;
  const id = await quietFixture.newDataset();
  for (let n = 0; n < 16; n++) await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n }] }); // prettier-ignore
  await server.scheduler.compacted();
  const dataPath = `/v2/datasets/${id}/data`;
  const commits = (await ann.get(`/v2/datasets/${id}/commits`)).json['data'] as { id: number }[];
  const [newestId, firstId] = [commits[0]!.id, commits.at(-1)!.id];
  const page = await ann.post(dataPath, { as_of: commits[3]!.id, cursor: true, limit: 1 });
  fastClock.aheadMs += 9 * 86_400_000;
  // Reading a version keeps its files for another hour.
  const { cursor } = (await ann.post(dataPath, { as_of: commits[3]!.id, cursor: true, limit: 1 }))
    .json;
  await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n: 16 }] });
  await server.scheduler.compacted();
  const nextPage = await ann.post(dataPath, { cursor, as_of: commits[3]!.id });
  expect((nextPage.json['results'] as { n: number }[]).map(({ n }) => n)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1)); // prettier-ignore
  expect((await ann.post(dataPath, { as_of: newestId })).json['total']).toBe(16);
  fastClock.aheadMs += 9 * 86_400_000;
  await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n: 17 }] });
  await server.scheduler.compacted();
  const detail = expect.stringMatching(
    /^Version 0 of dataset \d+ cannot be read any more: its files were removed\. The versions since 20.* can be read; the server keeps earlier versions for 7 days \(--keep-versions-days\)\.$/,
  );
  for (const [requestName, answer] of [
    ['as_of', await ann.post(dataPath, { as_of: firstId })],
    ['diff', await ann.get(`/v2/datasets/${id}/diff?from=${firstId}`)],
    ['cursor', await ann.post(dataPath, { as_of: commits[3]!.id, cursor: page.json['cursor'] })],
  ] as const)
    expect([requestName, answer.status, answer.json]).toEqual([requestName, 400, { detail: requestName === 'cursor' ? expect.stringContaining('cannot be read') : detail }]); // prettier-ignore
  const readableSince = /since (\S+) can/.exec(String((await ann.post(dataPath, { as_of: firstId })).json['detail']))![1]; // prettier-ignore
  expect((await ann.post(dataPath, { as_of: readableSince })).status).toBe(200);
  const body = { dataset_id: id, format: 'json', as_of: firstId };
  expect((await ann.post('/v2/dataset_exports', body)).status).toBe(400);
  const verification = await ann.post(`/v2/datasets/${id}/verify`);
  expect(verification.json).toMatchObject({ is_whole: true, records: 18 });
  await expectDiskUse(id);
  // Rolling back the first commit needs none of the files that the vacuum removed.
  expect((await ann.post(`/v2/dataset_commits/${firstId}/rollback`, {})).status).toBe(201);
  expect(await quietFixture.countRecords(id)).toBe(17);
  const tasks = await server.catalog.tasks.list({ viewer: null, classes: ['background'], kinds: ['vacuum'], targetObjectIds: [id] }, { limit: 5, offset: 0 }); // prettier-ignore
  expect(tasks.rows.map(({ status }) => status)).toEqual(['completed']);
  expect(await findFolderInconsistencies(server)).toEqual([]);
});

test('C6: a commit that replaced records prevents a rollback also after a merge has dropped them', async () => {
  const { ann, server, newDataset, runImport, countRecords } = quietFixture;
  const id = await newDataset();
  const makeCommit = async (body: object): Promise<number> => {
    const { dataset_commits } = await runImport({ dataset_id: id, ...body });
    return (dataset_commits as { readonly id: number }[])[0]!.id;
  };
  const records = Array.from({ length: 10 }, (_, n) => ({ n }));
  const appendId = await makeCommit({ records });
  const changes = records.slice(0, 3).map(({ n }) => ({ n, changed: true }));
  const upsertId = await makeCommit({ records: changes, commit_mode: 'upsert', id_fields: ['n'] });
  const path = `/v2/dataset_commits/${appendId}/rollback`;
  const expectedReport = (example_id: unknown): object => ({
    is_blocked: true,
    detail: expect.stringContaining('1 commit changed records of this commit later'),
    blocking_commits: [{ id: upsertId }],
    blocked_records: [{ commit_id: upsertId, records: 3, example_id }],
  });
  expect((await ann.get(path)).json).toMatchObject(expectedReport(expect.any(String)));
  fastClock.aheadMs += 9 * 86_400_000;
  await makeCommit({ records: [{ n: 10 }] });
  await server.scheduler.compacted();
  const { segments } = await server.store.snapshot(id);
  expect(segments.reduce((sum, { rows }) => sum + rows, 0)).toBe(11); // the merge has dropped the three rows
  const laterReport = (await ann.get(path)).json;
  expect(laterReport).toMatchObject(expectedReport(null));
  expect(laterReport['detail']).toContain('a merge has left out the earlier values of 3 records');
  const refusal = await ann.post(path, {});
  expect([refusal.status, refusal.json]).toEqual([400, laterReport]);
  expect(await countRecords(id)).toBe(11);
});

test('C6: a deletion cannot be rolled back once a merge has left out its records', async () => {
  const { ann, server, newDataset, runImport, countRecords } = quietFixture;
  const id = await newDataset();
  const records = Array.from({ length: 10 }, (_, n) => ({ n }));
  await runImport({ dataset_id: id, records });
  const deletedRecords = records.slice(0, 3);
  const deletionImport = await runImport({ dataset_id: id, records: deletedRecords, commit_mode: 'delete', id_fields: ['n'] }); // prettier-ignore
  const [commit] = deletionImport['dataset_commits'] as readonly { readonly id: number }[];
  const path = `/v2/dataset_commits/${commit!.id}/rollback`;
  expect((await ann.get(path)).json).toMatchObject({ is_blocked: false });
  fastClock.aheadMs += 9 * 86_400_000;
  await runImport({ dataset_id: id, records: [{ n: 10 }] });
  await server.scheduler.compacted();
  const refusal = {
    is_blocked: true,
    detail: '3 of its records were deleted so long ago that a merge has left them out; they cannot come back (--keep-versions-days).',
  }; // prettier-ignore
  const [check, rollbackAnswer] = [await ann.get(path), await ann.post(path, {})];
  expect([check.status, check.json]).toEqual([200, expect.objectContaining(refusal)]);
  expect([rollbackAnswer.status, rollbackAnswer.json]).toEqual([400, check.json]);
  expect(await countRecords(id)).toBe(8);
});
