import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findCheckpointProblems } from '../../../engine/store/verify-dataset.js';
import { jobs } from '../../../scheduler/jobs/index.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { KillableServer, recoverServer } from '../processes/killable.js';
import { Lake } from '../lake.js';

/*
 * Kills the task that writes a checkpoint at every step. Afterwards, the checkpoint exists, agrees with the log, and has the name that
 * other readers of Delta tables expect. Each case begins with a hundred commits and their merges, without a checkpoint.
 */
let templateFolder: string;
let datasetId: number;
const copiedFolders: string[] = [];

beforeAll(async () => {
  const lake = await Lake.make();
  templateFolder = lake.data.root;
  datasetId = await lake.createDataset();
  const withoutCheckpoints = jobs.filter(({ kind }) => kind !== 'checkpoint');
  const scheduler = await lake.startScheduler({ jobs: withoutCheckpoints, report: () => undefined, startWorker: (config, ms, events) => startWorkerInProcess(config, ms, events, withoutCheckpoints) }); // prettier-ignore
  for (let i = 0; i < 100; i++) {
    const task = await lake.queueInlineImport(datasetId, `{"n":${i}}\n`);
    scheduler.wake();
    expect((await scheduler.wait(task.id)).status).toBe('completed');
  }
  await scheduler.compacted();
  await scheduler.close();
  await lake.close();
});
afterAll(async () => {
  for (const root of [templateFolder, ...copiedFolders]) await rm(root, { recursive: true });
});

test.each(['checkpoint.written', 'checkpoint.linked', 'checkpoint.named', 'task.before-done'])(
  'a checkpoint whose task is killed at %s is there after the next start',
  async (point) => {
    const root = await mkdtemp(join(tmpdir(), 'strandlake-checkpoint-'));
    copiedFolders.push(root);
    await cp(templateFolder, root, { recursive: true });
    const crashingServer = new KillableServer(root, point);
    await crashingServer.waitForExit();
    expect([point, crashingServer.isIdle]).toEqual([point, false]);
    await recoverServer(root);
    const lake = await Lake.open(root);
    try {
      expect(await lake.findFolderDamage()).toEqual([]);
      const log = lake.data.deltaLog(datasetId);
      const names = (await readdir(log)).filter((name) => name.endsWith('.checkpoint.parquet'));
      const { version } = JSON.parse(await readFile(join(log, '_last_checkpoint'), 'utf8')) as { version: number }; // prettier-ignore
      expect(names).toEqual([`${String(version).padStart(20, '0')}.checkpoint.parquet`]);
      expect(await findCheckpointProblems(lake.data, datasetId)).toEqual([]);
      expect((await lake.countRecordsByDuckdb(datasetId)).rows).toBe(100);
    } finally {
      await lake.close();
    }
  },
);
