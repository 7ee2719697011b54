import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import {
  armFault,
  faultHits,
  type FileFault,
  type FileOperation,
} from '../../../engine/core/faultpoint.js';
import { jobs } from '../../../scheduler/jobs/index.js';
import type { Scheduler, SchedulerOptions } from '../../../scheduler/queue/scheduler.js';
import { readWithDuckdb } from '../../engine/store/duckdb.js';
import { findFolderInconsistencies } from '../../faults/differences.js';
import { startWorkerInProcess } from '../../faults/in-process.js';
import { seededRandom } from '../../random.js';
import { KillableServer, killServerRepeatedly, recoverServer } from '../processes/killable.js';
import { forgetDeletedVersions, Lake } from '../lake.js';
import { pollUntil } from '../../until.js';

/*
 * Kills a snapshot or a restore, or makes the disk fail, at every step (C10). Afterwards, the dataset is in the state before or after the
 * task, with the same bytes in every file, and no other files remain.
 */
type ArchiveKind = 'snapshot' | 'restore';

const commitCount = 4;
const allRecords = Array.from({ length: 2 * commitCount }, (_, i) => BigInt(i));
let lake: Lake;
let datasetId: number;
/** A hash of the bytes of every file of the dataset, apart from schema files and the time of its restore, which are in no archive. */
let expectedFileHashes: Readonly<Record<string, string>>;
/** For each kind of task, the path of a data folder with the dataset and a queued task. */
const templateFolderByKind: Record<ArchiveKind, string> = { snapshot: '', restore: '' };
const copiedFolders: string[] = [];
let scheduler: Scheduler | undefined;
let reportedMessages: string[] = [];

async function startScheduler(options: Partial<SchedulerOptions> = {}): Promise<Scheduler> {
  scheduler = await lake.startScheduler({
    config: { threads: 1, workerMemoryMb: 512 },
    report: (message) => reportedMessages.push(message),
    startWorker: startWorkerInProcess,
    ...options,
  });
  return scheduler;
}

async function queueTask(kind: ArchiveKind): Promise<number> {
  const dataset = (await lake.catalog.datasets.get(datasetId))!;
  const storageClass = kind === 'snapshot' ? 'Archive' : 'Essential';
  const job = { dataset, storageClass, userId: lake.user.id, accountId: lake.user.accountId };
  const table = kind === 'snapshot' ? lake.catalog.snapshots : lake.catalog.restores;
  return (await table.create(job)).task.id;
}

async function copyFolder(root: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'strandlake-archive-'));
  copiedFolders.push(copy);
  await cp(root, copy, { recursive: true });
  return copy;
}

async function computeHashes(root: string): Promise<Readonly<Record<string, string>>> {
  const folder = join(root, 'datasets', String(datasetId));
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const hashes: [string, string][] = [];
  for (const entry of entries.filter((one) => one.isFile() && one.name !== '_restored')) {
    const path = join(entry.parentPath, entry.name);
    if (path.includes('/_schema/')) continue;
    const hash = createHash('sha256').update(await readFile(path)).digest('hex'); // prettier-ignore
    hashes.push([path.slice(folder.length + 1), hash]);
  }
  return Object.fromEntries(hashes.toSorted());
}

beforeAll(async () => {
  lake = await Lake.make();
  datasetId = await lake.createDataset();
  copiedFolders.push(lake.data.root);
  const runningScheduler = await startScheduler();
  for (let i = 0; i < commitCount; i++) {
    const task = await lake.queueInlineImport(datasetId, `{"n":${2 * i}}\n{"n":${2 * i + 1}}\n`);
    runningScheduler.wake();
    expect((await runningScheduler.wait(task.id)).status).toBe('completed');
  }
  await runningScheduler.compacted();
  expectedFileHashes = await computeHashes(lake.data.root);
  await runningScheduler.close();
  await queueTask('snapshot');
  templateFolderByKind.snapshot = await copyFolder(lake.data.root);
  const secondScheduler = await startScheduler();
  const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
  expect((await secondScheduler.wait(rows[0]!.id)).status).toBe('completed');
  await secondScheduler.close();
  await queueTask('restore');
  templateFolderByKind.restore = await copyFolder(lake.data.root);
  await lake.close();
});
afterEach(async () => {
  armFault(undefined);
  await scheduler?.close();
  scheduler = undefined;
  reportedMessages = [];
  await lake.close();
});
afterAll(async () => {
  for (const root of copiedFolders) await rm(root, { recursive: true });
});

async function readDatasetRow(): Promise<DatasetRow> {
  return (await lake.catalog.datasets.get(datasetId))!;
}

/** Expects that the dataset is archived, that its archive is whole, and that its folder has no log. */
async function expectArchived(): Promise<void> {
  expect(await readDatasetRow()).toMatchObject({
    availability: 'archived',
    storageClass: 'Archive',
  });
  expect(await findFolderInconsistencies(lake)).toEqual([]);
  expect(await readdir(lake.data.archives)).toEqual([`${datasetId}.tar.zst`]);
  const names = await readdir(lake.data.datasets);
  const filesLeft = names.includes(String(datasetId))
    ? await readdir(lake.data.dataset(datasetId))
    : [];
  expect(filesLeft).not.toContain('_delta_log');
}

/** Expects that the dataset is available with the same files and records, and has no archive. */
async function expectAvailable(storageClass: string): Promise<void> {
  expect(await readDatasetRow()).toMatchObject({ availability: 'available', storageClass });
  expect(await findFolderInconsistencies(lake)).toEqual([]);
  expect(await readdir(lake.data.archives)).toEqual([]);
  expect(await computeHashes(lake.data.root)).toEqual(expectedFileHashes);
  const snapshot = await lake.store.snapshot(datasetId);
  expect((await readWithDuckdb(snapshot.files, 'n')).columns[0]).toEqual(allRecords);
}

const expectDone: Readonly<Record<ArchiveKind, () => Promise<void>>> = {
  snapshot: expectArchived,
  restore: () => expectAvailable('Essential'),
};

/** Restores the dataset if it is archived, and checks that all of its bytes are back. */
async function expectRestorable(): Promise<void> {
  if ((await readDatasetRow()).availability === 'available') return;
  const taskId = await queueTask('restore');
  const runningScheduler = await startScheduler();
  expect((await runningScheduler.wait(taskId)).status).toBe('completed');
  await runningScheduler.close();
  await expectAvailable('Essential');
}

const archiveFaultPoints: readonly (readonly [ArchiveKind, string])[] = [
  ['snapshot', 'archive.written'],
  ['snapshot', 'archive.linked'],
  ['snapshot', 'archive.published'],
  ['snapshot', 'archive.retired'],
  ['snapshot', 'task.before-done'],
  ['restore', 'restore.unpacked'],
  ['restore', 'restore.renamed'],
  ['restore', 'restore.published'],
  ['restore', 'restore.removed'],
  ['restore', 'task.before-done'],
];

test.each(archiveFaultPoints)('a %s that is killed at %s is completed after the next start', async (kind, point) => {
  const root = await copyFolder(templateFolderByKind[kind]);
  const crashingServer = new KillableServer(root, point);
  await crashingServer.waitForExit();
  expect([point, crashingServer.isIdle]).toEqual([point, false]);
  await recoverServer(root);
  lake = await Lake.open(root);
  await expectDone[kind]();
  await expectRestorable();
}); // prettier-ignore

test.each([
  ['snapshot', 'archive.partial:3'],
  ['restore', 'restore.partial:3'],
] as const)('a %s whose worker is killed at %s is repeated by the next worker', async (kind, point) => {
  const root = await copyFolder(templateFolderByKind[kind]);
  const server = new KillableServer(root, point, 'worker');
  await server.waitForExit();
  expect(server.isIdle).toBe(true);
  lake = await Lake.open(root);
  await expectDone[kind]();
}); // prettier-ignore

const seed = Number(process.env['STRANDLAKE_SEED'] ?? 5);
test.each(['snapshot', 'restore'] as const)(`a %s that is killed at random moments is completed (seed ${seed})`, async (kind) => {
  const next = seededRandom(seed);
  const root = await copyFolder(templateFolderByKind[kind]);
  await killServerRepeatedly(root, 3, 80, next);
  await recoverServer(root);
  lake = await Lake.open(root);
  await expectDone[kind]();
}); // prettier-ignore

describe('on a failing disk', () => {
  const faults: readonly Omit<FileFault, 'nth'>[] = [
    { code: 'ENOSPC', operations: ['mkdir', 'write', 'rename', 'link', 'commit'] },
    { code: 'EIO', operations: ['flush', 'link', 'rename', 'remove', 'read'] },
  ];
  const cases = (['snapshot', 'restore'] as const).flatMap((kind) =>
    faults.map((fault) => [kind, fault.code, fault] as const),
  );
  test.each(cases)('a %s either completes or changes nothing, with %s at any step', async (kind, _, fault) => {
    for (let nth = 1; ; nth += 1) {
      const root = await copyFolder(templateFolderByKind[kind]);
      lake = await Lake.open(root);
      const startFailingWorker: SchedulerOptions['startWorker'] = (...args) => {
        const { send, ...rest } = startWorkerInProcess(...args);
        return {
          ...rest,
          send: (message) => {
            if (message.type === 'run' && faultHits().length === 0) armFault({ ...fault, nth });
            send(message);
          },
        };
      };
      const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
      const runningScheduler = await startScheduler({ startWorker: startFailingWorker, retryMs: 5 });
      const { status } = await runningScheduler.wait(rows[0]!.id);
      const hitOperations = faultHits();
      armFault(undefined);
      await runningScheduler.close();
      await lake.close();
      lake = await Lake.open(root);
      await (await startScheduler({ startWorker: startWorkerInProcess })).close(); // a start removes the files that a failure leaves
      if (status === 'completed') await expectDone[kind]();
      else if (kind === 'snapshot') await expectAvailable('Standard');
      else await expectArchived();
      await expectRestorable();
      if (hitOperations.length === 0) return;
      armFault({ ...fault, nth: Infinity }); // resets the list of hit operations
      armFault(undefined);
      await lake.close();
    }
  }); // prettier-ignore
});

test('a restore completes although the disk fails when its log is read for commits that an earlier release has deleted', async () => {
  lake = await Lake.open(await copyFolder(templateFolderByKind.restore));
  const id = (await lake.catalog.commits.lastAt(datasetId, Number.MAX_SAFE_INTEGER))!.id;
  const version = await lake.catalog.commits.version(id);
  await lake.catalog.commits.delete(id);
  lake = await forgetDeletedVersions(lake);
  const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
  const jobsOnFailingDisk = jobs.map((job) => {
    if (job.kind !== 'restore') return job;
    const publish: typeof job.publish = (...args) => {
      armFault({ code: 'EIO', nth: 1, isLasting: true, operations: ['read'] });
      return job.publish!(...args);
    };
    return { ...job, publish };
  });
  const runningScheduler = await startScheduler({ jobs: jobsOnFailingDisk });
  expect((await runningScheduler.wait(rows[0]!.id)).status).toBe('completed');
  expect(faultHits()).toContain('read');
  armFault(undefined);
  await runningScheduler.close();
  await expectAvailable('Essential');
  expect(await lake.catalog.commits.version(id)).toBeUndefined();
  reportedMessages = [];
  await startScheduler();
  expect(await lake.catalog.commits.version(id)).toEqual(version);
  expect(reportedMessages).toEqual([]);
});

describe('a start', () => {
  async function openArchived(): Promise<void> {
    const root = await copyFolder(templateFolderByKind.restore);
    lake = await Lake.open(root);
    const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
    await lake.catalog.tasks.cancel(rows[0]!.id);
    await expectArchived();
  }

  test('removes the folder of an archived dataset, and reports nothing', async () => {
    await openArchived();
    const source = join(templateFolderByKind.snapshot, 'datasets', String(datasetId));
    await rm(lake.data.dataset(datasetId), { recursive: true, force: true });
    await cp(source, lake.data.dataset(datasetId), { recursive: true });
    expect(await findFolderInconsistencies(lake)).toEqual([
      expect.stringMatching(/is archived and has files/),
    ]);
    await startScheduler();
    expect(reportedMessages).toEqual([]);
    expect(await readdir(lake.data.datasets)).not.toContain(String(datasetId));
    await expectArchived();
    await scheduler!.close();
    await expectRestorable();
  });

  test('keeps the folder of an archived dataset whose archive is missing, and says so', async () => {
    await openArchived();
    const source = join(templateFolderByKind.snapshot, 'datasets', String(datasetId));
    await rm(lake.data.dataset(datasetId), { recursive: true, force: true });
    await cp(source, lake.data.dataset(datasetId), { recursive: true });
    const archive = lake.data.archive(datasetId);
    const bytes = await readFile(archive);
    await rm(archive);
    const runningScheduler = await startScheduler({ recoverMs: 5 });
    expect(reportedMessages).toEqual([
      expect.stringMatching(/is archived: .*\.tar\.zst is missing; restore it/),
    ]);
    expect(runningScheduler.refusal(datasetId)).toMatch('is missing');
    expect(await readDatasetRow()).toMatchObject({ availability: 'archived' });
    expect(await computeHashes(lake.data.root)).toEqual(expectedFileHashes);
    await writeFile(archive, bytes);
    await pollUntil(() => runningScheduler.refusal(datasetId) === undefined);
    await runningScheduler.close();
    await expectRestorable();
  });

  test('removes the archive of an available dataset, and keeps one that is not ours in quarantine', async () => {
    lake = await Lake.open(await copyFolder(templateFolderByKind.snapshot));
    const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
    await lake.catalog.tasks.cancel(rows[0]!.id);
    await writeFile(lake.data.archive(datasetId), 'part of an archive');
    await writeFile(lake.data.archive(999_999_999_999_999), 'an archive of another catalogue');
    expect(
      (await findFolderInconsistencies(lake)).filter((one) => one.includes('not referenced')),
    ).toHaveLength(2);
    await startScheduler();
    expect(await readdir(lake.data.archives)).toEqual([]);
    expect(await readdir(join(lake.data.quarantine, 'archives'))).toEqual([
      '999999999999999.tar.zst',
    ]);
    await rm(lake.data.quarantine, { recursive: true });
    await expectAvailable('Standard');
  });
});

describe('a damaged archive', () => {
  test.each(['start', 'middle', 'end', 'swapped'] as const)('(%s) is found by verify, and not restored', async (at) => {
    lake = await Lake.open(await copyFolder(templateFolderByKind.restore));
    const archive = lake.data.archive(datasetId);
    const bytes = await readFile(archive);
    if (at === 'end') await writeFile(archive, bytes.subarray(0, bytes.length - 10));
    else if (at === 'swapped') {
      const text = zstdDecompressSync(bytes).toString('latin1').replace(/"created_at":"2/, '"created_at":"3'); // prettier-ignore
      await writeFile(archive, zstdCompressSync(Buffer.from(text, 'latin1')));
    } else {
      bytes[at === 'start' ? 20 : bytes.length >> 1]! ^= 1;
      await writeFile(archive, bytes);
    }
    const damagePattern = /is damaged|has \d+ bytes, should be|not the archive that was written/; // prettier-ignore
    expect(await findFolderInconsistencies(lake)).toEqual([expect.stringMatching(damagePattern)]);
    const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
    const runningScheduler = await startScheduler();
    expect((await runningScheduler.wait(rows[0]!.id)).status).toBe('failed');
    const row = await lake.catalog.restores.get(rows[0]!.resourceId);
    expect(row?.errorMessage).toMatch(damagePattern);
    expect(await readDatasetRow()).toMatchObject({ availability: 'archived', storageClass: 'Archive' });
  }); // prettier-ignore

  test('whose log cannot be read is not restored, and stays as it is', async () => {
    lake = await Lake.open(await copyFolder(templateFolderByKind.restore));
    const archive = lake.data.archive(datasetId);
    const text = zstdDecompressSync(await readFile(archive)).toString('latin1');
    const name = `_delta_log/${'1'.padStart(20, '0')}.json`;
    const headerAndFile = text.slice(text.indexOf(name));
    const size = Number.parseInt(headerAndFile.slice(124, 136), 8);
    const entry = headerAndFile.slice(512, 512 + size);
    const unreadableEntry = `x${entry.slice(1)}`;
    // The manifest has the checksum of the entry as it is now.
    const [checksumBefore, checksumAfter] = [entry, unreadableEntry].map((one) => createHash('sha256').update(one, 'latin1').digest('hex')); // prettier-ignore
    const damagedText = text.replace(entry, () => unreadableEntry).replace(checksumBefore!, checksumAfter!); // prettier-ignore
    const damagedArchive = zstdCompressSync(Buffer.from(damagedText, 'latin1'));
    await writeFile(archive, damagedArchive);
    const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
    const runningScheduler = await startScheduler();
    expect((await runningScheduler.wait(rows[0]!.id)).status).toBe('failed');
    const row = await lake.catalog.restores.get(rows[0]!.resourceId);
    expect(row?.errorMessage).toMatch(/zst has a log that cannot be read .* 0*1\.json/);
    expect(await readDatasetRow()).toMatchObject({ availability: 'archived', storageClass: 'Archive' }); // prettier-ignore
    expect(await readFile(archive)).toEqual(damagedArchive);
    expect(await readdir(lake.data.datasets)).not.toContain(String(datasetId));
    expect(await readdir(lake.data.scratch)).toEqual([]);
  });

  test('is not made of a damaged segment: the dataset stays as it is', async () => {
    lake = await Lake.open(await copyFolder(templateFolderByKind.snapshot));
    const name = Object.keys(expectedFileHashes).find((path) => /^[^_].*\.parquet$/.test(path))!;
    const path = lake.data.datasetFile(datasetId, name);
    const bytes = await readFile(path);
    bytes[100]! ^= 1;
    await writeFile(path, bytes);
    const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
    const runningScheduler = await startScheduler();
    expect((await runningScheduler.wait(rows[0]!.id)).status).toBe('failed');
    const row = await lake.catalog.snapshots.get(rows[0]!.resourceId);
    expect(row?.errorMessage).toMatch(/does not match its checksum; restore it/);
    expect(await readDatasetRow()).toMatchObject({
      availability: 'available',
      storageClass: 'Standard',
    });
    expect(await readdir(lake.data.archives)).toEqual([]);
  });

  /** Calls `work` once, between the flush of a file and the next step that opens a file; no step fails. */
  function betweenFlushAndOpen(path: string, work: () => void): void {
    let state: 'writing' | 'flushed' | 'done' = 'writing';
    const observe = (operation: FileOperation): boolean => {
      if (state === 'writing' && operation === 'flush' && existsSync(path)) state = 'flushed';
      else if (state === 'flushed' && operation === 'open') {
        state = 'done';
        work();
      }
      return false;
    };
    const operations = Object.assign([] as FileOperation[], { includes: observe });
    armFault({ code: 'EIO', nth: 1, operations });
  }

  const flipByte = (bytes: Buffer, at: number): Buffer => {
    bytes[at]! ^= 1;
    return bytes;
  };
  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['with another byte', (bytes) => flipByte(bytes, bytes.length >> 1)],
    ['cut in the middle', (bytes) => bytes.subarray(0, bytes.length >> 1)],
    ['cut at its end', (bytes) => bytes.subarray(0, bytes.length - 10)],
    [
      'compressed again with another byte in a segment',
      (bytes) => {
        const tar = zstdDecompressSync(bytes);
        return zstdCompressSync(flipByte(tar, tar.indexOf('PAR1') + 10));
      },
    ],
  ])('%s on the disk, once it is written, is noticed before it is published: the segments stay', async (_, damage) => {
    lake = await Lake.open(await copyFolder(templateFolderByKind.snapshot));
    const { rows } = await lake.catalog.tasks.list({ viewer: null }, { limit: 1, offset: 0 });
    const path = join(lake.data.taskScratch(rows[0]!.id, 1), 'archive.tar.zst');
    let isDamaged = false;
    betweenFlushAndOpen(path, () => {
      writeFileSync(path, damage(readFileSync(path)));
      isDamaged = true;
    });
    const runningScheduler = await startScheduler({ startWorker: startWorkerInProcess });
    const { status } = await runningScheduler.wait(rows[0]!.id);
    armFault(undefined);
    expect([isDamaged, status]).toEqual([true, 'failed']);
    const row = await lake.catalog.snapshots.get(rows[0]!.resourceId);
    expect(row?.errorMessage).toMatch('archive.tar.zst');
    await runningScheduler.close();
    await expectAvailable('Standard');
  }); // prettier-ignore
});
