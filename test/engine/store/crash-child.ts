import { join } from 'node:path';
import { makeFolder, openDataFolder } from '../../../engine/core/files.js';
import { openStore } from '../../../engine/store/open-store.js';
import { writeSegment } from './write-segment.js';
import type { Columns } from '../../../engine/core/types.js';
import { batchOf } from './random.js';

/*
 * A process for crash tests: it makes a number of commits to one dataset, unless it is killed before, each of two segments with five rows
 * each, and prints the version of each commit that the store reports as durable.
 */
const [root, id, commitCount] = process.argv.slice(2);
const folder = await openDataFolder(root!);
const store = openStore(folder);
const columns: Columns = [{ name: 'n', physical: 'n', type: 'long', isList: false }];

for (let commit = 0; commit < Number(commitCount); commit++) {
  const { version } = await store.snapshot(Number(id));
  const scratch = folder.taskScratch(process.pid, commit);
  await makeFolder(scratch);
  const stageSegment = (chunk: number) => {
    const values = Array.from({ length: 5 }, (_, i) => BigInt((version + 1) * 10 + chunk * 5 + i));
    const data = batchOf(columns, [values], 5, BigInt(version + 2), chunk);
    return writeSegment({ columns, data, rows: 5 }, join(scratch, `${chunk}.parquet`));
  };
  const add = [await stageSegment(0), await stageSegment(1)];
  const info = { task: commit };
  await store.commit(Number(id), { columns, add, remove: [], info, base: version }, scratch);
  process.stdout.write(`${version + 1}\n`);
}
