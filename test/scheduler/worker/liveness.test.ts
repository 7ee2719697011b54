import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  isWorkerStuck,
  readThreadState,
  type ThreadState,
} from '../../../scheduler/worker/liveness.js';
import { pollUntil } from '../../until.js';

const livenessTimeouts = { heartbeatTimeoutMs: 25_000, startTimeoutMs: 60_000 };
const threadStateWith = (letter: string, cpuMs: number): ThreadState => ({ state: letter, cpuMs });

test.each([
  ['was heard a moment ago', 24_000, false, threadStateWith('T', 0), false],
  ['is stopped', 26_000, false, threadStateWith('T', 0), true],
  ['sleeps where it should send', 26_000, false, threadStateWith('S', 100), true],
  ['waits for a processor on a busy machine', 200_000, false, threadStateWith('R', 3_000), false],
  ['waits for a slow disk', 200_000, false, threadStateWith('D', 100), false],
  ['runs without an end', 26_000, false, threadStateWith('R', 20_000), true],
  ['is past all hope', 301_000, false, threadStateWith('R', 3_000), true],
  ['loads its code', 50_000, true, threadStateWith('S', 900), false],
  ['loads its code on a busy machine', 500_000, true, threadStateWith('R', 900), false],
  ['never gets to its first word', 61_000, true, threadStateWith('S', 900), true],
  ['is silent where the system tells nothing', 90_000, false, undefined, false],
  ['is silent for long where the system tells nothing', 101_000, false, undefined, true],
])('C3: a worker that %s', (_, sinceHeartbeatMs, isStarting, now, expected) => {
  expect(
    isWorkerStuck(sinceHeartbeatMs, isStarting, threadStateWith('S', 0), now, livenessTimeouts),
  ).toBe(expected);
});

(process.platform === 'linux' ? test : test.skip)(
  'the thread state distinguishes a stopped process from a working one',
  async () => {
    const child = spawn(process.execPath, ['-e', 'console.log(1); for (;;);']);
    await once(child.stdout, 'data');
    const pid = child.pid as number;
    // The process may sleep briefly at first, for example while its loop is being compiled.
    await pollUntil(async () => {
      const now = await readThreadState(pid);
      return now !== undefined && now.state === 'R' && now.cpuMs > 50;
    });
    child.kill('SIGSTOP');
    await pollUntil(async () => (await readThreadState(pid))?.state === 'T');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await pollUntil(async () => (await readThreadState(pid)) === undefined);
  },
);
