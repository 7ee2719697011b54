import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { DuckDBInstance } from '@duckdb/node-api';
import { readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Lake, vcfTextOf } from '../../lake.js';
import { pollUntil } from '../../../until.js';
import { KillableServer } from '../../processes/killable.js';

/*
 * A segment is written once and then only moved, so its modification time shows which attempt read its chunk, independently of what the
 * server reports.
 */

let lake: Lake;
let root: string;
/**
 * Three files that have at least six chunks together: plain text, gzip, and one in whose last chunk the type of a field changes, so that
 * other chunks are read twice.
 */
let fileIds: readonly number[];
/** The digest of the records, and the number of chunks, of an uninterrupted import. */
let expectedImport: { readonly records: string; readonly chunks: number };

beforeAll(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  const line = (i: number, n: unknown): string =>
    `${JSON.stringify({ i, n, pad: 'x'.repeat(80) })}\n`;
  const json = Array.from({ length: 45_000 }, (_, i) => line(i, i === 44_999 ? 'last' : i));
  fileIds = [
    await lake.createFile('a.vcf', vcfTextOf(60_000)),
    await lake.createFile('b.vcf.gz', gzipSync(vcfTextOf(60_000), { level: 1 })),
    await lake.createFile('c.json', json.join('')),
  ];
  const datasetId = await lake.createDataset('whole');
  await startImport(datasetId);
  await withLakeClosed(() => new KillableServer(root).waitForExit());
  const { segments } = await lake.store.snapshot(datasetId);
  expectedImport = { records: await computeRecordDigest(datasetId), chunks: segments.length };
  expect(expectedImport.chunks).toBeGreaterThanOrEqual(6);
});
afterAll(() => lake.remove());

let datasetId: number;
let taskId: number;
let importId: number;
beforeEach(async () => {
  datasetId = await lake.createDataset(`d${Math.random()}`);
  ({ id: taskId, resourceId: importId } = await startImport(datasetId));
});

function startImport(targetDatasetId: number) {
  const manifest = { files: fileIds.map((id) => ({ object_id: id })) };
  return lake.queueFileImport(targetDatasetId, 0, { source: 'manifest', objectId: null, manifest });
}

/** Closes the data folder while `work` runs, so that another process can open it. */
async function withLakeClosed(work: () => Promise<void>): Promise<void> {
  await lake.close();
  try {
    await work();
  } finally {
    lake = await Lake.open(root);
  }
}

/** Returns a digest of all records, without the ids of their commits, read by DuckDB. */
async function computeRecordDigest(id: number): Promise<string> {
  const { files: paths } = await lake.store.snapshot(id);
  const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
  try {
    const list = paths.map((file) => `'${file}'`).join(', ');
    const result = await duckdb.runAndReadAll(
      `SELECT count(*)::VARCHAR || ' ' || md5(string_agg(t::VARCHAR, chr(10) ORDER BY id))
       FROM (SELECT substr(_id, 11) AS id, * EXCLUDE (_id, _commit)
             FROM read_parquet([${list}], union_by_name = true)) AS t`,
    );
    return String(result.getRows()[0]?.[0]);
  } finally {
    duckdb.closeSync();
  }
}

/** Returns for each chunk the number of the attempt that read it. */
async function findReadingAttempts(id: number): Promise<readonly number[]> {
  const row = await lake.catalog.imports.get(importId);
  const startTimes = row!.timestamps.filter(([, to]) => to === 'running').map(([, , at]) => at);
  const { files: paths } = await lake.store.snapshot(id);
  const writtenStats = await Promise.all(paths.slice(1).map((path) => stat(path)));
  return writtenStats.map(({ mtimeMs }) => startTimes.filter((at) => at <= mtimeMs).length);
}

/** Checks that the import has the same result as an uninterrupted one; returns the number of chunks that each attempt has read. */
async function checkCompleted(): Promise<Readonly<Record<number, number>>> {
  expect(await lake.readTaskRow(taskId)).toMatchObject({ status: 'completed' });
  expect(await computeRecordDigest(datasetId)).toBe(expectedImport.records);
  expect(await lake.findFolderDamage()).toEqual([]);
  const attempts = await findReadingAttempts(datasetId);
  expect(attempts).toHaveLength(expectedImport.chunks);
  const counts: Record<number, number> = {};
  for (const attempt of attempts) counts[attempt] = (counts[attempt] ?? 0) + 1;
  return counts;
}
async function readResumedChunks(): Promise<unknown> {
  const row = await lake.catalog.imports.get(importId);
  return (row!.metadata['receipt'] as Record<string, unknown>)['resumed_chunks'];
}

/** Returns the path of the scratch folder of an attempt, which contains its journal. */
const scratchFolderOf = (attempt: number): string => lake.data.taskScratch(taskId, attempt);

/** Kills the server and the worker when the journal has `entryCount` entries. */
async function interruptImport(entryCount = 2): Promise<void> {
  const server = new KillableServer(root);
  const worker = await server.waitUntilReady();
  const journal = join(scratchFolderOf(1), 'journal');
  await pollUntil(async () => server.isIdle || (await countJournalEntries(journal)) >= entryCount);
  await server.killWithWorker(worker);
}

/** Returns the number of complete frames in a journal; each frame begins with its length. */
async function countJournalEntries(path: string): Promise<number> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0));
  let entries = 0;
  for (let at = 0; at + 4 <= bytes.length; entries++) {
    at += bytes.readUInt32LE(at);
    if (at > bytes.length) break;
  }
  return entries;
}

describe('C1: an import whose worker is killed', () => {
  test.each([1, 5])('after %i chunks reads only the others', async (chunks) => {
    await withLakeClosed(async () => {
      const server = new KillableServer(root, `journal.appended:${chunks}`, 'worker');
      await server.waitForExit();
      expect(server.isIdle).toBe(true);
    });
    expect(await readResumedChunks()).toBe(chunks);
    const counts = await checkCompleted();
    // Of the chunks that the first attempt has recorded, the second attempt reads again only those with outdated types.
    expect(counts[1] ?? 0).toBeGreaterThanOrEqual(Math.max(0, chunks - 3));
    expect(counts[1] ?? 0).toBeLessThanOrEqual(chunks);
    expect((counts[1] ?? 0) + (counts[2] ?? 0)).toBe(expectedImport.chunks);
    expect(await lake.readTaskRow(taskId)).toMatchObject({ attempts: 2 });
  });

  test('in the middle of an entry of the journal loses that one', async () => {
    await withLakeClosed(() =>
      new KillableServer(root, 'journal.partial:5', 'worker').waitForExit(),
    );
    expect(await readResumedChunks()).toBe(4);
    await checkCompleted();
  });

  test('in the second pass keeps what both passes have done', async () => {
    await withLakeClosed(() =>
      new KillableServer(
        root,
        `journal.appended:${expectedImport.chunks + 1}`,
        'worker',
      ).waitForExit(),
    );
    expect(await readResumedChunks()).toBe(expectedImport.chunks);
    const counts = await checkCompleted();
    // Two chunks need a second pass; the first attempt has read one of them again before the kill, the second attempt the other.
    expect(counts).toEqual({ 1: expectedImport.chunks - 1, 2: 1 });
  });
});

describe('C3: an import whose server is killed', () => {
  test('continues when the next server starts, also if that one is killed while it restores chunks', async () => {
    await withLakeClosed(async () => {
      await interruptImport();
      await new KillableServer(root, 'chunk.resumed:1', 'worker').waitForExit();
    });
    expect(Number(await readResumedChunks())).toBeGreaterThanOrEqual(1);
    await checkCompleted();
    expect(await lake.readTaskRow(taskId)).toMatchObject({ attempts: 3 });
  });

  test('while it publishes reads nothing again: segments leave the scratch folder only with the log entry', async () => {
    await withLakeClosed(async () => {
      await new KillableServer(root, 'segment.renamed').waitForExit();
      await new KillableServer(root).waitForExit();
    });
    expect(await checkCompleted()).toEqual({ 1: expectedImport.chunks });
  });

  test('believes no file that has changed', async () => {
    let segmentNames: readonly string[] = [];
    await withLakeClosed(async () => {
      await interruptImport();
      segmentNames = (await readdir(scratchFolderOf(1))).filter((name) =>
        name.endsWith('.parquet'),
      );
      for (const [i, name] of segmentNames.entries()) {
        const path = join(scratchFolderOf(1), name);
        const bytes = await readFile(path);
        if (i % 3 === 0) await truncate(path, bytes.length >> 1);
        else if (i % 3 === 1) await writeFile(path, bytes.fill(bytes[40]! ^ 1, 40, 41));
      }
      await new KillableServer(root).waitForExit();
    });
    const counts = await checkCompleted();
    expect(segmentNames.length).toBeGreaterThanOrEqual(1);
    expect(counts[1] ?? 0).toBeLessThanOrEqual(
      segmentNames.length - Math.ceil(segmentNames.length / 3),
    );
  });

  test('starts over when its columns have become others', async () => {
    await withLakeClosed(() => interruptImport());
    await lake.catalog.fields.create({ datasetId, name: 'i', dataType: 'string' });
    await withLakeClosed(() => new KillableServer(root).waitForExit());
    expect(await readResumedChunks()).toBe(0);
    expect(await lake.findFolderDamage()).toEqual([]);
    const { columns } = await lake.store.snapshot(datasetId);
    expect(columns.find(({ name }) => name === 'i')?.type).toBe('string');
  });
});
