import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const supervisedScript = fileURLToPath(
  new URL('../processes/supervisor-program.js', import.meta.url),
);

/** Runs the supervisor with a child of the given behaviour; `waitForLine` resolves with the `nth` matching line. */
function runSupervised(behaviour: string) {
  const child = spawn(process.execPath, [supervisedScript, 'parent', behaviour], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const waitingLines: { pattern: RegExp; nth: number; resolve: (line: string) => void }[] = [];
  let restOfOutput = '';
  child.stdout.on('data', (bytes: Buffer) => {
    const parts = (restOfOutput + bytes.toString()).split('\n');
    restOfOutput = parts.pop() ?? '';
    lines.push(...parts);
    for (const { pattern, nth, resolve } of waitingLines) {
      const matchingLine = lines.filter((line) => pattern.test(line))[nth - 1];
      if (matchingLine !== undefined) resolve(matchingLine);
    }
  });
  return {
    lines,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    exit: once(child, 'close').then(([code]) => code as number),
    waitForLine: (pattern: RegExp, nth = 1) =>
      new Promise<string>((resolve) => {
        const matchingLine = lines.filter((line) => pattern.test(line))[nth - 1];
        if (matchingLine !== undefined) resolve(matchingLine);
        else waitingLines.push({ pattern, nth, resolve });
      }),
  };
}

const pidOf = (line: string): number => Number(line.split(' ')[1]);

test('starts a killed child again, and passes SIGTERM on (W5)', async () => {
  const run = runSupervised('run');
  for (let nth = 1; nth <= 4; nth++) {
    const line = await run.waitForLine(/^child/, nth);
    await run.waitForLine(/^healthy/, nth);
    if (nth < 4) process.kill(pidOf(line), 'SIGKILL');
  }
  run.kill('SIGTERM');
  expect(await run.exit).toBe(0);
  expect(run.lines).toContain('stopping');
});

test('gives up with a clear message when the child keeps dying at its start', async () => {
  const run = runSupervised('fail');
  expect(await run.exit).toBe(7);
  expect(run.lines.filter((line) => line.startsWith('child'))).toHaveLength(3);
  expect(run.lines.at(-1)).toMatch(
    /ended 3 times in a row right after its start \(last: exit code 7\); giving up/,
  );
});

test('the end of a child that had started does not count among the ends right after a start', async () => {
  const run = runSupervised('fail later');
  const pid = pidOf(await run.waitForLine(/^child/));
  await run.waitForLine(/^healthy/);
  process.kill(pid, 'SIGKILL');
  expect(await run.exit).toBe(7);
  expect(run.lines.filter((line) => line.startsWith('child'))).toHaveLength(4);
  expect(run.lines.at(-1)).toContain('ended 3 times in a row right after its start');
});

test('does not restart a child that refused to run or ended successfully', async () => {
  const refusedChild = runSupervised('refuse');
  expect(await refusedChild.exit).toBe(78);
  expect(refusedChild.lines).toHaveLength(1);
  expect(await runSupervised('finish').exit).toBe(0);
});

test('kills a child that does not end in time', async () => {
  const run = runSupervised('stubborn');
  const pid = pidOf(await run.waitForLine(/^child/));
  await run.waitForLine(/^healthy/);
  run.kill('SIGTERM');
  await run.exit;
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});
