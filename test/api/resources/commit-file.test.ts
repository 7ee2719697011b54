import { rm } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf } from '../server.js';

const { server, ann, newDataset } = await startServerFixture();

/** A server whose clock is ahead, and whose merges depend on no time. */
let aheadMs = 0;
const pastWindow = await startServerFixture({
  scheduler: { quietMs: Infinity },
  store: { keepVersionsMs: 7 * 86_400_000, now: () => Date.now() + aheadMs },
});

type Row = Readonly<Record<string, unknown>>;

async function importInto(datasetId: number, body: object): Promise<number> {
  const job = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, ...body });
  expect([job.status, job.json['status']]).toEqual([201, 'completed']);
  return (job.json['dataset_commits'] as { id: number }[])[0]!.id;
}

async function fetchRecordsOfCommit(commitId: number): Promise<readonly Row[]> {
  const { status, json } = await ann.get(`/v2/dataset_commits/${commitId}/download?redirect=`);
  expect([status, json['url']]).toEqual([200, json['download_url']]);
  const file = await fetch(String(json['url']));
  expect([file.status, file.headers.get('content-encoding')]).toEqual([200, null]);
  const text = gunzipSync(Buffer.from(await file.arrayBuffer())).toString();
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row)
    .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)));
}

test('the file of a commit has the records that it wrote or removed, as they were', async () => {
  const id = await newDataset();
  const first = await importInto(id, { records: [{ n: 1, word: 'a' }, { n: 2 }, { n: 3 }] });
  const second = await importInto(id, { records: [{ n: 4, more: [1, 2] }] });
  const expectedRow = (commit: number, row: Row) => ({ ...row, _id: expect.any(String), _commit: String(commit) }); // prettier-ignore
  const rows = await fetchRecordsOfCommit(first);
  expect(rows).toEqual([
    expectedRow(first, { n: 1, word: 'a' }),
    expectedRow(first, { n: 2 }),
    expectedRow(first, { n: 3 }),
  ]);
  expect(await fetchRecordsOfCommit(second)).toEqual([expectedRow(second, { n: 4, more: [1, 2] })]);
  const goneRows = [rows[2], rows[0]].map((row) => ({ _id: row!['_id'] }));
  const removal = await importInto(id, { records: goneRows, commit_mode: 'delete' });
  expect(await fetchRecordsOfCommit(removal)).toEqual([rows[0], rows[2]]);
  const rollbackOfRemoval = idOf(await ann.post(`/v2/dataset_commits/${removal}/rollback`, {}));
  expect(await fetchRecordsOfCommit(rollbackOfRemoval)).toEqual([rows[0], rows[2]]);
  const rollbackOfSecond = idOf(await ann.post(`/v2/dataset_commits/${second}/rollback`, {}));
  expect(await fetchRecordsOfCommit(rollbackOfSecond)).toEqual([
    expectedRow(second, { n: 4, more: [1, 2] }),
  ]);
  expect(await fetchRecordsOfCommit(first)).toEqual(rows);
});

test('the file has replaced records in insertion order', async () => {
  const id = await newDataset();
  await importInto(id, { records: [0, 1, 2, 3].map((n) => ({ n })) });
  const { json } = await ann.post(`/v2/datasets/${id}/data`, {});
  const ids = (json['results'] as { _id: string }[]).map(({ _id }) => _id);
  await importInto(id, { commit_mode: 'upsert', records: [{ _id: ids[3], n: 13 }] });
  const upserted = await importInto(id, { commit_mode: 'upsert', records: [{ _id: ids[2], n: 12 }, { n: 4 }, { _id: ids[0], n: 10 }] }); // prettier-ignore
  expect((await fetchRecordsOfCommit(upserted)).map(({ n }) => n)).toEqual([10, 12, 4]);
  const removal = await importInto(id, { commit_mode: 'delete', records: [{ _id: ids[3] }, { _id: ids[0] }, { _id: ids[1] }] }); // prettier-ignore
  expect((await fetchRecordsOfCommit(removal)).map(({ n }) => n)).toEqual([10, 1, 13]);
});

test('the file of a commit can be made as long as its records are those of a version that can be read', async () => {
  const { ann: owner, newDataset: newDatasetOfOwner, server: own } = pastWindow;
  const id = await newDatasetOfOwner();
  for (let n = 0; n < 16; n++)
    await owner.post('/v2/dataset_imports', { dataset_id: id, records: [{ n }] });
  await own.scheduler.compacted();
  const commits = listOf(await owner.get(`/v2/datasets/${id}/commits`)).map(({ id: one }) => one);
  const newest = String(commits[0]);
  const finished = `/v2/dataset_commits/${String(commits[2])}/download?redirect=0`;
  const fetchFinished = async (): Promise<unknown> => {
    const { status, json } = await owner.get(finished);
    const answer = await fetch(String(json['url']));
    const lines = gunzipSync(Buffer.from(await answer.arrayBuffer())).toString();
    return [status, answer.status, JSON.parse(lines)];
  };
  const firstDownload = await fetchFinished();
  expect(firstDownload).toEqual([200, 200, expect.objectContaining({ n: 13 })]);
  aheadMs += 9 * 86_400_000;
  // A merge has written the records anew after the newest commit; the vacuum removes the files that this commit wrote.
  const plan = await own.store.beginVacuum(id, { since: undefined, versions: [] });
  expect(plan!.files.length).toBeGreaterThan(0);
  for (const { path } of plan!.files) await rm(own.data.datasetFile(id, path));
  await own.store.endVacuum(id);
  const { json } = await owner.post(`/v2/datasets/${id}/data`, { as_of: Number(newest) });
  expect(json['total']).toBe(16);
  const file = await owner.get(`/v2/dataset_commits/${newest}/download?redirect=0`);
  expect([file.status, file.json]).toEqual([200, expect.anything()]);
  const text = gunzipSync(Buffer.from(await (await fetch(String(file.json['url']))).arrayBuffer()));
  expect(JSON.parse(text.toString())).toMatchObject({ n: 15, _commit: newest });
  const earlier = await owner.get(`/v2/dataset_commits/${String(commits[1])}/download?redirect=0`);
  expect([earlier.status, JSON.stringify(earlier.json)]).toEqual([400, expect.stringContaining('cannot be read any more')]); // prettier-ignore
  // A file that was written before the vacuum is served until it expires.
  expect(await fetchFinished()).toEqual(firstDownload);
});

test('the file is an export, which requests share until it expires', async () => {
  const id = await newDataset();
  const commit = await importInto(id, { records: [{ n: 1 }] });
  const path = `/v2/dataset_commits/${commit}/download`;
  const answers = await Promise.all([1, 2, 3].map(() => ann.get(`${path}?redirect=0`)));
  expect(new Set(answers.map(({ json }) => json['url'])).size).toBe(1);
  const redirect = await ann.get(path);
  expect([redirect.status, redirect.headers.get('location')]).toEqual([302, answers[0]!.json['url']]); // prettier-ignore
  const { data: listed } = (await ann.get(`/v2/datasets/${id}/exports`)).json as { data: Row[] };
  expect(listed).toEqual([expect.objectContaining({ commit_id: commit, params: {}, format: 'json', status: 'completed', documents_count: 1, as_of: { commit_id: commit, version: 0 } })]); // prettier-ignore
  expect((await ann.delete(`/v2/dataset_exports/${String(listed[0]!['id'])}`)).status).toBe(200);
  expect((await fetch(String(answers[0]!.json['url']))).status).toBe(404);
  expect(await fetchRecordsOfCommit(commit)).toHaveLength(1);
  const given = await ann.post('/v2/dataset_exports', { dataset_id: id, format: 'json', params: { commit_id: commit } }); // prettier-ignore
  expect([given.status, given.json['commit_id'], given.json['params']]).toEqual([201, null, {}]);
});

test('a commit that somebody else may not read has no file for them', async () => {
  const id = await newDataset();
  const commit = await importInto(id, { records: [{ n: 1 }] });
  const bob = await server.user('bob');
  expect((await bob.get(`/v2/dataset_commits/${commit}/download`)).status).toBe(404);
});
