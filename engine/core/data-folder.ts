import { isAbsolute, join, sep } from 'node:path';
import { AppError } from './errors.js';

/** Every file and folder below the root is named by the server, and matches this. */
const namePattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/;

/**
 * Where everything lies in the data folder. Knows names only and opens nothing (`files.ts` does), so a path that comes
 * from here cannot leave the root, whatever the ids and names that it was asked for.
 */
export class DataFolder {
  /** Absolute, and free of symbolic links when made by `openDataFolder`. */
  readonly root: string;

  constructor(root: string) {
    if (!isAbsolute(root)) throw new AppError('internal', `data folder ${root}: must be absolute`);
    this.root = root;
  }

  get catalog(): string {
    return this.path('catalog.sqlite');
  }
  get signingKey(): string {
    return this.path('keys', 'signing.key');
  }
  /** The folder with all datasets: the only one that the query engine may read. */
  get datasets(): string {
    return this.path('datasets');
  }
  get objects(): string {
    return this.path('objects');
  }
  get exports(): string {
    return this.path('exports');
  }
  get rejected(): string {
    return this.path('rejected');
  }
  get fileTables(): string {
    return this.path('file-tables');
  }
  get scratch(): string {
    return this.path('scratch');
  }

  /** A dataset's Delta table. */
  dataset(datasetId: number): string {
    return this.path('datasets', id(datasetId));
  }
  /** A file of a dataset, named as in its log: `<name>.parquet` or `_schema/<hash>.parquet`. */
  datasetFile(datasetId: number, relative: string): string {
    return this.path('datasets', id(datasetId), ...relative.split('/'));
  }
  /** A dataset's log: the truth about what is committed. */
  log(datasetId: number): string {
    return this.path('datasets', id(datasetId), '_delta_log');
  }
  logEntry(datasetId: number, version: number): string {
    return this.path('datasets', id(datasetId), '_delta_log', logEntryName(version));
  }
  /** The bytes of an object; `revision` counts its uploads, so that a second upload never touches the first. */
  object(objectId: number, revision: number): string {
    return this.path('objects', `${id(objectId)}-${id(revision)}`);
  }
  /** A finished export; `extension` as in `json.gz`. */
  export(exportId: number, extension: string): string {
    return this.path('exports', `${id(exportId)}.${extension}`);
  }
  /** The records that an import rejected, with the reasons; as long as the import exists. */
  rejectedLines(importId: number): string {
    return this.path('rejected', `${id(importId)}.jsonl.gz`);
  }
  /** An uploaded file as a table for queries; each `attempt` to make one has its own, so that none meets the rest of another. */
  fileTable(objectId: number, revision: number, attempt: number): string {
    return this.path('file-tables', `${id(objectId)}-${id(revision)}-${id(attempt)}`);
  }
  /** The folder that one attempt of a task may write to; removed when the task ends and swept at start. */
  taskScratch(taskId: number, attempt: number): string {
    return this.path('scratch', `${id(taskId)}-${id(attempt)}`);
  }
  /** Records that came in a request's body, until their import has run. */
  inlineRecords(importId: number): string {
    return this.path('scratch', `inline-${id(importId)}.json`);
  }

  /** The path of these names below the root; refuses any name that the server would not have made. */
  path(...names: readonly string[]): string {
    for (const name of names) {
      if (!namePattern.test(name) || name.includes('..')) {
        throw new AppError('internal', `${JSON.stringify(name)} is not a name of the data folder`);
      }
    }
    return join(this.root, ...names);
  }

  /** The given absolute path again, if it lies in this data folder by name; for paths that came in a message. */
  checked(path: string): string {
    if (!path.startsWith(this.root + sep)) {
      throw new AppError('internal', `${JSON.stringify(path)} is not in the data folder`);
    }
    return this.path(...path.slice(this.root.length + 1).split(sep));
  }
}

/** `00000000000000000042.json`, as the Delta protocol names versions. */
export function logEntryName(version: number): string {
  return `${id(version).padStart(20, '0')}.json`;
}

function id(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new AppError('internal', `${value} is not an id`);
  }
  return String(value);
}
