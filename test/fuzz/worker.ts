import { parentPort, workerData } from 'node:worker_threads';
import { saveCase, type FuzzCase } from './case.js';
import { madeCase, materialFor } from './made.js';
import { minimised } from './minimise.js';
import { Failure } from './outcome.js';
import { check } from './properties.js';
import type { Found, FuzzJob, Shared } from './shared.js';
import { show } from './shared.js';

/*
 * Makes inputs and checks them until the time is up. It runs in a thread of its own, so that its watcher can tell an input
 * that hangs it or ends it: the input lies in shared memory while it is looked at.
 */

const { job, shared } = workerData as { job: FuzzJob; shared: Shared };
const known = new Set<string>();

await main();

async function main(): Promise<void> {
  const material = materialFor(job.reader);
  const end = Date.now() + job.minutes * 60_000;
  for (let i = 0; Date.now() < end && i < job.most; i++) {
    // Each input has a seed of its own, so that one can be made again without those before it.
    const seed = (job.seed * 1_000_003 + i) >>> 0;
    const one = madeCase(job.reader, seed, material);
    show(shared, i, one);
    await look(one, i % 25 === 0);
  }
}

async function look(one: FuzzCase, isStoredToo: boolean): Promise<void> {
  const before = process.memoryUsage.rss();
  const failure = await failureOf(one, isStoredToo);
  const grown = (process.memoryUsage.rss() - before) / 2 ** 20;
  if (grown > 400)
    report({
      property: 'memory',
      message: `${grown.toFixed(0)} MB more than before`,
      path: saveCase(one, 'memory', `${grown} MB`),
    });
  if (failure === null || known.has(signature(failure))) return;
  known.add(signature(failure));
  report({ property: failure.property, message: failure.message, path: '(being minimised)' });
  const small = await minimised(one, async (other) => {
    show(shared, -1, other);
    const again = await failureOf(other, isStoredToo);
    return again !== null && signature(again) === signature(failure);
  });
  const last = (await failureOf(small, isStoredToo)) ?? failure;
  report({
    property: failure.property,
    message: last.message,
    path: saveCase(small, failure.property, last.message.split('\n')[0]!),
  });
}

async function failureOf(one: FuzzCase, isStoredToo: boolean): Promise<Failure | null> {
  try {
    await check(one, isStoredToo);
    return null;
  } catch (error) {
    return error instanceof Failure ? error : new Failure('tool', String((error as Error).stack));
  }
}

/** What two failures with the same cause mostly share. */
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

function report(found: Found): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
  parentPort!.postMessage(found);
}
