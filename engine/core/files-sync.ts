import { closeSync, constants, fstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { faultpoint, type FileOperation } from './faultpoint.js';
import { damaged, wrapped } from './file-errors.js';

/*
 * The second leaf of the door in files.ts: reading without promises, for the threads that answer queries. A read of a few
 * kilobytes that lie in the system's memory takes 2 µs so, and 15 with a promise.
 */

const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0); // not on Windows

/** A file of the data folder opened for reading, synchronously. Close it once nobody asks any more. */
export class SyncFileReader {
  readonly path: string;
  readonly bytes: number;
  #descriptor: number | undefined;

  constructor(path: string, bytes: number, descriptor: number) {
    this.path = path;
    this.bytes = bytes;
    this.#descriptor = descriptor;
  }

  /** The bytes from `from` on, exactly as many as asked for; a file that ends before is `damaged`. */
  read(from: number, length: number): Uint8Array {
    // A buffer of its own that is not cleared first: clearing takes as long as reading.
    const into = Buffer.allocUnsafeSlow(length);
    this.readInto(into, from);
    return into;
  }

  /** Fills `into` from the position `from`; a file that ends before is `damaged`. */
  readInto(into: Uint8Array, from: number): void {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) throw damaged(this.path, 'has been closed already');
    for (let filled = 0; filled < into.byteLength;) {
      const bytes = step(this.path, 'read', () =>
        readSync(descriptor, into, filled, into.byteLength - filled, from + filled),
      );
      if (bytes === 0) throw damaged(this.path, 'ends early');
      filled += bytes;
    }
  }

  /** Closing twice is closing once. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Opens a file of the data folder; a missing one, a symbolic link or anything but a plain file is `damaged`. */
export function openFileSync(path: string): SyncFileReader {
  const folder = dirname(path);
  // As files.ts has it: a folder above that is a symbolic link would lead out of the data folder (threats D2).
  if (step(folder, 'stat', () => realpathSync.native(folder)) !== folder)
    throw damaged(path, 'is reached through a symbolic link');
  const descriptor = step(path, 'open', () => openSync(path, flags));
  try {
    const stats = step(path, 'stat', () => fstatSync(descriptor));
    if (!stats.isFile()) throw damaged(path, 'is not a plain file');
    return new SyncFileReader(path, stats.size, descriptor);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function step<T>(path: string, operation: FileOperation, work: () => T): T {
  try {
    faultpoint(operation);
    return work();
  } catch (error) {
    throw wrapped(path, 'read', error);
  }
}
