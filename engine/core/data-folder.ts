import { isAbsolute, join, sep } from 'node:path';
import { AppError } from './errors.js';

/** Matches the names that the server gives to files and folders in the data folder. */
const namePattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/;

/** The paths of all files and folders in the data folder. No path is outside of the root, whatever ids and names are passed. */
export class DataFolder {
  /** The root as an absolute path; symbolic links are resolved if `openDataFolder` created the object. */
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
  /** The file that lists the columns recently used by queries. */
  get hotColumns(): string {
    return this.path('hot-columns.json');
  }
  /** The folder with all datasets; each has a folder of its own in it. */
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
  /** The folder with the archives of datasets with the storage class Archive. */
  get archives(): string {
    return this.path('archives');
  }
  /** The folder with the tables made of uploaded files or of fields that queries compute, and with pages that are being written. */
  get fileTables(): string {
    return this.path('file-tables');
  }
  get scratch(): string {
    return this.path('scratch');
  }
  /** The folder for files that nothing needs, but that a sweep could not prove to be scratch; they keep their relative paths. */
  get quarantine(): string {
    return this.path('quarantine');
  }

  /** Returns the folder of a dataset, which is a Delta table. */
  dataset(datasetId: number): string {
    return this.path('datasets', idText(datasetId));
  }
  /**
   * Returns the path of a file or folder in the folder of a dataset; `relative` is its path there, such as `<name>.parquet` or
   * `_schema/<hash>.parquet`.
   */
  datasetFile(datasetId: number, relative: string): string {
    return this.path('datasets', idText(datasetId), ...relative.split('/'));
  }
  /** The folder of a dataset's log, which defines the committed state. */
  deltaLog(datasetId: number): string {
    return this.path('datasets', idText(datasetId), '_delta_log');
  }
  logEntry(datasetId: number, version: number): string {
    return this.path('datasets', idText(datasetId), '_delta_log', logEntryName(version));
  }
  /** The file with the state of a dataset's log after a version, from which a replay can begin. */
  checkpoint(datasetId: number, version: number): string {
    const name = logEntryName(version).replace('.json', '.checkpoint.parquet');
    return this.path('datasets', idText(datasetId), '_delta_log', name);
  }
  /** The file that names the newest checkpoint of a dataset, for other readers. */
  lastCheckpoint(datasetId: number): string {
    return this.path('datasets', idText(datasetId), '_delta_log', '_last_checkpoint');
  }
  /**
   * The file with the content of a version of a file; its name contains the number of the version, so that no version overwrites another.
   */
  object(objectId: number, revision: number): string {
    return this.path('objects', `${idText(objectId)}-${idText(revision)}`);
  }
  /** The folder for the parts of unfinished uploads. */
  get uploadParts(): string {
    return this.path('parts');
  }
  /**
   * The folder with the parts of a version of a file: `<id>` for the first version, as in releases without versions, and `<id>-<revision>`
   * for later versions.
   */
  uploadPartsOf(version: FileVersion): string {
    return this.path('parts', partFolder(version));
  }
  /** The file of a part, named by its number and the MD5 of its bytes in hex. */
  uploadPart(version: FileVersion, number: number, md5: string): string {
    return this.path('parts', partFolder(version), `${idText(number)}-${md5}`);
  }
  /** The file of a finished export; `extension` as in `json.gz`. */
  export(exportId: number, extension: string): string {
    return this.path('exports', `${idText(exportId)}.${extension}`);
  }
  /** The file of the records that an import or a migration rejected, with the reasons; kept as long as the import or migration exists. */
  rejectedLines(jobId: number): string {
    return this.path('rejected', `${idText(jobId)}.jsonl.gz`);
  }
  /** The file with all files of an archived dataset. */
  archive(datasetId: number): string {
    return this.path('archives', `${idText(datasetId)}.tar.zst`);
  }
  /**
   * The folder that a task fills with a table: an uploaded file as segments or, with the id of a dataset and revision 0, fields that a
   * query computes.
   */
  fileTable(objectId: number, revision: number, taskId: number): string {
    return this.path('file-tables', `${idText(objectId)}-${idText(revision)}-${idText(taskId)}`);
  }
  /** The scratch folder of one attempt of a task; removed when the task ends, and swept at start. */
  taskScratch(taskId: number, attempt: number): string {
    return this.path('scratch', `${idText(taskId)}-${idText(attempt)}`);
  }
  /** The file with the records from the body of a request, kept until their import has run. */
  inlineRecords(importId: number): string {
    return this.path('scratch', `inline-${idText(importId)}.json`);
  }

  /** Returns the path of a file or folder below the root; throws for a name that the server would not create. */
  path(...names: readonly string[]): string {
    for (const name of names) {
      if (!namePattern.test(name) || name.includes('..')) {
        throw new AppError('internal', `${JSON.stringify(name)} is not a name of the data folder`);
      }
    }
    return join(this.root, ...names);
  }

  /**
   * Returns the given absolute path; throws unless it is below the root and consists of names that the server may create. Used for paths in
   * messages from other processes.
   */
  requireInside(path: string): string {
    if (!path.startsWith(this.root + sep)) {
      throw new AppError('internal', `${JSON.stringify(path)} is not in the data folder`);
    }
    return this.path(...path.slice(this.root.length + 1).split(sep));
  }
}

/** Identifies a version of a file: the id of the file and the number of the version. */
export interface FileVersion {
  /** The id of the file. */
  readonly id: number;
  readonly revision: number;
}

/** Returns the file name of the log entry of a version, such as `00000000000000000042.json` (Delta protocol, "Delta Log Entries"). */
export function logEntryName(version: number): string {
  return `${idText(version).padStart(20, '0')}.json`;
}

function partFolder({ id: objectId, revision }: FileVersion): string {
  return revision === 1 ? idText(objectId) : `${idText(objectId)}-${idText(revision)}`;
}

function idText(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new AppError('internal', `${value} is not an id`);
  }
  return String(value);
}
