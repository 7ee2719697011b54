import { join } from 'node:path';
import type { Columns } from '../core/types.js';
import type { Segment, Snapshot } from './store.js';

/** Segments that are in no log, such as those of an uploaded file. */
interface UnloggedSegments {
  /** The folder that contains the segments and their schema file; their paths are relative to it. */
  readonly folder: string;
  readonly schema: string;
  readonly columns: Columns;
  readonly segments: readonly Segment[];
}

/** Returns segments that are in no log as a snapshot, so that they can be queried. */
export function unloggedSnapshot(
  { folder, schema, columns, segments }: UnloggedSegments,
  { datasetId, version }: Pick<Snapshot, 'datasetId' | 'version'>,
): Snapshot {
  return {
    datasetId,
    version,
    columns,
    segments,
    rows: segments.reduce((sum, { rows }) => sum + rows, 0),
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
    files: [schema, ...segments.map(({ path }) => path)].map((path) => join(folder, path)),
  };
}
