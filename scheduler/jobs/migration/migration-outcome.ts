import { AppError } from '../../../engine/core/errors.js';
import type { Columns, JsonObject } from '../../../engine/core/types.js';
import {
  columnFindings,
  errorMessage,
  joinFindings,
  mergeFindings,
  maxRejectedRecords,
  progressErrors,
  validationJson,
} from '../../../engine/ingest/findings.js';
import { unifyColumns } from '../../../engine/ingest/unify-columns.js';
import { isOfGivenRecords } from '../../../engine/ingest/physical-names.js';
import { TaskFailure } from '../job.js';
import { locateChunks } from '../import/located-chunks.js';
import type { RejectedFile } from '../import/rejected-file.js';
import type { MigratedCounts } from './chunk-writer.js';
import type { MigratedChunk } from './migrate-chunk.js';
import type { MigrationParams } from './migration-types.js';

/** The commit that a migration would make, after its records have been read. */
export interface MigrationOutcome {
  /** All columns of the target after the migration. */
  readonly columns: Columns;
  /** Paths, as JSON, of the fields that may have a value in a record. */
  readonly seen: readonly string[];
  /** Number of records that the query found, with the rejected ones. */
  readonly records: number;
  readonly metadata: JsonObject;
}

/**
 * Returns the outcome of a migration. Throws a `TaskFailure` with the report if more records have errors than the limit on rejected records
 * allows, or if new columns violate the validation rules.
 */
export function migrationOutcome(
  params: MigrationParams,
  chunks: readonly MigratedChunk[],
  counts: MigratedCounts,
  rejectedFile: RejectedFile | null = null,
): MigrationOutcome {
  const { sourceName, known, stored, validation, dryRun } = params;
  const plannedColumns = params.columns.map(({ to }) => to);
  const seenColumns = [plannedColumns, ...chunks.map((chunk) => chunk.columns)].map(
    withoutColumnsOfGivenRecords,
  );
  const isDelete = params.change?.mode === 'delete';
  const { columns } = isDelete ? { columns: stored } : unifyColumns(stored, seenColumns);
  const chunkFindings = locateChunks(chunks, sourceName).flatMap(({ result, before }) =>
    [result.findings, result.keyFindings].map((findings) => ({
      findings,
      linesBefore: before.lines,
    })),
  );
  const newColumnFindings = columnFindings(known, columns, validation);
  const findings = joinFindings([
    { findings: newColumnFindings, file: null },
    { findings: mergeFindings(chunkFindings), file: sourceName },
  ]);
  const maxRejected = maxRejectedRecords(validation);
  const isRefused = counts.rejected > maxRejected;
  const failure =
    isRefused || newColumnFindings.errors > 0 ? errorMessage(sourceName, findings) : null;
  const { read, made, stored: written, rejected } = counts;
  const metadata = {
    progress: {
      processed_records: read,
      total_records: read,
      percent: 100,
      errors: progressErrors(findings),
    },
    validation: validationJson(findings),
    receipt: {
      source_version: params.snapshot.version,
      records_read: read,
      ...(made !== 0 && { records_made: made }),
      records_stored: written,
      records_rejected: rejected,
      is_committed: failure === null && dryRun === null,
      rejected_file: rejectedFile,
    },
  };
  if (failure !== null) {
    const message =
      maxRejected > 0 && isRefused
        ? `${failure}; ${rejected} records are rejected, validation_params.max_rejected is ${maxRejected}`
        : failure;
    throw new TaskFailure(new AppError('input', message), metadata);
  }
  return { columns, seen: columnPathsOf(seenColumns.flat()), records: read, metadata };
}

function withoutColumnsOfGivenRecords(columns: Columns): Columns {
  return columns.filter((column) => !isOfGivenRecords(column));
}

function columnPathsOf(columns: Columns, above: readonly string[] = []): readonly string[] {
  const paths = columns.flatMap(({ name, children }) => {
    const path = [...above, name];
    return [JSON.stringify(path), ...columnPathsOf(children ?? [], path)];
  });
  return [...new Set(paths)];
}
