import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { connect, type Server } from 'node:net';
import {
  idOf,
  makeFixture,
  send,
  startServer,
  type Client,
  type Fixture,
  type TestServer,
} from '../api/server.js';
import { until } from '../until.js';

/** Requests are sent for at least this time, in milliseconds. */
const soakMs = Number(process.env['STRANDLAKE_SOAK_MS'] ?? 0);
const rounds = 60;

let server: TestServer;
let ann: Client;
let fixture: Fixture;
beforeAll(async () => {
  server = await startServer();
  ann = await server.user('ann');
  fixture = await makeFixture(ann, 'Leaks');
});
afterAll(() => server.close());

const onLinux = process.platform === 'linux' ? test : test.skip;

/** Runs one operation of each kind, including failing ones. */
async function runEverythingOnce(number: number): Promise<void> {
  const data = `/v2/datasets/${fixture.datasetId}/data`;
  await ann.post(data, { filters: [['gene', 'TP53']], facets: { gene: {} } });
  await ann.post(data, { filters: [['nothing', 1]] });
  await ann.get('/v2/tasks');
  await ann.get(`/v2/nothing/${number}`);
  await breakOff('POST', data, '{"filters":[["ge');
  const file = { vault_id: fixture.vaultId, object_type: 'file', filename: 'up.txt' };
  const createdObject = await ann.post('/v2/objects', file);
  const { pathname, search } = new URL(String(createdObject.json['upload_url']));
  await breakOff('PUT', pathname + search, 'half of it');
  await send('', 'PUT', String(createdObject.json['upload_url']), 'all of it');
  const { json } = await ann.get(`/v2/objects/${idOf(createdObject)}/download`);
  await send('', 'GET', String(json['download_url']));
  await ann.delete(`/v2/objects/${idOf(createdObject)}`);
  if (number % 5 > 0) return;
  const set = await ann.post('/v2/datasets', { vault_id: fixture.vaultId, name: 'leak' });
  const datasetId = idOf(set);
  await ann.post('/v2/dataset_imports', { dataset_id: datasetId, records: [{ a: number }] });
  await ann.post(`/v2/datasets/${datasetId}/data`, {});
  await ann.delete(`/v2/datasets/${datasetId}`);
}

/** A request that announces more than it sends, and ends. */
async function breakOff(method: string, path: string, part: string): Promise<void> {
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

async function descriptors(): Promise<number> {
  return (await readdir('/proc/self/fd')).length;
}

function connections(): Promise<number> {
  return new Promise((resolve, reject) => {
    const onAnswer = (error: Error | null, count: number): void =>
      error === null ? resolve(count) : reject(error);
    (server.app.nest.getHttpServer() as Server).getConnections(onAnswer);
  });
}

/** The heap of this process, which holds the server but for its worker. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  server.logs.length = 0; // the test's own
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Resident memory of the server's worker. */
async function workerMb(): Promise<number> {
  const status = await readFile(`/proc/${server.scheduler.status().workerPid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

onLinux(
  'R3, R4: after hundreds of requests, broken-off ones among them, memory, descriptors and sockets are where they were',
  async () => {
    for (let i = 0; i < rounds / 2; i++) await runEverythingOnce(i); // to be warm
    await until(async () => (await connections()) <= 3);
    const before = {
      open: await descriptors(),
      own: heapBytes(),
      worker: await workerMb(),
    };
    const stopAt = performance.now() + soakMs;
    for (let i = 0; i < rounds || performance.now() < stopAt; i++) await runEverythingOnce(i);
    await until(async () => (await connections()) <= 3);
    await until(async () => Math.abs((await descriptors()) - before.open) <= 5);
    const errors = server.logs.filter((line) => line.includes('"event":"error"'));
    const grownMb = (heapBytes() - before.own) / 2 ** 20;
    const workerGrownMb = (await workerMb()) - before.worker;
    console.log(`leaks: own ${grownMb.toFixed(1)} MB, worker ${workerGrownMb.toFixed(1)} MB more`);
    expect(grownMb).toBeLessThan(20);
    expect(workerGrownMb).toBeLessThan(60);
    expect(errors).toEqual([]);
    expect((await ann.get('/v1/user')).status).toBe(200);
  },
);
