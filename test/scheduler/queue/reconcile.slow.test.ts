import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { randomBytes } from 'node:crypto';
import { createUser } from '../../../engine/catalog/create-user.js';
import type { LoggedPublication } from '../../../engine/catalog/publish.js';
import type { Scheduler } from '../../../scheduler/queue/scheduler.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { forgetDeletedVersions, Lake } from '../lake.js';

let lake: Lake;
let reportedMessages: string[];
const allRows = { limit: 9, offset: 0 };

beforeEach(async () => {
  lake = await Lake.make();
  reportedMessages = [];
});
afterEach(() => lake.remove());

/** Starts a scheduler, runs `work`, and closes the scheduler. */
async function withScheduler(work: (scheduler: Scheduler) => Promise<void>): Promise<void> {
  const scheduler = await lake.startScheduler({
    startWorker: startWorkerInProcess,
    recoverMs: 5,
    report: (message) => reportedMessages.push(message),
  });
  await work(scheduler).finally(() => scheduler.close());
}

/** Starts a scheduler, waits until some tasks have ended, and closes it. */
async function runTasks(taskIds: readonly number[] = []): Promise<void> {
  await withScheduler(async (scheduler) => {
    for (const id of taskIds) await scheduler.wait(id);
  });
}

async function newDatasetWithCommits(name: string, commits = 2): Promise<number> {
  const datasetId = await lake.createDataset(name);
  const taskIds: number[] = [];
  for (let n = 1; n <= commits; n++)
    taskIds.push((await lake.queueInlineImport(datasetId, `{"a":${n}}`)).id);
  await runTasks(taskIds);
  return datasetId;
}

/** Opens the data folder again, as after a restart, without cached state. */
async function reopenLake(): Promise<void> {
  const { root } = lake.data;
  await lake.close();
  lake = await Lake.open(root);
}

const logEntryDamages = [
  ['is gone', (file: string) => rm(file)],
  ['is torn', (file: string) => truncate(file, 100)],
  ['is empty', (file: string) => truncate(file, 0)],
  ['cannot be read', (file: string) => rm(file).then(() => mkdir(file))],
] as const;

/** Returns all files below a folder, with their contents. */
async function readFilesBelow(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(path, 'base64')] as const)),
  );
}

describe.each([1, 2])('C2b: a dataset with %d commits', (commits) => {
  test.each(logEntryDamages)(
    'whose last log entry %s is refused; nothing is removed, and it comes back with the entry',
    async (_, damage) => {
      const damagedDatasetId = await newDatasetWithCommits('damaged', commits);
      const wholeDatasetId = await newDatasetWithCommits('whole');
      const entry = lake.data.logEntry(damagedDatasetId, commits - 1);
      const bytes = await readFile(entry);
      await damage(entry);
      const filesBefore = await readFilesBelow(lake.data.dataset(damagedDatasetId));
      const waitingImport = await lake.queueInlineImport(damagedDatasetId, '{"a":3}');
      for (const which of ['first', 'second']) {
        await reopenLake();
        await runTasks();
        expect([which, await readFilesBelow(lake.data.dataset(damagedDatasetId))]).toEqual([
          which,
          filesBefore,
        ]);
        expect((await lake.catalog.datasets.get(damagedDatasetId))?.availability).toBe(
          'unavailable',
        );
        expect((await lake.catalog.datasets.get(wholeDatasetId))?.availability).toBe('available');
        expect(reportedMessages.join('\n')).toContain(
          `dataset ${damagedDatasetId} is unavailable: `,
        );
        expect(await lake.readTaskRow(waitingImport.id)).toMatchObject({
          status: 'queued',
          attempts: 0,
        });
        expect(await readFile(lake.data.inlineRecords(waitingImport.resourceId), 'utf8')).toBe(
          '{"a":3}',
        );
      }
      await reopenLake();
      await withScheduler(async (scheduler) => {
        expect(scheduler.refusal(damagedDatasetId)).toContain(basename(entry));
        await rm(entry, { recursive: true, force: true });
        await writeFile(entry, bytes);
        await scheduler.wait(waitingImport.id);
        expect(scheduler.refusal(damagedDatasetId)).toBeUndefined();
      });
      expect(await lake.readTaskRow(waitingImport.id)).toMatchObject({ status: 'completed' });
      expect((await lake.catalog.datasets.get(damagedDatasetId))?.availability).toBe('available');
      expect(await lake.store.snapshot(damagedDatasetId)).toMatchObject({
        version: commits,
        rows: commits + 1,
      });
      expect(await lake.findFolderDamage()).toEqual([]);
      expect(await readdir(lake.data.quarantine)).toEqual([]);
    },
  );
});

test('C2b: a dataset whose folder is gone is refused until it is back', async () => {
  const id = await newDatasetWithCommits('moved');
  const { data } = lake;
  const aside = join(data.root, 'aside');
  await rename(data.dataset(id), aside);
  await reopenLake();
  await runTasks();
  expect((await lake.catalog.datasets.get(id))?.availability).toBe('unavailable');
  await rm(data.dataset(id), { recursive: true, force: true });
  await rename(aside, data.dataset(id));
  await reopenLake();
  await runTasks();
  expect((await lake.catalog.datasets.get(id))?.availability).toBe('available');
  expect(await lake.findFolderDamage()).toEqual([]);
});

test('files that a restored, older catalogue does not know are kept aside and reported', async () => {
  const datasetId = await newDatasetWithCommits('a');
  const oldFileId = await lake.createFile('old.vcf', 'old');
  const { data } = lake;
  await reopenLake();
  await lake.close();
  await copyFile(data.catalog, join(data.root, 'backup.sqlite'));
  lake = await Lake.open(data.root);
  const addedDatasetId = await newDatasetWithCommits('b');
  const fileId = await lake.createFile('new.vcf', 'new');
  await writeFile(data.object(oldFileId, 2), 'replaced');
  const exportTask = await lake.queueExport(datasetId, 'json');
  await runTasks([exportTask.id]);
  const waitingImport = await lake.queueInlineImport(addedDatasetId, '{"a":9}');
  await writeFile(data.path('scratch', 'notes'), 'of somebody');
  await lake.close();
  await copyFile(join(data.root, 'backup.sqlite'), data.catalog);
  const filesBefore = await readFilesBelow(data.dataset(addedDatasetId));
  lake = await Lake.open(data.root);
  await runTasks();
  expect(await readFilesBelow(data.dataset(addedDatasetId))).toEqual(filesBefore);
  const names = [
    `exports/${exportTask.resourceId}.json.gz`,
    `objects/${fileId}-1`,
    `objects/${oldFileId}-2`,
    `scratch/inline-${waitingImport.resourceId}.json`,
    'scratch/notes',
  ];
  const keptFiles = await readFilesBelow(data.quarantine);
  expect([...keptFiles.keys()].map((path) => relative(data.quarantine, path))).toEqual(
    names.sort(),
  );
  for (const name of names)
    expect(reportedMessages.join('\n')).toContain(`it is now in quarantine/${name}`);
  expect(await readFile(join(data.quarantine, `objects/${fileId}-1`), 'utf8')).toBe('new');
});

test('files of no open task are swept at start; files in use are not', async () => {
  const datasetId = await newDatasetWithCommits('a');
  const fileId = await lake.createFile('a.vcf', 'kept');
  const { data } = lake;
  await mkdir(join(data.scratch, '123456789012345-1'));
  const segment = join(data.scratch, '123456789012345-1', 'x.parquet');
  await writeFile(segment, 'left');
  await link(segment, data.datasetFile(datasetId, 'mh2x1k0a-0123456789ab-00000.parquet'));
  const deletedId = await lake.catalog.nextId();
  await writeFile(data.inlineRecords(deletedId), 'left');
  await writeFile(data.export(deletedId, 'csv'), 'left');
  await writeFile(data.object(deletedId, 1), 'left');
  await writeFile(data.rejectedLines(deletedId), 'left');
  const upload = data.path('scratch', `upload-${fileId}-0123abcd`);
  await writeFile(upload, 'an upload that was never told of');
  await link(upload, data.object(fileId, 2));
  const waitingImport = await lake.queueInlineImport(datasetId, '{"a":3}');
  await reopenLake();
  await runTasks([waitingImport.id]);
  expect(await lake.readTaskRow(waitingImport.id)).toMatchObject({ status: 'completed' });
  expect(await readdir(data.scratch)).toEqual([]);
  expect(await readdir(data.exports)).toEqual([]);
  expect(await readdir(data.objects)).toEqual([`${fileId}-1`]);
  expect(await readdir(data.quarantine)).toEqual([]);
  expect(reportedMessages).toEqual([]);
  expect(await lake.findFolderDamage()).toEqual([]);
});

test('C2: a dataset that was deleted right before a kill is dropped by the next start', async () => {
  const datasetId = await newDatasetWithCommits('a');
  await lake.catalog.objects.delete(datasetId);
  expect(await lake.catalog.datasets.dropped()).toEqual([datasetId]);
  await reopenLake();
  await runTasks();
  expect(await lake.store.datasets()).toEqual([]);
  expect(await lake.catalog.datasets.dropped()).toEqual([]);
  expect(reportedMessages).toEqual([]);
});

test('a dataset that is not in the catalogue is reported and left unchanged', async () => {
  const datasetId = await newDatasetWithCommits('a');
  await lake.catalog.objects.delete(datasetId);
  // After this call, the catalogue is as in a backup from before the dataset was created.
  await lake.catalog.datasets.forget(datasetId);
  await reopenLake();
  await runTasks();
  expect(reportedMessages.join('\n')).toContain(`datasets/${datasetId} holds a dataset`);
  expect(await lake.store.datasets()).toEqual([datasetId]);
});

test('a rollback of an earlier release that a start takes from the log has the user whom its entry names', async () => {
  const datasetId = await newDatasetWithCommits('rolled back');
  const { rows } = await lake.catalog.commits.list(
    { viewer: null, datasetIds: [datasetId] },
    allRows,
  );
  const bob = await lake.catalog.transaction((tx) =>
    createUser(tx, { email: 'bob@example.org', domain: 'acme' }, randomBytes(32)),
  );
  const { version: base, columns, rows: count, bytes } = await lake.store.snapshot(datasetId);
  const { remove, update } = await lake.store.rollback(datasetId, rows[0]!.logVersion, base);
  const publication: LoggedPublication = {
    datasetId,
    importId: 0,
    taskId: 0,
    reverted: { commitId: rows[0]!.id, userId: bob.user.id } as LoggedPublication['reverted'] &
      object,
    commitId: await lake.catalog.nextId(),
    logVersion: base + 1,
    mode: 'rollback',
    title: 'Rollback',
    recordsModified: 1,
    changes: { added: 0, changed: 0, removed: 1 },
    recordsTotal: count - 1,
    bytesTotal: bytes,
    size: 0,
    genomeBuild: null,
    newFields: [],
    metadata: {},
    time: Date.now(),
  };
  const change = { columns, add: [], remove, update, info: { publication }, base };
  await lake.store.commit(datasetId, change, '');
  await reopenLake();
  await runTasks();
  const commit = (await lake.catalog.commits.get(publication.commitId))!;
  expect(commit).toMatchObject({ status: 'completed', userId: bob.user.id, parentJobId: rows[0]!.id, fields: [] }); // prettier-ignore
  expect(await lake.catalog.tasks.get(commit.taskId!)).toMatchObject({ userId: bob.user.id });
});

test('a start completes the commits that an earlier release has deleted without their versions', async () => {
  const datasetId = await newDatasetWithCommits('deleted entries', 3);
  const { rows } = await lake.catalog.commits.list(
    { viewer: null, datasetIds: [datasetId] },
    allRows,
  );
  const versions = await Promise.all(rows.map(({ id }) => lake.catalog.commits.version(id)));
  for (const { id } of rows.slice(0, 2)) await lake.catalog.commits.delete(id);
  lake = await forgetDeletedVersions(lake);
  expect((await lake.catalog.commits.lastAt(datasetId, Number.MAX_SAFE_INTEGER))?.id).toBe(
    rows[2]!.id,
  );
  await runTasks();
  expect(versions).toHaveLength(3);
  for (const [i, { id }] of rows.entries())
    expect(await lake.catalog.commits.version(id)).toEqual(versions[i]);
});
