import { replaceFile } from '../core/atomic-files.js';
import { crashpoint } from '../core/crashpoint.js';
import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { createFile } from '../core/file-writer.js';
import { fileSize, linkFile, removeFile, syncFolder } from '../core/files.js';
import { checkpointBytes } from './checkpoint.js';
import { logContents } from './log.js';
import { replay } from './snapshot.js';
import type { SnapshotCache } from './snapshot-cache.js';
import type { Checkpoint } from './store.js';

/** A checkpoint is due after so many entries, or after so many bytes of entries, which a few large ones may have. */
const maxEntries = 100;
const maxBytes = 8 << 20;
/** Older checkpoints are removed; the one before the newest stays, in case that one is damaged. */
const kept = 2;

/** What is known of the checkpoints of a dataset. */
interface KnownCheckpoints {
  /** The version of the newest one; -1 without one. */
  readonly newest: number;
  /** The bytes of the entries after it, up to the version `counted`. */
  counted: number;
  bytes: number;
}

/** Tells when a checkpoint of a dataset's log is due, and publishes those that were written. */
export class Checkpoints {
  readonly #folder: DataFolder;
  readonly #snapshots: SnapshotCache;
  readonly #known = new Map<number, KnownCheckpoints>();

  constructor(folder: DataFolder, snapshots: SnapshotCache) {
    this.#folder = folder;
    this.#snapshots = snapshots;
  }

  /** Whether a checkpoint of the current version is due. */
  async isDue(datasetId: number): Promise<boolean> {
    const { version } = (await this.#snapshots.current(datasetId)).state;
    let known = this.#known.get(datasetId);
    if (known === undefined) {
      const newest = (await logContents(this.#folder, datasetId)).checkpoints.at(-1) ?? -1;
      known = { newest, counted: newest, bytes: 0 };
      this.#known.set(datasetId, known);
    }
    if (version - known.newest >= maxEntries) return true;
    while (known.counted < version)
      known.bytes += fileSize(this.#folder.logEntry(datasetId, ++known.counted)) ?? 0;
    return known.bytes >= maxBytes;
  }

  /** Gives a checkpoint its name, as `Store.publishCheckpoint` says. */
  async publish(datasetId: number, file: string, checkpoint: Checkpoint): Promise<void> {
    const { version, rows, bytes, segments } = checkpoint;
    await linkFile(this.#folder.checked(file), this.#folder.checkpoint(datasetId, version));
    await syncFolder(this.#folder.log(datasetId));
    crashpoint('checkpoint.linked');
    const named = { version, size: rows, sizeInBytes: bytes, numOfAddFiles: segments };
    await replaceFile(
      this.#folder.lastCheckpoint(datasetId),
      Buffer.from(`${JSON.stringify(named)}\n`),
    );
    crashpoint('checkpoint.named');
    this.#known.set(datasetId, { newest: version, counted: version, bytes: 0 });
    const { checkpoints } = await logContents(this.#folder, datasetId);
    for (const old of checkpoints.slice(0, -kept))
      await removeFile(this.#folder.checkpoint(datasetId, old));
  }

  /** Forgets a dataset that was dropped. */
  forget(datasetId: number): void {
    this.#known.delete(datasetId);
  }
}

/** Writes the checkpoint of a version to a new file and flushes it. */
export async function writeCheckpoint(
  folder: DataFolder,
  datasetId: number,
  version: number,
  file: string,
): Promise<Checkpoint> {
  const state = await replay(folder, datasetId, version);
  if (state.version !== version)
    throw new AppError('conflict', `dataset ${datasetId} has no version ${version} any more`);
  const { bytes, rows } = checkpointBytes(datasetId, state);
  const writer = await createFile(file);
  try {
    await writer.write(bytes);
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
  return { version, rows, bytes: bytes.byteLength, segments: state.live.size };
}
