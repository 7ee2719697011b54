import { beforeAll, describe, expect, test } from '@jest/globals';
import { createHash, randomBytes } from 'node:crypto';
import { readdir, truncate } from 'node:fs/promises';
import type { MultipartUploadTable } from '../../../engine/catalog/multipart-uploads.js';
import { budgets } from '../../../engine/core/budgets.js';
import { withDatasetLock } from '../../../scheduler/jobs/dataset-lock.js';
import { sweepExpired } from '../../../scheduler/queue/sweep.js';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import {
  grantPermission,
  idOf,
  sendRequest,
  startServer,
  type Answer,
  type Client,
} from '../server.js';

/* Tests uploads in parts (contract 6.5), with small limits. */

const uploadLimits = { multipartBytes: 1000, partBytes: 400 };
const { server, ann, vaultId } = await startServerFixture({ limits: uploadLimits });
let readerClient: Client;
let strangerClient: Client;

beforeAll(async () => {
  readerClient = await server.user('reader');
  strangerClient = await server.user('stranger', { domain: 'other' });
  await grantPermission(server, vaultId, readerClient, 'read');
});

const md5Of = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');

interface UploadPart {
  readonly part_number: number;
  readonly start_byte: number;
  readonly end_byte: number;
  readonly size: number;
  readonly upload_url: string;
  readonly etag: string | null;
}

interface StartedUpload {
  readonly id: number;
  readonly json: Record<string, unknown>;
  readonly parts: readonly UploadPart[];
  readonly bytes: Buffer;
}

/** Creates a file to be uploaded in parts, and random bytes as its content. */
async function startUpload(size = 1050, more: object = {}): Promise<StartedUpload> {
  const bytes = randomBytes(size);
  const file = { vault_id: vaultId, object_type: 'file', filename: 'large.bin', size };
  const uploadAnswer = await ann.post('/v2/objects', { ...file, md5: md5Of(bytes), ...more });
  expect([uploadAnswer.status, uploadAnswer.json['is_multipart']]).toEqual([201, true]);
  return {
    id: idOf(uploadAnswer),
    json: uploadAnswer.json,
    parts: uploadAnswer.json['presigned_urls'] as UploadPart[],
    bytes,
  };
}

function bytesOfPart(
  { bytes }: StartedUpload,
  { start_byte: start, end_byte: end }: UploadPart,
): Buffer {
  return bytes.subarray(start, end + 1);
}

/** Sends a part of an upload; returns the entry for it in the request that completes the upload. */
async function sendPart(upload: StartedUpload, part: UploadPart): Promise<object> {
  const answer = await sendRequest('', 'PUT', part.upload_url, bytesOfPart(upload, part));
  expect([answer.status, answer.text]).toEqual([200, '']);
  const etag = answer.headers.get('etag')!;
  expect(etag).toBe(`"${md5Of(bytesOfPart(upload, part))}"`);
  return { part_number: part.part_number, etag: etag.replaceAll('"', '') };
}

async function sendAllParts(upload: StartedUpload): Promise<readonly object[]> {
  return Promise.all(upload.parts.map((part) => sendPart(upload, part)));
}

function completeUpload(
  { json }: StartedUpload,
  parts: unknown,
  client: Client = ann,
): Promise<Answer> {
  const body = { upload_id: json['upload_id'], physical_object_id: json['upload_key'], parts };
  return client.post('/v2/complete_multi_part', body);
}

function refreshUrls(
  { json }: StartedUpload,
  more: object = {},
  client: Client = ann,
): Promise<Answer> {
  const body = { upload_id: json['upload_id'], key: json['upload_key'], ...more };
  return client.post('/v2/presigned_urls', body);
}

async function downloadContent(id: number): Promise<Buffer> {
  const { download_url: url } = (await ann.get(`/v2/objects/${id}/download`)).json;
  return Buffer.from(await (await fetch(String(url))).arrayBuffer());
}

async function listPartFolders(): Promise<readonly string[]> {
  return readdir(server.data.uploadParts);
}

describe('an upload in parts (D8)', () => {
  test('begins where the announced size reaches the limit, and its parts cover the file', async () => {
    const { parts, json } = await startUpload(1050);
    expect(parts.map((part) => [part.part_number, part.start_byte, part.end_byte, part.size])).toEqual([
      [1, 0, 399, 400],
      [2, 400, 799, 400],
      [3, 800, 1049, 250],
    ]); // prettier-ignore
    expect(json).toMatchObject({ upload_url: null, availability: 'unverified' });
    const file = { vault_id: vaultId, object_type: 'file', filename: 'small.bin' };
    for (const more of [{ size: 999 }, {}]) {
      const smallUpload = await ann.post('/v2/objects', { ...file, ...more });
      expect(smallUpload.json).toMatchObject({
        is_multipart: false,
        upload_id: null,
        presigned_urls: [],
      });
      expect(smallUpload.json['upload_url']).toEqual(expect.any(String));
    }
  });

  test('takes the parts in any order and again, and gives the file', async () => {
    const upload = await startUpload(2000);
    const [firstPart, secondPart, ...otherParts] = upload.parts.toReversed();
    await sendPart(upload, firstPart!);
    // The part is first sent with damaged bytes, then with the right ones.
    const damagedAnswer = await sendRequest(
      '',
      'PUT',
      secondPart!.upload_url,
      Buffer.alloc(secondPart!.size),
    );
    expect(damagedAnswer.status).toBe(200);
    const etags = [await sendPart(upload, firstPart!), await sendPart(upload, secondPart!)];
    for (const part of otherParts) etags.push(await sendPart(upload, part));
    expect(await listPartFolders()).toContain(String(upload.id));
    expect(await readdir(server.data.uploadPartsOf({ id: upload.id, revision: 1 }))).toHaveLength(
      upload.parts.length,
    );
    const completeAnswer = await completeUpload(upload, etags);
    expect([completeAnswer.status, completeAnswer.json['message']]).toEqual([
      200,
      expect.any(String),
    ]);
    const { json } = await ann.get(`/v2/objects/${upload.id}`);
    const wholeFile = { availability: 'available', size: 2000, md5: md5Of(upload.bytes) };
    expect(json).toMatchObject({ ...wholeFile, is_multipart: false });
    expect((await downloadContent(upload.id)).equals(upload.bytes)).toBe(true);
    expect(await listPartFolders()).not.toContain(String(upload.id));
    // A client whose answer was lost may complete the upload again.
    expect((await completeUpload(upload, etags)).status).toBe(200);
    expect((await refreshUrls(upload)).status).toBe(404);
    expect((await sendRequest('', 'PUT', upload.parts[0]!.upload_url, bytesOfPart(upload, upload.parts[0]!))).status).toBe(404); // prettier-ignore
  });

  test('goes on where it was interrupted: new addresses tell which parts have arrived', async () => {
    const upload = await startUpload(1050);
    const [sentPart] = [await sendPart(upload, upload.parts[1]!)] as { etag: string }[];
    const allParts = (await refreshUrls(upload, { total_size: 1050 })).json[
      'presigned_urls'
    ] as UploadPart[];
    expect(allParts.map((part) => part.etag)).toEqual([null, sentPart!.etag, null]);
    const someUrls = await refreshUrls(upload, { part_numbers: [3, '1'] });
    const parts = someUrls.json['presigned_urls'] as UploadPart[];
    expect([someUrls.status, parts.map((part) => part.part_number)]).toEqual([200, [3, 1]]);
    const otherParts = [await sendPart(upload, parts[0]!), await sendPart(upload, parts[1]!)];
    expect((await completeUpload(upload, [sentPart, ...otherParts])).status).toBe(200);
    expect((await downloadContent(upload.id)).equals(upload.bytes)).toBe(true);
  });

  test('is kept waiting with blanks while its parts are joined', async () => {
    const size = 8_000_000;
    const slowServer = await startServer({ limits: { ...uploadLimits, keepAliveMs: 1 } });
    try {
      const bob = await slowServer.user('bob');
      const file = { vault_id: idOf(await bob.post('/v2/vaults', { name: 'Lab' })), object_type: 'file', filename: 'a', size }; // prettier-ignore
      const { json } = await bob.post('/v2/objects', file);
      const parts = json['presigned_urls'] as UploadPart[];
      expect([parts.length, parts[0]!.size]).toEqual([Math.ceil(size / 1024 ** 2), 1024 ** 2]);
      const bytes = randomBytes(size);
      const etags = await Promise.all(parts.map((part) => sendPart({ id: 0, json, parts, bytes }, part))); // prettier-ignore
      const completeAnswer = await completeUpload({ id: 0, json, parts, bytes }, etags, bob);
      expect([completeAnswer.status, completeAnswer.text]).toEqual([
        200,
        expect.stringMatching(/^ +\{"message":/),
      ]);
      expect((await bob.get(`/v2/objects/${String(json['id'])}`)).json['md5']).toBe(md5Of(bytes));
    } finally {
      await slowServer.close();
    }
  });

  test('is completed once by requests that come together', async () => {
    const upload = await startUpload();
    const etags = await sendAllParts(upload);
    const answers = await Promise.all([1, 2, 3].map(() => completeUpload(upload, etags)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const contentNames = (await readdir(server.data.objects)).filter((name) => name.startsWith(`${upload.id}-`)); // prettier-ignore
    expect(contentNames).toEqual([`${upload.id}-1`]);
  });

  test.each<[string, (etags: readonly object[]) => unknown, RegExp]>([
    ['no parts', () => undefined, /required/],
    ['a part too few', (etags) => etags.slice(1), /3 parts.*: 1\./],
    ['a part twice', (etags) => [...etags, etags[0]], /twice/],
    ['a part too many', (etags) => [...etags, { part_number: 4, etag: '0'.repeat(32) }], /no part 4/], // prettier-ignore
    ['another etag', (etags) => [{ part_number: 1, etag: '0'.repeat(32) }, ...etags.slice(1)], /again: 1\./], // prettier-ignore
    ['a malformed etag', () => [{ part_number: 1, etag: 'x' }], /parts\[0\].*etag/],
    ['a malformed number', () => [{ part_number: 'x', etag: '0'.repeat(32) }], /parts\[0\].*part_number/], // prettier-ignore
  ])('is not completed with %s', async (_, change, message) => {
    const upload = await startUpload();
    const etags = await sendAllParts(upload);
    const answer = await completeUpload(upload, change(etags));
    expect([answer.status, answer.json]).toEqual([
      400,
      { parts: [expect.stringMatching(message)] },
    ]);
    expect((await ann.get(`/v2/objects/${upload.id}`)).json['availability']).toBe('unverified');
    expect((await completeUpload(upload, etags)).status).toBe(200);
  });

  test('is not completed with another content than announced, and can be repaired', async () => {
    const upload = await startUpload();
    const etags = await sendAllParts(upload);
    const [firstPart] = upload.parts;
    const wrongAnswer = await sendRequest(
      '',
      'PUT',
      firstPart!.upload_url,
      Buffer.alloc(firstPart!.size),
    );
    const etag = wrongAnswer.headers.get('etag');
    const refusedAnswer = await completeUpload(upload, [
      { part_number: 1, etag },
      ...etags.slice(1),
    ]);
    expect([refusedAnswer.status, refusedAnswer.json['detail']]).toEqual([
      400,
      expect.stringMatching(
        /^The file's md5 is \w+, but \w+ was announced: send the parts that differ again\.$/,
      ),
    ]);
    const repairedPart = await sendPart(upload, firstPart!);
    expect((await completeUpload(upload, [repairedPart, ...etags.slice(1)])).status).toBe(200);
  });

  test('is not completed from parts that the disk has damaged', async () => {
    const upload = await startUpload();
    const etags = await sendAllParts(upload);
    const folder = server.data.uploadPartsOf({ id: upload.id, revision: 1 });
    const [name] = await readdir(folder);
    await truncate(`${folder}/${name!}`, 1);
    const { status, json } = await completeUpload(upload, etags);
    expect([status, json]).toEqual([500, { detail: 'Internal server error' }]);
    expect(server.logs.find((line) => line.includes('"event":"error"'))).toContain(`The parts of the file ${upload.id} have `);
  }); // prettier-ignore

  test('refuses parts that are too short, too long or damaged, and parts that the file does not have', async () => {
    const upload = await startUpload();
    const [part] = upload.parts;
    const putBytes = (bytes: Buffer, headers = {}): Promise<Answer> =>
      sendRequest('', 'PUT', part!.upload_url, bytes, headers);
    expect((await putBytes(Buffer.alloc(399))).status).toBe(400);
    expect((await putBytes(Buffer.alloc(401))).status).toBe(400);
    const md5 = createHash('md5').update('other').digest('base64');
    expect((await putBytes(bytesOfPart(upload, part!), { 'content-md5': md5 })).status).toBe(400);
    expect(await listPartFolders()).not.toContain(String(upload.id));
    const otherUrl = part!.upload_url.replace('/parts/1', '/parts/2');
    expect((await sendRequest('', 'PUT', otherUrl, bytesOfPart(upload, part!))).status).toBe(403);
    const tooManyAnswer = await refreshUrls(upload, { part_numbers: [4] });
    expect([tooManyAnswer.status, Object.keys(tooManyAnswer.json)]).toEqual([
      400,
      ['part_numbers'],
    ]);
    const resizedAnswer = await refreshUrls(upload, { total_size: 1051 });
    expect([resizedAnswer.status, Object.keys(resizedAnswer.json)]).toEqual([400, ['total_size']]);
  });

  test('is aborted with its parts', async () => {
    const upload = await startUpload();
    const etags = await sendAllParts(upload);
    const path = `/v2/objects/${upload.id}/multipart-upload`;
    const abortAnswer = await ann.delete(path);
    expect([abortAnswer.status, abortAnswer.json['id']]).toEqual([200, upload.id]);
    expect(await listPartFolders()).not.toContain(String(upload.id));
    const repeatedAnswer = await sendRequest('', 'PUT', upload.parts[0]!.upload_url, bytesOfPart(upload, upload.parts[0]!)); // prettier-ignore
    const answersAfter = [
      repeatedAnswer,
      await completeUpload(upload, etags),
      await refreshUrls(upload),
    ];
    expect(answersAfter.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect((await ann.delete(path)).status).toBe(400);
    expect(await listPartFolders()).not.toContain(String(upload.id));
  });

  test('ends with its file', async () => {
    const upload = await startUpload();
    const etags = await sendAllParts(upload);
    await ann.delete(`/v2/objects/${upload.id}`);
    expect(await listPartFolders()).not.toContain(String(upload.id));
    expect((await completeUpload(upload, etags)).status).toBe(404);
  });

  test('T0: is given up a week after the last part', async () => {
    const upload = await startUpload();
    const etags = await sendAllParts(upload);
    const { catalog, data } = server;
    const report = (): void => undefined;
    const lastPartMs = (await catalog.multipartUploads.get(upload.id, 1))!.updatedAt;
    await sweepExpired(catalog, data, { now: lastPartMs + budgets.multipartMs, report });
    expect(await listPartFolders()).toContain(String(upload.id));
    await sweepExpired(catalog, data, { now: lastPartMs + budgets.multipartMs + 1, report });
    expect(await listPartFolders()).not.toContain(String(upload.id));
    expect((await completeUpload(upload, etags)).status).toBe(404);
  });

  test.each<[string, (upload: StartedUpload) => Promise<unknown>]>([
    ['a part arrives', (upload) => sendPart(upload, upload.parts[0]!)],
    ['its parts are joined', async ({ id }) => {
      const { multipartUploads } = server.catalog;
      void withDatasetLock(id, () => multipartUploads.complete({ id, revision: 1 }));
    }],
  ])('is not given up if %s when the idle uploads have been listed', async (_, resume) => {
    const upload = await startUpload();
    await sendAllParts(upload);
    const { catalog, data } = server;
    const { updatedAt } = (await catalog.multipartUploads.get(upload.id, 1))!;
    await pollUntil(() => Date.now() > updatedAt + 1);
    const multipartUploads: MultipartUploadTable = {
      ...catalog.multipartUploads,
      async idleSince(time) {
        const idleUploads = await catalog.multipartUploads.idleSince(time);
        expect(idleUploads.map(({ id }) => id)).toContain(upload.id);
        await resume(upload);
        return idleUploads;
      },
    };
    const now = updatedAt + budgets.multipartMs + 1;
    await sweepExpired({ ...catalog, multipartUploads }, data, { now, report: () => undefined });
    expect(await catalog.multipartUploads.get(upload.id, 1)).toBeDefined();
    expect(await readdir(data.uploadPartsOf({ id: upload.id, revision: 1 }))).toHaveLength(3);
  }); // prettier-ignore

  test('T0: has larger parts where there would be more than uploadParts', async () => {
    const size = 400 * budgets.uploadParts;
    const counts: number[] = [];
    for (const fileSize of [size, size + 1, 5e12]) {
      const body = { vault_id: vaultId, object_type: 'file', filename: 'large', size: fileSize };
      const { json } = await ann.post('/v2/objects', body);
      const parts = json['presigned_urls'] as UploadPart[];
      expect(parts.reduce((sum, one) => sum + one.size, 0)).toBe(fileSize);
      expect(parts.at(-1)!.end_byte).toBe(fileSize - 1);
      expect(new Set(parts.slice(0, -1).map((one) => one.size)).size).toBeLessThanOrEqual(1);
      counts.push(parts.length);
    }
    expect(counts[0]).toBe(budgets.uploadParts);
    expect(Math.max(...counts)).toBeLessThanOrEqual(budgets.uploadParts);
  });

  test('the address of a part ends with the right to write', async () => {
    const writer = await server.user('writer');
    await grantPermission(server, vaultId, writer, 'write');
    const upload = await startUpload();
    const { json } = await refreshUrls(upload, {}, writer);
    const [part] = json['presigned_urls'] as UploadPart[];
    const putPart = async (): Promise<number> =>
      (await sendRequest('', 'PUT', part!.upload_url, bytesOfPart(upload, part!))).status;
    expect(await putPart()).toBe(200);
    await grantPermission(server, vaultId, writer, 'read');
    expect(await putPart()).toBe(403);
    expect((await sendRequest('', 'PUT', part!.upload_url.replace(`user=${writer.user.id}`, `user=${ann.user.id}`), bytesOfPart(upload, part!))).status).toBe(403); // prettier-ignore
  });

  test('belongs to those who may write the file (A2)', async () => {
    const upload = await startUpload();
    const etags = await sendAllParts(upload);
    const path = `/v2/objects/${upload.id}/multipart-upload`;
    for (const [client, status] of [[readerClient, 403], [strangerClient, 404]] as const) {
      const answers = [await completeUpload(upload, etags, client), await refreshUrls(upload, {}, client), await client.delete(path)]; // prettier-ignore
      expect(answers.map((answer) => answer.status)).toEqual([status, status, status]);
    } // prettier-ignore
    const otherUpload = { ...upload, json: { ...upload.json, upload_key: '17' } };
    const mixedAnswer = await completeUpload(otherUpload, etags);
    expect([mixedAnswer.status, Object.keys(mixedAnswer.json)]).toEqual([
      400,
      ['physical_object_id'],
    ]);
  });
});
