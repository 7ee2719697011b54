import { basename, dirname, join, resolve } from 'node:path';
import { AppError } from '../engine/core/errors.js';
import { listFolder, ensureLocalFolder, modifiedAt, moveFile } from '../engine/core/files.js';
import { writeStream } from '../engine/core/file-writer.js';

/** Whether the path is an existing local folder. */
export async function isFolder(path: string): Promise<boolean> {
  const absolute = resolve(path);
  if (dirname(absolute) === absolute) return true;
  const entries = await listFolder(dirname(absolute));
  return entries.some(({ name, kind }) => name === basename(absolute) && kind === 'folder');
}

/**
 * Writes a local file, which replaces one of the same name when all bytes have arrived. Its folder must exist. Returns the number of bytes.
 */
export async function saveFile(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  const absolute = resolve(path);
  if ((await modifiedAt(dirname(absolute))) === undefined) {
    throw new AppError('not-found', `there is no folder ${dirname(absolute)}`);
  }
  const folder = await ensureLocalFolder(dirname(absolute));
  const temporary = join(folder, `.${basename(absolute)}.${process.pid}.part`);
  const writtenFile = await writeStream(temporary, bytes);
  await moveFile(temporary, join(folder, basename(absolute)));
  return writtenFile.bytes;
}
