import { basename, dirname, join, resolve } from 'node:path';
import { AppError } from '../engine/core/errors.js';
import { listFolder, ensureLocalFolder, modifiedAt, moveFile } from '../engine/core/files.js';
import { writeStream } from '../engine/core/file-writer.js';

/** Returns whether the path is an existing local folder. */
export async function isFolder(path: string): Promise<boolean> {
  const absolutePath = resolve(path);
  if (dirname(absolutePath) === absolutePath) return true;
  const entries = await listFolder(dirname(absolutePath));
  return entries.some(({ name, kind }) => name === basename(absolutePath) && kind === 'folder');
}

/**
 * Writes a local file, which replaces one of the same name when all bytes have arrived. Its folder must exist. Returns the number of bytes.
 */
export async function saveFile(path: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
  const absolutePath = resolve(path);
  if ((await modifiedAt(dirname(absolutePath))) === undefined) {
    throw new AppError('not-found', `there is no folder ${dirname(absolutePath)}`);
  }
  const folder = await ensureLocalFolder(dirname(absolutePath));
  const temporaryPath = join(folder, `.${basename(absolutePath)}.${process.pid}.part`);
  const writtenFile = await writeStream(temporaryPath, bytes);
  await moveFile(temporaryPath, join(folder, basename(absolutePath)));
  return writtenFile.bytes;
}
