import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { startServerFixture } from '../server-fixture.js';
import { idOf, startServer } from '../server.js';

const { server, ann, vaultId } = await startServerFixture({ limits: { compressesLoopback: true } });
let datasetId: number;
let downloadUrl: string;
const records = Array.from({ length: 1_300 }, (_, n) => ({ n, gene: `GENE${n % 7}` }));
beforeAll(async () => {
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, data_records: records });
  const text = JSON.stringify(records);
  const file = { vault_id: vaultId, object_type: 'file', filename: 'a.json', size: text.length };
  const object = await ann.post('/v2/objects', file);
  await fetch(String(object.json['upload_url']), { method: 'PUT', body: text });
  const download = await ann.get(`/v2/objects/${idOf(object)}/download`);
  downloadUrl = String(download.json['download_url']);
});

interface RawAnswer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Sends a request; returns the answer without decompressing its body. */
function askRaw(path: string, headers: Record<string, string>, body?: object): Promise<RawAnswer> {
  const method = body === undefined ? 'GET' : 'POST';
  const ownHeaders = body === undefined ? {} : { 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sentRequest = request(new URL(path, server.url), { method, headers: { ...ownHeaders, ...headers } }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }));
    });
    sentRequest.on('error', reject);
    sentRequest.end(body && JSON.stringify(body));
  });
} // prettier-ignore

const fetchPage = (headers: Record<string, string>, limit = 300): Promise<RawAnswer> =>
  askRaw(`/v2/datasets/${datasetId}/data`, { Authorization: `Bearer ${ann.token}`, ...headers }, { limit }); // prettier-ignore

/** Returns the values of the field `n` in a page. */
function decodeFieldN(type: string, body: Buffer): readonly number[] {
  type Row = { readonly n: number };
  if (type.includes('arrow')) return Array.from(tableFromIPC(body).getChild('n') ?? [], Number);
  const text = body.toString();
  if (type === 'text/csv') return (parse(text, { columns: true }) as Row[]).map(({ n }) => Number(n));
  if (type === 'application/json') return (JSON.parse(text) as { readonly results: readonly Row[] }).results.map(({ n }) => n);
  return text.trimEnd().split('\n').map((line) => (JSON.parse(line) as Row).n);
} // prettier-ignore

describe('an answer', () => {
  const fetchPlainPage = (): Promise<RawAnswer> => fetchPage({});
  const withoutTime = (body: Buffer): string => body.toString().replace(/"took":\d+/, '');

  test.each([
    ['gzip', 'gzip', gunzipSync],
    ['br', 'br', brotliDecompressSync],
    ['deflate', 'deflate', inflateSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['gzip, deflate, br, zstd', 'zstd', zstdDecompressSync],
    ['gzip;q=1.0, br;q=0.2', 'gzip', gunzipSync],
  ])('is compressed for Accept-Encoding: %s', async (acceptEncoding, encoding, decompress) => {
    const { headers, body, status } = await fetchPage({ 'Accept-Encoding': acceptEncoding });
    expect([status, headers['content-encoding']]).toEqual([200, encoding]);
    expect(headers['vary']).toMatch(/accept-encoding/i);
    expect(headers['content-type']).toBe('application/json');
    const wholeAnswer = await fetchPlainPage();
    expect(withoutTime(decompress(body))).toBe(withoutTime(wholeAnswer.body));
    expect(body.length).toBeLessThan(wholeAnswer.body.length / 3);
  });

  test.each(['identity', 'gzip;q=0', 'compress', ''])(
    'is not compressed for Accept-Encoding: %j',
    async (acceptEncoding) => {
      const { headers, body } = await fetchPage({ 'Accept-Encoding': acceptEncoding });
      expect(headers['content-encoding']).toBeUndefined();
      expect(withoutTime(body)).toBe(withoutTime((await fetchPlainPage()).body));
    },
  );

  test('is compressed as CSV, JSON lines and Arrow, too', async () => {
    for (const type of ['text/csv', 'application/x-ndjson', 'application/vnd.apache.arrow.stream']) {
      const plainAnswer = await fetchPage({ Accept: type });
      const { headers, body } = await fetchPage({ Accept: type, 'Accept-Encoding': 'gzip' });
      expect([type, headers['content-encoding'], headers['x-total']]).toEqual([type, 'gzip', '1300']);
      expect(gunzipSync(body).equals(plainAnswer.body)).toBe(true);
    }
  }); // prettier-ignore

  test('of many records is sent piece by piece, in every format, and compressed', async () => {
    const types = ['application/json', 'text/csv', 'application/x-ndjson', 'application/vnd.apache.arrow.stream']; // prettier-ignore
    for (const type of types) {
      const { headers, body } = await fetchPage({ Accept: type }, 1_300);
      expect([headers['content-length'], headers['content-type']]).toEqual([undefined, type]);
      expect(decodeFieldN(type, body)).toEqual(records.map(({ n }) => n));
      const gzipAnswer = await fetchPage({ Accept: type, 'Accept-Encoding': 'gzip' }, 1_300);
      expect([type, gzipAnswer.headers['content-encoding']]).toEqual([type, 'gzip']);
      expect(withoutTime(gunzipSync(gzipAnswer.body))).toBe(withoutTime(body));
    }
  });

  test('of a few records is sent as it is', async () => {
    const { headers, body } = await fetchPage({ 'Accept-Encoding': 'gzip' }, 3);
    expect(headers['content-encoding']).toBeUndefined();
    expect(headers['content-length']).toBe(String(body.length));
  });
});

describe.each([
  ['no trusted proxy', []],
  ['a trusted proxy', ['127.0.0.1']],
])('an answer of a server with %s', (_, trustProxies) => {
  /** Asks for a document of more than 100 kB, directly or through a proxy on the same machine that adds headers. */
  const fetchThroughProxy = async (
    addedHeaders: Record<string, string> | undefined,
  ): Promise<RawAnswer> => {
    const localServer = await startServer({ trustProxies });
    const proxy = createServer((incoming, outgoing) => {
      const headers = { ...incoming.headers, ...addedHeaders };
      const forwardedRequest = request(
        new URL(incoming.url!, localServer.url),
        { headers },
        (answer) => {
          outgoing.writeHead(answer.statusCode!, answer.headers);
          answer.pipe(outgoing);
        },
      );
      forwardedRequest.end();
    });
    try {
      await once(proxy.listen(0, '127.0.0.1'), 'listening');
      const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const { token } = await localServer.user('ann');
      const headers = { 'Accept-Encoding': 'gzip, br, zstd', Authorization: `Bearer ${token}` };
      return await askRaw(
        new URL('/openapi.json', addedHeaders ? proxyUrl : localServer.url).href,
        headers,
      );
    } finally {
      proxy.close();
      await localServer.close();
    }
  };

  test('is not compressed for a client on the same machine', async () => {
    const { headers, body } = await fetchThroughProxy(undefined);
    expect([headers['content-encoding'], body.length > 100_000]).toEqual([undefined, true]);
  });

  test.each([
    ['X-Forwarded-For', '203.0.113.7'],
    ['Forwarded', 'for=203.0.113.7'],
    ['Via', '1.1 proxy'],
  ])('is compressed through a proxy on the same machine that sets %s', async (name, value) => {
    const { headers, body } = await fetchThroughProxy({ [name]: value });
    expect(headers['content-encoding']).toBe('zstd');
    expect(zstdDecompressSync(body).length).toBeGreaterThan(100_000);
  });
});

test('a download is not compressed: its length, ranges and ETag are those of the file', async () => {
  const wholeFile = await askRaw(downloadUrl, { 'Accept-Encoding': 'gzip, br, zstd' });
  expect(wholeFile.headers['content-encoding']).toBeUndefined();
  expect(JSON.parse(wholeFile.body.toString())).toEqual(records);
  const rangeAnswer = await askRaw(downloadUrl, { 'Accept-Encoding': 'gzip', Range: 'bytes=0-9' });
  expect([rangeAnswer.status, rangeAnswer.body.toString()]).toEqual([
    206,
    JSON.stringify(records).slice(0, 10),
  ]);
});
