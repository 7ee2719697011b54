import { beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { sweepExpired } from '../../../scheduler/queue/sweep.js';
import { startServerFixture } from '../server-fixture.js';
import {
  grantPermission,
  idOf,
  listOf,
  sendRequest,
  waitForJob,
  type Answer,
  type Client,
} from '../server.js';

/* Tests versions of files (contract 6.8), with small limits for uploads. */

const uploadLimits = { multipartBytes: 1000, partBytes: 400 };
const { server, ann, newDataset } = await startServerFixture({ limits: uploadLimits });
let readerClient: Client;
let strangerClient: Client;
let vaultId: number;
let plainVaultId: number;

beforeAll(async () => {
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Versions', versioning: 'enabled' }));
  plainVaultId = idOf(await ann.post('/v2/vaults', { name: 'Plain' }));
  readerClient = await server.user('reader');
  strangerClient = await server.user('stranger', { domain: 'other' });
  await grantPermission(server, vaultId, readerClient, 'read');
});

const md5Of = (text: string): string => createHash('md5').update(text).digest('hex');

/** Creates a file or a version of one, and uploads `content` unless it is null; returns the answer to the create. */
async function putFile(
  filename: string,
  content: string | null,
  more: object = {},
): Promise<Answer> {
  const createdObject = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename, ...more }); // prettier-ignore
  expect([filename, createdObject.status]).toEqual([filename, 201]);
  if (content !== null) expect((await uploadContent(createdObject, content)).status).toBe(200);
  return createdObject;
}

function uploadContent(createdObject: Answer, content: string): Promise<Answer> {
  return sendRequest('', 'PUT', String(createdObject.json['upload_url']), content);
}

async function downloadPath(path: string, client: Client = ann): Promise<string> {
  const { json } = await client.get(path);
  return (await sendRequest('', 'GET', String(json['download_url']))).text;
}

const downloadCurrentContent = (id: number): Promise<string> =>
  downloadPath(`/v2/objects/${id}/download`);

/** Returns, for each version in the list of a file's versions, its number and whether it is deleted and current. */
async function fetchVersions(
  id: number,
  query = '?show_deleted=True',
): Promise<readonly unknown[][]> {
  const list = listOf(await ann.get(`/v2/objects/${id}/versions${query}`));
  return list.map((one) => [one['id'], one['is_deleted'], one['is_current']]);
}

async function listStoredContentNames(id: number): Promise<readonly string[]> {
  const names = await readdir(server.data.objects);
  return names.filter((name) => name.startsWith(`${id}-`)).toSorted();
}

async function fetchFileBytes(id = vaultId): Promise<number> {
  const { vaults } = (await ann.get('/v2/usage')).json as { vaults: { vault_id: number; file_bytes: number }[] }; // prettier-ignore
  return vaults.find((one) => one.vault_id === id)!.file_bytes;
}

describe('a file that is created under an existing name', () => {
  test('gets a version, which is current once its content is there', async () => {
    const id = idOf(await putFile('a.txt', 'first'));
    const secondVersion = await putFile('A.TXT', null, { size: 6, md5: md5Of('second') });
    const announcedContent = { size: 6, md5: md5Of('second'), availability: 'unverified' };
    expect(secondVersion.json).toMatchObject({
      id,
      filename: 'a.txt',
      version_count: 2,
      ...announcedContent,
    });
    const stateBefore = {
      size: 5,
      md5: md5Of('first'),
      availability: 'available',
      upload_url: null,
    };
    expect((await ann.get(`/v2/objects/${id}`)).json).toMatchObject(stateBefore);
    expect(await downloadCurrentContent(id)).toBe('first');
    expect((await uploadContent(secondVersion, 'wrong!')).status).toBe(400);
    expect(await downloadCurrentContent(id)).toBe('first');
    expect((await uploadContent(secondVersion, 'second')).status).toBe(200);
    const stateAfter = {
      size: 6,
      md5: md5Of('second'),
      version_count: 2,
      availability: 'available',
    };
    expect((await ann.get(`/v2/objects/${id}`)).json).toMatchObject(stateAfter);
    expect(await downloadCurrentContent(id)).toBe('second');
    expect(await fetchVersions(id)).toEqual([[2, false, true], [1, false, false]]); // prettier-ignore
    expect(await downloadPath(`/v2/objects/${id}/versions/1`)).toBe('first');
    expect(await fetchFileBytes()).toBe(11);
  });

  test('is another file where the vault keeps no versions, or another kind of object has the name', async () => {
    const plainVault = { vault_id: plainVaultId };
    const firstAnswer = await putFile('b.txt', 'first', plainVault);
    expect((await putFile('b.txt', null, plainVault)).json).toMatchObject({ filename: 'b-1.txt', version_count: 1 }); // prettier-ignore
    await ann.patch(`/v2/vaults/${plainVaultId}`, { versioning: 'suspended' });
    expect((await putFile('b.txt', null, plainVault)).json).toMatchObject({ filename: 'b-2.txt' });
    expect((await ann.get(`/v2/objects/${idOf(firstAnswer)}`)).json['version_count']).toBe(1);
    const folder = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'folder', filename: 'kinds' }); // prettier-ignore
    expect((await putFile('kinds', null)).json).toMatchObject({ filename: 'kinds-1' });
    expect((await putFile('a.txt', null, { parent_object_id: idOf(folder) })).json['version_count']).toBe(1); // prettier-ignore
  });

  test('keeps its description and tags unless others are given', async () => {
    const id = idOf(await putFile('described.txt', 'x', { description: 'one', tags: ['t'] }));
    await putFile('described.txt', 'y', { description: null, tags: [], metadata: {} });
    expect((await ann.get(`/v2/objects/${id}`)).json).toMatchObject({ description: 'one', tags: ['t'] }); // prettier-ignore
    await putFile('described.txt', 'z', { description: 'two', metadata: { run: 3 } });
    const changedFields = {
      description: 'two',
      tags: ['t'],
      metadata: { run: 3 },
      version_count: 3,
    };
    expect((await ann.get(`/v2/objects/${id}`)).json).toMatchObject(changedFields);
  });

  test('gets one version for a request that is repeated with its key', async () => {
    const id = idOf(await putFile('repeated.txt', 'x'));
    const body = { vault_id: vaultId, object_type: 'file', filename: 'repeated.txt', md5: md5Of('y') }; // prettier-ignore
    const headers = { 'Idempotency-Key': 'version of repeated.txt' };
    const [firstAnswer, repeatedAnswer] = [
      await ann.call('POST', '/v2/objects', body, headers),
      await ann.call('POST', '/v2/objects', body, headers),
    ];
    expect([idOf(repeatedAnswer), repeatedAnswer.json['version_count']]).toEqual([id, 2]);
    expect(repeatedAnswer.json).toMatchObject({ md5: md5Of('y'), availability: 'unverified' });
    expect(firstAnswer.json['version_count']).toBe(2);
    expect((await uploadContent(repeatedAnswer, 'y')).status).toBe(200);
    expect(await fetchVersions(id)).toEqual([[2, false, true], [1, false, false]]); // prettier-ignore
  });

  test('gets versions in the order in which they were begun', async () => {
    const id = idOf(await putFile('order.txt', '1'));
    const [secondVersion, thirdVersion] = [
      await putFile('order.txt', null),
      await putFile('order.txt', null),
    ];
    await uploadContent(thirdVersion, '3');
    await uploadContent(secondVersion, '2');
    expect(await downloadCurrentContent(id)).toBe('3');
    expect(await downloadPath(`/v2/objects/${id}/versions/2`)).toBe('2');
  });
});

describe('an upload to the address of a file that has content', () => {
  test('adds a version, but none for the content that it has', async () => {
    const firstVersion = await putFile('again.txt', 'first');
    const id = idOf(firstVersion);
    await uploadContent(firstVersion, 'first');
    expect(await fetchVersions(id)).toHaveLength(1);
    await uploadContent(firstVersion, 'second');
    await uploadContent(firstVersion, 'first');
    expect(await fetchVersions(id)).toEqual([[3, false, true], [2, false, false], [1, false, false]]); // prettier-ignore
    expect(await listStoredContentNames(id)).toEqual([`${id}-1`, `${id}-2`, `${id}-3`]);
  });

  test('replaces the content in a vault that keeps no versions', async () => {
    const firstVersion = await putFile('replaced.txt', 'first', { vault_id: plainVaultId });
    const id = idOf(firstVersion);
    const bytesBefore = await fetchFileBytes(plainVaultId);
    const { download_url: url } = (await ann.get(`/v2/objects/${id}/download`)).json;
    await uploadContent(firstVersion, 'another');
    expect(await fetchVersions(id)).toEqual([[2, false, true]]);
    expect(await listStoredContentNames(id)).toEqual([`${id}-2`]);
    expect(await fetchFileBytes(plainVaultId)).toBe(bytesBefore + 2);
    expect((await sendRequest('', 'GET', String(url))).status).toBe(404);
  });
});

describe('a version', () => {
  test('is deleted, shown if asked for, and brought back; the newest one left is current', async () => {
    const id = idOf(await putFile('gone.txt', 'first'));
    await putFile('gone.txt', 'second');
    const { download_url: url } = (await ann.get(`/v2/objects/${id}/versions/2`)).json;
    const deletionAnswer = await ann.delete(`/v2/objects/${id}/versions/2`);
    expect([deletionAnswer.status, deletionAnswer.json]).toEqual([200, expect.objectContaining({ id: 2, is_deleted: true, is_current: false })]); // prettier-ignore
    expect(await downloadCurrentContent(id)).toBe('first');
    expect((await ann.get(`/v2/objects/${id}`)).json).toMatchObject({ version_count: 1, size: 5 });
    expect(await fetchVersions(id, '')).toEqual([[1, false, true]]);
    expect(await fetchVersions(id)).toEqual([[2, true, false], [1, false, true]]); // prettier-ignore
    expect((await sendRequest('', 'GET', String(url))).status).toBe(404);
    expect((await ann.get(`/v2/objects/${id}/versions/2`)).status).toBe(404);
    const refusedAnswer = await ann.delete(`/v2/objects/${id}/versions/1`);
    expect([refusedAnswer.status, refusedAnswer.text]).toEqual([409, expect.stringContaining('delete the file instead')]); // prettier-ignore
    expect((await ann.call('PUT', `/v2/objects/${id}/versions/2`)).json).toMatchObject({ is_deleted: false, is_current: true }); // prettier-ignore
    expect(await downloadCurrentContent(id)).toBe('second');
    expect((await sendRequest('', 'GET', String(url))).text).toBe('second');
  });

  test('that has no content yet can be deleted, and then takes none', async () => {
    const id = idOf(await putFile('waiting.txt', null));
    const secondVersion = await putFile('waiting.txt', null);
    expect((await ann.get(`/v2/objects/${id}/versions/2`)).status).toBe(400);
    expect((await ann.delete(`/v2/objects/${id}/versions/2`)).status).toBe(200);
    expect((await ann.delete(`/v2/objects/${id}/versions/1`)).status).toBe(409);
    expect((await uploadContent(secondVersion, 'late')).status).toBe(404);
    expect(await listStoredContentNames(id)).toEqual([]);
  });

  test('becomes current again as a new version with the same content', async () => {
    const id = idOf(await putFile('restored.txt', 'first', { mimetype: 'text/plain' }));
    await putFile('restored.txt', 'second', { mimetype: 'text/csv' });
    const restoreAnswer = await ann.post(`/v2/objects/${id}/versions/current`, { version_id: 1 });
    const shownVersion = { id: 3, object_id: id, md5: md5Of('first'), size: 5, is_current: true };
    expect([restoreAnswer.status, restoreAnswer.json]).toEqual([
      200,
      expect.objectContaining(shownVersion),
    ]);
    expect(await downloadCurrentContent(id)).toBe('first');
    expect((await ann.get(`/v2/objects/${id}`)).json).toMatchObject({ mimetype: 'text/plain', version_count: 3 }); // prettier-ignore
    expect(await downloadPath(`/v2/objects/${id}/versions/2`)).toBe('second');
    await putFile('restored.txt', null);
    await ann.delete(`/v2/objects/${id}/versions/2`);
    for (const version_id of [undefined, 'x', 2, 3, 4, 5]) {
      const refusedAnswer = await ann.post(`/v2/objects/${id}/versions/current`, { version_id });
      expect([version_id, refusedAnswer.status, Object.keys(refusedAnswer.json)]).toEqual([version_id, 400, ['version_id']]); // prettier-ignore
    }
  });

  test('is kept where versions are suspended, and a restored one is added there', async () => {
    const suspendedVaultId = idOf(
      await ann.post('/v2/vaults', { name: 'Suspended', versioning: 'enabled' }),
    );
    const firstVersion = await putFile('s.txt', 'first', { vault_id: suspendedVaultId });
    const id = idOf(firstVersion);
    await putFile('s.txt', 'second', { vault_id: suspendedVaultId });
    await ann.patch(`/v2/vaults/${suspendedVaultId}`, { versioning: 'suspended' });
    await uploadContent(firstVersion, 'third');
    expect(await fetchVersions(id)).toEqual([[3, false, true], [1, false, false]]); // prettier-ignore
    await ann.post(`/v2/objects/${id}/versions/current`, { version_id: 1 });
    expect(await fetchVersions(id)).toEqual([[4, false, true], [3, false, false], [1, false, false]]); // prettier-ignore
    expect(await listStoredContentNames(id)).toEqual([`${id}-1`, `${id}-3`, `${id}-4`]);
  });

  test('is removed with its content some days after its deletion, and its number is not used again', async () => {
    const vault_id = idOf(await ann.post('/v2/vaults', { name: 'Purged', versioning: 'enabled' }));
    const id = idOf(await putFile('purged.txt', 'first', { vault_id }));
    await putFile('purged.txt', 'second', { vault_id });
    const bytes = await fetchFileBytes(vault_id);
    const { json } = await ann.delete(`/v2/objects/${id}/versions/2`);
    expect(await fetchFileBytes(vault_id)).toBe(bytes);
    const deletedMs = Date.parse(String(json['updated_at']));
    const options = { keepVersionsMs: 5000, report: (): void => undefined };
    const sweep = (now: number): Promise<void> => sweepExpired(server.catalog, server.data, { ...options, now }); // prettier-ignore
    await sweep(deletedMs + 5000);
    expect(await listStoredContentNames(id)).toEqual([`${id}-1`, `${id}-2`]);
    await sweep(deletedMs + 5001);
    expect(await listStoredContentNames(id)).toEqual([`${id}-1`]);
    expect(await fetchFileBytes(vault_id)).toBe(bytes - 6);
    expect((await ann.call('PUT', `/v2/objects/${id}/versions/2`)).status).toBe(404);
    await putFile('purged.txt', 'third', { vault_id });
    expect(await fetchVersions(id)).toEqual([[3, false, true], [1, false, false]]); // prettier-ignore
  });

  test('goes with its file', async () => {
    const id = idOf(await putFile('deleted.txt', 'first'));
    await putFile('deleted.txt', 'second');
    await ann.delete(`/v2/objects/${id}/versions/1`);
    expect(await listStoredContentNames(id)).toHaveLength(2);
    await ann.delete(`/v2/objects/${id}`);
    expect(await listStoredContentNames(id)).toEqual([]);
    expect((await ann.get(`/v2/objects/${id}/versions`)).status).toBe(404);
  });

  test('is for those who may read or write the vault', async () => {
    const id = idOf(await putFile('rights.txt', 'first'));
    await putFile('rights.txt', 'second');
    const versionPath = `/v2/objects/${id}/versions/1`;
    const restorePath = `/v2/objects/${id}/versions/current`;
    expect(await downloadPath(versionPath, readerClient)).toBe('first');
    for (const [method, path] of [
      ['PUT', versionPath],
      ['DELETE', versionPath],
      ['POST', restorePath],
    ] as const) {
      // prettier-ignore
      expect((await readerClient.call(method, path, { version_id: 1 })).status).toBe(403);
      expect((await strangerClient.call(method, path, { version_id: 1 })).status).toBe(404);
    }
    expect((await strangerClient.get(versionPath)).status).toBe(404);
    expect((await strangerClient.get(`/v2/objects/${id}/versions`)).status).toBe(404);
    expect((await ann.get(`/v2/objects/${id}/versions/7`)).status).toBe(404);
    const folder = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'folder', filename: 'f' }); // prettier-ignore
    const refusedAnswer = await ann.get(`/v2/objects/${idOf(folder)}/versions`);
    expect([refusedAnswer.status, refusedAnswer.text]).toEqual([
      400,
      expect.stringContaining('Only files'),
    ]);
  });
});

describe('the rest of the server', () => {
  test('keeps a media type that is changed, for the version that is shown', async () => {
    const typedFile = await putFile('typed.txt', null, { mimetype: 'text/plain' });
    const path = `/v2/objects/${idOf(typedFile)}`;
    const fetchMimetype = async (): Promise<unknown> => (await ann.get(path)).json['mimetype'];
    await ann.patch(path, { mimetype: 'text/csv' });
    await uploadContent(typedFile, 'first');
    expect(await fetchMimetype()).toBe('text/csv');
    await putFile('typed.txt', 'second', { mimetype: 'text/x-log' });
    expect(await fetchMimetype()).toBe('text/x-log');
    await ann.delete(`${path}/versions/2`);
    expect(await fetchMimetype()).toBe('text/csv');
  });

  test('uploads versions in parts', async () => {
    const id = idOf(await putFile('parts.bin', 'small'));
    for (const [number, letter] of [
      [2, 'x'],
      [3, 'y'],
    ] as const) {
      // prettier-ignore
      const content = letter.repeat(900) + String(number).repeat(150);
      const { json } = await putFile('parts.bin', null, { size: 1050, md5: md5Of(content) });
      expect(json).toMatchObject({ id, is_multipart: true, version_count: number, size: 1050 });
      const parts = [];
      for (const part of json['presigned_urls'] as Record<string, number | string>[]) {
        const piece = content.slice(Number(part['start_byte']), Number(part['end_byte']) + 1);
        const partAnswer = await sendRequest('', 'PUT', String(part['upload_url']), piece);
        parts.push({ part_number: part['part_number'], etag: partAnswer.headers.get('etag') });
      }
      const previousContent = number === 2 ? 'small' : 'x'.repeat(900) + '2'.repeat(150);
      expect(await downloadCurrentContent(id)).toBe(previousContent);
      const { upload_id, upload_key: physical_object_id } = json;
      const completeAnswer = await ann.post('/v2/complete_multi_part', { upload_id, physical_object_id, parts }); // prettier-ignore
      expect([completeAnswer.status, await downloadCurrentContent(id)]).toEqual([200, content]);
    }
    const { json } = await putFile('parts.bin', null, { size: 2000 });
    const [part] = json['presigned_urls'] as Record<string, string>[];
    expect((await sendRequest('', 'PUT', part!['upload_url']!, 'z'.repeat(400))).status).toBe(200);
    expect(await readdir(server.data.uploadParts)).toEqual([`${id}-4`]);
    expect((await ann.delete(`/v2/objects/${id}/multipart-upload`)).status).toBe(200);
    expect(await readdir(server.data.uploadParts)).toEqual([]);
    expect((await downloadCurrentContent(id)).startsWith('y')).toBe(true);
  });

  test('queries the current version', async () => {
    const id = idOf(await putFile('table.csv', 'a\n1\n'));
    const queryCurrentVersion =
      async (): Promise<unknown> => (await ann.post(`/v2/objects/${id}/data`, {})).json['results']; // prettier-ignore
    expect(await queryCurrentVersion()).toEqual([{ a: '1' }]);
    await putFile('table.csv', 'b\n2\n');
    expect(await queryCurrentVersion()).toEqual([{ b: '2' }]);
    await ann.delete(`/v2/objects/${id}/versions/2`);
    expect(await queryCurrentVersion()).toEqual([{ a: '1' }]);
  });

  test('copies the current version, to another name where the name is taken', async () => {
    const id = idOf(await putFile('copied.txt', 'first'));
    await putFile('copied.txt', 'second');
    const createdCopyTask = await ann.post('/v2/object_copy_tasks', { source_vault_id: vaultId, source_object_id: id, target_vault_id: vaultId }); // prettier-ignore
    expect((await waitForJob(ann, `/v2/object_copy_tasks/${idOf(createdCopyTask)}`)).json['status']).toBe('completed'); // prettier-ignore
    const [copy] = listOf(await ann.get(`/v2/objects?vault_id=${vaultId}&path=/copied-1.txt`));
    expect(copy).toMatchObject({ version_count: 1, size: 6, md5: md5Of('second') });
    expect(await downloadCurrentContent(Number(copy!['id']))).toBe('second');
  });

  test('exports to the path of a file as its next version', async () => {
    const dataset_id = await newDataset();
    await ann.post('/v2/dataset_imports', { dataset_id, records: [{ a: 1 }] });
    const outcomes: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      const body = { dataset_id, format: 'csv', target_full_path: 'Versions:/out/a.csv' };
      const { json } = await waitForJob(ann, `/v2/dataset_exports/${idOf(await ann.post('/v2/dataset_exports', body))}`); // prettier-ignore
      const [file] = listOf(await ann.get(`/v2/objects?vault_id=${vaultId}&path=/out/a.csv`));
      outcomes.push([
        json['status'],
        file!['version_count'],
        await downloadCurrentContent(Number(file!['id'])),
      ]);
    }
    const text = expect.stringMatching(/,a\r?\n.*,1\r?\n$/);
    expect(outcomes).toEqual([['completed', 1, text], ['completed', 2, text]]); // prettier-ignore
    expect(listOf(await ann.get(`/v2/objects?vault_id=${vaultId}&path=/out/a-1.csv`))).toEqual([]);
  });

  test.each(['object_id', 'manifest'])(
    'keeps the version with which an import was created, named by %s',
    async (key) => {
      const dataset_id = await newDataset();
      const file = await putFile(`${key}.jsonl`, '{"v":"first"}\n');
      const id = idOf(file);
      const sourceParams =
        key === 'manifest' ? { manifest: { files: [{ object_id: id }] } } : { object_id: id };
      const createdImport = await ann.post('/v2/dataset_imports', { dataset_id, ...sourceParams });
      await uploadContent(file, '{"v":"second"}\n');
      expect(await server.catalog.imports.revisionOf(idOf(createdImport), id)).toBe(1);
      await waitForJob(ann, `/v2/dataset_imports/${idOf(createdImport)}`);
      const { results } = (await ann.post(`/v2/datasets/${dataset_id}/data`, { fields: ['v'] })).json; // prettier-ignore
      expect(results).toEqual([{ v: 'first' }]);
    },
  );
});
