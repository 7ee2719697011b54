import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Vector } from 'apache-arrow';
import { mkdir, readdir } from 'node:fs/promises';
import type { RowBatch } from '../../../engine/query/executor/executor.js';
import { type RowRef, segmentFiles, type Snapshot } from '../../../engine/store/store.js';
import { reservedColumns } from '../../../engine/store/arrow-columns.js';
import {
  cutRowsIntoChunks,
  countRows,
  type ChunkRows,
  type ChunkSegment,
} from '../../../scheduler/jobs/migration/chunk-rows.js';
import { gatherOrdered } from '../../../scheduler/jobs/migration/gather-ordered.js';
import {
  partitionRows,
  type PartitionJobInput,
} from '../../../scheduler/jobs/migration/partition-rows.js';
import { columnsOfChunk, readRows } from '../../../scheduler/jobs/migration/read-rows.js';
import type { ThreadPool } from '../../../scheduler/jobs/thread-pool.js';
import { seededRandom, shuffled } from '../../random.js';
import { seed } from '../../seed.js';
import { Lake } from '../lake.js';

const importCount = 8;
const recordsPerImport = 24;
const fanOut = 4;

let lake: Lake;
let snapshot: Snapshot;
let scratchCount = 0;

beforeAll(async () => {
  lake = await Lake.make();
  const datasetId = await lake.createDataset();
  const scheduler = await lake.startScheduler({ report: () => undefined, quietMs: Infinity });
  for (let i = 0; i < importCount; i++) {
    // Some segments have fields that others lack, and numbers of narrower types.
    const records = Array.from({ length: recordsPerImport }, (_, k) => ({
      n: i * recordsPerImport + k,
      ...(i % 2 === 0 && { word: `w${k}`, list: [`a${k}`, 'b'], deep: { x: k, ...(k % 3 === 0 && { y: 'z' }) } }),
      ...(i === 7 && { late: k / 2 }),
    })); // prettier-ignore
    const task = await lake.queueInlineImport(
      datasetId,
      records.map((one) => JSON.stringify(one)).join('\n'),
    );
    scheduler.wake();
    await scheduler.wait(task.id);
  }
  await scheduler.close();
  snapshot = await lake.store.snapshot(datasetId);
  expect(snapshot.segments.length).toBe(importCount);
});
afterAll(() => lake.remove());

const randomNumber = seededRandom(seed);

/** Returns rows of the first `segments` segments, in a random order. */
function randomRows(segments: number): readonly RowRef[] {
  const refs = Array.from({ length: segments * recordsPerImport }, (_, i): RowRef => [
    Math.floor(i / recordsPerImport),
    i % recordsPerImport,
  ]);
  return shuffled(randomNumber, refs);
}

function chunksOfRows(refs: readonly RowRef[], maxRows: number): readonly ChunkRows[] {
  const files = segmentFiles(snapshot);
  return Array.from({ length: Math.ceil(refs.length / maxRows) }, (_, i) => {
    const ownRefs = refs.slice(i * maxRows, (i + 1) * maxRows);
    const segmentNumbers = [...new Set(ownRefs.map(([segment]) => segment))];
    const segments = segmentNumbers.map((number): ChunkSegment => ({
      number,
      file: files[number]!.path,
      segment: snapshot.segments[number]!,
      rows: 'all',
    }));
    const order = Int32Array.from(
      ownRefs.flatMap(([segment, row]) => [segmentNumbers.indexOf(segment), row]),
    );
    return { segments, order };
  });
}

async function* streamChunks(chunks: readonly ChunkRows[]): AsyncGenerator<ChunkRows> {
  yield* chunks;
}

/** The work that gathering has caused: the number of rows read from the files of its jobs, and how often each file was read. */
interface GatherWork {
  rows: number;
  readonly files: Map<string, number>;
}

async function gatherChunks(
  chunks: readonly ChunkRows[],
  limits: { directChunks?: number } = { directChunks: 1 },
): Promise<{
  readonly chunks: readonly ChunkRows[];
  readonly work: GatherWork;
  readonly scratch: string;
}> {
  const scratch = lake.data.path('scratch', `gather-${scratchCount++}`);
  await mkdir(scratch);
  const work: GatherWork = { rows: 0, files: new Map() };
  const run = (_: string, job: (attempt: number) => PartitionJobInput): Promise<unknown> => {
    const jobInput = structuredClone(job(1));
    for (const { file, segment } of jobInput.rows.segments) {
      work.rows += segment.rows;
      work.files.set(file, (work.files.get(file) ?? 0) + 1);
    }
    return partitionRows(jobInput);
  };
  const context = { pool: { threads: 2, run } as unknown as ThreadPool, scratch, signal: new AbortController().signal }; // prettier-ignore
  const gatheredChunks: ChunkRows[] = [];
  const options = { snapshot, columns: snapshot.columns, context, fanOut, ...limits };
  for await (const chunk of gatherOrdered(streamChunks(chunks), options))
    gatheredChunks.push(chunk);
  return { chunks: gatheredChunks, work, scratch };
}

async function readRecordsOfChunk(chunk: ChunkRows): Promise<readonly string[]> {
  const columns = columnsOfChunk(chunk, [...reservedColumns, ...snapshot.columns]);
  const data = await readRows(chunk, columns);
  const vectors = data.map((one) => new Vector([one]));
  return Array.from({ length: countRows(chunk) }, (_, row) =>
    JSON.stringify(vectors.flatMap((vector, i) => {
      const value: unknown = vector.get(row);
      return value === null ? [] : [[columns[i]!.name, String(value)]];
    })),
  ); // prettier-ignore
}

const readRecordsOfChunks = async (chunks: readonly ChunkRows[]): Promise<readonly string[]> =>
  (await Promise.all(chunks.map(readRecordsOfChunk))).flat();

describe(`chunks in a random order (STRANDLAKE_SEED=${seed})`, () => {
  test.each([
    [2, 24],
    [3, 7],
    [importCount, 24],
    [importCount, 5],
  ])('of %s segments, in chunks of %s, have the same records', async (segments, maxRows) => {
    const originalChunks = chunksOfRows(randomRows(segments), maxRows);
    const { chunks } = await gatherChunks(originalChunks);
    expect(chunks.map(countRows)).toEqual(originalChunks.map(countRows));
    expect(await readRecordsOfChunks(chunks)).toEqual(await readRecordsOfChunks(originalChunks));
  });

  test('are made of files that have no other rows, and every file is read once: as often as the logarithm of the chunks says', async () => {
    for (const [segments, maxRows] of [[3, 10], [importCount, 10], [importCount, 4]] as const) {
      const originalChunks = chunksOfRows(randomRows(segments), maxRows);
      const rows = segments * recordsPerImport;
      const { chunks, work } = await gatherChunks(originalChunks);
      const rounds = Math.ceil(Math.log(originalChunks.length) / Math.log(fanOut));
      expect([maxRows, work.rows]).toEqual([maxRows, rows * rounds]);
      expect([...work.files.values()].every((times) => times === 1)).toBe(true);
      const rowCounts = chunks.flatMap((chunk) => chunk.segments.map(({ segment }) => segment.rows));
      expect(rowCounts.reduce((sum, count) => sum + count, 0)).toBe(rows);
      // Without gathering, each chunk would be read from every segment that contains one of its rows.
      expect(originalChunks.reduce((sum, chunk) => sum + chunk.segments.length * recordsPerImport, 0)).toBeGreaterThan(rows * rounds);
    }
  }); // prettier-ignore

  test('leave no files but those of the chunks and the order', async () => {
    const { chunks, scratch } = await gatherChunks(chunksOfRows(randomRows(importCount), 10));
    const usedFiles = new Set(chunks.flatMap((chunk) => chunk.segments.map(({ file }) => file)));
    expect((await readdir(scratch)).length).toBe(usedFiles.size + 1);
  });

  test('stay as they are if they are few, or have the order of their segments', async () => {
    const fewChunks = chunksOfRows(randomRows(2), 40);
    const plainChunks = [{ segments: fewChunks[0]!.segments }];
    const { chunks, work } = await gatherChunks([...plainChunks, ...fewChunks], {
      directChunks: 2,
    });
    expect(chunks).toEqual([...plainChunks, ...fewChunks]);
    expect(work.rows).toBe(0);
  });
});

test('rows of a segment that come in many batches are copied once', async () => {
  async function* batches(): AsyncGenerator<RowBatch> {
    for (let row = 0; row < recordsPerImport; row++) yield { segment: 1, rows: Int32Array.of(row) };
    yield { segment: 2, rows: 'all' };
  }
  const { set } = Int32Array.prototype;
  let copiedCount = 0;
  Object.assign(Int32Array.prototype, {
    set(this: Int32Array, from: ArrayLike<number>, offset?: number) {
      copiedCount += from.length;
      set.call(this, from, offset);
    },
  });
  try {
    const cutChunks: ChunkRows[] = [];
    for await (const chunk of cutRowsIntoChunks(batches(), snapshot, 3)) cutChunks.push(chunk);
    const rows = cutChunks.flatMap(({ segments }) => segments.map((one) => one.rows));
    expect(rows).toEqual([Int32Array.from({ length: recordsPerImport }, (_, row) => row), 'all']);
    expect(copiedCount).toBe(recordsPerImport);
  } finally {
    Object.assign(Int32Array.prototype, { set });
  }
});
