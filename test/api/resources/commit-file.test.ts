import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { startServerFixture } from '../lab.js';
import { idOf } from '../server.js';

const { server, ann, newDataset } = await startServerFixture();

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
