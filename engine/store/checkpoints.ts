import { replaceFile } from '../core/atomic-files.js';
import { crashpoint } from '../core/crashpoint.js';
import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { createFile } from '../core/file-writer.js';
import { fileSize, linkFile, removeFile, syncFolder } from '../core/files.js';
import { encodeCheckpoint } from './checkpoint.js';
import { readLogContents } from './log.js';
import { replayLog } from './snapshot.js';
import type { SnapshotCache } from './snapshot-cache.js';
import type { Checkpoint } from './store.js';

/** A checkpoint is due after this many log entries, or after `maxEntryBytesPerCheckpoint` of entries, because a few entries may be large. */
const maxEntriesPerCheckpoint = 100;
const maxEntryBytesPerCheckpoint = 8 << 20;
/** Number of checkpoints that are kept: the newest and the one before it, in case the newest is damaged. */
const retainedCheckpoints = 2;

/** The known checkpoints of a dataset. */
interface KnownCheckpoints {
  /** The version of the newest checkpoint; -1 without one. */
  readonly newest: number;
  /** The version up to which `bytes` has the total size of the log entries after the newest checkpoint. */
  counted: number;
  bytes: number;
}

/** Tells when a checkpoint of a dataset's log is due, and publishes checkpoints that a worker has written. */
export class Checkpoints {
  readonly #folder: DataFolder;
  readonly #snapshots: SnapshotCache;
  readonly #known = new Map<number, KnownCheckpoints>();

  constructor(folder: DataFolder, snapshots: SnapshotCache) {
    this.#folder = folder;
    this.#snapshots = snapshots;
  }

  /** Returns whether a checkpoint of the current version is due. */
  async isDue(datasetId: number): Promise<boolean> {
    const { version } = (await this.#snapshots.current(datasetId)).state;
    let knownCheckpoint = this.#known.get(datasetId);
    if (knownCheckpoint === undefined) {
      const newest = (await readLogContents(this.#folder, datasetId)).checkpoints.at(-1) ?? -1;
      knownCheckpoint = { newest, counted: newest, bytes: 0 };
      this.#known.set(datasetId, knownCheckpoint);
    }
    if (version - knownCheckpoint.newest >= maxEntriesPerCheckpoint) return true;
    while (knownCheckpoint.counted < version)
      knownCheckpoint.bytes +=
        fileSize(this.#folder.logEntry(datasetId, ++knownCheckpoint.counted)) ?? 0;
    return knownCheckpoint.bytes >= maxEntryBytesPerCheckpoint;
  }

  /** Implements `Store.publishCheckpoint`. */
  async publish(datasetId: number, file: string, checkpoint: Checkpoint): Promise<void> {
    const { version, rows, bytes, segments } = checkpoint;
    await linkFile(this.#folder.requireInside(file), this.#folder.checkpoint(datasetId, version));
    await syncFolder(this.#folder.deltaLog(datasetId));
    crashpoint('checkpoint.linked');
    const checkpointEntry = { version, size: rows, sizeInBytes: bytes, numOfAddFiles: segments };
    await replaceFile(
      this.#folder.lastCheckpoint(datasetId),
      Buffer.from(`${JSON.stringify(checkpointEntry)}\n`),
    );
    crashpoint('checkpoint.named');
    this.#known.set(datasetId, { newest: version, counted: version, bytes: 0 });
    const { checkpoints } = await readLogContents(this.#folder, datasetId);
    for (const old of checkpoints.slice(0, -retainedCheckpoints))
      await removeFile(this.#folder.checkpoint(datasetId, old));
  }

  /** Forgets what is known of a dropped dataset. */
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
  const state = await replayLog(folder, datasetId, version);
  if (state.version !== version)
    throw new AppError('conflict', `dataset ${datasetId} has no version ${version} any more`);
  const { bytes, rows } = encodeCheckpoint(datasetId, state);
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
