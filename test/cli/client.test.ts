import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openClient, type Client } from '../../cli/client.js';
import { AppError } from '../../engine/core/errors.js';

/* The server may stop between a request that returns a signed URL and the transfer, and in the middle of the transfer. */

/** A server that breaks the connection in the middle of each answer. */
const breakingServer = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-length': 1_000 });
    response.write('ACGT', () => response.destroy());
  });
});
beforeAll(() => once(breakingServer.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => void breakingServer.close());

const getBreakingOrigin = (): string =>
  `http://127.0.0.1:${(breakingServer.address() as AddressInfo).port}`;
const getStoppedOrigin = (): string => 'http://127.0.0.1:1';

async function* yieldBytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('ACGT');
}

const uploadBytes = (client: Client, url: string, bytes = yieldBytes()): Promise<void> =>
  client.upload(url, bytes, { 'content-length': '4', 'content-md5': 'x' });

async function downloadAll(client: Client, url: string): Promise<void> {
  for await (const bytes of client.download(url)) expect(bytes.length).toBeGreaterThan(0);
}

const newClient = (origin: string, signal = new AbortController().signal): Client =>
  openClient(origin, 'token', signal);

test.each([
  ['a download from a server that has stopped', getStoppedOrigin, downloadAll],
  ['a download from a server that stops meanwhile', getBreakingOrigin, downloadAll],
  ['an upload to a server that has stopped', getStoppedOrigin, uploadBytes],
  ['an upload to a server that stops meanwhile', getBreakingOrigin, uploadBytes],
])('%s fails with the address of the server', async (_, baseUrlOf, transfer) => {
  const origin = baseUrlOf();
  await expect(transfer(newClient(origin), `${origin}/content`)).rejects.toMatchObject({
    code: 'not-found',
    message: expect.stringContaining(`no server answers at ${origin} (`),
  });
});

test('an upload of a file that cannot be read fails with the error of the file', async () => {
  const readError = new AppError('input', 'cannot be read');
  async function* failToYield(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('AC');
    throw readError;
  }
  const origin = getBreakingOrigin();
  const upload = uploadBytes(newClient(origin), `${origin}/content`, failToYield());
  await expect(upload).rejects.toBe(readError);
});

test('a transfer that is aborted fails with the reason', async () => {
  const abortController = new AbortController();
  abortController.abort(new Error('stopped by the user'));
  const download = downloadAll(newClient(getStoppedOrigin(), abortController.signal), `${getStoppedOrigin()}/content`); // prettier-ignore
  await expect(download).rejects.toThrow('stopped by the user');
});
