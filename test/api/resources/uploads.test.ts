import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir, readlink } from 'node:fs/promises';
import { connect, type Server, type Socket } from 'node:net';
import { pollUntil } from '../../until.js';
import {
  idOf,
  sendRequest,
  startServer,
  type Answer,
  type Client,
  type TestServer,
} from '../server.js';

let server: TestServer;
let ann: Client;
let vaultId: number;
/** An idle timeout so long that no test reaches it. */
const longIdleTimeoutMs = 3_600_000;
beforeAll(async () => {
  server = await startServer({ limits: { idleMs: longIdleTimeoutMs } });
  ann = await server.user('ann');
  vaultId = idOf(await ann.post('/v2/vaults', { name: 'Lab' }));
});
afterAll(() => server.close());

const fileContent = 'line 1\nline 2\n';
const contentMd5 = createHash('md5').update(fileContent).digest();

async function newFile(more: object = {}): Promise<{ id: number; url: string; answer: Answer }> {
  const body = { vault_id: vaultId, object_type: 'file', filename: 'f.txt', ...more };
  const answer = await ann.post('/v2/objects', body);
  return { id: idOf(answer), url: String(answer.json['upload_url']), answer };
}

function putContent(
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return sendRequest('', 'PUT', url, body, headers);
}

async function readObject(id: number): Promise<Record<string, unknown>> {
  return (await ann.get(`/v2/objects/${id}`)).json;
}

const md5MismatchText = `the body's md5 is ${contentMd5.toString('hex')}, but ${'0'.repeat(32)} was announced`;
const sizeMismatchText = (announced: number): string =>
  `the body has ${fileContent.length} bytes, but the file was announced with ${announced}`;

describe('uploads (D8)', () => {
  test.each(['application/json', 'text/csv', 'gzip', 'multipart/form-data', ''])(
    'take the bytes raw as %j, without credentials, and answer 200 with the md5',
    async (type) => {
      const { id, url } = await newFile({
        size: fileContent.length,
        md5: contentMd5.toString('hex'),
      });
      const answer = await putContent(url, fileContent, {
        'content-md5': contentMd5.toString('base64'),
        'content-type': type,
      });
      expect([answer.status, answer.text]).toEqual([200, '']);
      expect(answer.headers.get('etag')).toBe(`"${contentMd5.toString('hex')}"`);
      expect(await readObject(id)).toMatchObject({
        availability: 'available',
        size: fileContent.length,
        md5: contentMd5.toString('hex'),
      });
    },
  );

  test('an empty file is a file', async () => {
    const { id, url } = await newFile({ size: 0 });
    expect((await putContent(url, '')).status).toBe(200);
    expect(await readObject(id)).toMatchObject({ availability: 'available', size: 0 });
  });

  test.each([
    ['too short', { size: 20 }, {}, sizeMismatchText(20)],
    ['too long', { size: 5 }, {}, sizeMismatchText(5)],
    ['another md5 than announced', { md5: '0'.repeat(32) }, {}, md5MismatchText],
    [
      'another md5 than its header',
      {},
      { 'content-md5': Buffer.alloc(16).toString('base64') },
      md5MismatchText,
    ],
    [
      'a malformed Content-MD5',
      {},
      { 'content-md5': 'nonsense' },
      'Content-MD5 must be the base64 text of 16 bytes',
    ],
  ])('refuse a body that is %s', async (_name, more, headers, detail) => {
    const { id, url } = await newFile(more);
    const answer = await putContent(url, fileContent, headers);
    expect([answer.status, answer.json]).toEqual([400, { detail }]);
    expect(await readObject(id)).toMatchObject({ availability: 'unverified' });
    expect((await ann.get(`/v2/objects/${id}/download`)).status).toBe(400);
  });

  test('without a length come in chunks', async () => {
    const { id, url } = await newFile({ size: fileContent.length });
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of Buffer.from(fileContent)) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const response = await fetch(url, { method: 'PUT', body, duplex: 'half' });
    expect(response.status).toBe(200);
    expect(await readObject(id)).toMatchObject({ availability: 'available' });
  });

  test.each([
    ['too short', fileContent.length + 1, sizeMismatchText(fileContent.length + 1)],
    ['too long', 5, 'the body has more than the 5 bytes announced'],
  ])('without a length are refused once they turn out to be %s', async (_name, size, detail) => {
    const { id, url } = await newFile({ size });
    const body = new Blob([fileContent]).stream();
    const response = await fetch(url, { method: 'PUT', body, duplex: 'half' });
    expect([response.status, await response.json()]).toEqual([400, { detail }]);
    expect(await readObject(id)).toMatchObject({ availability: 'unverified' });
  });

  test('that break off leave nothing', async () => {
    const { id, url } = await newFile({ size: 1000 });
    const { pathname, search } = new URL(url);
    await new Promise<void>((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        socket.write(
          `PUT ${pathname}${search} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nsome`,
        );
      });
      socket.on('close', () => resolve());
      void pollUntil(async () => (await listUploadScratchNames()).length > 0).then(() =>
        socket.destroy(),
      );
    });
    expect(await readObject(id)).toMatchObject({ availability: 'unverified' });
    await pollUntil(async () => (await listUploadScratchNames()).length === 0);
    expect(server.logs.filter((line) => line.includes('"error"'))).toEqual([]);
  });

  test('at once to one address leave one whole file', async () => {
    const { id, url } = await newFile();
    const bodies = Array.from({ length: 6 }, (_, i) => String(i).repeat(1000 + i));
    const answers = await Promise.all(bodies.map((body) => putContent(url, body)));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    const { download_url: downloadUrl } = (await ann.get(`/v2/objects/${id}/download`)).json;
    expect(bodies).toContain((await sendRequest('', 'GET', String(downloadUrl))).text);
    const contentNames = await readdir(server.data.objects);
    expect(contentNames.filter((name) => name.startsWith(`${id}-`))).toHaveLength(1);
  });

  test('to the address of a deleted file are refused', async () => {
    const { id, url } = await newFile();
    await putContent(url, fileContent);
    await ann.delete(`/v2/objects/${id}`);
    expect((await putContent(url, fileContent)).status).toBe(404);
    expect(
      (await readdir(server.data.objects)).filter((name) => name.startsWith(`${id}-`)),
    ).toEqual([]);
  });

  test('need their own address: it neither reads nor serves another object', async () => {
    const { id, url } = await newFile();
    const otherFile = await newFile();
    await putContent(url, fileContent);
    expect((await sendRequest('', 'GET', url)).status).toBe(405);
    expect(
      (await putContent(url.replace(String(id), String(otherFile.id)), fileContent)).status,
    ).toBe(403);
    const { download_url: downloadUrl } = (await ann.get(`/v2/objects/${id}/download`)).json;
    expect((await putContent(String(downloadUrl), fileContent)).status).toBe(405);
  });
});

describe('signed addresses (D7)', () => {
  test('with any one character changed are refused', async () => {
    const { id, url } = await newFile();
    await putContent(url, fileContent);
    const downloadUrl = String((await ann.get(`/v2/objects/${id}/download`)).json['download_url']);
    for (const [method, address] of [
      ['PUT', url],
      ['GET', downloadUrl],
    ] as const) {
      const start = server.url.length + 1;
      for (let at = start; at < address.length; at++) {
        const char = address[at] ?? '';
        const changedUrl =
          address.slice(0, at) + (char === 'x' ? 'y' : 'x') + address.slice(at + 1);
        const { status } = await sendRequest(
          '',
          method,
          changedUrl,
          method === 'PUT' ? 'evil' : undefined,
        );
        expect([changedUrl, [401, 403, 404, 405].includes(status)]).toEqual([changedUrl, true]);
      }
    }
    expect((await sendRequest('', 'GET', downloadUrl)).text).toBe(fileContent);
  });

  test('never show their signature in the log', async () => {
    const { url } = await newFile();
    await putContent(url, fileContent);
    expect(server.logs.join('\n')).not.toContain(new URL(url).searchParams.get('signature'));
  });
});

describe('downloads', () => {
  let address: string;
  beforeAll(async () => {
    const { id, url } = await newFile({ filename: 'page.html', mimetype: 'text/html' });
    await putContent(url, fileContent);
    address = String((await ann.get(`/v2/objects/${id}/download?redirect=`)).json['download_url']);
  });

  test('carry the name in the literal form that clients cut out', () => {
    expect(address).toMatch(
      /\?response-content-disposition=attachment%3B%20filename%3Dpage(-\d+)?\.html&/,
    );
  });

  test('redirect only if requested', async () => {
    const { id, url } = await newFile();
    await putContent(url, fileContent);
    const redirectAnswer = await ann.get(`/v2/objects/${id}/download?redirect=TRUE`);
    expect(redirectAnswer.status).toBe(302);
    expect((await sendRequest('', 'GET', redirectAnswer.headers.get('location') ?? '')).text).toBe(
      fileContent,
    );
    for (const query of ['', '?redirect=', '?redirect=False', '?redirect=0']) {
      const answer = await ann.get(`/v2/objects/${id}/download${query}`);
      expect([answer.status, answer.json['object_id']]).toEqual([200, null]);
    }
  });

  test('are attachments of no type that a browser would run (D9)', async () => {
    const { headers } = await sendRequest('', 'GET', address);
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toMatch(/^attachment;/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain('sandbox');
    expect(headers.get('content-encoding')).toBeNull();
    expect(headers.get('content-length')).toBe(String(fileContent.length));
  });

  test.each([
    ['bytes=0-3', 206, fileContent.slice(0, 4)],
    ['bytes=5-', 206, fileContent.slice(5)],
    ['bytes=-3', 206, fileContent.slice(-3)],
    ['bytes=0-999', 206, fileContent],
    ['bytes=-999', 206, fileContent],
    ['bytes=3-1', 200, fileContent],
    ['bytes=0-1,3-4', 200, fileContent],
    ['bytes=-', 200, fileContent],
    ['lines=1-2', 200, fileContent],
    ['bytes=14-', 416, undefined],
    ['bytes=99-100', 416, undefined],
    ['bytes=-0', 416, undefined],
  ])('answer the range %s with %d (D10)', async (range, status, text) => {
    const answer = await sendRequest('', 'GET', address, undefined, { range });
    expect(answer.status).toBe(status);
    if (text !== undefined) expect(answer.text).toBe(text);
    else {
      expect(answer.headers.get('content-range')).toBe(`bytes */${fileContent.length}`);
      const detail = `the file has ${fileContent.length} bytes; the range begins beyond its end`;
      expect(answer.json).toEqual({ detail });
    }
  });

  test('answer HEAD with the length and no body', async () => {
    const { status, headers, text } = await sendRequest('', 'HEAD', address);
    expect([status, headers.get('content-length'), text]).toEqual([
      200,
      String(fileContent.length),
      '',
    ]);
  });

  test('are given up when the client stops reading, and their files are closed (D6)', async () => {
    const { id, url } = await newFile({ filename: 'big' });
    await putContent(url, 'x'.repeat(40 << 20)); // larger than the buffers of a connection, so a download that nobody reads stalls
    const { json } = await ann.get(`/v2/objects/${id}/download`);
    const { pathname, search } = new URL(String(json['download_url']));
    const httpServer = server.app.nest.getHttpServer() as Server;
    const acceptedSockets: Socket[] = [];
    const rememberSocket = (socket: Socket): void => void acceptedSockets.push(socket);
    httpServer.on('connection', rememberSocket);
    const clientSockets = Array.from({ length: 5 }, () => {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => undefined).pause();
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\n\r\n`);
      return socket;
    });
    await pollUntil(
      () => acceptedSockets.filter((socket) => socket.writableNeedDrain).length === 5,
    );
    httpServer.off('connection', rememberSocket);
    const stalledSockets = acceptedSockets.filter((socket) => socket.writableNeedDrain);
    if (process.platform === 'linux') expect(await countOpenObjects()).toBe(5);
    // The timeout is so long that the test reaches the stalled state even on a busy machine; then it is shortened.
    expect(stalledSockets.map((socket) => socket.timeout)).toEqual(
      clientSockets.map(() => longIdleTimeoutMs),
    );
    for (const socket of stalledSockets) socket.setTimeout(1);
    await pollUntil(() => stalledSockets.every((socket) => socket.destroyed));
    if (process.platform === 'linux') await pollUntil(async () => (await countOpenObjects()) === 0);
    for (const socket of clientSockets) socket.destroy();
    expect((await ann.get('/v1/user')).status).toBe(200);
  });

  test('of a folder, a dataset or nothing are refused', async () => {
    for (const type of ['folder', 'dataset']) {
      const id = idOf(
        await ann.post('/v2/objects', { vault_id: vaultId, object_type: type, filename: type }),
      );
      expect((await ann.get(`/v2/objects/${id}/download`)).status).toBe(400);
    }
    expect((await ann.get('/v2/objects/12345/download')).status).toBe(404);
  });
});

async function listUploadScratchNames(): Promise<readonly string[]> {
  return (await readdir(server.data.scratch)).filter((name) => name.startsWith('upload-'));
}

/** Returns the number of file descriptors of this process that refer to stored objects. */
async function countOpenObjects(): Promise<number> {
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter((link) => link.startsWith(server.data.objects)).length;
}
