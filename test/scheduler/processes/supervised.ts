import { writeSync } from 'node:fs';
import { superviseProcess } from '../../../scheduler/worker/supervisor.js';
import { fileURLToPath } from 'node:url';

/*
 * A supervisor for tests. The parent supervises this file as its child, whose behaviour is the argument. The child prints `child <pid>`
 * when it has started.
 */
const [role, behaviour = ''] = process.argv.slice(2);
const ownPath = fileURLToPath(import.meta.url);

if (role === 'parent') {
  // However long a busy machine takes to start a child that fails at its start, it was never healthy.
  const healthyMs = behaviour === 'fail' ? Infinity : 300;
  // Only the child that never ends must reach the grace period.
  const graceMs = behaviour === 'stubborn' ? 500 : 600_000;
  const limits = { healthyMs, maxFailures: 3, pauseMs: 10, graceMs, say: printLine };
  process.exitCode = await superviseProcess(ownPath, ['child', behaviour], limits);
} else {
  printLine(`child ${process.pid}`);
  if (behaviour === 'fail') process.exit(7);
  if (behaviour === 'refuse') process.exit(78);
  if (behaviour === 'finish') process.exit(0);
  process.on('SIGTERM', () => {
    if (behaviour === 'stubborn') return;
    printLine('stopping');
    process.exit(0);
  });
  process.on('SIGINT', () => undefined);
  setInterval(() => undefined, 1_000);
  setTimeout(() => printLine('healthy'), 350);
}

function printLine(text: string): void {
  writeSync(1, `${text}\n`);
}
