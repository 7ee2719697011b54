import { constants, lstatSync } from 'node:fs';
import type { Dirent, Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { DataFolder } from './data-folder.js';
import { freeBytesOrFault } from './faultpoint.js';
import { AppError } from './errors.js';
import {
  errorCodeOf,
  damagedFileError,
  rawFileStep,
  fileStep,
  wrapFileError,
} from './file-steps.js';

/*
 * Access to the file system. Besides `file-writer.ts`, `atomic-files.ts` and `files-sync.ts`, this is the only module that imports
 * `node:fs`. Functions that open files of the data folder refuse symbolic links: as the last name by O_NOFOLLOW, as a parent folder by
 * comparing the real path. Functions that move or link files refuse them as a parent folder, except `linkNewFile`. `openLocalFile`,
 * `ensureLocalFolder` and `readSystemFile` are for other paths, for which the command line uses some of the other functions, too.
 */

const { O_RDONLY } = constants;
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0; // undefined on Windows
const defaultReadBytes = 1 << 20;

/**
 * Creates the data folder and its subfolders where they are missing, accessible to their owner only, and returns the data folder with
 * symbolic links resolved. Throws `invalid` if the path cannot be a folder of this user.
 */
export async function openDataFolder(root: string): Promise<DataFolder> {
  const folder = await createRootFolder(root);
  for (const name of [
    'keys',
    'datasets',
    'objects',
    'parts',
    'exports',
    'rejected',
    'archives',
    'file-tables',
    'scratch',
    'quarantine',
  ]) {
    await makeFolder(folder.path(name));
  }
  return folder;
}

/** Why a path cannot be the data folder, by the code of the system's error. */
const folderProblemByCode: Readonly<Record<string, string>> = {
  EEXIST: 'is a file',
  ENOTDIR: 'is below a file',
  ENOENT: 'is a link that leads nowhere',
  ELOOP: 'is a link that leads nowhere',
  EACCES: 'is closed to this user',
  EPERM: 'is closed to this user',
  EROFS: 'is on a read-only file system',
};

async function createRootFolder(root: string): Promise<DataFolder> {
  try {
    await makeFolders(root);
    return new DataFolder(await fs.realpath(root));
  } catch (error) {
    if (error instanceof AppError) throw error;
    const reason = folderProblemByCode[errorCodeOf(error) ?? ''];
    if (reason === undefined) throw error;
    const message = `the data folder ${root} ${reason}; choose another with --data`;
    throw new AppError('invalid', message, undefined, error);
  }
}

/**
 * Creates a folder and its missing parents. Node's recursive `mkdir` is not used, because it never returns for a folder in `/proc`, for
 * which the system reports ENOENT.
 */
async function makeFolders(path: string, isKnown = false): Promise<void> {
  try {
    await fs.mkdir(path, { mode: 0o700 });
  } catch (error) {
    const code = errorCodeOf(error);
    if (code === 'EEXIST' && (await fs.stat(path)).isDirectory()) return;
    if (code !== 'ENOENT') throw error;
    const message = `no folder ${path} can be created there; choose another with --data`;
    if (isKnown) throw new AppError('invalid', message, undefined, error);
    await makeFolders(dirname(path));
    await makeFolders(path, true);
  }
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

  /** Reads up to `length` bytes at `from`: fewer at the end of the file. */
  async read(from: number, length: number): Promise<Uint8Array> {
    const into = new Uint8Array(Math.max(0, Math.min(length, this.bytes - from)));
    return into.subarray(0, await this.readInto(into, from));
  }

  /** Reads into `into` from the position `from`; returns the number of bytes read. */
  async readInto(into: Uint8Array, from: number): Promise<number> {
    let filledBytes = 0;
    while (filledBytes < into.byteLength) {
      const { bytesRead } = await fileStep(this.path, 'read', 'read', () =>
        this.#handle.read(into, filledBytes, into.byteLength - filledBytes, from + filledBytes),
      );
      if (bytesRead === 0) break;
      filledBytes += bytesRead;
    }
    return filledBytes;
  }

  /** Reads the bytes from `from` up to but not including `to`, in pieces. */
  async *stream(
    from = 0,
    to = this.bytes,
    pieceBytes = defaultReadBytes,
  ): AsyncGenerator<Uint8Array> {
    for (let at = from; at < to;) {
      const piece = await this.read(at, Math.min(pieceBytes, to - at));
      if (piece.byteLength === 0) throw damagedFileError(this.path, 'ends early');
      yield piece;
      at += piece.byteLength;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** Opens a file of the data folder. Throws `damaged` if the file is missing, a symbolic link, or anything but a regular file. */
export async function openFile(path: string): Promise<FileReader> {
  await refuseLinkedFolder(path);
  return openReader(path, O_RDONLY | O_NOFOLLOW);
}

/** Opens any file named on the command line. Never call it with a name from a request. */
export async function openLocalFile(path: string): Promise<FileReader> {
  return openReader(path, O_RDONLY);
}

/** Creates a folder outside the data folder if it is missing, for the owner only, and returns its path with symbolic links resolved. */
export async function ensureLocalFolder(path: string): Promise<string> {
  await fileStep(path, 'create', 'mkdir', () => fs.mkdir(path, { recursive: true, mode: 0o700 }));
  return fs.realpath(path);
}

/** Reads a short text of the operating system, such as a file below /proc. Never call it with a name from a request. */
export async function readSystemFile(path: string): Promise<string> {
  // The system reports the size 0 for files below /proc, so `FileReader` would read nothing.
  return fs.readFile(path, 'latin1');
}

async function openReader(path: string, flags: number): Promise<FileReader> {
  const handle = await fileStep(path, 'read', 'open', () => fs.open(path, flags));
  try {
    const stats = await fileStep(path, 'read', 'stat', () => handle.stat());
    if (!stats.isFile()) throw damagedFileError(path, 'is not a regular file');
    return new FileReader(path, handle, stats);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads a whole small file. Throws `damaged` if it has more than `maxBytes`. */
export async function readFile(path: string, maxBytes = 64 << 20): Promise<Uint8Array> {
  const file = await openFile(path);
  try {
    if (file.bytes > maxBytes) throw damagedFileError(path, `has more than ${maxBytes} bytes`);
    return await file.read(0, file.bytes);
  } finally {
    await file.close();
  }
}

/** Moves a file or folder within the data folder. Call `syncFolder` on the target folder after the last move. */
export async function moveFile(from: string, to: string): Promise<void> {
  await refuseLinkedFolder(from);
  await refuseLinkedFolder(to);
  await fileStep(from, 'move', 'rename', () => fs.rename(from, to));
}

/** Creates a hard link within the data folder, replacing `to`. Call `syncFolder` on the target folder afterwards. */
export async function linkFile(from: string, to: string): Promise<void> {
  await refuseLinkedFolder(from);
  await refuseLinkedFolder(to);
  await removeFile(to);
  await linkNewFile(from, to);
}

/** Creates a hard link. Fails if `to` exists; does not check the parent folders for symbolic links. */
export async function linkNewFile(from: string, to: string): Promise<void> {
  await fileStep(from, 'link', 'link', () => fs.link(from, to));
}

/** Creates a folder and its missing ancestors, durably. Throws `damaged` if the path leads through a symbolic link. */
export async function makeFolder(path: string): Promise<void> {
  const first = await fileStep(path, 'create', 'mkdir', () =>
    fs.mkdir(path, { recursive: true, mode: 0o700 }),
  );
  if (first !== undefined) {
    for (let at = path; at.length >= first.length; at = dirname(at)) await syncFolder(dirname(at));
  }
  await refuseLinkedFolder(join(path, 'x'));
}

/**
 * Makes a file that was written with `closeUnflushed` durable, with its name. It opens the file again: the system reports a pending write
 * error to the next opener.
 */
export async function flushFile(path: string): Promise<void> {
  await refuseLinkedFolder(path);
  const flags = constants.O_RDWR | O_NOFOLLOW; // Windows requires write access for a flush
  const handle = await fileStep(path, 'flush', 'open', () => fs.open(path, flags));
  try {
    await fileStep(path, 'flush', 'flush', () => handle.sync());
  } finally {
    await handle.close();
  }
  await syncFolder(dirname(path));
}

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return; // Windows cannot open folders
  const handle = await fileStep(path, 'flush', 'open', () => fs.open(path, O_RDONLY));
  try {
    await fileStep(path, 'flush', 'flush', () => handle.sync());
  } finally {
    await handle.close();
  }
}

interface FolderEntry {
  readonly name: string;
  readonly kind: 'file' | 'folder' | 'other';
}

/** The entries of a folder, sorted by name; none if the folder does not exist. */
export async function listFolder(path: string): Promise<readonly FolderEntry[]> {
  const readEntries = (): Promise<Dirent[]> => fs.readdir(path, { withFileTypes: true });
  const entries = await rawFileStep('list', readEntries).catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw wrapFileError(path, 'list', error);
  });
  return entries
    .map((entry): FolderEntry => ({
      name: entry.name,
      kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : 'other',
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns size and modification time of a regular file; undefined if the name does not exist. Throws `damaged` for other entries. */
export async function readFileStats(
  path: string,
): Promise<{ readonly bytes: number; readonly modifiedAt: number } | undefined> {
  const stats = await rawFileStep('stat', () => fs.lstat(path)).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(errorCodeOf(error) ?? '')) return undefined;
    throw wrapFileError(path, 'read', error);
  });
  if (stats === undefined) return undefined;
  if (!stats.isFile()) throw damagedFileError(path, 'is not a regular file');
  return { bytes: stats.size, modifiedAt: Math.trunc(stats.mtimeMs) };
}

/**
 * Returns the modification time of a file or folder in milliseconds since 1970; undefined if it does not exist. Does not follow symbolic
 * links.
 */
export async function modifiedAt(path: string): Promise<number | undefined> {
  const stats = await rawFileStep('stat', () => fs.lstat(path)).catch((error: unknown) => {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw wrapFileError(path, 'read', error);
  });
  return stats && Math.trunc(stats.mtimeMs);
}

/** A text that changes when a file of the folder is added, removed or renamed; undefined if there is no such folder. */
export function folderIdentity(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() ? `${stats.ino} ${stats.mtimeMs} ${stats.ctimeMs}` : undefined;
}

/**
 * Returns a text of inode, size and times of a regular file, which changes when the content changes (unless somebody resets the times);
 * undefined if there is no such file. It is synchronous, because the call takes a few microseconds and a promise would take longer.
 */
export function fileIdentity(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats?.isFile()) return undefined;
  return `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
}

/** The size of a regular file in bytes; undefined if there is none. Synchronous like `fileIdentity`. */
export function fileSize(path: string): number | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : undefined;
}

/** Returns a text that is the same for all hard links of a regular file; undefined if there is none. Synchronous like `fileIdentity`. */
export function inodeIdentityOf(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? `${stats.dev} ${stats.ino}` : undefined;
}

/** The `inodeIdentityOf` of all files in a folder and in the folders directly below it. */
export async function listInodeIdentitiesUnder(path: string): Promise<ReadonlySet<string>> {
  const identities = new Set<string>();
  for (const { name, kind } of await listFolder(path)) {
    const filesInside = kind === 'folder' ? await listFolder(join(path, name)) : [];
    for (const file of [
      join(path, name),
      ...filesInside.map((entry) => join(path, name, entry.name)),
    ]) {
      const identity = inodeIdentityOf(file);
      if (identity !== undefined) identities.add(identity);
    }
  }
  return identities;
}

/**
 * Moves a file or folder of the data folder to the same path below `quarantine/`, with a number appended if that path is taken. Returns the
 * new path, relative to the data folder.
 */
export async function quarantineFile(folder: DataFolder, path: string): Promise<string> {
  const quarantinePath = join('quarantine', relative(folder.root, path));
  await makeFolder(dirname(join(folder.root, quarantinePath)));
  let target = quarantinePath;
  for (let n = 2; fileExists(join(folder.root, target)); n++) target = `${quarantinePath}-${n}`;
  await moveFile(path, join(folder.root, target));
  await syncFolder(dirname(join(folder.root, target)));
  return target;
}

/** Whether the name exists, even as a dangling link. Synchronous like `fileIdentity`. */
export function fileExists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw wrapFileError(path, 'read', error);
  }
}

/** Removes a file, if it exists. */
export async function removeFile(path: string): Promise<void> {
  await fileStep(path, 'remove', 'remove', () => fs.rm(path, { force: true }));
}

/** Removes a file that is no longer needed. Never throws: a file that cannot be removed stays until a sweep of the data folder. */
export async function discardFile(path: string): Promise<void> {
  await rawFileStep('remove', () => fs.rm(path, { force: true })).catch(() => undefined);
}

/** Removes a folder recursively, if it exists, without following links. */
export async function removeTree(path: string): Promise<void> {
  await fileStep(path, 'remove', 'remove', () =>
    fs.rm(path, { recursive: true, force: true, maxRetries: 2 }),
  );
}

/** Removes all entries of a folder except those that `keep` returns true for; returns the removed names. */
export async function sweepFolder(
  path: string,
  keep: (name: string) => boolean = () => false,
): Promise<readonly string[]> {
  const goneNames = (await listFolder(path))
    .map((entry) => entry.name)
    .filter((name) => !keep(name));
  for (const name of goneNames) await removeTree(join(path, name));
  return goneNames;
}

/** Free bytes of the file system that holds this path. */
export async function readFreeBytes(path: string): Promise<number> {
  const stats = await fs.statfs(path);
  return freeBytesOrFault(stats.bavail * stats.bsize);
}

/** Throws if a parent folder is a symbolic link, which could lead out of the data folder (threat D2). */
export async function refuseLinkedFolder(path: string): Promise<void> {
  const folder = dirname(path);
  const real = await fileStep(folder, 'read', 'stat', () => fs.realpath(folder));
  if (real !== folder) throw damagedFileError(path, 'is reached through a symbolic link');
}
