import { join } from 'node:path';
import type {
  AddRowsInput,
  ReplaceRowsInput,
  RowMatches,
} from '../../../engine/change/replace-rows.js';
import { AppError } from '../../../engine/core/errors.js';
import type { Columns, JsonObject } from '../../../engine/core/types.js';
import { givenIdColumn, isOfGivenRecords } from '../../../engine/ingest/physical-names.js';
import type { RowBatch } from '../../../engine/query/executor/executor.js';
import { groupRowsBySegment } from '../../../engine/query/plan/rows-by-segment.js';
import { withMoreDeleted } from '../../../engine/store/deletion-vector.js';
import { segmentFiles, type Segment, type Snapshot } from '../../../engine/store/store.js';
import { TaskFailure, type RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';
import { findChangedRows, type ChangedRows } from './find-changed.js';
import {
  averageRecordSizes,
  divideMatches,
  hasValuesForAll,
  unmatchedRows,
} from './match-parts.js';
import type { AppliedChange, GivenSegments, RecordChange } from './record-change.js';

const addInThread = 'add' as ThreadJob<AddRowsInput, Segment>;
const replaceInThread = 'replace' as ThreadJob<ReplaceRowsInput, Segment>;

/** The result of a job that has written the given records of a change; its metadata have a `receipt`. */
interface GivenRecords extends Pick<GivenSegments, 'segments' | 'columns'> {
  readonly metadata: JsonObject;
}

/** The effect of a change in the result of a job; the segments are those to be committed. */
interface ChangedSegments extends Pick<GivenSegments, 'segments' | 'columns'> {
  readonly change: AppliedChange;
}

/**
 * Finds the records of a version of a dataset that the records in the result of a job name by their keys. Unless records are deleted,
 * writes the segments to commit to the scratch folder, as far as the segments of the given records cannot be used unchanged. Returns the
 * result with its change. Throws a `TaskFailure` with the code `input` and the metadata of the result, for example if a given record of an
 * overwrite or a deletion has no key, or if two have the same key although `mayRepeatKeys` is false.
 */
export async function applyChange<R extends GivenRecords>(
  change: RecordChange,
  result: R,
  origins: Pick<GivenSegments, 'seen' | 'replaced' | 'locationOf'>,
  snapshot: Snapshot,
  context: RunContext,
): Promise<R & ChangedSegments> {
  const { segments, columns, metadata } = result;
  try {
    const givenSegments = { segments, columns, ...origins };
    return { ...result, ...(await changeSegments(change, givenSegments, snapshot, context)) };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'input') throw error;
    const receipt = { ...(metadata['receipt'] as JsonObject), is_committed: false };
    throw new TaskFailure(error, { ...metadata, receipt });
  }
}

async function changeSegments(
  change: RecordChange,
  given: GivenSegments,
  snapshot: Snapshot,
  context: RunContext,
): Promise<ChangedSegments> {
  const columns = given.columns.filter((column) => !isOfGivenRecords(column));
  const changedRows = await findChangedRows(change, snapshot, given, columns, context);
  const { matches, replacing, openSegments } = changedRows;
  const segments =
    matches === undefined
      ? []
      : [
          ...replacing,
          ...(await writeReplacingSegments(
            change,
            openSegments,
            columns,
            snapshot,
            matches,
            context,
          )),
        ];
  return { columns, segments, change: summarizeChange(change, segments, changedRows) };
}

/** Returns the deletion of the rows that a query finds in a version of a dataset; no keys are needed. */
export async function deleteFoundRows(
  snapshot: Snapshot,
  batches: AsyncIterable<RowBatch>,
): Promise<AppliedChange> {
  let removedCount = 0;
  const update: [number: number, segment: Segment][] = [];
  for (const [number, rows] of await groupRowsBySegment(snapshot, batches)) {
    if (rows.length === 0) continue;
    update.push([number, withMoreDeleted(snapshot.segments[number]!, rows.toSorted())]);
    removedCount += rows.length;
  }
  return {
    base: { version: snapshot.version, unsettledEntry: snapshot.unsettledEntry },
    update: update.sort(([a], [b]) => a - b).map(([, segment]) => segment),
    added: 0,
    changed: 0,
    removed: removedCount,
    notFound: 0,
  };
}

function summarizeChange(
  { mode }: RecordChange,
  segments: readonly Segment[],
  { snapshot, update, rows, notFound }: ChangedRows,
): AppliedChange {
  const writtenRows = segments.reduce((sum, segment) => sum + segment.rows, 0);
  const isDelete = mode === 'delete';
  return {
    base: { version: snapshot.version, unsettledEntry: snapshot.unsettledEntry },
    update,
    added: isDelete ? 0 : writtenRows - rows,
    changed: isDelete ? 0 : rows,
    removed: isDelete ? rows : 0,
    notFound,
  };
}

/**
 * Writes the given records to segments and returns the segments: first those of the records that replace stored ones, then those of the
 * records that replace none, in the given order.
 */
async function writeReplacingSegments(
  { mode, idFields, cleared }: RecordChange,
  given: readonly Segment[],
  columns: Columns,
  snapshot: Snapshot,
  matches: RowMatches,
  { scratch, pool, signal }: RunContext,
): Promise<readonly Segment[]> {
  const files = segmentFiles(snapshot);
  const storedFiles = snapshot.segments.map((segment, i) => ({
    ...files[i]!,
    columns: segment.columns,
  }));
  const givenFiles = given.map(({ path, blockChecksums, columns: own }) => ({
    path: join(scratch, path),
    blockChecksums,
    columns: own,
  }));
  const keepsOthers = mode === 'upsert';
  const isWhole =
    !keepsOthers || given.every((segment) => hasValuesForAll(segment, snapshot.columns));
  const [givenSizes, storedSizes] = await Promise.all([
    averageRecordSizes(givenFiles, matches.files, { pool, signal }),
    averageRecordSizes(storedFiles, isWhole ? new Int32Array(0) : matches.segments, {
      pool,
      signal,
    }),
  ]);
  const sizes = { given: givenSizes, stored: storedSizes };
  const replacingSegments = divideMatches(matches, given, pool.threads, isWhole, sizes).map(
    (part, i) =>
      pool.run(
        replaceInThread,
        () => ({
          given: givenFiles,
          columns,
          keepsOthers,
          cleared,
          isById: idFields === null,
          matches: part,
          segments: storedFiles,
          path: join(scratch, `replacing-${i}.parquet`),
        }),
        signal,
      ),
  );
  const addedSegments = unmatchedRows(given, matches).map((rows, i) => {
    if (rows.length === 0) return undefined;
    const segment = given[i]!;
    const hasGivenIds = segment.columns.some(({ physical }) => physical === givenIdColumn.physical);
    const isWholeAndNew = rows.length === segment.rows && !hasGivenIds;
    // Without `id_fields`, the given segments may be intermediate ones, which must not be committed.
    if (isWholeAndNew && idFields !== null && !segment.columns.some(isOfGivenRecords))
      return segment;
    const path = join(scratch, `added-${i}.parquet`);
    const writtenSegment = pool.run(
      addInThread,
      () => ({ given: givenFiles[i]!, columns, rows, path }),
      signal,
    );
    return isWholeAndNew
      ? writtenSegment.then((one) => ({ ...one, idRuns: segment.idRuns }))
      : writtenSegment;
  });
  const writtenSegments = await Promise.all([...replacingSegments, ...addedSegments]);
  return writtenSegments.filter((segment) => segment !== undefined);
}
