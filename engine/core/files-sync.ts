import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { faultpoint, type FileOperation } from './faultpoint.js';
import { damagedFileError, wrapFileError } from './file-steps.js';

/*
 * Synchronous steps on files of the data folder. The threads that answer queries read files synchronously: a few cached kilobytes take 2 µs,
 * and 15 µs with a promise.
 */

const openFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0); // O_NOFOLLOW is undefined on Windows

/** A file of the data folder opened for synchronous reading. Close it after use. */
export class SyncFileReader {
  readonly path: string;
  readonly bytes: number;
  #descriptor: number | undefined;

  constructor(path: string, bytes: number, descriptor: number) {
    this.path = path;
    this.bytes = bytes;
    this.#descriptor = descriptor;
  }

  /** Fills `into` from the position `from`; a file that ends earlier is `damaged`. */
  readInto(into: Uint8Array, from: number): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) throw damagedFileError(this.path, 'has been closed already');
    for (let filled = 0; filled < into.byteLength;) {
      const bytes = syncFileStep(this.path, 'read', () =>
        readSync(descriptor, into, filled, into.byteLength - filled, from + filled),
      );
      if (bytes === 0) throw damagedFileError(this.path, 'ends early');
      filled += bytes;
    }
  }

  /** Closes the file; further calls do nothing. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Opens a file of the data folder. Throws `damaged` if the file is missing, a symbolic link, or anything but a regular file. */
export function openFileSync(path: string): SyncFileReader {
  const folder = dirname(path);
  // If a parent folder is a symbolic link, it could lead out of the data folder (threat D2).
  if (syncFileStep(folder, 'stat', () => realpathSync.native(folder)) !== folder)
    throw damagedFileError(path, 'is reached through a symbolic link');
  const descriptor = syncFileStep(path, 'open', () => openSync(path, openFlags));
  try {
    const stats = syncFileStep(path, 'stat', () => fstatSync(descriptor));
    if (!stats.isFile()) throw damagedFileError(path, 'is not a regular file');
    return new SyncFileReader(path, stats.size, descriptor);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Removes a file, if it exists, before any other work of this thread can run. */
export function removeFileSync(path: string): void {
  syncFileStep(path, 'remove', () => rmSync(path, { force: true }));
}

function syncFileStep<T>(path: string, operation: FileOperation, work: () => T): T {
  try {
    faultpoint(operation);
    return work();
  } catch (error) {
    throw wrapFileError(path, operation === 'remove' ? 'remove' : 'read', error);
  }
}
