import { setImmediate } from 'node:timers/promises';
import type { DataFolder } from '../core/data-folder.js';
import { fileSize } from '../core/files.js';
import type { FilesOnDisk } from './store.js';

/** Number of files that are looked up before other work of the process gets its turn. */
const filesPerSlice = 500;

/** The total size of a dataset's log entries after a version. An entry never changes, so each file is looked up once. */
export class EntrySizes {
  readonly #folder: DataFolder;
  readonly #datasetId: number;
  readonly #after: number;
  #last: number;
  #bytes = 0;

  constructor(folder: DataFolder, datasetId: number, after: number) {
    this.#folder = folder;
    this.#datasetId = datasetId;
    this.#after = after;
    this.#last = after;
  }

  /** Returns the number and the total size of the entries up to `version`, or up to that of an earlier call if that is greater. */
  async upTo(version: number): Promise<FilesOnDisk> {
    while (this.#last < version) {
      const path = this.#folder.logEntry(this.#datasetId, this.#last + 1);
      this.#bytes += fileSize(path) ?? 0;
      this.#last++;
      if (this.#last % filesPerSlice === 0) await setImmediate();
    }
    return { files: this.#last - this.#after, bytes: this.#bytes };
  }
}
