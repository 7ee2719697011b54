import type { DataFolder } from '../core/data-folder.js';
import { fileSize } from '../core/files.js';
import type { Checkpoints } from './checkpoints.js';
import { EntrySizes } from './entry-sizes.js';
import type { SnapshotCache } from './snapshot-cache.js';
import type { DiskUse, FilesOnDisk } from './store.js';

/**
 * Computes the disk space that the files of datasets take. The sizes of segments come from the log. Those of log entries are added up once
 * and then kept, so that a later request looks up only the entries that were written since.
 */
export class DiskUses {
  readonly #folder: DataFolder;
  readonly #snapshots: SnapshotCache;
  readonly #checkpoints: Checkpoints;
  /** For each dataset whose disk use was asked for, the sizes of all entries of its log. */
  readonly #entries = new Map<number, EntrySizes>();

  constructor(folder: DataFolder, snapshots: SnapshotCache, checkpoints: Checkpoints) {
    this.#folder = folder;
    this.#snapshots = snapshots;
    this.#checkpoints = checkpoints;
  }

  /** Implements `Store.diskUse`. */
  async get(datasetId: number): Promise<DiskUse> {
    const { version, live, removed, readableSince } = (await this.#snapshots.current(datasetId))
      .state;
    return {
      version,
      readableSince,
      live: totalOf(Array.from(live.values(), ({ bytes }) => bytes)),
      old: { files: removed.size, bytes: removed.bytes },
      // Nothing is kept of a dataset without a log: it may be in its archive, from which the log comes back.
      entries: version < 0 ? totalOf([]) : await this.#entrySizes(datasetId).upTo(version),
      checkpoints: totalOf(version < 0 ? [] : await this.#checkpointSizes(datasetId)),
    };
  }

  /** Forgets what is known of a dataset. */
  forget(datasetId: number): void {
    this.#entries.delete(datasetId);
  }

  #entrySizes(datasetId: number): EntrySizes {
    let sizes = this.#entries.get(datasetId);
    if (sizes === undefined)
      this.#entries.set(datasetId, (sizes = new EntrySizes(this.#folder, datasetId, -1)));
    return sizes;
  }

  /** Returns the sizes of the checkpoints and of the file that names the newest one. */
  async #checkpointSizes(datasetId: number): Promise<readonly number[]> {
    const versions = await this.#checkpoints.versions(datasetId);
    const paths = versions.map((version) => this.#folder.checkpoint(datasetId, version));
    const sizes = [...paths, this.#folder.lastCheckpoint(datasetId)].map(fileSize);
    return sizes.filter((bytes) => bytes !== undefined);
  }
}

function totalOf(sizes: readonly number[]): FilesOnDisk {
  return { files: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}
