import { createHash } from 'node:crypto';
import { dirname, sep } from 'node:path';
import { replaceFile } from '../core/atomic-files.js';
import { BlockChecksums, blockBytes, VerifiedBlocks } from '../core/block-checksums.js';
import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { fileIdentity, fileSize, folderIdentity, makeFolder, openFile } from '../core/files.js';
import { LruCache } from '../core/lru-cache.js';
import { encodeSchemaFile, isSchemaFileWhole } from './schema-file.js';
import type { Segment, Snapshot } from './store.js';

/** When one check has computed the checksums of segments with this many bytes, it compares only the sizes of further segments. */
const maxFirstChecksumBytes = 16 * 1024 ** 3;
/** Maximum number of files whose identities are remembered; the files of segments that are no longer read are forgotten first. */
const maxVerifiedFiles = 200_000;

/**
 * Detects altered segment files (threat R7). A reader of a file compares each block with its checksum (`VerifiedBlocks`). This class
 * compares the sizes of files, and the whole content of a file that has no block checksums or whose identity (inode, size, times) has
 * changed. The identities of a snapshot's files are compared again after `everyMs`, or when a file was added to or removed from the folder:
 * hundreds of `stat` calls for every query would take as long as many queries do.
 */
export class SegmentIntegrity {
  readonly #folder: DataFolder;
  /** For each path, the identity of the file when it was last verified. */
  readonly #verifiedIdentities: LruCache<string, string>;
  /** Snapshots checked in this iteration of the event loop, so that 64 simultaneous requests need one check. */
  readonly #justChecked = new Set<Snapshot>();
  readonly #checks = new WeakMap<Snapshot, FolderCheck>();
  readonly #everyMs: number;

  constructor(folder: DataFolder, everyMs: number, maxFiles = maxVerifiedFiles) {
    this.#folder = folder;
    this.#everyMs = everyMs;
    this.#verifiedIdentities = new LruCache(maxFiles);
  }

  /** Throws `damaged`, naming dataset and file, if it finds that a segment of the snapshot is missing or altered. */
  async check(snapshot: Snapshot): Promise<void> {
    if (this.#justChecked.has(snapshot)) return;
    const now = performance.now();
    const lastCheck = this.#checks.get(snapshot);
    const folderPath = lastCheck?.folderPath ?? this.#folder.dataset(snapshot.datasetId);
    const folder = folderIdentity(folderPath) ?? 'none';
    if (lastCheck !== undefined && now < lastCheck.until && lastCheck.folder === folder) return;
    let bytesRead = 0;
    for (const [i, segment] of snapshot.segments.entries()) {
      const path = snapshot.files[i + 1]!; // the first file is the schema file
      const verifiedIdentity = this.#verifiedIdentities.get(path);
      if (verifiedIdentity !== undefined && verifiedIdentity === fileIdentity(path)) continue;
      const identity = fileIdentity(path);
      const isVerifiedOnRead =
        verifiedIdentity === undefined && segment.blockChecksums !== undefined;
      const problem = isVerifiedOnRead
        ? fileSizeProblem(path, segment)
        : await findSegmentFileProblem(path, segment, bytesRead < maxFirstChecksumBytes);
      if (problem !== undefined) {
        const name = `dataset ${snapshot.datasetId}: segment ${segment.path}`;
        throw new AppError('damaged', `${name} ${problem}; restore the file from a backup`);
      }
      if (!isVerifiedOnRead) bytesRead += segment.bytes;
      this.#verifiedIdentities.set(path, identity ?? '');
    }
    this.#checks.set(snapshot, { folderPath, until: now + this.#everyMs, folder });
    if (this.#justChecked.size === 0) setImmediate(() => this.#justChecked.clear());
    this.#justChecked.add(snapshot);
  }

  /**
   * Writes the schema file of a snapshot again if it is missing, because a vacuum has removed it since the snapshot was built, or if it was
   * altered: engines that read it by themselves would return its records. It is read once per process while its identity stays the same.
   */
  async ensureSchemaFile({ columns, files: [path = ''] }: Snapshot): Promise<void> {
    const identity = fileIdentity(path);
    if (identity !== undefined && this.#verifiedIdentities.get(path) === identity) return;
    if (identity === undefined || !(await isSchemaFileWhole(path, columns))) {
      await makeFolder(dirname(path));
      await replaceFile(path, encodeSchemaFile(columns));
    }
    this.#verifiedIdentities.set(path, fileIdentity(path) ?? '');
  }

  /** Forgets what is known of a dataset. */
  forget(datasetId: number): void {
    const prefix = this.#folder.dataset(datasetId) + sep;
    for (const path of this.#verifiedIdentities.keys())
      if (path.startsWith(prefix)) this.#verifiedIdentities.delete(path);
  }
}

/** A successful check of a snapshot's files: the path and the identity of their folder, and the time until which the check is valid. */
interface FolderCheck {
  readonly folderPath: string;
  readonly folder: string;
  readonly until: number;
}

/**
 * Compares whole files with their block checksums, for engines that read files by themselves. Each file is compared once per process while
 * its identity stays the same.
 */
export class VerifiedFiles {
  /** For each path, the identity of the file when it was verified. */
  readonly #verifiedIdentities = new LruCache<string, string>(maxVerifiedFiles);

  /**
   * Throws `damaged` if a segment of the snapshot is missing or altered. Segments without block checksums have already been verified by the
   * store.
   */
  async check(snapshot: Snapshot): Promise<void> {
    for (const [i, segment] of snapshot.segments.entries()) {
      const path = snapshot.files[i + 1]!;
      const { blockChecksums } = segment;
      const identity = fileIdentity(path);
      if (blockChecksums === undefined) continue;
      if (identity !== undefined && this.#verifiedIdentities.get(path) === identity) continue;
      const alteredError = (): AppError => new AppError('damaged', `segment ${segment.path} ${alteredFileMessage}`); // prettier-ignore
      const file = await openFile(path);
      try {
        const blocks = new VerifiedBlocks(blockChecksums, file.bytes, alteredError);
        let block = 0;
        for await (const piece of file.stream(0, file.bytes, blocksPerRead * blockBytes)) {
          blocks.verifyAll(block, piece);
          block += blocksPerRead;
        }
      } finally {
        await file.close();
      }
      this.#verifiedIdentities.set(path, identity ?? '');
    }
  }
}

const blocksPerRead = 32;

const alteredFileMessage = 'does not match its checksum; restore the file from a backup';

function fileSizeProblem(path: string, segment: Segment): string | undefined {
  const bytes = fileSize(path);
  if (bytes === undefined) return 'is missing';
  return bytes === segment.bytes ? undefined : `has ${bytes} bytes, should be ${segment.bytes}`;
}

/** Returns the problem of a segment's file as the end of a message; undefined if there is none. Rejects if the file cannot be read. */
async function findSegmentFileProblem(
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

/** Returns the problem of a segment's whole file as the end of a message, also if the file cannot be read; undefined if there is none. */
export function findSegmentProblemOrReadError(
  path: string,
  segment: Segment,
): Promise<string | undefined> {
  return findSegmentFileProblem(path, segment).catch(
    (error: unknown) => `cannot be read: ${error instanceof Error ? error.message : error}`,
  );
}
