import { createHash } from 'node:crypto';
import { sep } from 'node:path';
import { BlockChecksums, blockBytes, VerifiedBlocks } from '../core/block-checksums.js';
import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { fileIdentity, fileSize, folderIdentity, openFile } from '../core/files.js';
import type { Segment, Snapshot } from './store.js';

/**
 * For segments of earlier formats, checksums of at most this many bytes are computed when a dataset is first opened; beyond, only sizes are
 * checked.
 */
const checksumBytes = 16 * 1024 ** 3;

/**
 * Detects altered segment files (threats R7). Whoever reads a file compares its blocks with their checksums (`VerifiedBlocks`); here their
 * sizes are compared, and the whole of a file that has no such checksums, or whose identity (inode, size, times) has changed. The identities of a snapshot's files are compared again after `everyMs`, or when a file
 * was added to or removed from the folder: hundreds of `stat` calls for every query would take as long as many a query.
 */
export class Integrity {
  readonly #folder: DataFolder;
  /** For each path, the identity of the file when it was last verified. */
  readonly #verified = new Map<string, string>();
  /** Snapshots checked in this iteration of the event loop, so that 64 simultaneous requests need one check. */
  readonly #justChecked = new Set<Snapshot>();
  readonly #checks = new WeakMap<Snapshot, FolderCheck>();
  readonly #everyMs: number;

  constructor(folder: DataFolder, everyMs: number) {
    this.#folder = folder;
    this.#everyMs = everyMs;
  }

  /** Throws `damaged`, with dataset and file, if a segment of the snapshot is missing or altered. */
  async check(snapshot: Snapshot): Promise<void> {
    if (this.#justChecked.has(snapshot)) return;
    const now = performance.now();
    const last = this.#checks.get(snapshot);
    const folderPath = last?.folderPath ?? this.#folder.dataset(snapshot.datasetId);
    const folder = folderIdentity(folderPath) ?? 'none';
    if (last !== undefined && now < last.until && last.folder === folder) return;
    let read = 0;
    for (const [i, segment] of snapshot.segments.entries()) {
      const path = snapshot.files[i + 1]!; // the first is the schema file
      const verifiedIdentity = this.#verified.get(path);
      if (verifiedIdentity !== undefined && verifiedIdentity === fileIdentity(path)) continue;
      const identity = fileIdentity(path);
      const isReadLater = verifiedIdentity === undefined && segment.blockChecksums !== undefined;
      const problem = isReadLater
        ? sizeProblem(path, segment)
        : await problemOf(path, segment, read < checksumBytes);
      if (problem !== undefined) {
        const name = `dataset ${snapshot.datasetId}: segment ${segment.path}`;
        throw new AppError('damaged', `${name} ${problem}; restore the file from a backup`);
      }
      if (!isReadLater) read += segment.bytes;
      this.#verified.set(path, identity ?? '');
    }
    this.#checks.set(snapshot, { folderPath, until: now + this.#everyMs, folder });
    if (this.#justChecked.size === 0) setImmediate(() => this.#justChecked.clear());
    this.#justChecked.add(snapshot);
  }

  /** Forgets a dataset that was dropped. */
  forget(datasetId: number): void {
    const prefix = this.#folder.dataset(datasetId) + sep;
    for (const path of this.#verified.keys())
      if (path.startsWith(prefix)) this.#verified.delete(path);
  }
}

/** A check of the files of a snapshot: the path and the identity of their folder, and the time until which it is valid. */
interface FolderCheck {
  readonly folderPath: string;
  readonly folder: string;
  readonly until: number;
}

/**
 * Compares whole files with the checksums of their blocks, once in this process as long as their identity stays the same: for engines
 * that read files by themselves.
 */
export class VerifiedFiles {
  /** For each path, the identity of the file when it was verified. */
  readonly #verified = new Map<string, string>();

  /** Throws `damaged` if a segment of the snapshot is missing or altered. Segments of earlier formats have been verified by the store. */
  async check(snapshot: Snapshot): Promise<void> {
    for (const [i, segment] of snapshot.segments.entries()) {
      const path = snapshot.files[i + 1]!;
      const { blockChecksums } = segment;
      const identity = fileIdentity(path);
      if (blockChecksums === undefined) continue;
      if (identity !== undefined && this.#verified.get(path) === identity) continue;
      const alteredError = (): AppError => new AppError('damaged', `segment ${segment.path} ${alteredText}`); // prettier-ignore
      const file = await openFile(path);
      try {
        const blocks = new VerifiedBlocks(blockChecksums, file.bytes, alteredError);
        let block = 0;
        for await (const piece of file.stream(0, file.bytes, pieceBlocks * blockBytes)) {
          blocks.verifyAll(block, piece);
          block += pieceBlocks;
        }
      } finally {
        await file.close();
      }
      if (this.#verified.size > maxVerified) this.#verified.clear();
      this.#verified.set(path, identity ?? '');
    }
  }
}

/** Maximum number of files whose identity is kept. */
const maxVerified = 200_000;
/** Number of blocks that are read at a time. */
const pieceBlocks = 32;

const alteredText = 'does not match its checksum; restore the file from a backup';

function sizeProblem(path: string, segment: Segment): string | undefined {
  const bytes = fileSize(path);
  if (bytes === undefined) return 'is missing';
  return bytes === segment.bytes ? undefined : `has ${bytes} bytes, should be ${segment.bytes}`;
}

/** The problem of a segment's file, as the end of a message; undefined if there is none. Rejects if the file cannot be read. */
export async function problemOf(
  path: string,
  segment: Segment,
  withChecksum = true,
): Promise<string | undefined> {
  if (fileIdentity(path) === undefined) return 'is missing';
  const file = await openFile(path);
  try {
    if (file.bytes !== segment.bytes) return `has ${file.bytes} bytes, should be ${segment.bytes}`;
    if (!withChecksum) return undefined;
    const digest = createHash('sha256');
    const blocks = new BlockChecksums();
    const { checksum, blockChecksums } = segment;
    for await (const piece of file.stream()) {
      digest.update(piece);
      if (blockChecksums !== undefined) blocks.update(piece);
    }
    if (digest.digest('hex') !== checksum) return 'does not match its checksum';
    if (blockChecksums === undefined || blocks.finish() === blockChecksums) return undefined;
    return 'does not match the checksums of its blocks';
  } finally {
    await file.close();
  }
}

/** Like `problemOf` for the whole file, but reports a reading error as the problem. */
export function fileProblem(path: string, segment: Segment): Promise<string | undefined> {
  return problemOf(path, segment).catch(
    (error: unknown) => `cannot be read: ${error instanceof Error ? error.message : error}`,
  );
}
