import { replaceFile } from '../core/atomic-files.js';
import { crashpoint } from '../core/crashpoint.js';
import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { createFile } from '../core/file-writer.js';
import { fileSize, linkFile, removeFile, syncFolder } from '../core/files.js';
import { encodeCheckpoint } from './checkpoint.js';
import { EntrySizes } from './entry-sizes.js';
import { readFooter } from './footer.js';
import { readLogContents } from './log.js';
import { replayLog } from './replay-log.js';
import type { SnapshotCache } from './snapshot-cache.js';
import type { Checkpoint } from './store.js';

/**
 * A checkpoint is due after this many log entries, or after `minEntryBytesPerCheckpoint` of entries, because a few entries may be large. As
 * a checkpoint is written whole, the next one is due after more entries if it is large: after one for each `rowsPerEntry` rows of it, or
 * after as many bytes as it has. So the work of checkpoints for one entry does not grow with the state of the log.
 */
const minEntriesPerCheckpoint = 100;
const minEntryBytesPerCheckpoint = 8 << 20;
const rowsPerEntry = 10;
/** Number of checkpoints that are kept: the newest and the one before it, in case the newest is damaged. */
const retainedCheckpoints = 2;

/** The known checkpoints of a dataset. */
interface KnownCheckpoints {
  /** Ascending. */
  readonly versions: readonly number[];
  /** The newest checkpoint; its version is -1 without one. */
  readonly newest: Pick<Checkpoint, 'version' | 'rows' | 'bytes'>;
  /** The sizes of the log entries after the newest checkpoint. */
  readonly entries: EntrySizes;
}

/** Tells when a checkpoint of a dataset's log is due, and publishes checkpoints that a worker has written. */
export class Checkpoints {
  readonly #folder: DataFolder;
  readonly #snapshots: SnapshotCache;
  readonly #checkpointsByDataset = new Map<number, KnownCheckpoints>();

  constructor(folder: DataFolder, snapshots: SnapshotCache) {
    this.#folder = folder;
    this.#snapshots = snapshots;
  }

  /** Returns whether a checkpoint of the current version is due. */
  async isDue(datasetId: number): Promise<boolean> {
    const { version } = (await this.#snapshots.current(datasetId)).state;
    const { newest, entries } = await this.#knownCheckpoints(datasetId);
    if (version - newest.version >= Math.max(minEntriesPerCheckpoint, newest.rows / rowsPerEntry))
      return true;
    const { bytes } = await entries.upTo(version);
    return bytes >= Math.max(minEntryBytesPerCheckpoint, newest.bytes);
  }

  /** Returns the versions that have a checkpoint, ascending. */
  async versions(datasetId: number): Promise<readonly number[]> {
    return (await this.#knownCheckpoints(datasetId)).versions;
  }

  async #knownCheckpoints(datasetId: number): Promise<KnownCheckpoints> {
    const knownCheckpoints = this.#checkpointsByDataset.get(datasetId);
    if (knownCheckpoints !== undefined) return knownCheckpoints;
    const { checkpoints } = await readLogContents(this.#folder, datasetId);
    const version = checkpoints.at(-1);
    if (version === undefined) return this.#setKnown(datasetId, [], { version: -1, ...noSize });
    const size = await checkpointSize(this.#folder.checkpoint(datasetId, version));
    // A checkpoint may have been published meanwhile.
    return (
      this.#checkpointsByDataset.get(datasetId) ??
      this.#setKnown(datasetId, checkpoints, { version, ...size })
    );
  }

  #setKnown(
    datasetId: number,
    versions: readonly number[],
    newest: KnownCheckpoints['newest'],
  ): KnownCheckpoints {
    const entries = new EntrySizes(this.#folder, datasetId, newest.version);
    const knownCheckpoints = { versions, newest, entries };
    this.#checkpointsByDataset.set(datasetId, knownCheckpoints);
    return knownCheckpoints;
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
    const { checkpoints } = await readLogContents(this.#folder, datasetId);
    this.#setKnown(datasetId, checkpoints.slice(-retainedCheckpoints), checkpoint);
    for (const oldVersion of checkpoints.slice(0, -retainedCheckpoints))
      await removeFile(this.#folder.checkpoint(datasetId, oldVersion));
  }

  /** Forgets what is known of a dataset. */
  forget(datasetId: number): void {
    this.#checkpointsByDataset.delete(datasetId);
  }
}

/** Returns the size of a checkpoint. If its footer cannot be read, it counts as empty, so that the next checkpoint is due soon. */
async function checkpointSize(path: string): Promise<Pick<Checkpoint, 'rows' | 'bytes'>> {
  const footer = await readFooter(path).catch(() => undefined);
  if (footer === undefined) return noSize;
  return { rows: Number(footer.num_rows), bytes: fileSize(path) ?? 0 };
}

const noSize = { rows: 0, bytes: 0 };

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
  let rows = 0;
  const writer = await createFile(file);
  try {
    for await (const piece of encodeCheckpoint(datasetId, state, (count) => (rows += count)))
      await writer.write(piece);
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
  return { version, rows, bytes: writer.bytes, segments: state.live.size };
}
