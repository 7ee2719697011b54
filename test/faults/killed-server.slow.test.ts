import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { idOf, sendRequest, type Client } from '../api/server.js';
import { pollUntil } from '../until.js';
import { KillableApiProcess } from './api-process.js';

/*
 * The API process kills itself during an upload, a restoration, a deletion, a rollback or the removal of deleted versions (threat C2);
 * another process then starts on the same data folder. One test without a kill concerns `--keep-versions-days 0`.
 */

let api: KillableApiProcess;
let dataFolderPath: string;
beforeAll(async () => {
  api = await KillableApiProcess.createWithUser();
  dataFolderPath = api.dataFolderPath;
});
afterEach(() => api.signalAndWait('SIGKILL'));
afterAll(() => api.removeRootFolder());

test.each(['upload.partial', 'upload.renamed'])(
  'C2: killed at %s, the file is as before and can be sent again',
  async (point) => {
    const ann = await api.start(point);
    const vaultId = idOf(await ann.post('/v2/vaults', { name: point }));
    const file = { vault_id: vaultId, object_type: 'file', filename: 'a.txt' };
    const id = idOf(await ann.post('/v2/objects', file));
    const createUploadUrl = async (client: Client): Promise<string> =>
      String((await client.post('/v2/objects', { ...file, filename: 'b.txt' })).json['upload_url']);
    const exit = api.waitForExit();
    const url = await createUploadUrl(ann);
    await expect(sendRequest('', 'PUT', url, 'ACGT')).rejects.toThrow();
    expect(await exit).toEqual([null, 'SIGKILL']);
    const annAfterRestart = await api.start();
    expect((await annAfterRestart.get(`/v2/objects/${id}`)).status).toBe(200);
    expect(await readdir(join(dataFolderPath, 'objects'))).toEqual([]);
    const { status } = await sendRequest('', 'PUT', await createUploadUrl(annAfterRestart), 'ACGT');
    expect(status).toBe(200);
    expect((await annAfterRestart.delete(`/v2/vaults/${vaultId}`)).status).toBe(200);
    await api.expectIntactData();
  },
);

/** Returns the content of a file, fetched from its download address. */
async function downloadContent(ann: Client, path: string): Promise<string> {
  const { download_url: url } = (await ann.get(path)).json;
  return (await sendRequest('', 'GET', String(url))).text;
}

test.each(
  ['enabled', 'disabled'].flatMap((versioning) =>
    ['upload.partial', 'upload.renamed', 'upload.published'].map((point) => [versioning, point]),
  ),
)(
  'C2: with versioning %s, killed at %s of another content, the file has one of both, whole',
  async (versioning, point) => {
    const ann = await api.start(`${point}:2`);
    const vaultId = idOf(await ann.post('/v2/vaults', { name: `${versioning} ${point}`, versioning })); // prettier-ignore
    const createdObject = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'a' }); // prettier-ignore
    const [id, path] = [idOf(createdObject), String(createdObject.json['upload_url'])];
    expect((await sendRequest('', 'PUT', path, 'first')).status).toBe(200);
    const exit = api.waitForExit();
    await expect(sendRequest('', 'PUT', path, 'second')).rejects.toThrow();
    expect(await exit).toEqual([null, 'SIGKILL']);
    const annAfterRestart = await api.start();
    const downloadPath = `/v2/objects/${id}/download`;
    const isPublished = point === 'upload.published';
    expect(await downloadContent(annAfterRestart, downloadPath)).toBe(
      isPublished ? 'second' : 'first',
    );
    const { pathname, search } = new URL(path);
    const origin = new URL(String((await annAfterRestart.get(downloadPath)).json['download_url']))
      .origin;
    expect((await sendRequest('', 'PUT', origin + pathname + search, 'second')).status).toBe(200);
    expect(await downloadContent(annAfterRestart, downloadPath)).toBe('second');
    const isVersioned = versioning === 'enabled';
    expect((await annAfterRestart.get(`/v2/objects/${id}`)).json['version_count']).toBe(
      isVersioned ? 2 : 1,
    );
    if (isVersioned)
      expect(await downloadContent(annAfterRestart, `/v2/objects/${id}/versions/1`)).toBe('first');
    const storedNames = (await readdir(join(dataFolderPath, 'objects'))).toSorted();
    expect(storedNames).toEqual(isVersioned ? [`${id}-1`, `${id}-2`] : [`${id}-2`]);
    await annAfterRestart.delete(`/v2/vaults/${vaultId}`);
    await api.expectIntactData();
  },
);

test.each(['upload.renamed', 'upload.published'])(
  'C2: killed at %s of a restoration, the versions are as before or have one more',
  async (point) => {
    const ann = await api.start(`${point}:3`);
    const vaultId = idOf(await ann.post('/v2/vaults', { name: `restore ${point}`, versioning: 'enabled' })); // prettier-ignore
    const createdObject = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'a' }); // prettier-ignore
    const id = idOf(createdObject);
    for (const content of ['first', 'second'])
      expect(
        (await sendRequest('', 'PUT', String(createdObject.json['upload_url']), content)).status,
      ).toBe(200);
    const exit = api.waitForExit();
    const restorePath = `/v2/objects/${id}/versions/current`;
    await expect(ann.post(restorePath, { version_id: 1 })).rejects.toThrow();
    expect(await exit).toEqual([null, 'SIGKILL']);
    const annAfterRestart = await api.start();
    const isPublished = point === 'upload.published';
    const contents = ['first', 'second', ...(isPublished ? ['first'] : [])];
    expect(await downloadContent(annAfterRestart, `/v2/objects/${id}/download`)).toBe(
      contents.at(-1),
    );
    for (const [i, content] of contents.entries())
      expect(await downloadContent(annAfterRestart, `/v2/objects/${id}/versions/${i + 1}`)).toBe(
        content,
      );
    expect((await annAfterRestart.get(`/v2/objects/${id}`)).json['version_count']).toBe(
      contents.length,
    );
    expect(await readdir(join(dataFolderPath, 'objects'))).toHaveLength(contents.length);
    // Versions, including deleted ones, keep their numbers after an orderly restart.
    await annAfterRestart.delete(`/v2/objects/${id}/versions/2`);
    const listedVersions = (
      await annAfterRestart.get(`/v2/objects/${id}/versions?show_deleted=true`)
    ).json['data'];
    await api.signalAndWait('SIGTERM');
    const annAfterSecondRestart = await api.start();
    const versionsAnswer = await annAfterSecondRestart.get(
      `/v2/objects/${id}/versions?show_deleted=true`,
    );
    expect(versionsAnswer.json['data']).toEqual(listedVersions);
    await annAfterSecondRestart.call('PUT', `/v2/objects/${id}/versions/2`);
    expect(await downloadContent(annAfterSecondRestart, `/v2/objects/${id}/versions/2`)).toBe(
      'second',
    );
    await annAfterSecondRestart.delete(`/v2/vaults/${vaultId}`);
    await api.expectIntactData();
  },
);

test('versions that were deleted some days ago are removed by the next start, also after a kill', async () => {
  const ann = await api.start();
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'purge', versioning: 'enabled' }));
  const createdObject = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'a' }); // prettier-ignore
  const id = idOf(createdObject);
  for (const content of ['first', 'second'])
    await sendRequest('', 'PUT', String(createdObject.json['upload_url']), content);
  await ann.delete(`/v2/objects/${id}/versions/2`);
  await api.signalAndWait('SIGTERM');
  api.forkProcess('versions.forgotten', ['--keep-versions-days', '0']);
  expect(await api.waitForExit()).toEqual([null, 'SIGKILL']);
  expect((await readdir(join(dataFolderPath, 'objects'))).toSorted()).toEqual([
    `${id}-1`,
    `${id}-2`,
  ]);
  const annAfterRestart = await api.start();
  expect(await readdir(join(dataFolderPath, 'objects'))).toEqual([`${id}-1`]);
  expect((await annAfterRestart.call('PUT', `/v2/objects/${id}/versions/2`)).status).toBe(404);
  expect(await downloadContent(annAfterRestart, `/v2/objects/${id}/download`)).toBe('first');
  await annAfterRestart.delete(`/v2/vaults/${vaultId}`);
  await api.expectIntactData();
});

test('with --keep-versions-days 0, files that a merge has replaced go unless they were read within the last hour', async () => {
  const settings = ['--keep-versions-days', '0'];
  let ann = await api.start(undefined, settings);
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'no versions' }));
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  const importRecord = (n: number) => ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ n }] }); // prettier-ignore
  for (let n = 0; n < 16; n++) await importRecord(n);
  const folder = join(dataFolderPath, 'datasets', String(id));
  const countEntries = async (): Promise<number> =>
    (await readdir(join(folder, '_delta_log'))).filter((name) => name.endsWith('.json')).length;
  await pollUntil(async () => (await countEntries()) > 16); // merged
  await api.signalAndWait('SIGTERM');
  // The next process has read none of the files that the merge has replaced.
  ann = await api.start(undefined, settings);
  await importRecord(16);
  const isSegment = (name: string): boolean => name.endsWith('.parquet');
  await pollUntil(async () => (await readdir(folder)).filter(isSegment).length === 2);
  const { json } = await ann.get(`/v2/datasets/${id}/commits`);
  const firstCommitId = (json['data'] as { readonly id: number }[]).at(-1)!.id;
  const refusal = await ann.post(`/v2/datasets/${id}/data`, { as_of: firstCommitId });
  expect([refusal.status, refusal.json['detail']]).toEqual([400, expect.stringContaining('(--keep-versions-days)')]); // prettier-ignore
  expect((await ann.post(`/v2/datasets/${id}/data`, {})).json['total']).toBe(17);
  await ann.delete(`/v2/vaults/${vaultId}`);
  await api.expectIntactData();
});

/** Uploads those parts of a file that have not arrived, and completes the upload; returns the status. */
async function completeUpload(ann: Client, upload_id: unknown, bytes: Buffer): Promise<number> {
  const urlsAnswer = await ann.post('/v2/presigned_urls', { upload_id });
  if (urlsAnswer.status !== 200) return (await ann.post('/v2/complete_multi_part', { upload_id, parts: [] })).status; // prettier-ignore
  const parts: object[] = [];
  type Part = { part_number: number; start_byte: number; end_byte: number; upload_url: string; etag: string | null }; // prettier-ignore
  for (const { part_number, start_byte, end_byte, upload_url, etag } of urlsAnswer.json[
    'presigned_urls'
  ] as Part[]) {
    // prettier-ignore
    const piece = bytes.subarray(start_byte, end_byte + 1);
    const partEtag = etag ?? (await sendRequest('', 'PUT', upload_url, piece)).headers.get('etag');
    parts.push({ part_number, etag: partEtag });
  }
  return (await ann.post('/v2/complete_multi_part', { upload_id, parts })).status;
}

test.each(['part.stored', 'multipart.joined', 'upload.renamed', 'multipart.published'])(
  'C2: killed at %s, an upload in parts goes on, and nothing is left of its parts',
  async (point) => {
    const ann = await api.start(point);
    const vaultId = idOf(await ann.post('/v2/vaults', { name: `parts ${point}` }));
    const bytes = Buffer.alloc(2_500_000, 'ACGT');
    const file = { vault_id: vaultId, object_type: 'file', filename: 'a.txt', size: bytes.length };
    const createdObject = await ann.post('/v2/objects', file);
    expect((createdObject.json['presigned_urls'] as unknown[]).length).toBe(3);
    const exit = api.waitForExit();
    const uploadId = createdObject.json['upload_id'];
    await expect(completeUpload(ann, uploadId, bytes)).rejects.toThrow();
    expect(await exit).toEqual([null, 'SIGKILL']);
    const annAfterRestart = await api.start();
    expect(await completeUpload(annAfterRestart, uploadId, bytes)).toBe(200);
    const { json } = await annAfterRestart.get(`/v2/objects/${idOf(createdObject)}`);
    expect(json).toMatchObject({ availability: 'available', size: bytes.length });
    expect(await readdir(join(dataFolderPath, 'parts'))).toEqual([]);
    const { download_url: url } = (
      await annAfterRestart.get(`/v2/objects/${idOf(createdObject)}/download`)
    ).json;
    const storedBytes = Buffer.from(await (await fetch(String(url))).arrayBuffer());
    expect(storedBytes.equals(bytes)).toBe(true);
    await annAfterRestart.delete(`/v2/vaults/${vaultId}`);
    await api.expectIntactData();
  },
);

test.each(['delete.before-drop', 'delete.dropped'])(
  'C2: killed at %s, the dataset is gone with its files after the next start',
  async (point) => {
    const ann = await api.start(point);
    const vaultId = idOf(await ann.post('/v2/vaults', { name: point }));
    const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
    await ann.post('/v2/dataset_imports', { dataset_id: id, records: [{ a: 1 }] });
    const exit = api.waitForExit();
    await expect(ann.delete(`/v2/datasets/${id}`)).rejects.toThrow();
    expect(await exit).toEqual([null, 'SIGKILL']);
    const annAfterRestart = await api.start();
    expect((await annAfterRestart.get(`/v2/datasets/${id}`)).status).toBe(404);
    await api.signalAndWait('SIGTERM');
    // The first start only marks the dataset as dropped, because queries may use its files; this second start deletes the files.
    await api.start();
    expect(await readdir(join(dataFolderPath, 'datasets'))).not.toContain(String(id));
    await api.expectIntactData();
  },
);

test.each([
  ['log.temp-written', 'as before'],
  ['log.linked', 'rolled back'],
  ['rollback.before-catalog', 'rolled back'],
  ['rollback.after-catalog', 'rolled back'],
])('C2, C6: killed at %s of a rollback, the dataset is %s as a whole', async (point, outcome) => {
  const recordsOf = async (ann: Client, datasetId: number): Promise<unknown> =>
    (await ann.post(`/v2/datasets/${datasetId}/data`, {})).json['results'];
  let ann = await api.start();
  const vaultId = idOf(await ann.post('/v2/vaults', { name: `rollback ${point}` }));
  const datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  const importRecords = (body: object) => ann.post('/v2/dataset_imports', { dataset_id: datasetId, ...body }); // prettier-ignore
  await importRecords({ records: [{ n: 1 }, { n: 2 }, { n: 3 }] });
  const recordsBefore = await recordsOf(ann, datasetId);
  const records = [{ n: 2, changed: true }, { n: 4 }];
  const { json } = await importRecords({ commit_mode: 'upsert', id_fields: ['n'], records });
  const path = `/v2/dataset_commits/${(json['dataset_commits'] as { id: number }[])[0]!.id}/rollback`;
  const changedRecords = await recordsOf(ann, datasetId);
  await api.signalAndWait('SIGTERM');
  ann = await api.start(point);
  const exit = api.waitForExit();
  const idempotencyHeaders = { 'idempotency-key': `key of ${point}` };
  await expect(ann.call('POST', path, {}, idempotencyHeaders)).rejects.toThrow();
  expect(await exit).toEqual([null, 'SIGKILL']);
  ann = await api.start();
  const isDone = outcome === 'rolled back';
  const keptRecords = (isDone ? recordsBefore : changedRecords) as object[];
  const expectedRecords = keptRecords.map((record) => ({
    ...record,
    ...(isDone && { changed: null }),
  }));
  expect(await recordsOf(ann, datasetId)).toEqual(expectedRecords);
  const repeatedAnswer = await ann.call('POST', path, {}, idempotencyHeaders);
  expect([repeatedAnswer.status, repeatedAnswer.headers.get('idempotent-replayed')]).toEqual([201, isDone ? 'true' : null]); // prettier-ignore
  const secondRollback = await ann.post(path, {});
  const refusalText = `rolled back already, by commit ${idOf(repeatedAnswer)}`;
  expect([secondRollback.status, secondRollback.json['detail']]).toEqual([400, expect.stringContaining(refusalText)]); // prettier-ignore
  const { json: commitList } = await ann.get(`/v2/datasets/${datasetId}/commits`);
  expect((commitList['data'] as { mode: string }[]).map(({ mode }) => mode)).toEqual([
    'rollback',
    'upsert',
    'append',
  ]);
  await api.expectIntactData();
});
