import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkpointProblems } from '../../../engine/store/verify-dataset.js';
import { jobs } from '../../../scheduler/jobs/index.js';
import { hostWithoutEngine } from '../../faults/in-process.js';
import { KillableServer, recoverServer } from '../processes/killable.js';
import { Lake } from '../lake.js';

/*
 * Kills the task that writes a checkpoint at every step. Afterwards the checkpoint is there, says what the log says, and is named for other
 * readers. Each case begins with a log of a hundred entries without one.
 */
let template: string;
let datasetId: number;
const copies: string[] = [];

beforeAll(async () => {
  const lake = await Lake.make();
  template = lake.data.root;
  datasetId = await lake.dataset();
  const withoutCheckpoints = jobs.filter(({ kind }) => kind !== 'checkpoint');
  const scheduler = await lake.schedule({ jobs: withoutCheckpoints, report: () => undefined, startHost: (config, ms, events) => hostWithoutEngine(config, ms, events, withoutCheckpoints) }); // prettier-ignore
  for (let i = 0; i < 100; i++) {
    const task = await lake.inline(datasetId, `{"n":${i}}\n`);
    scheduler.wake();
    expect((await scheduler.wait(task.id)).status).toBe('completed');
  }
  await scheduler.compacted();
  await scheduler.close();
  await lake.close();
});
afterAll(async () => {
  for (const root of [template, ...copies]) await rm(root, { recursive: true });
});

test.each(['checkpoint.written', 'checkpoint.linked', 'checkpoint.named'])(
  'a checkpoint whose task is killed at %s is there after the next start',
  async (point) => {
    const root = await mkdtemp(join(tmpdir(), 'strandlake-checkpoint-'));
    copies.push(root);
    await cp(template, root, { recursive: true });
    const crashing = new KillableServer(root, point);
    await crashing.exit();
    expect([point, crashing.isIdle]).toEqual([point, false]);
    await recoverServer(root);
    const lake = await Lake.open(root);
    try {
      expect(await lake.damage()).toEqual([]);
      const log = lake.data.log(datasetId);
      const names = (await readdir(log)).filter((name) => name.endsWith('.checkpoint.parquet'));
      const { version } = JSON.parse(await readFile(join(log, '_last_checkpoint'), 'utf8')) as { version: number }; // prettier-ignore
      expect(names).toEqual([`${String(version).padStart(20, '0')}.checkpoint.parquet`]);
      expect(await checkpointProblems(lake.data, datasetId)).toEqual([]);
      expect((await lake.records(datasetId)).rows).toBe(100);
    } finally {
      await lake.close();
    }
  },
);
