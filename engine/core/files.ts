import { createHash, type Hash } from 'node:crypto';
import { closeSync, constants, lstatSync, openSync, writeSync } from 'node:fs';
import type { Dirent, Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { budgets } from './budgets.js';
import { DataFolder } from './data-folder.js';
import { AppError } from './errors.js';
import { faultpoint, spareBytes, writableBytes, type FileOperation } from './faultpoint.js';
import { codeOf, damaged, explained, wrapped } from './file-errors.js';

/*
 * The one door to the file system. Everything but `openLocalFile` works on the data folder, refuses symbolic links
 * (in the last name by O_NOFOLLOW, in the folders above by comparing the real path) and makes what it wrote durable
 * before it says so.
 */

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL } = constants;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0; // not on Windows
const readBytes = 1 << 20;
/** Smaller than the reserve, so that several writers together leave some of it. */
const reserveCheckBytes = 8 << 20;

/** One step on the file system; whatever fails says which file it was and what was tried. */
function step<T>(
  path: string,
  verb: string,
  operation: FileOperation,
  work: () => Promise<T>,
): Promise<T> {
  return explained(path, verb, raw(operation, work));
}

/** The same with the system's own error, for callers who look at its code. */
async function raw<T>(operation: FileOperation, work: () => Promise<T>): Promise<T> {
  faultpoint(operation);
  return work();
}

/** Makes the data folder where it is missing, readable by its owner alone, and returns it without symbolic links. */
export async function openDataFolder(root: string): Promise<DataFolder> {
  await fs.mkdir(root, { recursive: true, mode: 0o700 });
  const folder = new DataFolder(await fs.realpath(root));
  for (const name of [
    'keys',
    'datasets',
    'objects',
    'exports',
    'rejected',
    'file-tables',
    'scratch',
  ]) {
    await makeFolder(folder.path(name));
  }
  return folder;
}

/** A file opened for reading. Close it in `finally`. */
export class FileReader {
  readonly path: string;
  readonly bytes: number;
  readonly modifiedAt: number;
  readonly #handle: fs.FileHandle;

  constructor(path: string, handle: fs.FileHandle, stats: Stats) {
    this.path = path;
    this.bytes = stats.size;
    this.modifiedAt = Math.trunc(stats.mtimeMs);
    this.#handle = handle;
  }

  /** The bytes from `from` on, as many as asked for or as there are. */
  async read(from: number, length: number): Promise<Uint8Array> {
    const into = new Uint8Array(Math.max(0, Math.min(length, this.bytes - from)));
    return into.subarray(0, await this.readInto(into, from));
  }

  /** Fills `into` from the position `from`; returns how many bytes there were. */
  async readInto(into: Uint8Array, from: number): Promise<number> {
    let filled = 0;
    while (filled < into.byteLength) {
      const { bytesRead } = await step(this.path, 'read', 'read', () =>
        this.#handle.read(into, filled, into.byteLength - filled, from + filled),
      );
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return filled;
  }

  /** The bytes from `from` up to (not including) `to`, in pieces. */
  async *stream(from = 0, to = this.bytes, pieceBytes = readBytes): AsyncGenerator<Uint8Array> {
    for (let at = from; at < to;) {
      const piece = await this.read(at, Math.min(pieceBytes, to - at));
      if (piece.byteLength === 0) throw damaged(this.path, 'ends early');
      yield piece;
      at += piece.byteLength;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Opens a file of the data folder; a missing one, a symbolic link or anything but a plain file is `damaged`. */
export async function openFile(path: string): Promise<FileReader> {
  await refuseLinkedFolder(path);
  return openReader(path, O_RDONLY | O_NOFOLLOW);
}

/** Opens a file that the person at the command line named, wherever it lies; never call it with a name from a request. */
export async function openLocalFile(path: string): Promise<FileReader> {
  return openReader(path, O_RDONLY);
}

/** A short text of the operating system, such as those below /proc; never call it with a name from a request. */
export async function readSystemFile(path: string): Promise<string> {
  return fs.readFile(path, 'latin1'); // such files say that they have no bytes, so `FileReader` sees none
}

async function openReader(path: string, flags: number): Promise<FileReader> {
  const handle = await step(path, 'read', 'open', () => fs.open(path, flags));
  try {
    const stats = await step(path, 'read', 'stat', () => handle.stat());
    if (!stats.isFile()) throw damaged(path, 'is not a plain file');
    return new FileReader(path, handle, stats);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** A whole small file; more than `maxBytes` is `damaged`. */
export async function readFile(path: string, maxBytes = 64 << 20): Promise<Uint8Array> {
  const file = await openFile(path);
  try {
    if (file.bytes > maxBytes) throw damaged(path, `has more than ${maxBytes} bytes`);
    return await file.read(0, file.bytes);
  } finally {
    await file.close();
  }
}

/** What `FileWriter.finish` and `writeStream` found while writing; `md5` in hex. */
export interface Written {
  readonly bytes: number;
  readonly md5: string;
}

/** A new file being written. End with `finish` (then it is durable) or `abort` (then it is gone). */
export class FileWriter {
  readonly path: string;
  #bytes = 0;
  /** Before this byte the disk is asked again how much is left. */
  #checkedTo = 0;
  readonly #handle: fs.FileHandle;
  readonly #md5: Hash | undefined;
  readonly #mayUseReserve: boolean;

  constructor(path: string, handle: fs.FileHandle, options: CreateOptions) {
    this.path = path;
    this.#handle = handle;
    this.#md5 = options.md5 === true ? createHash('md5') : undefined;
    this.#mayUseReserve = options.mayUseReserve === true;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async write(piece: Uint8Array): Promise<void> {
    await this.#leaveReserve(piece.byteLength);
    this.#md5?.update(piece);
    let written = 0;
    while (written < piece.byteLength) {
      const bytes = writableBytes(piece.byteLength - written);
      const write = (): Promise<{ bytesWritten: number }> =>
        this.#handle.write(piece, written, bytes);
      written += (await step(this.path, 'write', 'write', write)).bytesWritten;
    }
    this.#bytes += piece.byteLength;
  }

  async #leaveReserve(bytes: number): Promise<void> {
    if (this.#mayUseReserve || this.#bytes + bytes <= this.#checkedTo) return;
    this.#checkedTo = this.#bytes + Math.max(bytes, reserveCheckBytes);
    const left = (await freeBytes(dirname(this.path))) - bytes;
    if (left >= budgets.diskReserveBytes) return;
    throw wrapped(this.path, 'write', Object.assign(new Error('reserve'), { code: 'ENOSPC' }));
  }

  /** Makes what has been written so far durable; more may follow. */
  async flush(): Promise<void> {
    await step(this.path, 'flush', 'flush', () => this.#handle.datasync());
  }

  /** Flushes and closes; `md5` is empty unless it was asked for. The name itself is durable after `syncFolder`. */
  async finish(): Promise<Written> {
    try {
      // A failed flush is never retried: the pages may be gone (threats R6). The caller abandons the file.
      await step(this.path, 'flush', 'flush', () => this.#handle.sync());
    } finally {
      await step(this.path, 'close', 'close', () => this.#handle.close());
    }
    return { bytes: this.#bytes, md5: this.#md5?.digest('hex') ?? '' };
  }

  /** Closes the file without making it durable; call `flushFile` before the file is committed. */
  async closeUnflushed(): Promise<void> {
    await step(this.path, 'close', 'close', () => this.#handle.close());
  }

  /** Closes and removes the file; safe after `finish` failed. Never throws: the reason for it is what counts. */
  async abort(): Promise<void> {
    await this.#handle.close().catch(() => undefined); // closed already: nothing is lost
    await forget(this.path);
  }
}

/** How a file is created. */
export interface CreateOptions {
  readonly md5?: boolean;
  readonly mode?: number;
  /** The last bytes of the disk are for what ends, cancels and deletes; large files leave them. */
  readonly mayUseReserve?: boolean;
}

/** Creates a file that must not exist yet. */
export async function createFile(path: string, options: CreateOptions = {}): Promise<FileWriter> {
  await refuseLinkedFolder(path);
  const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const mode = options.mode ?? 0o600;
  const handle = await step(path, 'create', 'open', () => fs.open(path, flags, mode));
  return new FileWriter(path, handle, options);
}

/** Writes all pieces to a new file and makes it durable; on any failure nothing is left. */
export async function writeStream(
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: { maxBytes?: number; tooLarge?: () => Error } = {},
): Promise<Written> {
  const file = await createFile(path, { md5: true });
  try {
    for await (const piece of pieces) {
      if (options.maxBytes !== undefined && file.bytes + piece.byteLength > options.maxBytes) {
        const message = `more than the ${options.maxBytes} bytes announced`;
        throw options.tooLarge?.() ?? new AppError('too-large', message);
      }
      await file.write(piece);
    }
    const written = await file.finish();
    await syncFolder(dirname(path));
    return written;
  } catch (error) {
    await file.abort();
    throw error;
  }
}

/** Replaces (or creates) a small file as a whole: readers see the old bytes or the new ones. */
export async function replaceFile(path: string, bytes: Uint8Array, mode = 0o600): Promise<void> {
  const aside = await writeAside(path, bytes, mode);
  try {
    await step(path, 'write', 'rename', () => fs.rename(aside, path));
    await syncFolder(dirname(path));
  } catch (error) {
    await forget(aside);
    throw error;
  }
}

/** A file has got its name, and whether that is durable is not known: neither a flush nor taking it back has worked. */
export class UncertainPublish extends AppError {
  constructor(cause: Error) {
    super('internal', `${cause.message}; whether it is on the disk is not known`, undefined, cause);
    this.name = 'UncertainPublish';
  }
}

/**
 * Gives a small file its name exactly once: false if the name is taken, and never a torn file, even for an instant. When
 * the name cannot be made durable it is taken back; when that fails too, the error is an `UncertainPublish`.
 * `steps` are called where a crash test wants to stop.
 */
export async function publishFile(
  path: string,
  bytes: Uint8Array,
  steps: { written?: () => void; linked?: () => void } = {},
): Promise<boolean> {
  const aside = await writeAside(path, bytes, 0o600);
  steps.written?.();
  try {
    await raw('link', () => fs.link(aside, path));
    steps.linked?.();
    await syncFolder(dirname(path)).catch((error: unknown) => takeBack(path, error as Error));
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw wrapped(path, 'publish', error);
  } finally {
    await forget(aside);
  }
}

/** Removes a name that could not be made durable, durably; always throws. */
async function takeBack(path: string, cause: Error): Promise<never> {
  try {
    await removeFile(path);
    await syncFolder(dirname(path));
  } catch {
    throw new UncertainPublish(cause); // the first failure is the one to tell
  }
  throw cause;
}

/** Removes what nobody will look for; what stays, the next sweep takes. */
async function forget(path: string): Promise<void> {
  await raw('remove', () => fs.rm(path, { force: true })).catch(() => undefined);
}

let asideNumber = 0;

/** Names of files that are being written aside begin so: a leftover of a crash, never data. */
export const asidePrefix = '_aside-';

async function writeAside(path: string, bytes: Uint8Array, mode: number): Promise<string> {
  asideNumber += 1;
  const name = `${asidePrefix}${process.pid}-${asideNumber}-${basename(path)}`;
  const aside = join(dirname(path), name);
  await removeFile(aside); // of an earlier process with our number
  const file = await createFile(aside, { mode, mayUseReserve: true });
  try {
    await file.write(bytes);
    await file.finish();
    return aside;
  } catch (error) {
    await file.abort();
    throw error;
  }
}

/** A small file of a few fixed places for short texts, which outlive the process but not a power failure. */
export interface Slots {
  /** Synchronous: the text is with the system when this returns, whatever happens to the process next. */
  write(slot: number, text: string): void;
  close(): void;
}

/** Makes (or empties) a file of slots, each for so many bytes. */
export async function openSlots(path: string, count: number, bytes: number): Promise<Slots> {
  await replaceFile(path, Buffer.alloc(count * bytes, ' '));
  const handle = openSync(path, O_WRONLY | O_NOFOLLOW);
  return {
    write: (slot, text) =>
      void writeSync(handle, text.padEnd(bytes).slice(0, bytes), slot * bytes, 'latin1'),
    close: () => closeSync(handle),
  };
}

/** Moves a file within the data folder; call `syncFolder` on the target once all are moved. */
export async function moveFile(from: string, to: string): Promise<void> {
  await refuseLinkedFolder(from);
  await refuseLinkedFolder(to);
  await step(from, 'move', 'rename', () => fs.rename(from, to));
}

/** Gives a file a second name within the data folder; call `syncFolder` on the target afterwards. */
export async function linkFile(from: string, to: string): Promise<void> {
  await refuseLinkedFolder(from);
  await refuseLinkedFolder(to);
  await removeFile(to);
  await step(from, 'link', 'link', () => fs.link(from, to));
}

/** Makes a folder and those above it, durably. */
export async function makeFolder(path: string): Promise<void> {
  const first = await step(path, 'create', 'mkdir', () =>
    fs.mkdir(path, { recursive: true, mode: 0o700 }),
  );
  if (first !== undefined) {
    for (let at = path; at.length >= first.length; at = dirname(at)) await syncFolder(dirname(at));
  }
  await refuseLinkedFolder(join(path, 'x'));
}

/** Makes a file durable that was left, and its name. The system keeps an error of the disk for who opens the file next. */
export async function flushFile(path: string): Promise<void> {
  await refuseLinkedFolder(path);
  const flags = constants.O_RDWR | O_NOFOLLOW; // to flush needs the right to write on Windows
  const handle = await step(path, 'flush', 'open', () => fs.open(path, flags));
  try {
    await step(path, 'flush', 'flush', () => handle.sync());
  } finally {
    await handle.close();
  }
  await syncFolder(dirname(path));
}

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return; // folders cannot be opened there
  const handle = await step(path, 'flush', 'open', () => fs.open(path, O_RDONLY));
  try {
    await step(path, 'flush', 'flush', () => handle.sync());
  } finally {
    await handle.close();
  }
}

/** One name in a folder. */
export interface Entry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'other';
}

/** The names in a folder, sorted; none if there is no such folder. */
export async function list(path: string): Promise<readonly Entry[]> {
  const read = (): Promise<Dirent[]> => fs.readdir(path, { withFileTypes: true });
  const entries = await raw('list', read).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw wrapped(path, 'list', error);
  });
  return entries
    .map((entry): Entry => ({
      name: entry.name,
      kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : 'other',
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Size and time of a plain file; undefined if nothing has that name, `damaged` if something else has. */
export async function fileStats(
  path: string,
): Promise<{ readonly bytes: number; readonly modifiedAt: number } | undefined> {
  const stats = await raw('stat', () => fs.lstat(path)).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw wrapped(path, 'read', error);
  });
  if (stats === undefined) return undefined;
  if (!stats.isFile()) throw damaged(path, 'is not a plain file');
  return { bytes: stats.size, modifiedAt: Math.trunc(stats.mtimeMs) };
}

/** When whatever has this name was last changed; undefined if nothing has it. Never follows links. */
export async function modifiedAt(path: string): Promise<number | undefined> {
  const stats = await raw('stat', () => fs.lstat(path)).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw wrapped(path, 'read', error);
  });
  return stats && Math.trunc(stats.mtimeMs);
}

/** What changes when a file of a folder comes, goes or gets another name; undefined if there is no such folder. */
export function folderIdentity(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() ? `${stats.ino} ${stats.mtimeMs} ${stats.ctimeMs}` : undefined;
}

/**
 * Inode, size and times of a plain file as one text: the same text, the same bytes, unless somebody set the times back.
 * Undefined if there is no plain file of that name. Synchronous, because a few microseconds are less than a promise costs.
 */
export function fileIdentity(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return undefined;
  return `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
}

/** True if anything has this name, a link that leads nowhere too. Synchronous, as `fileIdentity` is. */
export function fileExists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw wrapped(path, 'read', error);
  }
}

/** Removes a file; nothing happens if it is gone already. */
export async function removeFile(path: string): Promise<void> {
  await step(path, 'remove', 'remove', () => fs.rm(path, { force: true }));
}

/** Removes a folder with all that is in it, without following links; nothing happens if it is gone already. */
export async function removeTree(path: string): Promise<void> {
  await step(path, 'remove', 'remove', () =>
    fs.rm(path, { recursive: true, force: true, maxRetries: 2 }),
  );
}

/** Removes everything in a folder that `keep` does not claim; returns the names removed. */
export async function sweep(
  path: string,
  keep: (name: string) => boolean = () => false,
): Promise<readonly string[]> {
  const gone = (await list(path)).map((entry) => entry.name).filter((name) => !keep(name));
  for (const name of gone) await removeTree(join(path, name));
  return gone;
}

/** Bytes that may still be written to the disk under this path. */
export async function freeBytes(path: string): Promise<number> {
  const stats = await fs.statfs(path);
  return spareBytes(stats.bavail * stats.bsize);
}

/** A folder above that is a symbolic link would lead out of the data folder: refused (threats D2). */
async function refuseLinkedFolder(path: string): Promise<void> {
  const folder = dirname(path);
  const real = await step(folder, 'read', 'stat', () => fs.realpath(folder));
  if (real !== folder) throw damaged(path, 'is reached through a symbolic link');
}
