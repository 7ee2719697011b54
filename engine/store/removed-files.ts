/** A segment that a version of the log has removed: a tombstone of Delta. */
export interface RemovedFile {
  readonly bytes: number;
  /** The time of the log entry that removed the segment, in milliseconds since 1970. Until then, the version before it was the newest. */
  readonly removedAt: number;
  /** The latest time of the log entries before the one that removed the segment, if that time is later than `removedAt` (entry-time.ts). */
  readonly latestTimeBeforeRemoval?: number | undefined;
  /** Whether a vacuum has begun to remove the file. */
  readonly isVacuumed: boolean;
}

/** A file with its place in the order of removal. */
interface NumberedFile extends RemovedFile {
  readonly number: number;
}

/**
 * The removed segments of a log's state by path, in the order of their removal. Immutable. The states of a log share one map, of which each
 * has the first `size` files, so that the state after an entry costs what the entry removes. Only a vacuum copies the map, and an entry
 * that does not follow the files as the map has them.
 */
export class RemovedFiles implements Iterable<readonly [string, RemovedFile]> {
  readonly size: number;
  /** The total size of the files. */
  readonly bytes: number;
  readonly #files: Map<string, NumberedFile>;

  private constructor(files: Map<string, NumberedFile>, size: number, bytes: number) {
    this.#files = files;
    this.size = size;
    this.bytes = bytes;
  }

  static of(files: Iterable<readonly [string, RemovedFile]>): RemovedFiles {
    const numberedFiles = new Map<string, NumberedFile>();
    let totalBytes = 0;
    for (const [path, file] of files) {
      numberedFiles.set(path, { ...file, number: numberedFiles.size });
      totalBytes += file.bytes;
    }
    return new RemovedFiles(numberedFiles, numberedFiles.size, totalBytes);
  }

  get(path: string): RemovedFile | undefined {
    const file = this.#files.get(path);
    return file !== undefined && file.number < this.size ? file : undefined;
  }

  *[Symbol.iterator](): Generator<readonly [string, RemovedFile]> {
    let filesLeft = this.size;
    for (const entry of this.#files) {
      if (filesLeft-- === 0) return;
      yield entry;
    }
  }

  /** Returns these files and one more, which has another path. */
  with(
    path: string,
    bytes: number,
    removedAt: number,
    latestTimeBeforeRemoval?: number,
  ): RemovedFiles {
    const file = {
      bytes,
      removedAt,
      latestTimeBeforeRemoval,
      isVacuumed: false,
      number: this.size,
    };
    const files = this.#isNext(path, file) ? this.#files : RemovedFiles.of(this).#files;
    if (!files.has(path)) files.set(path, file);
    return new RemovedFiles(files, this.size + 1, this.bytes + bytes);
  }

  /** Returns whether a file is the one that follows these files in the shared map, or can be added to it. */
  #isNext(
    path: string,
    { bytes, removedAt, latestTimeBeforeRemoval, number }: NumberedFile,
  ): boolean {
    const knownFile = this.#files.get(path);
    // All logs begin with the same empty state.
    if (knownFile === undefined) return number > 0 && this.#files.size === number;
    return (
      knownFile.number === number &&
      knownFile.bytes === bytes &&
      knownFile.removedAt === removedAt &&
      knownFile.latestTimeBeforeRemoval === latestTimeBeforeRemoval &&
      !knownFile.isVacuumed
    );
  }
}
