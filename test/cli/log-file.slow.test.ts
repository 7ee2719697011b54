import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pollUntil } from '../until.js';

let folder: string;
let serverProcess: ChildProcess;
let printedText: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'strandlake-logged-'));
  printedText = '';
});
afterEach(() => {
  serverProcess.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function startServer(logFile: string): void {
  const env = {
    PATH: process.env['PATH'],
    STRANDLAKE_DATA: join(folder, 'data'),
    STRANDLAKE_PORT: '0',
    STRANDLAKE_EXAMPLES: 'off',
    STRANDLAKE_LOG: 'info',
    STRANDLAKE_LOG_FILE: logFile,
  };
  const stdio = ['ignore', 'pipe', 'pipe'] as const;
  serverProcess = spawn(process.execPath, ['dist/cli/strandlake.js', 'serve'], {
    env,
    stdio: [...stdio],
  });
  for (const stream of [serverProcess.stdout, serverProcess.stderr])
    stream!.on('data', (text: Buffer) => (printedText += text.toString()));
}

/** Returns the events in a log file; every line must be JSON. */
function eventsIn(file: string): readonly Record<string, unknown>[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>); // prettier-ignore
}

test('the log of all processes goes to the file, which is opened anew on SIGHUP', async () => {
  const path = join(folder, 'lake.log');
  startServer(path);
  const [, origin = ''] = await pollUntil(
    () => /ready at (http:\S+)/.exec(printedText) ?? undefined,
  );
  const requestHealth = async (): Promise<string> => {
    const answer = await fetch(`${origin}/healthz`, { headers: { connection: 'close' } });
    return String(answer.headers.get('x-request-id'));
  };
  const waitUntilLogged = (file: string, id: string): Promise<boolean> =>
    pollUntil(() => eventsIn(file).some(({ request }) => request === id));
  await waitUntilLogged(path, await requestHealth());
  expect(eventsIn(path).map(({ event }) => event)).toContain('listening');

  const rotatedPath = `${path}.yesterday`;
  renameSync(path, rotatedPath);
  serverProcess.kill('SIGHUP');
  await pollUntil(() => existsSync(path));
  const secondRequestId = await requestHealth();
  await waitUntilLogged(path, secondRequestId);
  expect(eventsIn(rotatedPath).some(({ request }) => request === secondRequestId)).toBe(false);
  expect(printedText).not.toContain('"event"');

  // The death of a process is in the log, too: the process that restarts it writes the line.
  const eventCount = eventsIn(path).length;
  const childPids = readFileSync(
    `/proc/${serverProcess.pid}/task/${serverProcess.pid}/children`,
    'utf8',
  );
  process.kill(Number(childPids.trim().split(' ')[0]), 'SIGKILL');
  await pollUntil(() =>
    eventsIn(path)
      .slice(eventCount)
      .some(({ event }) => event === 'listening'),
  );
  expect(eventsIn(path)).toContainEqual(
    expect.objectContaining({ event: 'output', message: expect.stringContaining('the server ended (signal SIGKILL)') }), // prettier-ignore
  );
  serverProcess.kill('SIGTERM');
  expect((await once(serverProcess, 'close'))[0]).toBe(0);
});

test('a folder that is missing is refused before anything is created', async () => {
  startServer(join(folder, 'missing', 'lake.log'));
  const [code] = (await once(serverProcess, 'close')) as [number];
  expect(code).not.toBe(0);
  expect(printedText).toContain(`--log-file: the folder ${join(folder, 'missing')} does not exist; create it`); // prettier-ignore
  expect(printedText).not.toContain('token');
});
