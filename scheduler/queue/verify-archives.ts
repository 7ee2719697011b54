import type { Catalog } from '../../engine/catalog/catalog.js';
import type { DatasetRow } from '../../engine/catalog/datasets.js';
import type { DataFolder } from '../../engine/core/data-folder.js';
import { toErrorValue } from '../../engine/core/errors.js';
import { fileExists, listFolder, modifiedAt } from '../../engine/core/files.js';
import { checkArchive } from '../../engine/store/archive.js';
import { droppedLogName } from '../../engine/store/verify-dataset.js';

/** Receives a problem: its location and its description. */
export type ReportProblem = (where: string, problem: string) => void;

/** Whether the files of a dataset are in its archive, according to the catalogue. */
export function isInArchive({ availability }: DatasetRow): boolean {
  return availability === 'archived' || availability === 'restoring';
}

/** Compares the archive of a dataset with its checksums and with the catalogue, and reports files that its folder still has. */
export async function verifyArchive(
  { data, catalog }: { readonly data: DataFolder; readonly catalog: Catalog },
  { id, logVersion }: DatasetRow,
  report: ReportProblem,
): Promise<void> {
  const place = `archives/${id}.tar.zst`;
  const writtenSnapshot = await catalog.snapshots.completed(id);
  try {
    const { bytes, checksum, version } = await checkArchive(data.archive(id), id);
    if (writtenSnapshot?.bytes !== bytes)
      report(place, `has ${bytes} bytes, should be ${writtenSnapshot?.bytes ?? 'none'}`);
    else if (writtenSnapshot.checksum !== checksum)
      report(place, 'is not the archive that was written');
    if (version !== logVersion)
      report(place, `is at version ${version}, the catalogue at ${logVersion}`);
  } catch (error) {
    report(place, toErrorValue(error).message);
  }
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
