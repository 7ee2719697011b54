import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { JsonObject } from '../../../../engine/core/types.js';
import { budgets } from '../../../../engine/core/budgets.js';
import type { ImportRow } from '../../../../engine/catalog/imports.js';
import type { TaskRow } from '../../../../engine/catalog/task-row.js';
import type { Scheduler } from '../../../../scheduler/queue/scheduler.js';
import type { ImportReport } from '../../../../scheduler/jobs/import/import-report.js';
import { startWorkerInProcess } from '../../../faults/in-process.js';
import { Lake, vcfTextOf } from '../../lake.js';

let lake: Lake;
let scheduler: Scheduler;
beforeAll(async () => {
  lake = await Lake.make();
  // The worker runs in the test's process, so that a test can change a budget.
  scheduler = await lake.startScheduler({
    config: { threads: 2, workerMemoryMb: 512 },
    startWorker: startWorkerInProcess,
  });
});
afterAll(async () => {
  await scheduler.close();
  await lake.remove();
});

let datasetId: number;
beforeEach(async () => {
  datasetId = await lake.createDataset(`d${Math.random()}`);
});
afterEach(async () => expect(await lake.findFolderDamage()).toEqual([]));

async function waitForImport(
  task: TaskRow,
): Promise<ImportRow & { readonly receipt: ImportReport }> {
  scheduler.wake();
  await scheduler.wait(task.id);
  const row = (await lake.catalog.imports.get(task.resourceId))!;
  return { ...row, receipt: row.metadata['receipt'] as ImportReport };
}
const md5Of = (bytes: string | Uint8Array): string => createHash('md5').update(bytes).digest('hex');

/** Returns the rejected records of an import, read from its file. */
async function readRejectedRecords(importId: number): Promise<readonly Record<string, unknown>[]> {
  const bytes = await readFile(lake.data.rejectedLines(importId));
  const lines = gunzipSync(bytes).toString().split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('an import report', () => {
  test('describes every source and counts its records', async () => {
    const json = '{"a":1}\n{"a":2}\n';
    const csv = gzipSync('a\n3\n4\n5\n');
    const knownDigest = { md5: md5Of(json), size: json.length };
    const files = [
      await lake.createFile('x.json', json, knownDigest),
      await lake.createFile('y.csv.gz', csv),
    ];
    const manifest = { files: files.map((id) => ({ object_id: id })) };
    const task = await lake.queueFileImport(datasetId, 0, {
      source: 'manifest',
      objectId: null,
      manifest,
    });
    const { receipt, status } = await waitForImport(task);
    expect(status).toBe('completed');
    expect(receipt).toEqual({
      sources: [
        {
          name: 'x.json',
          object_id: files[0],
          revision: 1,
          url: null,
          bytes: json.length,
          md5: md5Of(json),
          compression: null,
          reader: 'json',
          genome_build: null,
          meanings: [],
          lines: 2,
          records_read: 2,
          records_stored: 2,
          records_rejected: 0,
        },
        {
          name: 'y.csv.gz',
          object_id: files[1],
          revision: 1,
          url: null,
          bytes: csv.length,
          md5: md5Of(csv),
          compression: 'gzip',
          reader: 'csv',
          genome_build: null,
          meanings: [],
          lines: 4,
          records_read: 3,
          records_stored: 3,
          records_rejected: 0,
        },
      ],
      bytes: json.length + csv.length,
      resumed_chunks: 0,
      records_read: 5,
      records_stored: 5,
      records_rejected: 0,
      is_whole: true,
      is_committed: true,
      rejected_file: null,
    });
    await expect(stat(lake.data.rejectedLines(task.resourceId))).rejects.toThrow('ENOENT');
  });

  test('of inline records has the MD5 of the bytes that were read', async () => {
    const records = '{"a":1}\n';
    const { receipt } = await waitForImport(await lake.queueInlineImport(datasetId, records));
    expect(receipt.sources).toMatchObject([
      { name: 'data_records', object_id: null, bytes: 8, md5: md5Of(records), records_read: 1 },
    ]);
  });

  test('of a truncated file says how far it was read', async () => {
    const wholeFile = gzipSync(vcfTextOf(60_000));
    const id = await lake.createFile('cut.vcf.gz', wholeFile.subarray(0, wholeFile.length >> 1));
    const { status, receipt, errorMessage } = await waitForImport(
      await lake.queueFileImport(datasetId, id),
    );
    expect(status).toBe('failed');
    expect(errorMessage).toMatch(/^cut\.vcf\.gz.*ends early/);
    expect(receipt).toMatchObject({ is_whole: false, is_committed: false, rejected_file: null });
  });
});

describe('rejected records', () => {
  /** Imports a record whose `n` is a long, and queues an import of records whose every `each`-th `n` is no number. Returns its task. */
  async function queueFailingImport(
    rows: number,
    each: number,
    more: JsonObject = {},
  ): Promise<TaskRow> {
    await waitForImport(await lake.queueInlineImport(datasetId, '{"n":1}\n'));
    const lines = Array.from({ length: rows }, (_, i) =>
      JSON.stringify({ n: i % each === each - 1 ? `no ${i}` : i, pad: 'x'.repeat(90) }),
    );
    const id = await lake.createFile(`bad-${rows}-${each}.json`, lines.join('\n') + '\n');
    return lake.queueFileImport(datasetId, id, more);
  }

  test('are in a file in the order of the source, each with line, reason and text', async () => {
    const row = await waitForImport(await queueFailingImport(45_000, 5_000));
    const { status, id, receipt } = row;
    expect(status).toBe('failed');
    const lines = await readRejectedRecords(id);
    expect(lines.map(({ line }) => line)).toEqual(
      Array.from({ length: 9 }, (_, i) => (i + 1) * 5_000),
    );
    const line = 15_000;
    expect(lines[2]).toEqual({
      file: 'bad-45000-5000.json',
      line,
      code: 301,
      field: 'n',
      message: expect.any(String),
      errors: 1,
      more: [],
      text: JSON.stringify({ n: `no ${line - 1}`, pad: 'x'.repeat(90) }),
      text_bytes: expect.any(Number),
    });
    expect(receipt).toMatchObject({
      records_read: 45_000,
      records_stored: 44_991,
      records_rejected: 9,
      is_whole: true,
      is_committed: false,
      rejected_file: { records: 9, left_out: 0, budget: null },
    });
    const bytes = await readFile(lake.data.rejectedLines(id));
    expect(receipt.rejected_file).toMatchObject({ bytes: bytes.length, md5: md5Of(bytes) });
  });

  test('beyond the budget are counted, and the file has the first ones and names the limit (T0: rejectedFileBytes)', async () => {
    const changedBudgets = budgets as unknown as Record<string, number>;
    const budgetBefore = budgets.rejectedFileBytes;
    changedBudgets['rejectedFileBytes'] = 100_000;
    try {
      const { id, receipt } = await waitForImport(await queueFailingImport(30_000, 10));
      const lines = await readRejectedRecords(id);
      const { records, left_out: leftOutCount, budget } = receipt.rejected_file!;
      expect([lines.length, lines.length + leftOutCount]).toEqual([records, 3_000]);
      expect(budget).toBe(
        'The file holds the first 100000 bytes of rejected records, before compression.',
      );
      expect(lines.map(({ line }) => line)).toEqual(lines.map((_, i) => (i + 1) * 10));
      const bytes = gunzipSync(await readFile(lake.data.rejectedLines(id))).length;
      expect(bytes).toBeGreaterThan(99_000);
      expect(bytes).toBeLessThanOrEqual(100_000);
    } finally {
      changedBudgets['rejectedFileBytes'] = budgetBefore;
    }
  });

  test('name their files; an error that ends the import is the only one', async () => {
    await waitForImport(await lake.queueInlineImport(datasetId, '{"n":1}\n'));
    const a = await lake.createFile('a.csv', 'n,m\nx,2\n4,5\n"6\n7",8\n');
    const b = await lake.createFile('b.json', '{"n":2}\n{"n":[]}\nnothing\n');
    const manifest = { files: [{ object_id: a }, { object_id: b }] };
    const manifestSource = { source: 'manifest', objectId: null, manifest } as const;
    const endedImport = await waitForImport(
      await lake.queueFileImport(datasetId, 0, manifestSource),
    );
    expect(
      (await readRejectedRecords(endedImport.id)).map(({ file, line, text }) => [file, line, text]),
    ).toEqual([
      ['a.csv', 2, 'x,2'],
      ['a.csv', 4, '"6'],
      ['b.json', 3, 'nothing'],
    ]);
    const validationParams = { raise_on_errors: true };
    const raisedImport = await waitForImport(
      await lake.queueFileImport(datasetId, 0, { ...manifestSource, validationParams }),
    );
    expect(await readRejectedRecords(raisedImport.id)).toMatchObject([{ file: 'a.csv', line: 2 }]);
    expect(raisedImport.receipt).toMatchObject({ is_whole: false, records_rejected: 1 });
  });

  test('leave no file if the import does not fail', async () => {
    expect(await readdir(lake.data.rejected)).not.toHaveLength(0);
    const row = await waitForImport(await lake.queueInlineImport(datasetId, '{"n":1}\n'));
    expect(row.status).toBe('completed');
    expect(await readdir(lake.data.rejected)).not.toContain(`${row.id}.jsonl.gz`);
  });
});
