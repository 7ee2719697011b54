import { closeSync, constants, openSync, writeSync } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError } from './errors.js';
import { errorCodeOf, rawFileStep, fileStep, wrapFileError } from './file-steps.js';
import { discardFile, removeFile, syncFolder } from './files.js';
import { createFile } from './file-writer.js';

/*
 * Small files that appear as a whole: they are written under a temporary name in the same folder, flushed, and then renamed or linked to
 * their final name.
 */

/** Replaces or creates a small file atomically: readers see the old bytes or the new ones. */
export async function replaceFile(path: string, bytes: Uint8Array, mode = 0o600): Promise<void> {
  const temporary = await writeTemporary(path, bytes, mode);
  try {
    await fileStep(path, 'write', 'rename', () => fs.rename(temporary, path));
    await syncFolder(dirname(path));
  } catch (error) {
    await discardFile(temporary);
    throw error;
  }
}

/**
 * Thrown if it is unknown whether a file exists under its final name after a power failure, because the name could neither be made durable
 * nor durably removed.
 */
export class UncertainPublish extends AppError {
  constructor(cause: Error) {
    super('internal', `${cause.message}; whether it is on the disk is not known`, undefined, cause);
    this.name = 'UncertainPublish';
  }
}

/**
 * Creates a small file atomically and durably; returns false if the name is taken. If the name cannot be made durable, removes it and
 * throws; if it cannot be removed durably either, throws `UncertainPublish`. `steps` are called at the points where crash tests stop the
 * process.
 */
export async function publishFile(
  path: string,
  bytes: Uint8Array,
  steps: { written?: () => void; linked?: () => void } = {},
): Promise<boolean> {
  const temporary = await writeTemporary(path, bytes, 0o600);
  steps.written?.();
  try {
    await rawFileStep('link', () => fs.link(temporary, path));
    steps.linked?.();
    await syncFolder(dirname(path)).catch((error: unknown) => undoPublish(path, error as Error));
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false;
    throw wrapFileError(path, 'publish', error);
  } finally {
    await discardFile(temporary);
  }
}

/** Durably removes a name that could not be made durable, and throws `cause`; throws `UncertainPublish` if that fails as well. */
async function undoPublish(path: string, cause: Error): Promise<never> {
  try {
    await removeFile(path);
    await syncFolder(dirname(path));
  } catch {
    throw new UncertainPublish(cause); // the first failure, the cause, is the one to report
  }
  throw cause;
}

let temporaryFileNumber = 0;

/** Prefix of the names of temporary files. A file with this prefix that exists when the server starts is left over and not needed. */
export const temporaryPrefix = '_aside-';

async function writeTemporary(path: string, bytes: Uint8Array, mode: number): Promise<string> {
  temporaryFileNumber += 1;
  const name = `${temporaryPrefix}${process.pid}-${temporaryFileNumber}-${basename(path)}`;
  const temporary = join(dirname(path), name);
  await removeFile(temporary); // left by an earlier process with the same id
  const file = await createFile(temporary, { mode, mayUseReserve: true });
  try {
    await file.write(bytes);
    await file.finish();
    return temporary;
  } catch (error) {
    await file.abort();
    throw error;
  }
}

/** A small file with a fixed number of slots for short texts, which survive the end of the process but perhaps not a power failure. */
export interface SlotFile {
  /**
   * Writes a text, cut to the size of a slot, synchronously: after the call, it is in the operating system's cache and survives a crash of
   * the process.
   */
  write(slot: number, text: string): void;
  close(): void;
}

/** Creates a file with `count` blank slots of `bytes` bytes each, or replaces it. */
export async function openSlotFile(path: string, count: number, bytes: number): Promise<SlotFile> {
  await replaceFile(path, Buffer.alloc(count * bytes, ' '));
  const handle = openSync(path, constants.O_WRONLY | (constants.O_NOFOLLOW ?? 0));
  return {
    write: (slot, text) =>
      void writeSync(handle, text.padEnd(bytes).slice(0, bytes), slot * bytes, 'latin1'),
    close: () => closeSync(handle),
  };
}
