import { parentPort, workerData } from 'node:worker_threads';
import { saveCase, type FuzzCase } from './case.js';
import { generateCase, materialFor } from './generate.js';
import { minimise } from './minimise.js';
import { Failure } from './outcome.js';
import { check } from './properties.js';
import type { Finding, FuzzJob, SharedMemory } from './shared.js';
import { publishCase } from './shared.js';

/*
 * Generates inputs and checks them until the time is up. It runs in a worker thread, so that the main thread can report an input that hangs
 * or crashes it: the input is in shared memory while it is checked.
 */

const { job, shared } = workerData as { job: FuzzJob; shared: SharedMemory };
const knownFailures = new Set<string>();

await main();

async function main(): Promise<void> {
  const material = materialFor(job.reader);
  const end = Date.now() + job.minutes * 60_000;
  for (let i = 0; Date.now() < end && i < job.maxInputs; i++) {
    // Each input has its own seed, so that it can be generated again alone.
    const seed = (job.seed * 1_000_003 + i) >>> 0;
    const newCase = generateCase(job.reader, seed, material);
    publishCase(shared, i, newCase);
    await checkAndReport(newCase, i % 25 === 0);
  }
}

async function checkAndReport(one: FuzzCase, withStorage: boolean): Promise<void> {
  const before = process.memoryUsage.rss();
  const failure = await failureOf(one, withStorage);
  const grownMb = (process.memoryUsage.rss() - before) / 2 ** 20;
  if (grownMb > 400)
    report({
      property: 'memory',
      message: `${grownMb.toFixed(0)} MB more than before`,
      path: saveCase(one, 'memory', `${grownMb} MB`),
    });
  if (failure === null || knownFailures.has(signature(failure))) return;
  knownFailures.add(signature(failure));
  report({ property: failure.property, message: failure.message, path: '(being minimised)' });
  const smallestCase = await minimise(one, async (other) => {
    publishCase(shared, -1, other);
    const repeatedFailure = await failureOf(other, withStorage);
    return repeatedFailure !== null && signature(repeatedFailure) === signature(failure);
  });
  const last = (await failureOf(smallestCase, withStorage)) ?? failure;
  report({
    property: failure.property,
    message: last.message,
    path: saveCase(smallestCase, failure.property, last.message.split('\n')[0]!),
  });
}

async function failureOf(one: FuzzCase, withStorage: boolean): Promise<Failure | null> {
  try {
    await check(one, withStorage);
    return null;
  } catch (error) {
    return error instanceof Failure ? error : new Failure('tool', String((error as Error).stack));
  }
}

/** A key that failures with the same cause usually share. */
function signature({ property, message }: Failure): string {
  const [first = '', second = ''] = message.split('\n');
  const part =
    property === 'threw' || property === 'tool' || property === 'stored'
      ? `${first} ${second}`
      : first.slice(0, 60);
  return `${property} ${part.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\d+/g, '0')}`.slice(
    0,
    120,
  );
}

function report(finding: Finding): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
  parentPort!.postMessage(finding);
}
