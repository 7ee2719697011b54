import { expect, test } from '@jest/globals';
import { startWorker } from '../../../scheduler/worker/worker-supervisor.js';
import type { MessageToWorker } from '../../../scheduler/worker/messages.js';
import { pollUntil } from '../../until.js';
import { startServerFixture } from '../server-fixture.js';
import { idOf } from '../server.js';

/* Tests requests for a job or its task that wait until the job ends: `Prefer: wait` (RFC 7240, section 4.3). */

const heldMessages: MessageToWorker[] = [];
let deliverMessage: (message: MessageToWorker) => void;

const { ann, server, vaultId, newDataset, newFile } = await startServerFixture({
  scheduler: {
    startWorker: (...args) => {
      const worker = startWorker(...args);
      deliverMessage = (message) => worker.send(message);
      const send = (message: MessageToWorker): void => {
        if (message.type === 'run' && message.kind === 'import') heldMessages.push(message);
        else worker.send(message);
      };
      return { ...worker, send };
    },
  },
});

/** Starts an import that is not sent to the worker yet; returns the path of the import and that of its task. */
async function startHeldImport(): Promise<readonly [path: string, taskPath: string]> {
  const object_id = await newFile('a.json', '{"a":1}\n');
  const body = { dataset_id: await newDataset(), object_id };
  const createdImport = await ann.post('/v2/dataset_imports', body);
  await pollUntil(() => heldMessages.length === 1);
  const { task_id: taskId } = (await ann.get(`/v2/dataset_imports/${idOf(createdImport)}`)).json;
  return [`/v2/dataset_imports/${idOf(createdImport)}`, `/v2/tasks/${String(taskId)}`];
}

const getWithPreference = (path: string, prefer: string) =>
  ann.call('GET', path, undefined, { prefer });
const preferenceAppliedHeader = 'preference-applied';

test('a request for a job or its task is answered when the job has ended', async () => {
  const [path, taskPath] = await startHeldImport();
  let answerCount = 0;
  const requests = [path, taskPath].map((one) =>
    getWithPreference(one, 'handling=strict, wait=3600').finally(() => answerCount++),
  );
  // Until the job has ended, requests without a valid wait above 0 are answered immediately with its current state.
  for (const prefer of ['wait=0', 'wait', 'wait=x', 'wait=-1', 'respond-async']) {
    const { json, headers } = await getWithPreference(path, prefer);
    const expectedPreference = prefer === 'wait=0' ? 'wait=0' : null;
    expect([prefer, json['status'], headers.get(preferenceAppliedHeader)]).toEqual([
      prefer,
      'running',
      expectedPreference,
    ]);
  }
  expect(answerCount).toBe(0);
  deliverMessage(heldMessages.pop()!);
  for (const { json, headers } of await Promise.all(requests))
    expect([json['status'], headers.get(preferenceAppliedHeader)]).toEqual([
      'completed',
      'handling=strict, wait=50',
    ]);
  expect((await getWithPreference(path, 'wait=50')).json['status']).toBe('completed');
});

test('a job that is deleted ends the wait', async () => {
  const [path] = await startHeldImport();
  const request = getWithPreference(path, 'wait=50');
  heldMessages.pop();
  const deletionAnswer = await ann.delete(path);
  expect(deletionAnswer.status).toBe(200);
  // The server may have handled the waiting request only after the deletion, and answers 404 in that case.
  expect([200, 404]).toContain((await request).status);
});

test('a request that waits shows nothing to a user who may no longer read', async () => {
  const [path] = await startHeldImport();
  const bob = await server.user('bob');
  const permissionsPath = `/v2/vaults/${vaultId}/permissions`;
  const grantAnswer = await ann.put(permissionsPath, { user_id: bob.user.id, permission: 'read' });
  const request = bob.call('GET', path, undefined, { prefer: 'wait=50' });
  expect((await bob.get(path)).json['status']).toBe('running');
  await ann.delete(`${permissionsPath}/${idOf(grantAnswer)}`);
  deliverMessage(heldMessages.pop()!);
  expect((await request).status).toBe(404);
});
