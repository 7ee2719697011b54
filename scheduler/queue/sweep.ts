import { basename } from 'node:path';
import type { Catalog } from '../../engine/catalog/catalog.js';
import type { TaskRow } from '../../engine/catalog/task-row.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { list, removeFile, sweep } from '../../engine/core/files.js';
import { spillFolder } from '../worker/messages.js';
import { isTerminal } from './waiting.js';

/** Removes the scratch folders of all attempts of a task that runs no more. */
export async function sweepAttempts(data: DataFolder, task: TaskRow): Promise<void> {
  await sweep(data.scratch, (name) => !name.startsWith(`${task.id}-`));
}

/** Removes everything that a task which has ended kept to work with. */
export async function sweepTask(data: DataFolder, task: TaskRow): Promise<void> {
  await sweepAttempts(data, task);
  if (task.kind === 'import') await removeFile(data.inlineRecords(task.resourceId));
}

/** Whether something in the scratch folder is of an import that has yet to end: its inline records, or what it has finished. */
export async function isOfOpenImport(catalog: Catalog, name: string): Promise<boolean> {
  const [, importId] = /^inline-(\d+)\.json$/.exec(name) ?? [];
  if (importId !== undefined) {
    const row = await catalog.imports.get(Number(importId));
    return row !== undefined && !isTerminal(row.status);
  }
  const [, taskId] = /^(\d+)-\d+(?:-\d+)?$/.exec(name) ?? [];
  const task = taskId === undefined ? undefined : await catalog.tasks.get(Number(taskId));
  return task?.kind === 'import' && !isTerminal(task.status);
}

/** At start, when nothing runs: keeps only what is of open imports, and the spill folder of this process's own SQL engine. */
export async function sweepScratch(catalog: Catalog, data: DataFolder): Promise<void> {
  const kept = new Set([basename(spillFolder(data, process.pid))]);
  for (const { name } of await list(data.scratch)) {
    if (await isOfOpenImport(catalog, name)) kept.add(name);
  }
  await sweep(data.scratch, (name) => kept.has(name));
}

/** Removes the files of exports that are expired, gone, or neither finished nor being worked on. */
export async function sweepExports(catalog: Catalog, data: DataFolder, now: number): Promise<void> {
  for (const { name } of await list(data.exports)) {
    const row = await catalog.exports.get(Number(/^\d+/.exec(name)?.[0] ?? -1));
    const isKept =
      row !== undefined &&
      (row.status === 'completed' ? (row.expiresAt ?? 0) > now : !isTerminal(row.status));
    if (!isKept) await removeFile(data.path('exports', name));
  }
  for (const { id } of await catalog.exports.expired(now)) {
    await catalog.exports.update(id, { filename: null });
  }
}

/** At start: removes the rejected records of imports that are gone or have yet to end. */
export async function sweepRejected(catalog: Catalog, data: DataFolder): Promise<void> {
  for (const { name } of await list(data.rejected)) {
    const row = await catalog.imports.get(Number(/^\d+/.exec(name)?.[0] ?? -1));
    if (row?.status !== 'failed') await removeFile(data.path('rejected', name));
  }
}

/** At start: removes the bytes of files that got no further than the disk, or were replaced. */
export async function sweepObjects(catalog: Catalog, data: DataFolder): Promise<void> {
  for (const { name } of await list(data.objects)) {
    const [id, revision] = name.split('-').map(Number);
    const row = await catalog.objects.get(id ?? -1);
    if (row === undefined || row.revision !== revision)
      await removeFile(data.path('objects', name));
  }
}
