import { writeSync } from 'node:fs';
import { superviseProcess } from '../../../scheduler/worker/supervisor.js';
import { fileURLToPath } from 'node:url';

/*
 * A supervisor for tests. The process supervises this same file as its child, whose behaviour is given as an argument. The child prints
 * `child <pid>` when it has started.
 */
const [role, behaviour = ''] = process.argv.slice(2);
const ownPath = fileURLToPath(import.meta.url);

if (role === 'parent') {
  // A child that fails at its start must never count as healthy, however long a busy machine takes to start it.
  const healthyMs = behaviour === 'fail' ? Infinity : behaviour === 'fail later' ? 2_000 : 300;
  // Only the child that ignores signals may reach the end of the grace period.
  const graceMs = behaviour === 'stubborn' ? 500 : 600_000;
  const childArgs = ['child', behaviour];
  const say = (text: string): void => {
    printLine(text);
    if (behaviour === 'fail later') childArgs[1] = 'fail'; // the first child has ended
  };
  const limits = { healthyMs, maxFailures: 3, pauseMs: 10, graceMs, say };
  process.exitCode = await superviseProcess(ownPath, childArgs, limits);
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
  setTimeout(() => printLine('healthy'), behaviour === 'fail later' ? 2_050 : 350);
}

function printLine(text: string): void {
  writeSync(1, `${text}\n`);
}
