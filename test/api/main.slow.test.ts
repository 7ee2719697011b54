import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../engine/core/config.js';

let rootFolder: string;
beforeAll(async () => {
  rootFolder = await mkdtemp(join(tmpdir(), 'strandlake-main-'));
});
afterAll(() => rm(rootFolder, { recursive: true, force: true }));

interface StartedApi {
  readonly child: ChildProcess;
  readonly output: () => string;
}

function startApi(args: readonly string[]): StartedApi {
  const config = parseConfig(['--data', join(rootFolder, 'data'), '--threads', '1', ...args], {});
  const child = fork('dist/api/main.js', [JSON.stringify(config)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  child.stdout?.on('data', (bytes) => (output += `out ${String(bytes)}`));
  child.stderr?.on('data', (bytes) => (output += String(bytes)));
  return { child, output: () => output };
}

async function waitForListeningPort({ child, output }: StartedApi): Promise<number> {
  const message = once(child, 'message').then(([value]) => value as { type: string; port: number });
  const exit = once(child, 'exit').then(() => Promise.reject(new Error(output())));
  const { type, port } = await Promise.race([message, exit]);
  expect(type).toBe('listening');
  return port;
}

test('listens, reports its port to the supervisor, logs only JSON lines, and exits on SIGTERM (W5)', async () => {
  const startedApi = startApi(['--port', '0', '--log', 'info']);
  const port = await waitForListeningPort(startedApi);
  const health = await fetch(`http://127.0.0.1:${port}/health`);
  expect(await health.json()).toMatchObject({ status: 'ok' });
  const exit = once(startedApi.child, 'exit');
  startedApi.child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  const lines = startedApi.output().trim().split('\n');
  const events = lines.map((line) => JSON.parse(line) as { readonly event: string });
  expect(events.map(({ event }) => event)).toContain('listening');
  expect(events.filter(({ event }) => event === 'request')).toMatchObject([
    { method: 'GET', url: '/health', status: 200 },
  ]);
});

test('ends when its supervisor is gone', async () => {
  const startedApi = startApi(['--port', '0']);
  await waitForListeningPort(startedApi);
  const exit = once(startedApi.child, 'exit');
  startedApi.child.disconnect();
  expect(await exit).toEqual([0, null]);
});

test('refuses for good, with exit code 78, an address that is taken and a folder that another server uses', async () => {
  const firstApi = startApi(['--port', '0']);
  const port = await waitForListeningPort(firstApi);
  const secondApi = startApi(['--port', '0']);
  const refusal = once(secondApi.child, 'message');
  expect(await once(secondApi.child, 'exit')).toEqual([78, null]);
  expect(await refusal).toMatchObject([
    { type: 'refused', reason: expect.stringContaining('another server') },
  ]);
  const thirdArgs = ['--port', String(port), '--data', join(rootFolder, 'other')];
  const thirdApi = startApi(thirdArgs);
  const inUseMessage = once(thirdApi.child, 'message');
  expect(await once(thirdApi.child, 'exit')).toEqual([78, null]);
  const reason = expect.stringMatching(`^port ${port} of 127.0.0.1 is in use; .*--port$`);
  expect(await inUseMessage).toMatchObject([{ type: 'refused', reason }]);
  expect(thirdApi.output()).toBe('');
  firstApi.child.kill('SIGTERM');
  await once(firstApi.child, 'exit');
});

test('refuses for good a data folder that is a file', async () => {
  const file = join(rootFolder, 'file');
  await writeFile(file, '');
  const startedApi = startApi(['--port', '0', '--data', file]);
  const refusal = once(startedApi.child, 'message');
  expect(await once(startedApi.child, 'exit')).toEqual([78, null]);
  const reason = `the data folder ${file} is a file; choose another with --data`;
  expect(await refusal).toMatchObject([{ type: 'refused', reason }]);
  expect(startedApi.output()).toBe('');
});
