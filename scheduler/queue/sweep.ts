import { basename } from 'node:path';
import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { list, removeFile, sweep } from '../../engine/core/files.js';
import { jobs as declaredJobs, type Jobs } from '../jobs/index.js';
import { spillFolder } from '../worker/messages.js';
import { isTerminal } from './waiting.js';

/** Removes the scratch folders of all attempts of a task. None of them may be running. */
export async function sweepAttempts(data: DataFolder, task: TaskRow): Promise<void> {
  await sweep(data.scratch, (name) => !name.startsWith(`${task.id}-`));
}

/** Removes everything that belongs to no open task; called at start, before any task runs. */
export async function sweepAll(
  catalog: Catalog,
  data: DataFolder,
  now: number,
  jobs: Jobs = declaredJobs,
): Promise<void> {
  const transient = jobs.filter(({ background }) => background?.isTransient === true);
  await catalog.tasks.removeOpen(transient.map(({ kind }) => kind));
  await sweepScratch(catalog, data, jobs);
  await sweepObjects(catalog, data);
  for (const job of jobs) await job.sweepAtStart?.({ catalog, data, now });
}

/** Removes expired files of all kinds of job; called at start and once an hour. */
export async function sweepExpired(
  catalog: Catalog,
  data: DataFolder,
  now: number,
  jobs: Jobs = declaredJobs,
): Promise<void> {
  for (const job of jobs) await job.sweepHourly?.({ catalog, data, now });
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

async function sweepScratch(catalog: Catalog, data: DataFolder, jobs: Jobs): Promise<void> {
  // The SQL engine of this process is already open.
  const used = new Set([basename(spillFolder(data, process.pid))]);
  for (const { name } of await list(data.scratch)) {
    if (await isScratchOfOpenTask(catalog, name, jobs)) used.add(name);
  }
  await sweep(data.scratch, (name) => used.has(name));
}

/** Removes uploaded files that no object refers to, because the upload was not finished or has been replaced. */
async function sweepObjects(catalog: Catalog, data: DataFolder): Promise<void> {
  for (const { name } of await list(data.objects)) {
    const [id, revision] = name.split('-').map(Number);
    const row = await catalog.objects.get(id ?? -1);
    if (row === undefined || row.revision !== revision)
      await removeFile(data.path('objects', name));
  }
}
