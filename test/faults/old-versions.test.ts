import { expect, test } from '@jest/globals';
import { startLab } from '../api/lab.js';
import { seed } from '../seed.js';
import { differences } from './differences.js';
import { newCounts, randomVersions, type FastClock } from './random-versions.js';

const keepVersionsMs = 7 * 86_400_000;
const clock: FastClock = { aheadMs: 0, keepVersionsMs, vacuums: 0, gone: 0, lost: 0 };
const now = (): number => Date.now() + clock.aheadMs;
const lab = await startLab({ scheduler: { quietMs: 30 }, store: { keepVersionsMs, now } });

test(`versions within the window stay as they were while others are removed (STRANDLAKE_SEED=${seed})`, async () => {
  await randomVersions(lab, seed, 60, newCounts(), clock);
  expect(Math.min(clock.vacuums, clock.gone)).toBeGreaterThan(0);
  expect(await differences(lab.server)).toEqual([]);
});

test('with a window of no days, only the newest version and those in use can be read', async () => {
  const { ann, server } = lab;
  const id = await lab.newDataset();
  for (let n = 0; n < 16; n++) await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n }] }); // prettier-ignore
  await server.scheduler.compacted();
  const data = `/v2/datasets/${id}/data`;
  const commits = (await ann.get(`/v2/datasets/${id}/commits`)).json['data'] as { id: number }[];
  const [newest, first] = [commits[0]!.id, commits.at(-1)!.id];
  const page = await ann.post(data, { as_of: commits[3]!.id, cursor: true, limit: 1 });
  clock.aheadMs += 9 * 86_400_000;
  // Reading keeps a version for an hour.
  const { cursor } = (await ann.post(data, { as_of: commits[3]!.id, cursor: true, limit: 1 })).json;
  await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n: 16 }] });
  await server.scheduler.compacted();
  const walk = await ann.post(data, { cursor, as_of: commits[3]!.id });
  expect((walk.json['results'] as { n: number }[]).map(({ n }) => n)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1)); // prettier-ignore
  expect((await ann.post(data, { as_of: newest })).json['total']).toBe(16);
  clock.aheadMs += 9 * 86_400_000;
  await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n: 17 }] });
  await server.scheduler.compacted();
  const detail = expect.stringMatching(
    /^Version 0 of dataset \d+ cannot be read any more: its files were removed\. The versions since 20.* can be read; the server keeps earlier versions for 7 days \(--keep-versions-days\)\.$/,
  );
  for (const [what, answer] of [
    ['as_of', await ann.post(data, { as_of: first })],
    ['diff', await ann.get(`/v2/datasets/${id}/diff?from=${first}`)],
    ['cursor', await ann.post(data, { as_of: commits[3]!.id, cursor: page.json['cursor'] })],
  ] as const)
    expect([what, answer.status, answer.json]).toEqual([what, 400, { detail: what === 'cursor' ? expect.stringContaining('cannot be read') : detail }]); // prettier-ignore
  const since = /since (\S+) can/.exec(String((await ann.post(data, { as_of: first })).json['detail']))![1]; // prettier-ignore
  expect((await ann.post(data, { as_of: since })).status).toBe(200);
  const body = { dataset_id: id, format: 'json', as_of: first };
  expect((await ann.post('/v2/dataset_exports', body)).status).toBe(400);
  const verified = await ann.post(`/v2/datasets/${id}/verify`);
  expect(verified.json).toMatchObject({ is_whole: true, records: 18 });
  // A rollback needs no removed file.
  expect((await ann.post(`/v2/dataset_commits/${first}/rollback`, {})).status).toBe(201);
  expect(await lab.total(id)).toBe(17);
  const tasks = await server.catalog.tasks.list({ viewer: null, classes: ['background'], kinds: ['vacuum'], targetObjectId: id }, { limit: 5, offset: 0 }); // prettier-ignore
  expect(tasks.rows.map(({ status }) => status)).toEqual(['completed']);
  expect(await differences(server)).toEqual([]);
});
