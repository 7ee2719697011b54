import { rm } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, listOf } from '../server.js';

const { server, ann, newDataset } = await startServerFixture();

/** By how many milliseconds the clock of the store of `aheadFixture` is ahead. */
let aheadMs = 0;
/** A server whose store has a clock that can be set ahead, and whose merges depend on no time. */
const aheadFixture = await startServerFixture({
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
  const firstCommitId = await importInto(id, {
    records: [{ n: 1, word: 'a' }, { n: 2 }, { n: 3 }],
  });
  const secondCommitId = await importInto(id, { records: [{ n: 4, more: [1, 2] }] });
  const expectedRecord =
    (commitId: number, row: Row) => ({ ...row, _id: expect.any(String), _commit: String(commitId) }); // prettier-ignore
  const recordsOfFirst = await fetchRecordsOfCommit(firstCommitId);
  expect(recordsOfFirst).toEqual([
    expectedRecord(firstCommitId, { n: 1, word: 'a' }),
    expectedRecord(firstCommitId, { n: 2 }),
    expectedRecord(firstCommitId, { n: 3 }),
  ]);
  expect(await fetchRecordsOfCommit(secondCommitId)).toEqual([
    expectedRecord(secondCommitId, { n: 4, more: [1, 2] }),
  ]);
  const deletedRecords = [recordsOfFirst[2], recordsOfFirst[0]].map((row) => ({
    _id: row!['_id'],
  }));
  const removalCommitId = await importInto(id, { records: deletedRecords, commit_mode: 'delete' });
  expect(await fetchRecordsOfCommit(removalCommitId)).toEqual([
    recordsOfFirst[0],
    recordsOfFirst[2],
  ]);
  const removalRollbackId = idOf(
    await ann.post(`/v2/dataset_commits/${removalCommitId}/rollback`, {}),
  );
  expect(await fetchRecordsOfCommit(removalRollbackId)).toEqual([
    recordsOfFirst[0],
    recordsOfFirst[2],
  ]);
  const secondRollbackId = idOf(
    await ann.post(`/v2/dataset_commits/${secondCommitId}/rollback`, {}),
  );
  expect(await fetchRecordsOfCommit(secondRollbackId)).toEqual([
    expectedRecord(secondCommitId, { n: 4, more: [1, 2] }),
  ]);
  expect(await fetchRecordsOfCommit(firstCommitId)).toEqual(recordsOfFirst);
});

test('the file has replaced records in insertion order', async () => {
  const id = await newDataset();
  await importInto(id, { records: [0, 1, 2, 3].map((n) => ({ n })) });
  const { json } = await ann.post(`/v2/datasets/${id}/data`, {});
  const ids = (json['results'] as { _id: string }[]).map(({ _id }) => _id);
  await importInto(id, { commit_mode: 'upsert', records: [{ _id: ids[3], n: 13 }] });
  const upsertCommitId =
    await importInto(id, { commit_mode: 'upsert', records: [{ _id: ids[2], n: 12 }, { n: 4 }, { _id: ids[0], n: 10 }] }); // prettier-ignore
  expect((await fetchRecordsOfCommit(upsertCommitId)).map(({ n }) => n)).toEqual([10, 12, 4]);
  const removalCommitId = await importInto(id, { commit_mode: 'delete', records: [{ _id: ids[3] }, { _id: ids[0] }, { _id: ids[1] }] }); // prettier-ignore
  expect((await fetchRecordsOfCommit(removalCommitId)).map(({ n }) => n)).toEqual([10, 1, 13]);
});

test('the file of a commit can be made as long as its records are those of a version that can be read', async () => {
  const { ann: owner, newDataset: newDatasetOfOwner, server: aheadServer } = aheadFixture;
  const id = await newDatasetOfOwner();
  for (let n = 0; n < 16; n++)
    await owner.post('/v2/dataset_imports', { dataset_id: id, records: [{ n }] });
  await aheadServer.scheduler.compacted();
  const commitIds = listOf(await owner.get(`/v2/datasets/${id}/commits`)).map(({ id: one }) => one);
  const newestCommitId = String(commitIds[0]);
  const finishedPath = `/v2/dataset_commits/${String(commitIds[2])}/download?redirect=0`;
  const fetchFinished = async (): Promise<unknown> => {
    const { status, json } = await owner.get(finishedPath);
    const answer = await fetch(String(json['url']));
    const line = gunzipSync(Buffer.from(await answer.arrayBuffer())).toString();
    return [status, answer.status, JSON.parse(line)];
  };
  const firstDownload = await fetchFinished();
  expect(firstDownload).toEqual([200, 200, expect.objectContaining({ n: 13 })]);
  aheadMs += 9 * 86_400_000;
  // A merge has written the records anew after the newest commit; the vacuum removes the files that this commit wrote.
  const plan = await aheadServer.store.beginVacuum(id, { since: undefined, versions: [] });
  expect(plan!.files.length).toBeGreaterThan(0);
  for (const { path } of plan!.files) await rm(aheadServer.data.datasetFile(id, path));
  await aheadServer.store.endVacuum(id);
  const { json } = await owner.post(`/v2/datasets/${id}/data`, { as_of: Number(newestCommitId) });
  expect(json['total']).toBe(16);
  const file = await owner.get(`/v2/dataset_commits/${newestCommitId}/download?redirect=0`);
  expect([file.status, file.json]).toEqual([200, expect.anything()]);
  const fileBytes = gunzipSync(
    Buffer.from(await (await fetch(String(file.json['url']))).arrayBuffer()),
  );
  expect(JSON.parse(fileBytes.toString())).toMatchObject({ n: 15, _commit: newestCommitId });
  const earlierFile = await owner.get(
    `/v2/dataset_commits/${String(commitIds[1])}/download?redirect=0`,
  );
  expect([earlierFile.status, JSON.stringify(earlierFile.json)]).toEqual([400, expect.stringContaining('cannot be read any more')]); // prettier-ignore
  // A file that was written before the vacuum is served until it expires.
  expect(await fetchFinished()).toEqual(firstDownload);
});

test('the file is an export, which requests share until it expires', async () => {
  const id = await newDataset();
  const commitId = await importInto(id, { records: [{ n: 1 }] });
  const path = `/v2/dataset_commits/${commitId}/download`;
  const answers = await Promise.all([1, 2, 3].map(() => ann.get(`${path}?redirect=0`)));
  expect(new Set(answers.map(({ json }) => json['url'])).size).toBe(1);
  const redirectAnswer = await ann.get(path);
  expect([redirectAnswer.status, redirectAnswer.headers.get('location')]).toEqual([302, answers[0]!.json['url']]); // prettier-ignore
  const { data: listedExports } = (await ann.get(`/v2/datasets/${id}/exports`)).json as {
    data: Row[];
  };
  expect(listedExports).toEqual([expect.objectContaining({ commit_id: commitId, params: {}, format: 'json', status: 'completed', documents_count: 1, as_of: { commit_id: commitId, version: 0 } })]); // prettier-ignore
  expect((await ann.delete(`/v2/dataset_exports/${String(listedExports[0]!['id'])}`)).status).toBe(
    200,
  );
  expect((await fetch(String(answers[0]!.json['url']))).status).toBe(404);
  expect(await fetchRecordsOfCommit(commitId)).toHaveLength(1);
  const exportAnswer =
    await ann.post('/v2/dataset_exports', { dataset_id: id, format: 'json', params: { commit_id: commitId } }); // prettier-ignore
  expect([
    exportAnswer.status,
    exportAnswer.json['commit_id'],
    exportAnswer.json['params'],
  ]).toEqual([201, null, {}]);
});

test('a commit that somebody else may not read has no file for them', async () => {
  const id = await newDataset();
  const commitId = await importInto(id, { records: [{ n: 1 }] });
  const bob = await server.user('bob');
  expect((await bob.get(`/v2/dataset_commits/${commitId}/download`)).status).toBe(404);
});
