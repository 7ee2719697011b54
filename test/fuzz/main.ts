import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { readers } from '../../readers/index.js';
import { loadCase, saveCase } from './case.js';
import { madeCase, materialFor } from './made.js';
import { check } from './properties.js';
import { makeShared, shown, type Found, type FuzzJob, type Shared } from './shared.js';

/*
 * npm run fuzz -- <reader> [--minutes N] [--seed S] [--inputs N] | --input SEED | --replay FILE
 *
 * A thread makes inputs and checks what must hold for each; this is its watcher. What fails is made small and saved in
 * test/fixtures/fuzz, where `npm test` reads it again from then on.
 */

/** An input that takes longer hangs the reader. */
const hangMs = 20_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
    inputs: { type: 'string', default: 'Infinity' },
    input: { type: 'string' },
    replay: { type: 'string' },
  },
});

if (values.replay !== undefined) {
  await check(loadCase(values.replay), true);
  console.log(`${values.replay}: all properties hold`);
} else if (!readers.some(({ name }) => name === positionals[0])) {
  console.error(
    'which reader? npm run fuzz -- <reader> [--minutes N] [--seed S] [--inputs N] | --input SEED | --replay FILE',
  );
  process.exitCode = 2;
} else if (values.input !== undefined) {
  const reader = positionals[0]!;
  const one = madeCase(reader, Number(values.input), materialFor(reader));
  console.log(saveCase(one, 'input', 'made by its seed'));
  await check(one, true);
} else {
  const job: FuzzJob = {
    reader: positionals[0]!,
    seed: Number(values.seed),
    minutes: Number(values.minutes),
    most: Number(values.inputs),
  };
  console.log(`${job.reader}, seed ${job.seed}, ${job.minutes} min`);
  process.exitCode = (await fuzz(job)) === 0 ? 0 : 1;
}

/** Runs the job to its end; returns how many different things it found. */
async function fuzz(job: FuzzJob): Promise<number> {
  const found = new Set<string>();
  const shared = makeShared();
  const startedMs = Date.now();
  const tell = ({ property, message, path }: Found): void => {
    found.add(path === '(being minimised)' ? '' : path);
    console.log(`\n${path}\n  ${property}: ${message.slice(0, 1500)}`);
  };
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
    workerData: { job, shared },
    resourceLimits: { maxOldGenerationSizeMb: 1024 },
  });
  worker.on('message', tell);
  const watch = watchdog(shared, () => void worker.terminate());
  const ended = await new Promise<string | null>((resolve) => {
    worker.on('error', (error: unknown) => resolve(String((error as Error).stack)));
    worker.on('exit', (code) =>
      resolve(code === 0 ? null : watch.hasBarked ? 'hangs' : `ended with ${code}`),
    );
  });
  watch.stop();
  if (ended !== null) {
    const one = shown(shared);
    tell({
      property: 'crash',
      message: ended,
      path: saveCase(one, 'crash', ended.split('\n')[0]!),
    });
  }
  found.delete('');
  const minutes = (Date.now() - startedMs) / 60_000;
  const inputs = Atomics.load(shared.counts, 0);
  console.log(
    `\n${job.reader}: ${inputs} inputs in ${minutes.toFixed(1)} min, seed ${job.seed}, ${found.size} findings`,
  );
  return found.size;
}

/** Calls `bark` when the thread stays with one input for too long. */
function watchdog(shared: Shared, bark: () => void): { hasBarked: boolean; stop(): void } {
  let looks = -1;
  let sinceMs = Date.now();
  const timer = setInterval(() => {
    const now = Atomics.load(shared.counts, 1);
    if (now !== looks) {
      looks = now;
      sinceMs = Date.now();
    } else if (Date.now() - sinceMs > hangMs) {
      watch.hasBarked = true;
      bark();
    }
  }, 500);
  const watch = { hasBarked: false, stop: () => clearInterval(timer) };
  return watch;
}
