import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeBatch } from '../../../../engine/ingest/batch.js';
import { runChunk } from '../../../../scheduler/jobs/import/chunk.js';
import type { ChunkJob } from '../../../../scheduler/jobs/import/chunk-types.js';
import { openSource } from '../../../../readers/source/open-source.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strandlake-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function createChunkJob(text: string): Promise<ChunkJob> {
  const file = join(folder, 'a.json');
  await writeFile(file, text);
  const source = await openSource(file, 'a.json');
  for await (const { ref } of source.chunks(0, 1 << 20)) {
    await source.close();
    return {
      ref,
      index: 0,
      reader: 'json',
      header: null,
      params: {},
      columns: [],
      isFinal: false,
      validation: { disable: false, raiseOnErrors: false, strict: false, allowNewFields: true },
      transient: [],
      sampling: null,
      commitId: 123_456_789_012_345,
      isDryRun: false,
      isIntermediate: false,
      rejectedBytes: 0,
      file: join(folder, `${Math.random()}.parquet`),
    };
  }
  throw new Error('no chunk');
}

test('transforms are applied to the columns of a chunk in order, and their result is stored', async () => {
  const job = await createChunkJob('{"a":1,"b":"x"}\n{"a":2,"b":"y"}\n');
  const seenBatches: string[][] = [];
  const result = await runChunk(job, [
    (batch) => {
      seenBatches.push(batch.columns.map(({ name }) => name));
      const [a] = batch.columns;
      return makeBatch([{ ...a!, name: 'c', physical: 'c' }], batch.rows, [
        batch.data.data.children[0]!,
      ]);
    },
    (batch, { index }) => {
      seenBatches.push([...batch.columns.map(({ name }) => name), String(index)]);
      return batch;
    },
  ]);
  expect(seenBatches).toEqual([
    ['a', 'b'],
    ['c', '0'],
  ]);
  expect(result.columns.map(({ name }) => name)).toEqual(['c']);
  expect(result.segment?.columns.map(({ name }) => name)).toEqual(['c']);
  expect([result.read, result.stored]).toEqual([2, 2]);
});
