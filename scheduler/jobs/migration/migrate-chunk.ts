import { Field, List, makeData, Struct, type Data } from 'apache-arrow';
import type { Column, Columns } from '../../../engine/core/types.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';
import {
  FindingCollector,
  mergeFindings,
  noFindings,
  type Findings,
} from '../../../engine/ingest/findings.js';
import { computedMarksColumn } from '../../../engine/ingest/physical-names.js';
import { RecordContext } from '../../../engine/ingest/record-context.js';
import { firstRecordId, withRecordIds } from '../../../engine/ingest/record-ids.js';
import { storedColumns } from '../../../engine/ingest/unify-columns.js';
import { codes } from '../../../engine/ingest/validation-codes.js';
import {
  sampleBatch,
  type FieldSample,
  type SamplingOptions,
} from '../../../engine/ingest/value-samples.js';
import type { ValueColumn } from '../../../engine/ingest/value-column.js';
import { writeSegmentUnflushed } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import { callCacheOf, dropCacheOfOtherScope } from '../../expressions/call-cache.js';
import { expressionHost } from '../../expressions/host-functions.js';
import type { HostCallChannel } from '../../expressions/host-call-protocol.js';
import { computeFields, type ComputedBatch } from '../../expressions/columns/compute-fields.js';
import { errorsField } from '../../expressions/columns/record-errors.js';
import {
  producesRecords,
  type SourceExpressions,
} from '../../expressions/columns/field-expressions.js';
import { computedNames } from '../../expressions/columns/input-columns.js';
import { reshapeRecords } from '../../expressions/columns/reshape-records.js';
import { mayLackKey, missingKeyFields, missingKeyMessage } from '../change/missing-keys.js';
import type { RejectedPart } from '../import/rejected-part.js';
import { castColumn } from './cast-column.js';
import { countRows, type ChunkRows } from './chunk-rows.js';
import { columnsOfChunk, readRows, dropRecords } from './read-rows.js';
import { writeRejectedRows, type RejectionSettings } from './rejected-rows.js';
import { addSourceRowColumn } from './source-rows.js';

/** A chunk of a migration, for a pool thread: plain data. */
export interface MigrationChunk extends RejectionSettings {
  readonly rows: ChunkRows;
  /** The expressions; null if no field is computed. */
  readonly expressions: MigrationExpressions | null;
  /** The channel through which expressions call the host; absent if no field is computed. */
  readonly calls?: HostCallChannel;
  /** Number of the chunk within the migration. */
  readonly index: number;
  readonly commitId: number;
  /** In the second pass and for the sample of a dry run, the columns of the target with the types of all records; otherwise null. */
  readonly final: Columns | null;
  /** The column for row numbers in the source, as in `MigrationParams`. */
  readonly sourceRowColumn: Column | null;
  /** Which values are sampled to detect entity types; null for none. */
  readonly sampling: SamplingOptions | null;
  /** Whether no segment is written. */
  readonly skipsSegment: boolean;
}

/** The fields that a migration computes: plain data. */
export interface MigrationExpressions {
  readonly fields: SourceExpressions;
  /** The columns of the source that expressions may read, and the column of stored errors if stored errors may be kept. */
  readonly inputs: Columns;
  /** The columns that the computed fields must have, as far as they are known. */
  readonly columns: Columns;
  /**
   * Paths of the source that the migration does not copy, because its query does not select them or a target field is transient: if
   * expressions produce the records, all of them, which are removed from the results; otherwise the column of stored errors alone, unless
   * it is selected. Empty for a table of computed fields.
   */
  readonly dropped: readonly (readonly string[])[];
}

/** The result of `migrateChunk`; `read + made` is always `stored + rejected`. */
export interface MigratedChunk {
  /**
   * The segment; null if no record was stored, if `skipsSegment` is true, and if a record has an error but `validation.maxRejected` allows
   * none.
   */
  readonly segment: Segment | null;
  /** The columns of the chunk, marked by `Column.seen`. */
  readonly columns: Columns;
  readonly read: number;
  /** The number of records that expressions have added to those that were read; negative if they removed some. */
  readonly made: number;
  readonly stored: number;
  readonly rejected: number;
  /** The file of rejected records; null if no record was rejected, or if `rejectedBytes` was too small for one. */
  readonly rejectedPart: RejectedPart | null;
  /** The findings about the values of the records. A line is the number of a record within the chunk, from 1 on. */
  readonly findings: Findings;
  /** The findings about records without the required key, if it is enforced; `records` does not count those in `findings` again. */
  readonly keyFindings: Findings;
  /** Whether a record may lack the required key. */
  readonly mayLackKey: boolean;
  readonly samples: readonly FieldSample[];
}

/**
 * Reads the rows of a chunk column by column, casts the columns that cannot be read with the type of the target, computes those with
 * expressions, and writes a segment, which is not flushed yet, unless `MigratedChunk.segment` is to be null.
 */
export async function migrateChunk(job: MigrationChunk): Promise<MigratedChunk> {
  dropCacheOfOtherScope(job.calls?.scope);
  const collector = new FindingCollector(job.validation, job.isFinal);
  const { rows, validation } = job;
  const converted = await convertRecords(job, rows, collector);
  const readCount = countRows(rows);
  const rejectedCount = converted.failedFlags.reduce((sum, flag) => sum + flag, 0);
  // A warning that strict validation turns into an error counts as an error of its record.
  const allFindings = [collector.result(), ...(converted.findings ? [converted.findings] : [])];
  const findings = {
    ...mergeFindings(allFindings.map((one) => ({ findings: one, linesBefore: 0 }))),
    records: rejectedCount - converted.keyFindings.records,
  };
  const addedRecords = converted.batch.rows - readCount;
  const stored = converted.batch.rows - rejectedCount;
  const rejectedPart =
    rejectedCount === 0
      ? null
      : await writeRejectedRows(rows, converted.failedFlags, converted.missingFields, job);
  const chunkResult = {
    columns: converted.batch.seen,
    read: readCount,
    made: addedRecords,
    stored,
    rejected: rejectedCount,
    rejectedPart,
    findings,
    keyFindings: converted.keyFindings,
    samples: job.sampling === null ? [] : sampleBatch(converted.batch, job.sampling),
    mayLackKey: job.requiredKey !== null && mayLackKey(converted.batch, job.requiredKey),
  };
  const allowsRejections = (validation.maxRejected ?? 0) > 0;
  const isStored = stored > 0 && !job.skipsSegment && (rejectedCount === 0 || allowsRejections);
  if (!isStored || rejectedCount === 0) {
    const segment = isStored ? await writeMigratedRecords(converted.batch, rows, job) : null;
    converted.release();
    return { ...chunkResult, segment };
  }
  converted.release();
  const keptRows = dropRecords(rows, converted.failedFlags);
  // The findings of this second conversion are discarded, because the first has reported them.
  const reconverted = await convertRecords(job, keptRows, new FindingCollector(validation, true));
  const segment = await writeMigratedRecords(reconverted.batch, keptRows, job);
  reconverted.release();
  return { ...chunkResult, columns: reconverted.batch.seen, segment };
}

/** The records of a chunk, converted to the columns of the target. */
interface ConvertedRecords extends MissingKeys {
  readonly batch: Batch;
  /** A byte for each record: 1 if it is rejected, for a failed cast or a missing key. Empty if expressions produce the records. */
  readonly failedFlags: Uint8Array;
  /** The findings of expressions; absent if there are none. */
  readonly findings?: Findings;
  release(): void;
}

/** The records of a chunk that lack the required key; none unless the key is enforced. */
interface MissingKeys {
  /** For each record, the first key field that it lacks, as `missingKeyFields` returns it; empty if the key is not enforced. */
  readonly missingFields: Uint32Array;
  /** The findings about these records; `records` is the number of those without another error. */
  readonly keyFindings: Findings;
}

async function convertRecords(
  job: MigrationChunk,
  rows: ChunkRows,
  collector: FindingCollector,
): Promise<ConvertedRecords> {
  const { columns: selectedColumns, expressions } = job;
  const rowCount = countRows(rows);
  if (expressions !== null && producesRecords(expressions.fields)) {
    const { batch, findings, release } = await computeChunkFields(job, expressions, rows);
    return { batch, failedFlags: new Uint8Array(0), ...noMissingKeys, findings, release };
  }
  const computedBatch = expressions && (await computeChunkFields(job, expressions, rows));
  // If the errors that the source records store have changed, they are among the computed columns and not copied.
  const columns = computedBatch?.storesErrors
    ? selectedColumns.filter(({ to }) => to.name !== errorsField)
    : selectedColumns;
  const columnsPresent = columnsOfChunk(
    rows,
    columns.map(({ from }) => from),
  );
  const columnData = await readRows(rows, columnsPresent);
  const context = new RecordContext(collector);
  const failedFlags = new Uint8Array(rowCount);
  const castColumns: ValueColumn[] = [];
  const seenColumns: Column[] = [];
  const data: Data[] = [];
  for (const [i, from] of columnsPresent.entries()) {
    const { to, isCast } = columns.find((one) => one.from.physical === from.physical)!;
    if (isCast) {
      const valueColumn = castColumn(columnData[i]!, from, to, context, failedFlags);
      castColumns.push(valueColumn);
      const column = valueColumn.column();
      seenColumns.push(column);
      if (column.seen === undefined) data.push(valueColumn.finish(rowCount));
    } else {
      const column = selectMembers(to, from);
      seenColumns.push(column);
      data.push(renameMembers(columnData[i]!, column));
    }
  }
  if (computedBatch !== null) {
    const names = new Set(computedNames(expressions!.fields));
    if (computedBatch.storesErrors) names.add(errorsField);
    for (const [i, { name }] of computedBatch.batch.columns.entries())
      if (names.has(name)) data.push(computedBatch.batch.data.data.children[i]!);
    seenColumns.push(...computedBatch.batch.seen.filter(({ name }) => names.has(name)));
  }
  const marksAt = computedBatch?.batch.columns.findIndex(({ physical }) => physical === computedMarksColumn.physical) ?? -1; // prettier-ignore
  const marks = marksAt < 0 ? [] : [computedMarksColumn];
  if (marksAt >= 0) data.push(computedBatch!.batch.data.data.children[marksAt]!);
  const storedBatch = makeBatch([...storedColumns(seenColumns), ...marks], rowCount, data);
  const batch = { ...storedBatch, seen: seenColumns };
  return {
    batch,
    failedFlags,
    ...rejectWithoutKey(batch, job, failedFlags),
    ...(computedBatch && { findings: computedBatch.findings }),
    release() {
      for (const one of castColumns) one.release();
      computedBatch?.release();
    },
  };
}

const noMissingKeys: MissingKeys = { missingFields: new Uint32Array(0), keyFindings: noFindings };

/** Finds the records without the required key, if it is enforced, and marks them in `failedFlags`. */
function rejectWithoutKey(
  batch: Batch,
  { requiredKey, final, validation, isFinal }: MigrationChunk,
  failedFlags: Uint8Array,
): MissingKeys {
  if (requiredKey?.isEnforced !== true) return noMissingKeys;
  const missingFields = missingKeyFields(batch, requiredKey, final ?? []);
  const collector = new FindingCollector(validation, isFinal);
  const message = missingKeyMessage(requiredKey);
  let newlyFailedCount = 0;
  for (let row = 0; row < missingFields.length; row++) {
    const field = requiredKey.fields[missingFields[row]! - 1];
    if (field === undefined) continue;
    if (failedFlags[row] === 0) newlyFailedCount++;
    failedFlags[row] = 1;
    collector.reject(row + 1, codes.invalidValue, field, message);
  }
  return { missingFields, keyFindings: { ...collector.result(), records: newlyFailedCount } };
}

/** Returns what expressions compute from the columns of the source: fields of the records, or whole new records. */
async function computeChunkFields(
  { validation, calls: callChannel }: MigrationChunk,
  { fields, inputs, columns, dropped }: MigrationExpressions,
  rows: ChunkRows,
): Promise<ComputedBatch> {
  const columnsPresent = columnsOfChunk(rows, inputs);
  const compute = producesRecords(fields) ? reshapeRecords : computeFields;
  return compute({
    batch: makeBatch(columnsPresent, countRows(rows), await readRows(rows, columnsPresent)),
    expressions: fields,
    columns,
    inputs,
    dropped,
    host: expressionHost(fields, callChannel),
    jobResults: callCacheOf(callChannel?.scope).results,
    isLenient: validation.disable,
    lineOf: (row) => row + 1,
  });
}

async function writeMigratedRecords(
  batch: Batch,
  rows: ChunkRows,
  job: MigrationChunk,
): Promise<Segment> {
  const { commitId, index, file, sourceRowColumn } = job;
  if (sourceRowColumn !== null)
    return writeSegmentUnflushed(await addSourceRowColumn(batch, rows, sourceRowColumn), file);
  const wholeBatch = withRecordIds(batch, commitId, index);
  const segment = await writeSegmentUnflushed(wholeBatch, file);
  wholeBatch.release();
  const firstId = firstRecordId(commitId, index);
  return { ...segment, idRuns: [{ firstId, rows: segment.rows }] };
}

/** Returns the target column with only those members that are read from the source, in the source's order. */
function selectMembers(to: Column, from: Column): Column {
  if (from.children === undefined) return to;
  const children = from.children.map((child) =>
    selectMembers(
      to.children!.find(({ name }) => name === child.name)!,
      child,
    ),
  );
  return { ...to, children };
}

/** Returns the values with the physical names that the members of `column` have. */
function renameMembers(data: Data, column: Column): Data {
  if (column.children === undefined) return data;
  const { length, nullCount, nullBitmap } = data;
  if (!column.isList) {
    const children = column.children.map((child, i) => renameMembers(data.children[i]!, child));
    const fields = children.map(
      (child, i) => new Field(column.children![i]!.physical, child.type, true),
    );
    return makeData({ type: new Struct(fields), length, nullCount, nullBitmap, children });
  }
  const child = renameMembers(data.children[0]!, { ...column, isList: false });
  const type = new List(new Field('element', child.type, true));
  const valueOffsets = data.valueOffsets as Int32Array;
  return makeData({ type, length, nullCount, nullBitmap, valueOffsets, child });
}
