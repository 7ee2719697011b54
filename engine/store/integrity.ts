import { createHash } from 'node:crypto';
import { sep } from 'node:path';
import type { DataFolder } from '../core/data-folder.js';
import { AppError } from '../core/errors.js';
import { fileIdentity, folderIdentity, openFile } from '../core/files.js';
import type { Segment, Snapshot } from './store.js';

/** Beyond so many bytes in one dataset, size and footer are trusted when it is first opened, and checksums are left to `verify`. */
const checksumBytes = 16 * 1024 ** 3;

/**
 * Knows which segment files are whole. A file is read and compared with its checksum when this process first meets it, and
 * again when its identity (inode, size, times) has changed; in between, a look at the identity is enough (threats R7). The files of a
 * snapshot are looked at again after `everyMs`, or when one of the folder has come or gone: hundreds of looks for each query
 * would take as long as many a query.
 */
export class Integrity {
  readonly #folder: DataFolder;
  /** Path to the identity that the file had when it was found whole. */
  readonly #whole = new Map<string, string>();
  /** The snapshots found whole in this turn of the event loop: of 64 requests that came together, one has looked. */
  readonly #now = new Set<Snapshot>();
  /** Until when a snapshot counts as whole while its folder stays as it is. */
  readonly #looked = new WeakMap<Snapshot, { readonly until: number; readonly folder: string }>();
  readonly #everyMs: number;

  constructor(folder: DataFolder, everyMs: number) {
    this.#folder = folder;
    this.#everyMs = everyMs;
  }

  /** Throws `damaged`, naming dataset and file, unless every segment of the snapshot is whole. */
  async check(snapshot: Snapshot): Promise<void> {
    if (this.#now.has(snapshot)) return;
    const now = performance.now();
    const folder = folderIdentity(this.#folder.dataset(snapshot.datasetId)) ?? 'none';
    const looked = this.#looked.get(snapshot);
    if (looked !== undefined && now < looked.until && looked.folder === folder) return;
    let read = 0;
    for (const [i, segment] of snapshot.segments.entries()) {
      const path = snapshot.files[i + 1]!; // the first is the schema file
      const known = this.#whole.get(path);
      // A microsecond a segment: cheap enough for every query.
      if (known !== undefined && known === fileIdentity(path)) continue;
      const identity = fileIdentity(path);
      const problem = await problemOf(path, segment, read < checksumBytes);
      if (problem !== undefined) {
        const name = `dataset ${snapshot.datasetId}: segment ${segment.path}`;
        throw new AppError('damaged', `${name} ${problem}; restore the file from a backup`);
      }
      read += segment.bytes;
      this.#whole.set(path, identity ?? '');
    }
    this.#looked.set(snapshot, { until: now + this.#everyMs, folder });
    if (this.#now.size === 0) setImmediate(() => this.#now.clear());
    this.#now.add(snapshot);
  }

  /** Forgets a dataset that was dropped. */
  forget(datasetId: number): void {
    const prefix = this.#folder.dataset(datasetId) + sep;
    for (const path of this.#whole.keys()) if (path.startsWith(prefix)) this.#whole.delete(path);
  }
}

/** What is wrong with a segment's file, in words; undefined if nothing is. */
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
    for await (const piece of file.stream()) digest.update(piece);
    return digest.digest('hex') === segment.checksum ? undefined : 'does not match its checksum';
  } finally {
    await file.close();
  }
}
