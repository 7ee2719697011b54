import { join } from 'node:path';
import type { Columns } from '../core/types.js';
import type { Segment, Snapshot } from './store.js';

/** Segments without a log: those of an uploaded file or of a dry run. */
interface LooseSegments {
  /** The folder to which the paths of the segments and of their schema file are relative. */
  readonly folder: string;
  readonly schema: string;
  readonly columns: Columns;
  readonly segments: readonly Segment[];
}

/** Presents segments that are in no log as a snapshot, so that they can be queried. */
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
