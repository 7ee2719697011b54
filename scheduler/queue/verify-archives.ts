import type { Catalog } from '../../engine/catalog/catalog.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { fileExists, listFolder, modifiedAt } from '../../engine/core/files.js';
import { droppedLogName } from '../../engine/store/verify-dataset.js';
import { archiveProblems } from '../jobs/verify/verify-archive.js';

/** Receives a problem: its location and its description. */
export type ReportProblem = (where: string, problem: string) => void;

/**
 * Compares the archive of a dataset with its checksums and with the catalogue, and reports files that its folder still has, unless the log
 * in it is marked as dropped.
 */
export async function verifyArchive(
  { data, catalog }: { readonly data: DataFolder; readonly catalog: Catalog },
  { id, logVersion }: DatasetRow,
  report: ReportProblem,
): Promise<void> {
  const written = await catalog.snapshots.completed(id);
  for (const problem of await archiveProblems(data, id, { written, version: logVersion }))
    report(`archives/${id}.tar.zst`, problem);
  // If the server was killed after it wrote the archive and before it removed the dataset's folder, the next start removes the folder.
  const names = (await listFolder(data.dataset(id))).map(({ name }) => name);
  if (names.length > 0 && !names.includes(droppedLogName))
    report(`datasets/${id}`, 'is archived and has files; the next start removes them');
}

/** Reports archives that belong to no archived dataset and were last changed before `unreferencedBefore`. */
export async function reportUnknownArchives(
  { data, unreferencedBefore }: { readonly data: DataFolder; readonly unreferencedBefore: number },
  archived: readonly DatasetRow[],
  report: ReportProblem,
): Promise<void> {
  const referenced = new Set(archived.map(({ id }) => `${id}.tar.zst`));
  for (const { name } of await listFolder(data.archives)) {
    const path = data.path('archives', name);
    if (referenced.has(name) || !fileExists(path)) continue;
    const changedAt = await modifiedAt(path);
    if (changedAt !== undefined && changedAt < unreferencedBefore)
      report(`archives/${name}`, 'is not referenced');
  }
}
