import type { ArchiveRow } from '../../../engine/catalog/archives.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { toErrorValue } from '../../../engine/core/errors.js';
import { checkArchive, type ArchiveOptions } from '../../../engine/store/archive.js';

/** The properties of an archive when it was written, and the version that the catalogue has. */
export interface KnownArchive {
  /** undefined if the catalogue has no completed snapshot of the dataset. */
  readonly written: Pick<ArchiveRow, 'bytes' | 'checksum'> | undefined;
  readonly version: number;
}

/**
 * Reads the archive of a dataset, compares every file in it with its checksum, and the whole with the catalogue. Returns the
 * problems: ends of messages about the archive, or the whole message of an error if the archive cannot be read or is damaged.
 */
export async function archiveProblems(
  data: DataFolder,
  datasetId: number,
  { written, version }: KnownArchive,
  options: ArchiveOptions = {},
): Promise<readonly string[]> {
  try {
    const storedArchive = await checkArchive(data.archive(datasetId), datasetId, options);
    const problems: string[] = [];
    if (written?.bytes !== storedArchive.bytes)
      problems.push(`has ${storedArchive.bytes} bytes, should be ${written?.bytes ?? 'none'}`);
    else if (written.checksum !== storedArchive.checksum)
      problems.push('is not the archive that was written');
    if (storedArchive.version !== version)
      problems.push(`is at version ${storedArchive.version}, the catalogue at ${version}`);
    return problems;
  } catch (error) {
    const { code, message } = toErrorValue(error);
    if (code === 'canceled') throw error;
    return [message];
  }
}
