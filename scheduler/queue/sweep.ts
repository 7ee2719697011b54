import { basename, join, relative } from 'node:path';
import type { Catalog } from '../../engine/catalog/catalog.js';
import { budgets } from '../../engine/core/budgets.js';
import { settings } from '../../engine/core/config.js';
import { crashpoint } from '../../engine/core/crashpoint.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { toErrorValue } from '../../engine/core/errors.js';
import {
  listInodeIdentitiesUnder,
  inodeIdentityOf,
  listFolder,
  quarantineFile,
  removeTree,
  sweepFolder,
} from '../../engine/core/files.js';
import type { Store } from '../../engine/store/store.js';
import { withDatasetLock } from '../jobs/dataset-lock.js';
import { jobs as declaredJobs, type Jobs } from '../jobs/index.js';
import { isTerminal, type SweepContext } from '../jobs/job.js';
import { isInArchive } from '../jobs/visible-data.js';
import { spillFolder } from '../worker/messages.js';

/** Removes the scratch folders of all attempts of a task; none of the attempts may be running. */
export async function sweepAttempts(data: DataFolder, taskId: number): Promise<void> {
  await sweepFolder(data.scratch, (name) => !name.startsWith(`${taskId}-`));
}

/** Settings of the sweeps. */
interface SweepOptions {
  readonly now: number;
  /** Reports to the operator which files were moved to the quarantine, and which could be neither moved nor removed. */
  report(message: string): void;
  /** Called for a file that should be in the quarantine and could not be moved there, and if a sweep has failed. */
  readonly notMoved?: (() => void) | undefined;
  readonly jobs?: Jobs;
  /** How long deleted versions of files are kept, in milliseconds. */
  readonly keepVersionsMs?: number;
}

/**
 * Removes the files that crashes left in the folders of datasets; what may be the only copy is moved to the quarantine. Called at start,
 * before the scratch folders are swept.
 */
export async function sweepDatasets(
  catalog: Catalog,
  store: Store,
  report: (message: string) => void,
): Promise<void> {
  const { quarantined, failures } = await store.sweep(async (id) => {
    const row = await catalog.datasets.get(id);
    if (row !== undefined) return isInArchive(row) ? 'archived' : row.logVersion;
    return (await catalog.isIssued(id)) ? 'deleted' : undefined;
  });
  for (const failure of failures) report(`${failure}; the next start tries again`);
  for (const name of quarantined) {
    report(
      `datasets/${name} is named by no version of its dataset; it is now in quarantine/datasets/${name}`,
    );
  }
}

/**
 * Removes or quarantines the stored contents, upload parts, files of rejected records, scratch files and files of jobs that nothing in the
 * catalogue needs, and the open standalone tasks whose callers have ended with the previous process. Called at start, before any task runs.
 */
export async function sweepAll(
  catalog: Catalog,
  data: DataFolder,
  options: SweepOptions,
): Promise<void> {
  const { jobs = declaredJobs } = options;
  const transient = jobs.filter(({ standalone }) => standalone?.isTransient === true);
  await catalog.tasks.removeOpen(transient.map(({ kind }) => kind));
  const context = sweepContextOf(catalog, data, options);
  await sweepObjects(context);
  await sweepUploadParts(context);
  await sweepRejectedFiles(context, jobs);
  await sweepScratch(context, jobs);
  for (const job of jobs) await job.sweepAtStart?.(context);
}

/**
 * Removes expired files of all kinds of job, abandoned uploads in parts, and versions of files that were deleted at least `keepVersionsMs`
 * ago. Called at start and once an hour.
 */
export async function sweepExpired(
  catalog: Catalog,
  data: DataFolder,
  options: SweepOptions,
): Promise<void> {
  const context = sweepContextOf(catalog, data, options);
  for (const job of options.jobs ?? declaredJobs) await job.sweepHourly?.(context);
  const idleSince = options.now - budgets.multipartMs;
  for (const one of await catalog.multipartUploads.idleSince(idleSince)) {
    // The lock waits until the parts have been joined; a part may have arrived since the uploads were listed.
    await withDatasetLock(one.id, async () => {
      if (await catalog.multipartUploads.deleteIdle(one, idleSince))
        await context.discard(data.uploadPartsOf(one));
    });
  }
  const { keepVersionsMs = settings.keepVersionsDays.defaultValue * 86_400_000 } = options;
  const forgottenFiles = await catalog.fileVersions.forgetDeleted(options.now - keepVersionsMs);
  crashpoint('versions.forgotten'); // after a crash here, the next start removes the files
  for (const { objectId, revision } of forgottenFiles)
    await context.discard(data.object(objectId, revision));
}

function sweepContextOf(
  catalog: Catalog,
  data: DataFolder,
  { now, report, notMoved }: SweepOptions,
): SweepContext {
  const reportFailure = (error: unknown): void =>
    report(`${toErrorValue(error).message}; the next start tries again`);
  const discard = (path: string): Promise<void> => removeTree(path).catch(reportFailure);
  return {
    catalog,
    data,
    now,
    discard,
    async remove(path, ownerId, what = 'belongs to nothing in the catalogue') {
      if (ownerId !== undefined && (await catalog.isIssued(ownerId))) return discard(path);
      try {
        const target = await quarantineFile(data, path);
        report(`${relative(data.root, path)} ${what}; it is now in ${target}`);
      } catch (error) {
        reportFailure(error);
        notMoved?.();
      }
    },
  };
}

/** Whether an entry of the scratch folder belongs to an open task, whose next attempt will use it. */
export async function isScratchOfOpenTask(
  catalog: Catalog,
  name: string,
  jobs: Jobs = declaredJobs,
): Promise<boolean> {
  for (const job of jobs) if ((await job.ownsScratch?.(name, catalog)) === true) return true;
  const [, taskId] = /^(\d+)-\d+(?:-\d+)?$/.exec(name) ?? [];
  const task = taskId === undefined ? undefined : await catalog.tasks.get(Number(taskId));
  if (task === undefined || isTerminal(task.status)) return false;
  return jobs.some(({ kind, isResumable }) => kind === task.kind && isResumable === true);
}

/** The names of entries of the scratch folder that are not needed after a start, unless they belong to an open task. */
const scratchNamePattern = /^(\d+-\d+(-\d+)?|upload-\d+-[0-9a-f-]+|spill-[\w-]+)$|^_aside-/;

async function sweepScratch(context: SweepContext, jobs: Jobs): Promise<void> {
  const { catalog, data } = context;
  // The spill folder of this process is kept, because its SQL engine is already open.
  const usedFolder = basename(spillFolder(data, process.pid));
  for (const { name } of await listFolder(data.scratch)) {
    if (name === usedFolder || (await isScratchOfOpenTask(catalog, name, jobs))) continue;
    const path = join(data.scratch, name);
    if (scratchNamePattern.test(name)) await context.discard(path);
    else await context.remove(path, ownerIdInName(/^inline-(\d+)\.json$/, name));
  }
}

/**
 * Removes the contents of files that no version refers to: the file or its version was deleted or replaced, or an upload or an export was
 * not finished. The content of an unfinished upload or export also still has its name in the scratch or export folder.
 */
async function sweepObjects({ catalog, data, discard, remove }: SweepContext): Promise<void> {
  const origins = [
    await listInodeIdentitiesUnder(data.scratch),
    await listInodeIdentitiesUnder(data.exports),
  ];
  for (const { name } of await listFolder(data.objects)) {
    const id = ownerIdInName(/^(\d+)-\d+$/, name);
    const row = id === undefined ? undefined : await catalog.objects.get(id);
    const revision = Number(name.split('-')[1]);
    const version = row && (await catalog.fileVersions.get(row.id, revision));
    if (version?.availability === 'available') continue;
    const path = join(data.objects, name);
    const identity = inodeIdentityOf(path) ?? '';
    // A content that the catalogue has only announced, or whose revision it has not assigned yet, may have been stored after the backup
    // from which the catalogue was restored.
    const isNewer = row !== undefined && (version !== undefined || revision > row.lastRevision);
    if (origins.some((files) => files.has(identity))) await discard(path);
    else await remove(path, isNewer ? undefined : id);
  }
}

/** Removes the parts of complete versions, and of versions whose uploads were abandoned. */
async function sweepUploadParts({ catalog, data, remove }: SweepContext): Promise<void> {
  for (const { name } of await listFolder(data.uploadParts)) {
    const id = ownerIdInName(/^(\d+)(?:-\d+)?$/, name);
    const revision = Number(name.split('-')[1] ?? 1);
    const upload = id === undefined ? undefined : await catalog.multipartUploads.get(id, revision);
    if (upload?.isComplete !== false) await remove(join(data.uploadParts, name), id);
  }
}

/** Removes the files of rejected records that no job keeps. */
async function sweepRejectedFiles(
  { catalog, data, remove }: SweepContext,
  jobs: Jobs,
): Promise<void> {
  for (const { name } of await listFolder(data.rejected)) {
    const id = ownerIdInName(/^(\d+)\.jsonl\.gz$/, name);
    const owners = jobs.map((job) => id !== undefined && job.ownsRejected?.(id, catalog));
    if ((await Promise.all(owners)).includes(true)) continue;
    await remove(join(data.rejected, name), id);
  }
}

/** Returns the id in a file's name; undefined if the name does not match the pattern. */
function ownerIdInName(pattern: RegExp, name: string): number | undefined {
  const [, id] = pattern.exec(name) ?? [];
  return id === undefined ? undefined : Number(id);
}
