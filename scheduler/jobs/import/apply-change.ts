import { join } from 'node:path';
import { AppError } from '../../../engine/core/errors.js';
import type { JsonObject } from '../../../engine/core/types.js';
import { givenId } from '../../../engine/ingest/physical-names.js';
import { openStore } from '../../../engine/store/open.js';
import { segmentFiles, type Segment } from '../../../engine/store/store.js';
import { TaskFailure, type RunContext } from '../job.js';
import { findChanged, type ChangedRows } from './find-changed.js';
import type { AppliedChange, ImportChange, ImportResult } from './import-types.js';

/**
 * Turns the result of an import whose records name others into one that replaces or deletes those. The segments that it had stay in the
 * scratch folder.
 */
export async function applyChange(
  change: ImportChange,
  result: ImportResult,
  context: RunContext,
): Promise<ImportResult> {
  const columns = result.columns.filter(({ physical }) => physical !== givenId.physical);
  try {
    const snapshot = await openStore(context.data).snapshot(change.datasetId);
    const found = await findChanged(change, snapshot, result.segments, columns, context);
    const segments =
      change.mode === 'delete' ? [] : await replaced(change, result, columns, found, context);
    return { ...result, columns, segments, change: appliedChange(change, segments, found) };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'input') throw error;
    const receipt = { ...(result.metadata['receipt'] as JsonObject), is_committed: false };
    throw new TaskFailure(error, { ...result.metadata, receipt });
  }
}

function appliedChange(
  { mode }: ImportChange,
  segments: readonly Segment[],
  { snapshot, update, rows, notFound }: ChangedRows,
): AppliedChange {
  const written = segments.reduce((sum, segment) => sum + segment.rows, 0);
  const isDelete = mode === 'delete';
  return {
    base: snapshot.version,
    update,
    added: isDelete ? 0 : written - rows,
    changed: isDelete ? 0 : rows,
    removed: isDelete ? rows : 0,
    notFound,
  };
}

/** The segments of the records that replace others, and of those that replace none, in the order of the import. */
async function replaced(
  { mode, idFields }: ImportChange,
  { segments }: ImportResult,
  columns: ImportResult['columns'],
  { snapshot, matches }: ChangedRows,
  { scratch, pool, signal }: RunContext,
): Promise<readonly Segment[]> {
  const files = segmentFiles(snapshot);
  const stored = snapshot.segments.map((segment, i) => ({
    ...files[i]!,
    columns: segment.columns,
  }));
  const written = await Promise.all(
    segments.map(async (segment, i): Promise<readonly Segment[]> => {
      const hasGivenIds = segment.columns.some(({ physical }) => physical === givenId.physical);
      if (matches[i]!.given.length === 0 && !hasGivenIds) return [segment];
      const { replacing, added } = await pool.run(
        'replace',
        () => ({
          given: { ...segment, path: join(scratch, segment.path) },
          columns,
          keepsOthers: mode === 'upsert',
          isById: idFields === null,
          matches: matches[i]!,
          segments: stored,
          path: join(scratch, `changed-${i}`),
        }),
        signal,
      );
      return added === null ? replacing : [...replacing, added];
    }),
  );
  return written.flat();
}
