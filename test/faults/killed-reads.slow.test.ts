import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { idOf, sendRequest, waitForJob, type Answer, type Client } from '../api/server.js';
import { seededRandom } from '../random.js';
import { seed } from '../seed.js';
import { KillableApiProcess } from './api-process.js';

/*
 * The API process or its worker kills itself while a task that changes no dataset runs: a verification, the table of an uploaded file, a
 * table of computed fields; while the tables are made, the API process is also killed at random moments (threat C2). The server goes on or
 * starts again, answers as before, and keeps no files of the task.
 */

const recordCount = 20_000;
const numbers = Array.from({ length: recordCount }, (_, n) => n);
let api: KillableApiProcess;
let ann: Client;
let datasetId: number;
let objectId: number;

beforeAll(async () => {
  api = await KillableApiProcess.createWithUser();
  ann = await api.start();
  const vaultId = idOf(await ann.post('/v2/vaults', { name: 'Reads' }));
  const file = await ann.post('/v2/objects', { vault_id: vaultId, object_type: 'file', filename: 'a.csv' }); // prettier-ignore
  objectId = idOf(file);
  const csv = ['n,even', ...numbers.map((n) => `${n},${n % 2 === 0}`)].join('\n');
  expect((await sendRequest('', 'PUT', String(file.json['upload_url']), csv)).status).toBe(200);
  datasetId = idOf(await ann.post('/v2/datasets', { vault_id: vaultId, name: 'd' }));
  const importAnswer = await ann.post('/v2/dataset_imports', { dataset_id: datasetId, object_id: objectId }); // prettier-ignore
  const { json } = await waitForJob(ann, `/v2/dataset_imports/${idOf(importAnswer)}`);
  expect(json['status']).toBe('completed');
});
afterEach(() => api.signalAndWait('SIGKILL'));
afterAll(() => api.removeRootFolder());

/** Starts the process again; if a crash point is given, the process, or each of its workers, kills itself there. */
async function restart(crashPoint?: string): Promise<void> {
  await api.signalAndWait('SIGTERM');
  ann = await api.start(crashPoint);
}

const verify = (body: object = {}): Promise<Answer> => ann.post(`/v2/datasets/${datasetId}/verify`, body); // prettier-ignore
const wholeResult = { is_whole: true, files: 1, records: recordCount, differences: [] };

/** Requests that read in the worker, each with the number of records that it counts. */
const readRequests: readonly [name: string, send: () => Promise<Answer>, expected: number][] = [
  [
    'the table of a file',
    () => ann.post(`/v2/objects/${objectId}/data`, { filters: [['even', 'true']], limit: 0 }),
    recordCount / 2,
  ],
  [
    'a table of computed fields',
    () =>
      ann.post(`/v2/datasets/${datasetId}/data`, {
        target_fields: [{ name: 'third', expression: 'record.n % 3', data_type: 'long' }],
        filters: [['third', 1]],
        limit: 0,
      }),
    numbers.filter((n) => n % 3 === 1).length,
  ],
];

const listTableFolders = (): Promise<readonly string[]> => readdir(join(api.dataFolderPath, 'file-tables')); // prettier-ignore

describe.each(readRequests)('C2: %s', (_, send, expectedCount) => {
  test.each(['segment.partial', 'segment.flushed'])(
    'whose workers die at %s is refused with the cause, and made after the next start',
    async (point) => {
      await restart(point);
      const refusal = await send();
      expect(refusal.json).toMatchObject({ detail: expect.stringMatching(/ended 2 times/) });
      expect(refusal.status).toBe(400);
      expect(await listTableFolders()).toEqual([]);
      expect((await verify()).json).toMatchObject(wholeResult); // the server goes on, with another worker
      await restart();
      const { status, json } = await send();
      expect([status, json['total']]).toEqual([200, expectedCount]);
      expect(await listTableFolders()).toHaveLength(1);
      await api.expectIntactData();
    },
  );

  test(`killed at random moments is made by the next server (STRANDLAKE_SEED=${seed})`, async () => {
    const next = seededRandom(seed);
    for (let i = 0; i < 3; i++) {
      await restart();
      const answer = send().catch(() => undefined);
      await setTimeout(400 * next());
      await api.signalAndWait('SIGKILL');
      const total = (await answer)?.json['total'];
      expect([undefined, expectedCount]).toContain(total);
    }
    await restart();
    expect((await send()).json).toMatchObject({ total: expectedCount });
    expect(await listTableFolders()).toHaveLength(1);
    await api.expectIntactData();
  });
});

describe('C2: a verification', () => {
  test('whose server is killed before it answers changes nothing', async () => {
    await restart('task.before-done');
    const exit = api.waitForExit();
    await expect(verify()).rejects.toThrow();
    expect(await exit).toEqual([null, 'SIGKILL']);
    await restart();
    expect((await verify()).json).toMatchObject(wholeResult);
    await api.expectIntactData();
  });

  test('that nobody waits for has its result once, whenever the server is killed', async () => {
    await restart('task.before-done');
    const exit = api.waitForExit();
    const { json } = await verify({ wait: false });
    expect(await exit).toEqual([null, 'SIGKILL']);
    await restart();
    const path = `/v2/tasks/${String(json['id'])}`;
    const endedTask = await waitForJob(ann, path);
    expect(endedTask.json).toMatchObject({
      status: 'completed',
      task_object: { result: wholeResult },
    });
    const { json: tasks } = await ann.get('/v2/tasks?limit=1000');
    const listedTasks = (tasks['data'] as { readonly id: unknown }[]).filter(({ id }) => id === json['id']); // prettier-ignore
    expect(listedTasks).toHaveLength(1);
    await api.expectIntactData();
  });
});
