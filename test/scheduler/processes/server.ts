import { writeSync } from 'node:fs';
import { createScheduler } from '../../../scheduler/queue/scheduler.js';
import { isTerminal } from '../../../scheduler/queue/waiting.js';
import { Lake } from '../lake.js';

/*
 * The part of the API process that runs tasks, to be killed by tests: opens the data folder of its argument, starts the scheduler,
 * prints `ready <worker pid>`, waits until all tasks and merges have ended, prints `idle` and exits.
 * STRANDLAKE_KEEP_VERSIONS_MS is how long it keeps earlier versions.
 */
const keepVersions = process.env['STRANDLAKE_KEEP_VERSIONS_MS'];
const lake = await Lake.open(
  process.argv[2] as string,
  keepVersions ? { keepVersionsMs: Number(keepVersions) } : {},
);
const isArmedInWorker = process.argv[3] === 'worker';
const scheduler = createScheduler({
  catalog: lake.catalog,
  store: lake.store,
  data: lake.data,
  quietMs: Infinity, // when merges are due must not depend on how busy the machine is
  config: { threads: 2, workerMemoryMb: 1024 },
  report: (message) => {
    // The crash point of the worker kills only the first worker.
    if (isArmedInWorker) delete process.env['STRANDLAKE_CRASH_POINT'];
    writeSync(2, `${message}\n`);
  },
});
await scheduler.start();
writeSync(1, `ready ${scheduler.status().workerPid}\n`);
const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1_000, offset: 0 });
for (const { id, status } of rows) if (!isTerminal(status)) await scheduler.wait(id);
await scheduler.compacted();
writeSync(1, 'idle\n');
await scheduler.close();
await lake.close();
