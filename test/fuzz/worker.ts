import { parentPort, workerData } from 'node:worker_threads';
import { saveCase, type FuzzCase } from './case.js';
import { generateCase, editMaterialFor } from './generate.js';
import { minimiseCase } from './minimise.js';
import { PropertyFailure } from './outcome.js';
import { checkProperties } from './properties.js';
import type { FuzzFinding, FuzzJob, SharedMemory } from './shared.js';
import { publishCase } from './shared.js';

/*
 * Generates inputs and checks them until the time is up or their number is reached. It runs in a worker thread, so that the main thread can
 * report an input that hangs or crashes it: the input is in shared memory while it is checked.
 */

const { job, shared } = workerData as { job: FuzzJob; shared: SharedMemory };
const knownFailures = new Set<string>();

await fuzzInputs();

async function fuzzInputs(): Promise<void> {
  const material = editMaterialFor(job.reader);
  const end = Date.now() + job.minutes * 60_000;
  for (let i = 0; Date.now() < end && i < job.maxInputs; i++) {
    // Each input has its own seed, so that it can be generated again without the others.
    const seed = (job.seed * 1_000_003 + i) >>> 0;
    const newCase = generateCase(job.reader, seed, material);
    publishCase(shared, i, newCase);
    await checkAndReport(newCase, i % 25 === 0);
  }
}

async function checkAndReport(one: FuzzCase, withStorage: boolean): Promise<void> {
  const rssBefore = process.memoryUsage.rss();
  const failure = await findPropertyFailure(one, withStorage);
  const growthMb = (process.memoryUsage.rss() - rssBefore) / 2 ** 20;
  if (growthMb > 400)
    reportFinding({
      property: 'memory',
      message: `${growthMb.toFixed(0)} MB more than before`,
      path: saveCase(one, 'memory', `${growthMb} MB`),
    });
  if (failure === null || knownFailures.has(failureSignature(failure))) return;
  knownFailures.add(failureSignature(failure));
  reportFinding({
    property: failure.property,
    message: failure.message,
    path: '(being minimised)',
  });
  const smallestCase = await minimiseCase(one, async (other) => {
    publishCase(shared, -1, other);
    const repeatedFailure = await findPropertyFailure(other, withStorage);
    return (
      repeatedFailure !== null && failureSignature(repeatedFailure) === failureSignature(failure)
    );
  });
  const lastFailure = (await findPropertyFailure(smallestCase, withStorage)) ?? failure;
  reportFinding({
    property: failure.property,
    message: lastFailure.message,
    path: saveCase(smallestCase, failure.property, lastFailure.message.split('\n')[0]!),
  });
}

async function findPropertyFailure(
  one: FuzzCase,
  withStorage: boolean,
): Promise<PropertyFailure | null> {
  try {
    await checkProperties(one, withStorage);
    return null;
  } catch (error) {
    return error instanceof PropertyFailure
      ? error
      : new PropertyFailure('tool', String((error as Error).stack));
  }
}

/** Returns a key that failures with the same cause usually share. */
function failureSignature({ property, message }: PropertyFailure): string {
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

function reportFinding(finding: FuzzFinding): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origin
  parentPort!.postMessage(finding);
}
