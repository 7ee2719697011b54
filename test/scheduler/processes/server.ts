import { writeSync } from 'node:fs';
import { createScheduler } from '../../../scheduler/queue/scheduler.js';
import { isTerminal } from '../../../scheduler/jobs/job.js';
import { Lake } from '../lake.js';

/*
 * The part of the API process that runs tasks, to be killed by tests. It opens the data folder in its argument, starts the scheduler,
 * prints `ready <worker pid>`, waits until all tasks and merges have ended, prints `idle` and exits. STRANDLAKE_KEEP_VERSIONS_MS sets how
 * long it keeps earlier versions.
 */
const keepVersionsMsText = process.env['STRANDLAKE_KEEP_VERSIONS_MS'];
const lake = await Lake.open(
  process.argv[2] as string,
  keepVersionsMsText ? { keepVersionsMs: Number(keepVersionsMsText) } : {},
);
const hasCrashPointInWorker = process.argv[3] === 'worker';
const scheduler = createScheduler({
  catalog: lake.catalog,
  store: lake.store,
  data: lake.data,
  quietMs: Infinity, // a busy machine must not influence when merges are due
  config: { threads: 2, workerMemoryMb: 1024 },
  report: (message) => {
    // Only the first worker is killed at its crash point; later ones start without it.
    if (hasCrashPointInWorker) delete process.env['STRANDLAKE_CRASH_POINT'];
    writeSync(2, `${message}\n`);
  },
});
await scheduler.start();
writeSync(1, `ready ${scheduler.status().workerPid}\n`);
for (;;) {
  const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1_000, offset: 0 });
  const openTask = rows.find(({ status }) => !isTerminal(status));
  if (openTask === undefined) break;
  await scheduler.wait(openTask.id); // may queue more tasks, as the first commit of a dataset of the class Archive does
}
await scheduler.compacted();
writeSync(1, 'idle\n');
await scheduler.close();
await lake.close();
