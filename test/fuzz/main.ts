import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { readers } from '../../readers/index.js';
import { loadCase, saveCase } from './case.js';
import { generateCase, editMaterialFor } from './generate.js';
import { checkProperties } from './properties.js';
import {
  allocateSharedMemory,
  readPublishedCase,
  type FuzzFinding,
  type FuzzJob,
  type SharedMemory,
} from './shared.js';
import { freshSeed } from '../seed.js';

/*
 * npm run fuzz -- <reader> [--minutes N] [--seed S] [--inputs N] | --input SEED | --replay FILE
 *
 * A worker thread generates inputs and checks the properties of each; this thread watches it. An input that fails is saved in
 * test/fixtures/fuzz, minimised before unless it hangs, crashes the thread or takes too much memory; the slow tier checks the saved ones.
 */

/** Time in ms after which an input counts as a hang. */
const hangTimeoutMs = 20_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(freshSeed) },
    inputs: { type: 'string', default: 'Infinity' },
    input: { type: 'string' },
    replay: { type: 'string' },
  },
});

if (values.replay !== undefined) {
  await checkProperties(loadCase(values.replay), true);
  console.log(`${values.replay}: all properties hold`);
} else if (!readers.some(({ name }) => name === positionals[0])) {
  console.error(
    'which reader? npm run fuzz -- <reader> [--minutes N] [--seed S] [--inputs N] | --input SEED | --replay FILE',
  );
  process.exitCode = 2;
} else if (values.input !== undefined) {
  const reader = positionals[0]!;
  const newCase = generateCase(reader, Number(values.input), editMaterialFor(reader));
  console.log(saveCase(newCase, 'input', 'generated from its seed'));
  await checkProperties(newCase, true);
} else {
  const job: FuzzJob = {
    reader: positionals[0]!,
    seed: Number(values.seed),
    minutes: Number(values.minutes),
    maxInputs: Number(values.inputs),
  };
  console.log(`${job.reader}, seed ${job.seed}, ${job.minutes} min`);
  process.exitCode = (await fuzzReader(job)) === 0 ? 0 : 1;
}

/** Runs a fuzzing job; returns the number of findings. */
async function fuzzReader(job: FuzzJob): Promise<number> {
  const savedPaths = new Set<string>();
  const shared = allocateSharedMemory();
  const startedMs = Date.now();
  const report = ({ property, message, path }: FuzzFinding): void => {
    savedPaths.add(path === '(being minimised)' ? '' : path);
    console.log(`\n${path}\n  ${property}: ${message.slice(0, 1500)}`);
  };
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
    workerData: { job, shared },
    resourceLimits: { maxOldGenerationSizeMb: 1024 },
  });
  worker.on('message', report);
  const watch = startWatchdog(shared, () => void worker.terminate());
  const failureText = await new Promise<string | null>((resolve) => {
    worker.on('error', (error: unknown) => resolve(String((error as Error).stack)));
    worker.on('exit', (code) =>
      resolve(code === 0 ? null : watch.hasFired ? 'hangs' : `ended with ${code}`),
    );
  });
  watch.stop();
  if (failureText !== null) {
    const interruptedCase = readPublishedCase(shared);
    report({
      property: 'crash',
      message: failureText,
      path: saveCase(interruptedCase, 'crash', failureText.split('\n')[0]!),
    });
  }
  savedPaths.delete('');
  const minutes = (Date.now() - startedMs) / 60_000;
  const inputs = Atomics.load(shared.counts, 0);
  console.log(
    `\n${job.reader}: ${inputs} inputs in ${minutes.toFixed(1)} min, seed ${job.seed}, ${savedPaths.size} findings`,
  );
  return savedPaths.size;
}

/** Calls `onHang` when one input takes longer than `hangTimeoutMs`. */
function startWatchdog(
  shared: SharedMemory,
  onHang: () => void,
): { hasFired: boolean; stop(): void } {
  let checks = -1;
  let sinceMs = Date.now();
  const timer = setInterval(() => {
    const checkCount = Atomics.load(shared.counts, 1);
    if (checkCount !== checks) {
      checks = checkCount;
      sinceMs = Date.now();
    } else if (Date.now() - sinceMs > hangTimeoutMs) {
      watch.hasFired = true;
      onHang();
    }
  }, 500);
  const watch = { hasFired: false, stop: () => clearInterval(timer) };
  return watch;
}
