import { join } from 'node:path';
import type { Columns } from '../core/types.js';
import type { Segment, Snapshot } from './store.js';

/** Segments that no log names: those of an uploaded file, or of a dry run. */
export interface LooseSegments {
  /** The folder that the paths of the segments, and of the file with their schema, begin in. */
  readonly folder: string;
  readonly schema: string;
  readonly columns: Columns;
  readonly segments: readonly Segment[];
}

/** Such segments as a version of a dataset, for the SQL engine. */
export function looseSnapshot(
  { folder, schema, columns, segments }: LooseSegments,
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
