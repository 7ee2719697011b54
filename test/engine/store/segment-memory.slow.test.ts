import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SegmentFile } from '../../../engine/store/segment-file.js';
import { column } from '../query/dataset.js';
import { batchOf } from './random.js';
import { writeSegment } from './write-segment.js';

let folder: string;
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'strandlake-segment-memory-')));
});
afterAll(() => rm(folder, { recursive: true }));

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the bytes of objects and buffers in use once collections free no more. */
async function measureMemoryInUse(): Promise<number> {
  let leastBytes = Infinity;
  for (let unchanged = 0; unchanged < 10;) {
    collectGarbage();
    await new Promise(setImmediate);
    const { heapUsed, external } = process.memoryUsage();
    unchanged = heapUsed + external < leastBytes - 50_000 ? 0 : unchanged + 1;
    leastBytes = Math.min(leastBytes, heapUsed + external);
  }
  return leastBytes;
}

test.each([
  ['without', false],
  ['with', true],
])('an opened segment estimates its size in memory %s its page indexes', async (_, areRead) => {
  const columns = Array.from({ length: 600 }, (_, i) => column(`field_${i}`, i % 2 === 0 ? 'string' : 'double')); // prettier-ignore
  const values = columns.map((_, i) => Array.from({ length: 20 }, (_, row) => (i % 2 === 0 ? `v${row % 3}` : row))); // prettier-ignore
  const path = join(folder, `${areRead}.parquet`);
  await writeSegment({ columns, data: batchOf(columns, values, 20, 1n), rows: 20 }, path);
  const readIndexes = (file: SegmentFile): void => {
    for (const group of file.groups)
      for (const leaf of file.leaves) {
        file.offsetIndexOf(group, group.chunks[leaf.index]!);
        file.pageStatisticsOf(group.chunks[leaf.index]!, leaf);
      }
  };
  const openFiles = (): SegmentFile[] =>
    Array.from({ length: 6 }, () => {
      const file = new SegmentFile({ path });
      if (areRead) readIndexes(file);
      file.closeDescriptor();
      return file;
    });
  openFiles();
  const bytesBefore = await measureMemoryInUse();
  const files = openFiles();
  const grownBytes = (await measureMemoryInUse()) - bytesBefore;
  const estimatedBytes = files.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  expect(estimatedBytes / grownBytes).toBeGreaterThan(0.7);
  expect(estimatedBytes / grownBytes).toBeLessThan(1.5);
});
