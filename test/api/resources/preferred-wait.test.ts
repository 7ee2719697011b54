import { expect, test } from '@jest/globals';
import { startHost } from '../../../scheduler/worker/host.js';
import type { ToWorker } from '../../../scheduler/worker/messages.js';
import { until } from '../../until.js';
import { startLab } from '../lab.js';
import { idOf } from '../server.js';

/* Requests for a job that wait for its end: `Prefer: wait` (RFC 7240, section 4.3). */

const heldMessages: ToWorker[] = [];
let deliver: (message: ToWorker) => void;

const { ann, server, vaultId, newDataset, newFile } = await startLab({
  scheduler: {
    startHost: (...args) => {
      const host = startHost(...args);
      deliver = (message) => host.send(message);
      const send = (message: ToWorker): void => {
        if (message.type === 'run' && message.kind === 'import') heldMessages.push(message);
        else host.send(message);
      };
      return { ...host, send };
    },
  },
});

/** Starts an import, which the worker does not get yet; returns its path and that of its task. */
async function heldImport(): Promise<readonly [path: string, taskPath: string]> {
  const object_id = await newFile('a.json', '{"a":1}\n');
  const body = { dataset_id: await newDataset(), object_id };
  const created = await ann.post('/v2/dataset_imports', body);
  await until(() => heldMessages.length === 1);
  const { task_id: taskId } = (await ann.get(`/v2/dataset_imports/${idOf(created)}`)).json;
  return [`/v2/dataset_imports/${idOf(created)}`, `/v2/tasks/${String(taskId)}`];
}

const waiting = (path: string, prefer: string) => ann.call('GET', path, undefined, { prefer });
const applied = 'preference-applied';

test('a request for a job or its task is answered when the job has ended', async () => {
  const [path, taskPath] = await heldImport();
  let answers = 0;
  const requests = [path, taskPath].map((one) =>
    waiting(one, 'handling=strict, wait=3600').finally(() => answers++),
  );
  // Requests without a wait are answered meanwhile, with what is true now.
  for (const prefer of ['wait=0', 'wait', 'wait=x', 'wait=-1', 'respond-async']) {
    const { json, headers } = await waiting(path, prefer);
    const expected = prefer === 'wait=0' ? 'wait=0' : null;
    expect([prefer, json['status'], headers.get(applied)]).toEqual([prefer, 'running', expected]);
  }
  expect(answers).toBe(0);
  deliver(heldMessages.pop()!);
  for (const { json, headers } of await Promise.all(requests))
    expect([json['status'], headers.get(applied)]).toEqual([
      'completed',
      'handling=strict, wait=50',
    ]);
  expect((await waiting(path, 'wait=50')).json['status']).toBe('completed');
});

test('a job that is deleted, or whose dataset is, ends the wait', async () => {
  const [path] = await heldImport();
  const request = waiting(path, 'wait=50');
  heldMessages.pop();
  const deleted = await ann.delete(path);
  expect(deleted.status).toBe(200);
  // The request may have come after the deletion.
  expect([200, 404]).toContain((await request).status);
});

test('a request that waits shows nothing to a user who may no longer read', async () => {
  const [path] = await heldImport();
  const bob = await server.user('bob');
  const permissions = `/v2/vaults/${vaultId}/permissions`;
  const granted = await ann.put(permissions, { user_id: bob.user.id, permission: 'read' });
  const request = bob.call('GET', path, undefined, { prefer: 'wait=50' });
  expect((await bob.get(path)).json['status']).toBe('running');
  await ann.delete(`${permissions}/${idOf(granted)}`);
  deliver(heldMessages.pop()!);
  expect((await request).status).toBe(404);
});
