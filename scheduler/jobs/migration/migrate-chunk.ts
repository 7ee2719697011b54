import { Field, List, makeData, Struct, type Data } from 'apache-arrow';
import type { Column, Columns } from '../../../engine/core/types.js';
import { makeBatch, type Batch } from '../../../engine/ingest/batch.js';
import { FindingCollector, mergeFindings, type Findings } from '../../../engine/ingest/findings.js';
import { RecordContext } from '../../../engine/ingest/record-context.js';
import { firstRecordId, withRecordIds } from '../../../engine/ingest/record-ids.js';
import { storedColumns } from '../../../engine/ingest/unify-columns.js';
import type { ValueColumn } from '../../../engine/ingest/value-column.js';
import { writeUnflushed } from '../../../engine/store/segment.js';
import type { Segment } from '../../../engine/store/store.js';
import { callMemory, forgetOtherCalls } from '../../expressions/call-memory.js';
import { expressionHost } from '../../expressions/host-functions.js';
import type { HostCalls } from '../../expressions/protocol.js';
import { computeFields, type ComputedBatch } from '../import/expressions/compute-fields.js';
import { errorsField } from '../import/expressions/record-errors.js';
import { makesRecords, type SourceExpressions } from '../import/expressions/field-expressions.js';
import { computedNames } from '../import/expressions/input-columns.js';
import { reshapeRecords } from '../import/expressions/reshape-records.js';
import type { RejectedPart } from '../import/rejected-part.js';
import { castColumn } from './cast-column.js';
import { countRows, type ChunkRows } from './chunk-rows.js';
import { columnsIn, readRows, withoutRecords } from './read-rows.js';
import { writeRejectedRows, type RejectionOrder } from './rejected-rows.js';
import { withSourceRows } from './source-rows.js';

/** A chunk of a migration, for a pool thread: plain data. */
export interface MigrationChunk extends RejectionOrder {
  readonly rows: ChunkRows;
  /** The expressions; null if no field is computed. */
  readonly expressions: MigrationExpressions | null;
  /** The channel through which expressions call the host; there if fields are computed. */
  readonly calls?: HostCalls;
  /** Number of the chunk within the migration. */
  readonly index: number;
  readonly commitId: number;
  /** The column of source rows, as in `MigrationParams`. */
  readonly sourceRows: Column | null;
  /** Whether no segment is written. */
  readonly isDryRun: boolean;
}

/** The fields that a migration computes: plain data. */
export interface MigrationExpressions {
  readonly fields: SourceExpressions;
  /** The columns of the source that expressions may read. */
  readonly inputs: Columns;
  /** The columns that the computed fields must have, as far as that is known. */
  readonly columns: Columns;
  /** Paths of the source that the query does not select, where expressions make the records. */
  readonly dropped: readonly (readonly string[])[];
}

/** The result of `migrateChunk`; `read + made` is always `stored + rejected`. */
export interface MigratedChunk {
  /** Null if no record was stored, and in a dry run. */
  readonly segment: Segment | null;
  /** The columns of the chunk, marked by `Column.seen`. */
  readonly columns: Columns;
  readonly read: number;
  /** The number of records that expressions have added to those that were read. */
  readonly made: number;
  readonly stored: number;
  readonly rejected: number;
  /** Null if no record was rejected, or `rejectedBytes` was too small for one. */
  readonly rejectedPart: RejectedPart | null;
  /** Lines are the numbers of records within the chunk, from 1 on. */
  readonly findings: Findings;
}

/** Reads the rows of a chunk column by column, casts what has another type in the target, and writes a segment that is not flushed yet. */
export async function migrateChunk(job: MigrationChunk): Promise<MigratedChunk> {
  forgetOtherCalls(job.calls?.scope);
  const report = new FindingCollector(job.validation, job.isFinal);
  const { rows, validation } = job;
  const first = await convertRecords(job, rows, report);
  const read = countRows(rows);
  const rejectedCount = first.failed.reduce((sum, flag) => sum + flag, 0);
  // A warning that strict validation makes an error counts as one of its record.
  const parts = [report.result(), ...(first.findings ? [first.findings] : [])];
  const findings = {
    ...mergeFindings(parts.map((one) => ({ findings: one, linesBefore: 0 }))),
    records: rejectedCount,
  };
  const addedRecords = first.batch.rows - read;
  const stored = first.batch.rows - rejectedCount;
  const rejectedPart =
    rejectedCount === 0 ? null : await writeRejectedRows(rows, first.failed, job);
  const counts = {
    columns: first.batch.seen,
    read,
    made: addedRecords,
    stored,
    rejected: rejectedCount,
    rejectedPart,
    findings,
  };
  const mayReject = (validation.maxRejected ?? 0) > 0;
  const isStored = stored > 0 && !job.isDryRun && (rejectedCount === 0 || mayReject);
  if (!isStored || rejectedCount === 0) {
    const segment = isStored ? await writeRecords(first.batch, rows, job) : null;
    first.release();
    return { ...counts, segment };
  }
  first.release();
  const keptRows = withoutRecords(rows, first.failed);
  // Its findings are discarded, because they have been reported before.
  const second = await convertRecords(job, keptRows, new FindingCollector(validation, true));
  const segment = await writeRecords(second.batch, keptRows, job);
  second.release();
  return { ...counts, columns: second.batch.seen, segment };
}

/** Records with the columns of the target. */
interface Converted {
  readonly batch: Batch;
  /** A byte for each record: 1 if it has an error. */
  readonly failed: Uint8Array;
  /** Warnings of expressions; absent without any. */
  readonly findings?: Findings;
  release(): void;
}

async function convertRecords(
  job: MigrationChunk,
  rows: ChunkRows,
  report: FindingCollector,
): Promise<Converted> {
  const { columns: selected, expressions } = job;
  const count = countRows(rows);
  if (expressions !== null && makesRecords(expressions.fields)) {
    const { batch, findings, release } = await computedFields(job, expressions, rows);
    return { batch, failed: new Uint8Array(0), findings, release };
  }
  const computedBatch = expressions && (await computedFields(job, expressions, rows));
  // The errors of this migration are merged with those that the source records have.
  const columns = computedBatch?.storesErrors
    ? selected.filter(({ to }) => to.name !== errorsField)
    : selected;
  const columnsPresent = columnsIn(
    rows,
    columns.map(({ from }) => from),
  );
  const read = await readRows(rows, columnsPresent);
  const context = new RecordContext(report);
  const failed = new Uint8Array(count);
  const casts: ValueColumn[] = [];
  const seenColumns: Column[] = [];
  const data: Data[] = [];
  for (const [i, from] of columnsPresent.entries()) {
    const { to, isCast } = columns.find((one) => one.from.physical === from.physical)!;
    if (isCast) {
      const cast = castColumn(read[i]!, from, to, context, failed);
      casts.push(cast);
      const column = cast.column();
      seenColumns.push(column);
      if (column.seen === undefined) data.push(cast.finish(count));
    } else {
      const column = narrowColumn(to, from);
      seenColumns.push(column);
      data.push(renameData(read[i]!, column));
    }
  }
  if (computedBatch !== null) {
    const names = new Set(computedNames(expressions!.fields));
    if (computedBatch.storesErrors) names.add(errorsField);
    for (const [i, { name }] of computedBatch.batch.columns.entries())
      if (names.has(name)) data.push(computedBatch.batch.data.data.children[i]!);
    seenColumns.push(...computedBatch.batch.seen.filter(({ name }) => names.has(name)));
  }
  const batch = { ...makeBatch(storedColumns(seenColumns), count, data), seen: seenColumns };
  return {
    batch,
    failed,
    ...(computedBatch && { findings: computedBatch.findings }),
    release() {
      for (const cast of casts) cast.release();
      computedBatch?.release();
    },
  };
}

/** The fields that expressions compute of the rows, or the records that they make, from the columns of the source. */
async function computedFields(
  { validation, calls }: MigrationChunk,
  { fields, inputs, columns, dropped }: MigrationExpressions,
  rows: ChunkRows,
): Promise<ComputedBatch> {
  const columnsPresent = columnsIn(rows, inputs);
  const compute = makesRecords(fields) ? reshapeRecords : computeFields;
  return compute({
    batch: makeBatch(columnsPresent, countRows(rows), await readRows(rows, columnsPresent)),
    expressions: fields,
    columns,
    inputs,
    dropped,
    host: expressionHost(fields, calls),
    kept: callMemory(calls?.scope).results,
    isLenient: validation.disable,
    lineOf: (row) => row + 1,
  });
}

async function writeRecords(batch: Batch, rows: ChunkRows, job: MigrationChunk): Promise<Segment> {
  const { commitId, index, file, sourceRows } = job;
  if (sourceRows !== null)
    return writeUnflushed(await withSourceRows(batch, rows, sourceRows), file);
  const wholeBatch = withRecordIds(batch, commitId, index);
  const segment = await writeUnflushed(wholeBatch, file);
  wholeBatch.release();
  const firstId = firstRecordId(commitId, index);
  return { ...segment, idRuns: [{ firstId, rows: segment.rows }] };
}

/** The column of the target with the members that are read, in their order. */
function narrowColumn(to: Column, from: Column): Column {
  if (from.children === undefined) return to;
  const children = from.children.map((child) =>
    narrowColumn(
      to.children!.find(({ name }) => name === child.name)!,
      child,
    ),
  );
  return { ...to, children };
}

/** The values under the physical names of the members of `column`. */
function renameData(data: Data, column: Column): Data {
  if (column.children === undefined) return data;
  const { length, nullCount, nullBitmap } = data;
  if (!column.isList) {
    const children = column.children.map((child, i) => renameData(data.children[i]!, child));
    const fields = children.map(
      (child, i) => new Field(column.children![i]!.physical, child.type, true),
    );
    return makeData({ type: new Struct(fields), length, nullCount, nullBitmap, children });
  }
  const child = renameData(data.children[0]!, { ...column, isList: false });
  const type = new List(new Field('element', child.type, true));
  const valueOffsets = data.valueOffsets as Int32Array;
  return makeData({ type, length, nullCount, nullBitmap, valueOffsets, child });
}
