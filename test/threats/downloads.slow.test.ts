import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readdir, readlink, rm } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { budgets } from '../../engine/core/budgets.js';
import { sweepExpired } from '../../scheduler/queue/sweep.js';
import { createUrlSigner } from '../../api/http/signed-url.js';
import { pollUntil } from '../until.js';
import { idOf, sendRequest, startServer, waitForJob, type Answer, type Client, type TestServer } from '../api/server.js'; // prettier-ignore

let server: TestServer;
let ann: Client;
let vaultId: number;
let datasetId: number;
beforeAll(async () => {
  // The idle timeout is long, so that a download whose client stops reading is still open when the test examines it.
  server = await startServer({ limits: { idleMs: 3_600_000 } });
  ann = await server.user('ann');
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
  datasetId = await newDatasetOf([
    { v: '=1+1', n: -5 },
    { v: '+cmd', n: 6 },
    { v: '-2+3', n: null },
    { v: '@SUM(A1)', n: 0 },
    { v: '\ttab', n: 1 },
    { v: '\rreturn', n: 1 },
    { v: 'plain', n: 1 },
  ]);
});
afterAll(() => server.close());

async function newDatasetOf(records: readonly object[]): Promise<number> {
  const id = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  await ann.post('/v2/dataset_imports', { dataset_id: id, records });
  return id;
}

async function newFile(more: object = {}): Promise<{ id: number; url: string }> {
  const body = { vault_id: vaultId, object_type: 'file', filename: 'f.txt', ...more };
  const createdObject = await ann.post('/v2/objects', body);
  return { id: idOf(createdObject), url: String(createdObject.json['upload_url']) };
}

async function fetchDownloadUrl(id: number): Promise<string> {
  return String((await ann.get(`/v2/objects/${id}/download`)).json['download_url']);
}

async function exportAndDownload(
  body: object,
): Promise<{ id: number; endedExport: Answer; url: string }> {
  const id = idOf(await ann.post('/v2/dataset_exports', { dataset_id: datasetId, ...body }));
  const endedExport = await waitForJob(ann, `/v2/dataset_exports/${id}`);
  const { json } = await ann.get(`/v2/dataset_exports/${id}/download?redirect=`);
  return { id, endedExport, url: String(json['url']) };
}

/** Returns the number of stored objects that this process has open. */
async function countOpenObjects(): Promise<number> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((link) => link.startsWith(server.data.objects)).length;
}

test('D1: no name of an export target or a file makes a file outside the data folder', async () => {
  const names = ['../../out', '..\\out', '/etc/out', 'C:\\out', '%2e%2e%2fout', 'a/../../../out', 'CON', 'nul\u0000', '\u202etxt', 'x'.repeat(300), '.']; // prettier-ignore
  for (const name of names) {
    const body = { dataset_id: datasetId, format: 'csv', target_full_path: `Lab:/${name}` };
    const createdExport = await ann.post('/v2/dataset_exports', body);
    expect([name, [201, 400].includes(createdExport.status)]).toEqual([name, true]);
    if (createdExport.status === 201)
      await waitForJob(ann, `/v2/dataset_exports/${idOf(createdExport)}`);
    const { id, url } = await newFile();
    await sendRequest('', 'PUT', url, 'x');
    const renameAnswer = await ann.patch(`/v2/objects/${id}`, { filename: name });
    expect([name, [200, 400].includes(renameAnswer.status)]).toEqual([name, true]);
    expect((await sendRequest('', 'GET', await fetchDownloadUrl(id))).text).toBe('x');
  }
  for (const part of [server.data.objects, server.data.exports])
    for (const name of await readdir(part)) expect(name).toMatch(/^\d+[-.][\w.]+$/);
  expect(await readdir(dirname(server.data.root))).toEqual(['data']);
});

describe('D3: a CSV export', () => {
  const exportCsv = async (params: object): Promise<string> =>
    (
      await sendRequest(
        '',
        'GET',
        (await exportAndDownload({ format: 'csv', params: { ...params, fields: ['v', 'n'] } })).url,
      )
    ).text;

  test('is exact unless asked', async () => {
    expect(await exportCsv({})).toBe(
      'v,n\r\n=1+1,-5\r\n+cmd,6\r\n-2+3,\r\n@SUM(A1),0\r\n\ttab,1\r\n"\rreturn",1\r\nplain,1\r\n',
    );
  });

  test('has no formula with csv_safe, and its numbers stay numbers', async () => {
    const rows = (await exportCsv({ csv_safe: true })).split('\r\n').slice(1, -1);
    expect(rows).toEqual(["'=1+1,-5", "'+cmd,6", "'-2+3,", "'@SUM(A1),0", "'\ttab,1", `"'\rreturn",1`, 'plain,1']); // prettier-ignore
  });

  test.each(['yes', 1, 'true', []])('refuses csv_safe %j', async (csv_safe) => {
    const body = { dataset_id: datasetId, format: 'csv', params: { csv_safe } };
    const { status, text } = await ann.post('/v2/dataset_exports', body);
    expect([status, text]).toEqual([400, expect.stringContaining('csv_safe')]);
  });
});

test('D6, R4: half-read downloads cost little memory, and their descriptors come back', async () => {
  if (process.platform !== 'linux') return;
  const { id, url } = await newFile();
  await sendRequest('', 'PUT', url, Buffer.alloc(24 << 20, 'x'));
  const { pathname, search } = new URL(await fetchDownloadUrl(id));
  await pollUntil(async () => (await countOpenObjects()) === 0);
  const http = server.app.nest.getHttpServer() as Server;
  const acceptedSockets = new Set<Socket>();
  const accept = (socket: Socket): void => void acceptedSockets.add(socket);
  http.on('connection', accept);
  const rssBefore = process.memoryUsage().rss;
  const sockets = Array.from({ length: 400 }, (_, i) => {
    const from = `127.0.2.${1 + (i % 6)}`;
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress: from });
    socket.on('error', () => undefined).pause();
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\n\r\n`);
    return socket;
  });
  const countWaitingSockets = (): number =>
    [...acceptedSockets].filter((socket) => socket.writableNeedDrain).length;
  await pollUntil(() => countWaitingSockets() === sockets.length); // every download now waits for its client
  expect(await countOpenObjects()).toBe(sockets.length);
  // Nearly 100 MB of the growth are the connections themselves, because their client ends are in this process too.
  expect((process.memoryUsage().rss - rssBefore) / 2 ** 20).toBeLessThan(200);
  http.off('connection', accept);
  for (const socket of sockets) socket.destroy();
  await pollUntil(async () => (await countOpenObjects()) === 0);
  expect((await ann.get('/v1/user')).status).toBe(200);
});

test('D7, D8: addresses end by time, by deletion, with the revision, and with the key', async () => {
  const { id, url } = await newFile();
  await sendRequest('', 'PUT', url, 'x');
  const oldDownload = await fetchDownloadUrl(id);
  const sign = (key: Uint8Array, method: 'GET' | 'PUT', target: string, life: number): string =>
    server.url + createUrlSigner(key).sign(method, target, Date.now() + life);
  const readPath = `/v2/downloads/objects/${id}/1?response-content-disposition=attachment%3B%20filename%3Df&user=${ann.user.id}`;
  const writePath = `/v2/uploads/${id}/1?user=${ann.user.id}`;
  const fetchStatus = async (method: string, address: string): Promise<number> =>
    (await sendRequest('', method, address, method === 'PUT' ? 'y' : undefined)).status;
  expect(await fetchStatus('GET', sign(server.key, 'GET', readPath, 60_000))).toBe(200);
  expect(await fetchStatus('GET', sign(server.key, 'GET', readPath, -2_000))).toBe(403);
  expect(await fetchStatus('PUT', sign(server.key, 'PUT', writePath, -2_000))).toBe(403);
  expect(await fetchStatus('GET', sign(randomBytes(32), 'GET', readPath, 60_000))).toBe(403);
  expect(await fetchStatus('PUT', sign(randomBytes(32), 'PUT', writePath, 60_000))).toBe(403);
  expect((await sendRequest('', 'GET', oldDownload)).text).toBe('x');
  expect(await fetchStatus('PUT', sign(server.key, 'PUT', writePath, 60_000))).toBe(200);
  // The download address of the replaced content must never serve the new bytes.
  expect(await fetchStatus('GET', oldDownload)).toBe(404);
  const newDownload = await fetchDownloadUrl(id);
  expect((await sendRequest('', 'GET', newDownload)).text).toBe('y');
  await ann.delete(`/v2/objects/${id}`);
  expect([await fetchStatus('GET', newDownload), await fetchStatus('PUT', url)]).toEqual([
    404, 404,
  ]);
});

test.each([
  'text/html',
  'image/svg+xml',
  'application/pdf',
  'application/xhtml+xml',
  'text/xml',
  'application/javascript',
  'text/css',
  'application/x-shockwave-flash',
  'multipart/x-mixed-replace',
  'text/html; charset=utf-7',
])('D9: a stored %s comes back as an attachment of no type', async (mimetype) => {
  const { id, url } = await newFile({ filename: 'page.html', mimetype });
  await sendRequest('', 'PUT', url, '<script>alert(1)</script>', { 'content-type': mimetype });
  const { headers } = await sendRequest('', 'GET', await fetchDownloadUrl(id));
  expect(headers.get('content-type')).toBe('application/octet-stream');
  expect(headers.get('content-disposition')).toMatch(/^attachment;/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toContain('sandbox');
});

describe('D12: no file can be had', () => {
  const listExportFiles = async (id: number): Promise<readonly string[]> =>
    (await readdir(server.data.exports)).filter((name) => name.startsWith(`${id}.`));

  /**
   * Expects that nothing leads to the file of an export, neither the resource nor a signed address, and that the file does not exist.
   */
  async function expectNone(id: number): Promise<void> {
    const { status } = await ann.get(`/v2/dataset_exports/${id}/download?redirect=`);
    expect([400, 404]).toContain(status);
    const path = `/v2/downloads/exports/${id}?response-content-disposition=attachment%3B%20filename%3Df&user=${ann.user.id}`;
    const signedUrl = createUrlSigner(server.key).sign('GET', path, Date.now() + 60_000);
    expect((await sendRequest(server.url, 'GET', signedUrl)).status).toBe(404);
    expect(await listExportFiles(id)).toEqual([]);
  }

  test('of an export that was canceled, wherever it was', async () => {
    const id = await newDatasetOf(
      Array.from({ length: 5_000 }, (_, n) => ({ n, t: 'x'.repeat(300) })),
    );
    for (let round = 0; round < 8; round += 1) {
      const body = { dataset_id: id, format: 'json', target_full_path: `Lab:/canceled-${round}` };
      const exportId = idOf(await ann.post('/v2/dataset_exports', body));
      await new Promise((resolve) => setTimeout(resolve, round * 12));
      await ann.put(`/v2/dataset_exports/${exportId}/cancel`, {});
      const endedExport = await waitForJob(ann, `/v2/dataset_exports/${exportId}`);
      const target = await ann.get(
        `/v2/objects?vault_id=${vaultId}&path=/canceled-${round}.json.gz`,
      );
      if (endedExport.json['status'] === 'completed') continue; // the export completed before it could be canceled
      expect(endedExport.json['status']).toBe('canceled');
      await expectNone(exportId);
      expect(target.json['total']).toBe(0);
    }
  });

  test('of an export that failed', async () => {
    const id = await newDatasetOf([{ a: 1 }]);
    const folder = server.data.dataset(id);
    for (const name of await readdir(folder))
      if (name.endsWith('.parquet')) await rm(`${folder}/${name}`);
    const createdExport = await server.catalog.exports.create({
      datasetId: id,
      userId: ann.user.id,
      accountId: ann.user.accountId,
      format: 'json',
      params: {},
    } as Parameters<typeof server.catalog.exports.create>[0]);
    server.scheduler.wake();
    const endedExport = await waitForJob(ann, `/v2/dataset_exports/${createdExport.row.id}`);
    expect(endedExport.json['status']).toBe('failed');
    await expectNone(createdExport.row.id);
  });

  test('of an export whose day is over, and it is gone with the next sweep', async () => {
    const { id, endedExport, url } = await exportAndDownload({ format: 'json' });
    expect(endedExport.json['status']).toBe('completed');
    const row = await server.catalog.exports.get(id);
    const life = (row?.expiresAt ?? 0) - Date.now();
    expect(life / budgets.exportUrlMs).toBeCloseTo(1, 2);
    await server.catalog.exports.update(id, { expiresAt: Date.now() - 1 });
    expect((await sendRequest('', 'GET', url)).status).toBe(404);
    await sweepExpired(server.catalog, server.data, {
      now: Date.now(),
      report: (message) => server.logs.push(message),
    });
    await expectNone(id);
  });
});
