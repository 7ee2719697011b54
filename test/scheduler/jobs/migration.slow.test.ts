import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import type { NewDatasetMigration } from '../../../engine/catalog/dataset-migrations.js';
import { openStore } from '../../../engine/store/open-store.js';
import { verifyFolder } from '../../../scheduler/queue/verify-folder.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { Lake, vcfTextOf } from '../lake.js';
import { KillableServer, recoverServer } from '../processes/killable.js';
import { seededRandom } from '../../random.js';
import { seed } from '../../seed.js';

/* Compares migrations of many segments, some of whose rows are deleted, with exports; and kills migrations at every step. */

const rowsPerFile = 45_000;
const fileCount = 4;

let lake: Lake;
let root: string;
let sourceDatasetId: number;

beforeAll(async () => {
  lake = await Lake.make();
  root = lake.data.root;
  sourceDatasetId = await lake.createDataset('source');
  await withScheduler(async (scheduler) => {
    for (let i = 0; i < fileCount; i++)
      await waitUntilCompleted(
        scheduler,
        lake.queueFileImport(
          sourceDatasetId,
          await lake.createFile(`${i}.vcf`, vcfTextOf(rowsPerFile)),
        ),
      );
    // Matches some records of each segment.
    const fewRecords = { filters: [{ or: [['info.DP', 3], ['genomic_coordinates.start__range', [20_000, 30_000]]] }] }; // prettier-ignore
    await waitUntilCompleted(scheduler, lake.queueMigration(sourceDatasetId, sourceDatasetId, { commitMode: 'delete', sourceParams: fewRecords })); // prettier-ignore
  });
  const { segments, rows: remainingCount } = await openStore(lake.data).snapshot(sourceDatasetId);
  expect(segments.length).toBeGreaterThanOrEqual(fileCount);
  expect(segments.every(({ deletion }) => deletion !== undefined)).toBe(true);
  expect(remainingCount).toBeLessThan(fileCount * rowsPerFile);
});
afterAll(() => lake.remove());

async function withScheduler<T>(work: (scheduler: Scheduler) => Promise<T>): Promise<T> {
  const scheduler = await lake.startScheduler({ report: () => undefined });
  try {
    return await work(scheduler);
  } finally {
    await scheduler.close();
  }
}

async function waitUntilCompleted(
  scheduler: Scheduler,
  queuedTask: ReturnType<Lake['queueMigration']>,
): Promise<number> {
  const task = await queuedTask;
  scheduler.wake();
  const endedTask = await scheduler.wait(task.id);
  const job = await lake.catalog.tasks.job(task);
  expect([job?.errorMessage, endedTask.status]).toEqual([null, 'completed']);
  return task.resourceId;
}

/** Returns the lines of an export, without ids. */
async function exportLines(
  scheduler: Scheduler,
  datasetId: number,
  params: object = {},
): Promise<readonly string[]> {
  const id = await waitUntilCompleted(
    scheduler,
    lake.queueExport(datasetId, 'json', { params: { ...params } }),
  );
  const file = lake.data.export(id, 'json.gz');
  const text = gunzipSync(await readFile(file)).toString();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^\{"_id":"[^"]*","_commit":"[^"]*",/, '{'));
}

async function findFolderInconsistencies(): Promise<readonly object[]> {
  const { catalog, data } = lake;
  const store = openStore(data);
  const differences = await verifyFolder({
    catalog,
    data,
    store,
    unreferencedBefore: Infinity,
    now: 0,
  });
  return differences.filter(({ where }) => !where.startsWith('scratch/spill'));
}

describe('a migration of many segments with deleted rows', () => {
  test.each<[string, Partial<NewDatasetMigration>]>([
    ['of everything', {}],
    ['of most records', { sourceParams: { filters: [['info.DP__gt', 12]] } }],
    ['of few records', { sourceParams: { filters: [['genomic_coordinates.start__range', [5_000, 6_000]]] } }],
    ['in an order', { sourceParams: { ordering: ['-info.DP', 'genomic_coordinates.start'], limit: 100_000 } }],
    ['of some fields', { sourceParams: { fields: ['variant', 'info.DP'], limit: 50_001 } }],
  ])('%s has the records of an export', async (_, more) => {
    const targetId = await lake.createDataset(`target ${JSON.stringify(more)}`.slice(0, 90).replaceAll(/[^a-z ]/g, '_'));
    await withScheduler(async (scheduler) => {
      const id = await waitUntilCompleted(scheduler, lake.queueMigration(sourceDatasetId, targetId, more));
      const targetLines = await exportLines(scheduler, targetId);
      const expectedLines = await exportLines(scheduler, sourceDatasetId, more.sourceParams);
      expect(targetLines.length).toBe(expectedLines.length);
      expect(targetLines.findIndex((line, i) => line !== expectedLines[i])).toBe(-1);
      expect((await lake.catalog.datasetMigrations.get(id))?.documentsCount).toBe(expectedLines.length);
    });
    const { segments } = await openStore(lake.data).snapshot(targetId);
    expect(segments.every(({ deletion }) => deletion === undefined)).toBe(true);
    expect(await findFolderInconsistencies()).toEqual([]);
  }); // prettier-ignore

  test(`of large records in an order, in many chunks, has them in that order (STRANDLAKE_SEED=${seed})`, async () => {
    const [largeId, targetId] = [
      await lake.createDataset('large'),
      await lake.createDataset('large_ordered'),
    ];
    const next = seededRandom(seed);
    const numbers = Array.from({ length: 10_000 }, (_, n) => n).sort(() => next() - 0.5);
    await withScheduler(async (scheduler) => {
      for (let i = 0; i < 8; i++) {
        const ownNumbers = numbers.slice(i * 1_250, (i + 1) * 1_250);
        // Random texts, which compression hardly makes smaller, so that a chunk has only about 1,800 records.
        const records = ownNumbers.map((n) => `{"n":${n},"text":"${n} ${randomBytes(9_000).toString('base64')}"}`); // prettier-ignore
        await waitUntilCompleted(scheduler, lake.queueFileImport(largeId, await lake.createFile(`large-${i}.jsonl`, records.join('\n')))); // prettier-ignore
      }
      const targetFields = [{ name: 'n', data_type: 'string' }];
      await waitUntilCompleted(scheduler, lake.queueMigration(largeId, targetId, { sourceParams: { ordering: ['-n'] }, targetFields })); // prettier-ignore
      const orderedLines = await exportLines(scheduler, targetId);
      expect(orderedLines.map((line) => line.slice(0, 24).replace(/ .*/, ''))).toEqual(
        numbers.map((_, i) => `{"n":"${numbers.length - 1 - i}","text":"${numbers.length - 1 - i}`),
      );
      const [targetLines, sourceLines] = [
        orderedLines.toSorted(),
        await exportLines(scheduler, largeId),
      ];
      expect(targetLines).toEqual(
        sourceLines.map((line) => line.replace(/"n":(\d+)/, '"n":"$1"')).toSorted(),
      );
    });
    const { segments } = await openStore(lake.data).snapshot(targetId);
    expect(segments.length).toBeGreaterThan(4);
    expect(await findFolderInconsistencies()).toEqual([]);
  });

  test('rejects records in the middle of its chunks and keeps the others', async () => {
    const targetId = await lake.createDataset('rejecting');
    await withScheduler(async (scheduler) => {
      const id = await waitUntilCompleted(
        scheduler,
        lake.queueMigration(sourceDatasetId, targetId, {
          targetFields: [{ name: 'info.DP', data_type: 'boolean' }],
          validationParams: { on_error: 'reject', max_rejected: fileCount * rowsPerFile },
          sourceParams: { fields: ['info.DP', 'info.GENE'] },
        }),
      );
      const receipt = (await lake.catalog.datasetMigrations.get(id))?.metadata['receipt'];
      const sourceLines = await exportLines(scheduler, sourceDatasetId, {
        fields: ['info.DP', 'info.GENE'],
      });
      const keptLines = sourceLines.filter((line) => /"DP":[01]\b/.test(line));
      expect(keptLines.length).toBeGreaterThan(1_000);
      const castLines = keptLines.map((line) => line.replace('"DP":1', '"DP":true').replace('"DP":0', '"DP":false')); // prettier-ignore
      const targetLines = await exportLines(scheduler, targetId);
      expect([
        targetLines.length,
        targetLines.findIndex((line, i) => line !== castLines[i]),
      ]).toEqual([castLines.length, -1]);
      expect(receipt).toMatchObject({ records_read: sourceLines.length, records_stored: keptLines.length, records_rejected: sourceLines.length - keptLines.length, rejected_file: { records: sourceLines.length - keptLines.length, left_out: 0 } }); // prettier-ignore
      const file = gunzipSync(await readFile(lake.data.rejectedLines(id))).toString();
      const rejectedLines = file.trimEnd().split('\n').map((line) => JSON.parse(line) as { line: number; text: string }); // prettier-ignore
      const numbers = sourceLines.flatMap((line, i) => (/"DP":[01]\b/.test(line) ? [] : [i + 1]));
      expect(rejectedLines.map(({ line }) => line)).toEqual(numbers);
      const texts = rejectedLines.map(({ text }) => text.replace(/^\{"_id":"[^"]*",/, '{'));
      expect(texts.findIndex((text, i) => text !== sourceLines[numbers[i]! - 1])).toBe(-1);
    });
  });
});

describe('C2: killed at', () => {
  test.each([
    ['segment.partial', 'worker'],
    ['segment.flushed', 'worker'],
    ['segment.renamed', 'server'],
    ['log.temp-written', 'server'],
    ['log.linked', 'server'],
    ['catalog.before-commit', 'server'],
    ['catalog.after-commit', 'server'],
    ['task.before-done', 'server'],
  ] as const)('%s, a migration is carried out once', async (point, victim) => {
    const targetId = await lake.createDataset(`killed at ${point}`);
    const task = await lake.queueMigration(sourceDatasetId, targetId, {
      sourceParams: { limit: 30_000 },
    });
    await lake.close();
    try {
      const crashingServer = new KillableServer(root, point, victim);
      await crashingServer.waitForExit();
      expect([point, crashingServer.isIdle]).toEqual([point, victim === 'worker']);
      await recoverServer(root);
    } finally {
      lake = await Lake.open(root);
    }
    expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'completed' });
    expect((await lake.catalog.datasets.get(targetId))?.documentsCount).toBe(30_000);
    const commits = await lake.catalog.commits.ofMigration(task.resourceId);
    expect(commits.map(({ recordsModified }) => recordsModified)).toEqual([30_000]);
    expect((await openStore(lake.data).snapshot(targetId)).rows).toBe(30_000);
    expect(await findFolderInconsistencies()).toEqual([]);
  });
});

describe('C2: killed at', () => {
  const points = [
    ['segment.partial', 'worker'],
    ['segment.flushed', 'worker'],
    ['migration.written', 'worker'],
    ['segment.renamed', 'server'],
    ['log.temp-written', 'server'],
    ['log.linked', 'server'],
    ['catalog.before-commit', 'server'],
    ['catalog.after-commit', 'server'],
    ['task.before-done', 'server'],
  ] as const;
  const newRecord = (n: number, group: number, state: number) => ({ n, group, state });
  const recordsPerGroup = 300;
  /** The records before the changes, which are in two segments: a group for each point. */
  const initialRecords = Array.from({ length: points.length * recordsPerGroup }, (_, n) => newRecord(n, n % points.length, -1)); // prettier-ignore
  /** For each point, the records of another dataset: some that the target has too, and a new one. */
  const otherRecords = points.flatMap((_, i) => {
    const numbers = [i, initialRecords.length - points.length + i, initialRecords.length + i];
    return numbers.map((n) => newRecord(n, i, n));
  });
  const datasetIds = { others: 0, updated: 0, updatedByOthers: 0, overwritten: 0, reduced: 0, reducedByOthers: 0 }; // prettier-ignore

  beforeAll(async () => {
    const half = initialRecords.length / 2;
    await withScheduler(async (scheduler) => {
      const newDatasetOf = async (filename: string, ...parts: (readonly object[])[]): Promise<number> => {
        const datasetId = await lake.createDataset(filename);
        for (const records of parts)
          await waitUntilCompleted(scheduler, lake.queueInlineImport(datasetId, records.map((one) => JSON.stringify(one)).join('\n')));
        return datasetId;
      };
      datasetIds.updated = await newDatasetOf('upserted in place', initialRecords.slice(0, half), initialRecords.slice(half));
      datasetIds.updatedByOthers = await newDatasetOf('upserted', initialRecords.slice(0, half), initialRecords.slice(half));
      const extendedRecords = initialRecords.map(withMore);
      datasetIds.overwritten = await newDatasetOf('overwritten', extendedRecords.slice(0, half), extendedRecords.slice(half));
      datasetIds.reduced = await newDatasetOf('reduced in place', initialRecords.slice(0, half), initialRecords.slice(half));
      datasetIds.reducedByOthers = await newDatasetOf('reduced', initialRecords.slice(0, half), initialRecords.slice(half));
      datasetIds.others = await newDatasetOf('others', otherRecords);
    });
  }); // prettier-ignore

  /** Adds a field that an overwritten record loses. */
  const withMore = (record: ReturnType<typeof newRecord>) => ({ ...record, more: record.n });

  /** Carries out the change of a point, and expects the records after this change and those of the points before. */
  async function changeKilledAt(
    pointIndex: number,
    commitMode: 'overwrite' | 'upsert' | 'delete',
    [sourceId, targetId]: readonly [sourceId: number, targetId: number],
    more: Partial<NewDatasetMigration>,
    expectedRecords: readonly object[],
    counts: object,
  ): Promise<void> {
    const [point, victim] = points[pointIndex]!;
    const sourceParams = { filters: [['group', pointIndex]] };
    const task = await lake.queueMigration(sourceId, targetId, {
      commitMode,
      sourceParams,
      ...more,
    });
    await lake.close();
    try {
      const crashingServer = new KillableServer(root, point, victim);
      await crashingServer.waitForExit();
      expect([point, crashingServer.isIdle]).toEqual([point, victim === 'worker']);
      if (victim === 'server') await recoverServer(root);
    } finally {
      lake = await Lake.open(root);
    }
    const isInLog = points.findIndex(([name]) => name === 'log.linked') <= pointIndex;
    expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'completed', attempts: isInLog ? 1 : 2 }); // prettier-ignore
    const commits = await lake.catalog.commits.ofMigration(task.resourceId);
    expect(commits).toMatchObject([
      { mode: commitMode, recordsTotal: expectedRecords.length, ...counts },
    ]);
    const lines = await withScheduler((scheduler) => exportLines(scheduler, targetId));
    expect(lines.map(parseWithoutNulls)).toEqual(expectedRecords);
    expect(await findFolderInconsistencies()).toEqual([]);
  }

  /** Returns the fields of a record that have a value. */
  const parseWithoutNulls = (line: string): unknown =>
    JSON.parse(line, (_, value: unknown) => (value === null ? undefined : value));

  const pointCases = points.map(([point], at) => [point, at] as const);

  test.each(pointCases)('%s, an upsert in place is carried out once', async (_, pointIndex) => {
    const targetFields = [{ name: 'state', data_type: 'long', expression: 'record.n' }];
    const expectedRecords = initialRecords.map((one) => (one.group <= pointIndex ? { ...one, state: one.n } : one));
    const counts = { recordsModified: recordsPerGroup, recordsAdded: 0, recordsChanged: recordsPerGroup };
    await changeKilledAt(pointIndex, 'upsert', [datasetIds.updated, datasetIds.updated], { targetFields }, expectedRecords, counts);
  }); // prettier-ignore

  test.each(pointCases)('%s, an upsert from another dataset is carried out once', async (_, pointIndex) => {
    const upsertedByNumber = new Map(otherRecords.filter(({ group }) => group <= pointIndex).map((one) => [one.n, one]));
    const addedRecords = [...upsertedByNumber.values()].filter(({ n }) => n >= initialRecords.length);
    const expectedRecords = [...initialRecords.map((one) => upsertedByNumber.get(one.n) ?? one), ...addedRecords];
    const counts = { recordsModified: 3, recordsAdded: 1, recordsChanged: 2 };
    const ids = [datasetIds.others, datasetIds.updatedByOthers] as const;
    await changeKilledAt(pointIndex, 'upsert', ids, { idFields: ['n'] }, expectedRecords, counts);
  }); // prettier-ignore

  test.each(pointCases)('%s, an overwrite from another dataset is carried out once', async (_, pointIndex) => {
    const overwritesByNumber = new Map(otherRecords.filter(({ group }) => group <= pointIndex).map((one) => [one.n, one]));
    const addedRecords = [...overwritesByNumber.values()].filter(({ n }) => n >= initialRecords.length);
    const expectedRecords = [...initialRecords.map((one) => overwritesByNumber.get(one.n) ?? withMore(one)), ...addedRecords];
    const counts = { recordsModified: 3, recordsAdded: 1, recordsChanged: 2 };
    const ids = [datasetIds.others, datasetIds.overwritten] as const;
    await changeKilledAt(pointIndex, 'overwrite', ids, { idFields: ['n'] }, expectedRecords, counts);
  }); // prettier-ignore

  test.each(pointCases)('%s, a deletion of what another dataset has is carried out once', async (_, pointIndex) => {
    const deletedNumbers = new Set(otherRecords.filter(({ group }) => group <= pointIndex).map(({ n }) => n));
    const expectedRecords = initialRecords.filter(({ n }) => !deletedNumbers.has(n));
    const counts = { recordsModified: 2, recordsAdded: 0, recordsChanged: 0, recordsRemoved: 2 };
    const ids = [datasetIds.others, datasetIds.reducedByOthers] as const;
    await changeKilledAt(pointIndex, 'delete', ids, { idFields: ['n'] }, expectedRecords, counts);
  }); // prettier-ignore

  // A deletion of what a query of the dataset itself finds writes no segments.
  const firstPublishing = points.findIndex(([, victim]) => victim === 'server');
  test.each(pointCases.slice(firstPublishing))('%s, a deletion in place is carried out once', async (_, pointIndex) => {
    const expectedRecords = initialRecords.filter(({ group }) => group < firstPublishing || group > pointIndex);
    const counts = { recordsModified: recordsPerGroup, recordsAdded: 0, recordsChanged: 0, recordsRemoved: recordsPerGroup };
    await changeKilledAt(pointIndex, 'delete', [datasetIds.reduced, datasetIds.reduced], {}, expectedRecords, counts);
  }); // prettier-ignore
});

test('C2: killed at rejected.renamed, a migration fails with its rejected records, once', async () => {
  const targetId = await lake.createDataset('killed while it rejects');
  const task = await lake.queueMigration(sourceDatasetId, targetId, {
    targetFields: [{ name: 'info.DP', data_type: 'boolean' }],
    sourceParams: { fields: ['info.DP'], filters: [['info.DP__in', [1, 12]]], limit: 5_000 },
  });
  await lake.close();
  try {
    const crashingServer = new KillableServer(root, 'rejected.renamed');
    await crashingServer.waitForExit();
    expect(crashingServer.isIdle).toBe(false);
    await recoverServer(root);
  } finally {
    lake = await Lake.open(root);
  }
  expect(await lake.readTaskRow(task.id)).toMatchObject({ status: 'failed', attempts: 2 });
  await withScheduler(() => Promise.resolve()); // the start does not remove the file of rejected records
  const row = await lake.catalog.datasetMigrations.get(task.resourceId);
  const file = gunzipSync(await readFile(lake.data.rejectedLines(task.resourceId))).toString();
  const receipt = row?.metadata['receipt'] as { records_read: number; records_stored: number };
  expect(receipt.records_stored).toBeGreaterThan(0);
  expect(file.trimEnd().split('\n')).toHaveLength(receipt.records_read - receipt.records_stored);
  expect(await findFolderInconsistencies()).toEqual([]);
});
