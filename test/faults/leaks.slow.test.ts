import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { connect, type Server } from 'node:net';
import {
  idOf,
  makeVaultFixture,
  sendRequest,
  startServer,
  type Client,
  type VaultFixture,
  type TestServer,
} from '../api/server.js';
import { pollUntil } from '../until.js';

/** Minimum time in milliseconds for which requests are sent. */
const soakMs = Number(process.env['STRANDLAKE_SOAK_MS'] ?? 0);
const roundCount = 60;

let server: TestServer;
let ann: Client;
let fixture: VaultFixture;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  fixture = await makeVaultFixture(ann, 'Leaks');
});
afterAll(() => server.close());

const testOnLinux = process.platform === 'linux' ? test : test.skip;

/** Runs operations of several kinds, including failing ones; every fifth time also imports into a dataset and deletes it. */
async function sendRoundOfRequests(number: number): Promise<void> {
  const dataPath = `/v2/datasets/${fixture.datasetId}/data`;
  await ann.post(dataPath, { filters: [['gene', 'TP53']], facets: { gene: {} } });
  await ann.post(dataPath, { filters: [['nothing', 1]] });
  await ann.get('/v2/tasks');
  await ann.get(`/v2/nothing/${number}`);
  await sendIncompleteRequest('POST', dataPath, '{"filters":[["ge');
  const file = { vault_id: fixture.vaultId, object_type: 'file', filename: 'up.txt' };
  const createdObject = await ann.post('/v2/objects', file);
  const { pathname, search } = new URL(String(createdObject.json['upload_url']));
  await sendIncompleteRequest('PUT', pathname + search, 'half of it');
  await sendRequest('', 'PUT', String(createdObject.json['upload_url']), 'all of it');
  const { json } = await ann.get(`/v2/objects/${idOf(createdObject)}/download`);
  await sendRequest('', 'GET', String(json['download_url']));
  await ann.delete(`/v2/objects/${idOf(createdObject)}`);
  if (number % 5 > 0) return;
  const createdDataset = await ann.post('/v2/datasets', {
    vault_id: fixture.vaultId,
    name: 'leak',
  });
  const datasetId = idOf(createdDataset);
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: number }] });
  await ann.post(`/v2/datasets/${datasetId}/data`, {});
  await ann.delete(`/v2/datasets/${datasetId}`);
}

/** Sends a request whose body is shorter than its `Content-Length`, and closes the connection. */
async function sendIncompleteRequest(method: string, path: string, part: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1', () => {
      socket.write(
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\n` +
          `Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n${part}`,
        () => socket.destroy(),
      );
    });
    socket.on('close', () => resolve());
    socket.on('error', reject);
  });
}

async function readOpenDescriptorCount(): Promise<number> {
  return (await readdir('/proc/self/fd')).length;
}

function readConnectionCount(): Promise<number> {
  return new Promise((resolve, reject) => {
    const onAnswer = (error: Error | null, count: number): void =>
      error === null ? resolve(count) : reject(error);
    (server.app.nest.getHttpServer() as Server).getConnections(onAnswer);
  });
}

/** Returns the bytes of objects and external buffers in this process, which contains the server without its worker. */
function measureHeapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  server.logs.length = 0; // the logs are kept by the test, not by the server
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Returns the resident memory of the server's worker in megabytes. */
async function readWorkerMemoryMb(): Promise<number> {
  const status = await readFile(`/proc/${server.scheduler.status().workerPid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

testOnLinux(
  'R3, R4: after hundreds of requests, broken-off ones among them, memory, descriptors and sockets are where they were',
  async () => {
    for (let i = 0; i < roundCount / 2; i++) await sendRoundOfRequests(i); // warms up caches
    await pollUntil(async () => (await readConnectionCount()) <= 3);
    const usageBefore = {
      open: await readOpenDescriptorCount(),
      own: measureHeapBytes(),
      worker: await readWorkerMemoryMb(),
    };
    const stopAt = performance.now() + soakMs;
    for (let i = 0; i < roundCount || performance.now() < stopAt; i++) await sendRoundOfRequests(i);
    await pollUntil(async () => (await readConnectionCount()) <= 3);
    await pollUntil(
      async () => Math.abs((await readOpenDescriptorCount()) - usageBefore.open) <= 5,
    );
    const errors = server.logs.filter((line) => line.includes('"event":"error"'));
    const heapGrowthMb = (measureHeapBytes() - usageBefore.own) / 2 ** 20;
    const workerGrowthMb = (await readWorkerMemoryMb()) - usageBefore.worker;
    console.log(
      `leaks: own ${heapGrowthMb.toFixed(1)} MB, worker ${workerGrowthMb.toFixed(1)} MB more`,
    );
    expect(heapGrowthMb).toBeLessThan(20);
    expect(workerGrowthMb).toBeLessThan(60);
    expect(errors).toEqual([]);
    expect((await ann.get('/v1/user')).status).toBe(200);
  },
);
