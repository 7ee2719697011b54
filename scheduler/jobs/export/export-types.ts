import type { QueryRequest } from '../../../engine/query/request/request.js';
import type { Snapshot } from '../../../engine/store/store.js';
import type { FileContext } from '../../../writers/writer.js';

/** Parameters of `runExport`. */
export interface ExportParams {
  readonly format: string;
  readonly snapshot: Snapshot;
  readonly request: QueryRequest;
  readonly file: FileContext;
}

/** The result of `runExport`: a complete, flushed file. */
export interface ExportResult {
  /** Name of the file in the scratch folder. */
  readonly file: string;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly md5: string;
  readonly records: number;
  /** Version of the dataset. */
  readonly version: number;
}
