import { AppError } from '../../../engine/core/errors.js';
import {
  columnFindings,
  errorMessage,
  joinFindings,
  mergeFindings,
  noFindings,
  progressErrors,
  validationJson,
  type Findings,
} from '../../../engine/ingest/findings.js';
import { unifyChunkColumns } from '../../../engine/ingest/unify-columns.js';
import type { Column, Columns, GenomeBuild, JsonObject } from '../../../engine/core/types.js';
import { TaskFailure, type RunContext } from '../job.js';
import type { DetectedEntities } from './detect-entities.js';
import { readSampleOfSegments, writeFirstSegments } from './dry-run.js';
import type { ImportParams, ImportResult } from './import-types.js';
import type { ImportSource } from './import-source.js';
import { errorsField } from '../../expressions/columns/record-errors.js';
import { createImportReport, type ImportReport } from './import-report.js';
import { writeRejectedFile } from './rejected-file.js';
import { exceededRejectionLimit, type SourceRun } from './source-run.js';

/**
 * Returns the result of an import whose sources have been read. Throws a `TaskFailure` with the report if more records have errors than may
 * be rejected, or if new columns violate the validation rules.
 */
export async function createImportResult(
  params: ImportParams,
  context: RunContext,
  runs: readonly SourceRun[],
  columns: Columns,
  detected: DetectedEntities,
): Promise<ImportResult> {
  const seenColumns = runs.flatMap((run) => run.columnsOfChunks());
  const filledColumns = columnsWithData(columns, params.stored, seenColumns);
  const newColumns = newColumnFindings(params, runs, filledColumns);
  const findings = findingsOf(params, runs, newColumns);
  const message = failureMessageOf(params, runs, newColumns, findings);
  const isStopped = runs.some((run) => run.isStoppedByError) || runs.length < params.sources.length;
  const metadata = await reportMetadata(context, runs, findings, {
    is_whole: !isStopped,
    is_committed: message === null && params.dryRun === null,
  });
  if (message !== null) throw new TaskFailure(new AppError('input', message), metadata);
  const results = runs.flatMap((run) => run.results());
  const recordsRead = results.reduce((sum, chunk) => sum + chunk.read, 0);
  const bytes = runs.reduce((sum, run) => sum + run.file.bytes, 0);
  const validation = { ...(metadata['validation'] as JsonObject), detections: detected.detections };
  context.progress({
    records: recordsRead,
    recordsTotal: recordsRead,
    bytes,
    bytesTotal: bytes,
    errors: findings.records,
  });
  // If a field has several descriptions, the last one takes precedence: that of a format over that of a detected entity, and that of the
  // first source over those of later sources.
  const formatFields = runs.toReversed().flatMap(({ layout }) => layout.header.fields);
  const describedFields = [...detected.fields, ...formatFields];
  return {
    segments: results.flatMap(({ segment }) => (segment === null ? [] : [segment])),
    columns: filledColumns,
    declared: params.declared,
    described: describedFields,
    genomeBuild: genomeBuildOf(runs) ?? null,
    records: recordsRead,
    metadata: { ...metadata, validation },
  };
}

/** Adds to the result of a dry run what it shows. If the import changes stored records, `result` has the segments that it would commit. */
export async function withDryRun(
  { change, dryRun }: ImportParams,
  context: RunContext,
  runs: readonly SourceRun[],
  result: ImportResult,
): Promise<ImportResult> {
  if (dryRun === null) return result;
  const { columns } = result;
  const described = [...result.described, ...dryRun.described];
  const segments = change ? result.segments : await writeFirstSegments(runs, columns, context);
  const sample = await readSampleOfSegments(segments, columns, dryRun.fields, described, context);
  const seenColumns = runs.flatMap((run) => run.columnsOfChunks());
  const seenPaths = pathsWithValues(seenColumns.reduce(unifyChunkColumns, []));
  return { ...result, dryRun: { sample, seen: seenPaths } };
}

/** Returns the message of the error that fails the import; null if the import succeeds, possibly with rejected records. */
function failureMessageOf(
  { sources }: ImportParams,
  runs: readonly SourceRun[],
  newColumns: readonly Findings[],
  findings: Findings,
): string | null {
  const limit = exceededRejectionLimit(runs);
  if (limit === undefined && newColumns.every(({ errors }) => errors === 0)) return null;
  const message = errorMessage(sourcesName(sources), findings);
  const rejectedCount = runs.reduce((sum, run) => sum + run.rejectedRecordCount, 0);
  return limit === undefined || limit === 0
    ? message
    : `${message}; ${rejectedCount} records are rejected, validation_params.max_rejected is ${limit}`;
}

function pathsWithValues(columns: Columns, above: readonly string[] = []): readonly string[] {
  return columns.flatMap(({ name, seen, children }) => {
    const path = [...above, name];
    return seen === 'null' ? [] : [JSON.stringify(path), ...pathsWithValues(children ?? [], path)];
  });
}

/**
 * Returns the error of an import that could not be finished, with the report of what had been read and rejected until then. An error that
 * already has a report, a bug and a cancellation are returned unchanged.
 */
export async function createFailureWithReport(
  params: ImportParams,
  context: RunContext,
  runs: readonly SourceRun[],
  error: unknown,
): Promise<unknown> {
  const hasReport = error instanceof TaskFailure || !(error instanceof AppError);
  if (hasReport || error.code === 'canceled' || context.signal.aborted) return error;
  const outcome = { is_whole: false, is_committed: false };
  const metadata = await reportMetadata(context, runs, findingsOf(params, runs, []), outcome).catch(
    () => undefined, // if the report cannot be created, the error is returned without it
  );
  return metadata === undefined ? error : new TaskFailure(error, metadata);
}

async function reportMetadata(
  context: RunContext,
  runs: readonly SourceRun[],
  findings: Findings,
  outcome: Pick<ImportReport, 'is_whole' | 'is_committed'>,
): Promise<JsonObject> {
  const rejecting = runs.map((run) => run.sourceRejections());
  const report = await createImportReport(
    runs,
    await writeRejectedFile(rejecting, context),
    outcome,
  );
  return {
    progress: { processed_records: report.records_read, errors: progressErrors(findings) },
    validation: validationJson(findings),
    receipt: report,
    ...sourceHeaderInfo(runs),
  };
}

/** Returns all findings with the names of their files; findings about new columns have no file. */
function findingsOf(
  { known }: ImportParams,
  runs: readonly SourceRun[],
  newColumns: readonly Findings[],
): Findings {
  const genomeBuild = genomeBuildOf(runs);
  return joinFindings([
    ...newColumns.map((part) => ({ findings: part, file: null })),
    ...runs.map((run) => ({
      findings: mergeFindings([
        { findings: warningsOf(run, known, genomeBuild), linesBefore: 0 },
        { findings: run.findings(), linesBefore: 0 },
      ]),
      file: run.source.name,
    })),
  ]);
}

function genomeBuildOf(runs: readonly SourceRun[]): GenomeBuild | undefined {
  return (
    runs.map(({ layout }) => layout.header.genomeBuild).find((build) => build !== null) ?? undefined
  );
}

/** Returns the name for the sources in messages about the import as a whole. */
export function sourcesName(sources: readonly ImportSource[]): string {
  const [first] = sources;
  return sources.length === 1 && first !== undefined ? first.name : `${sources.length} files`;
}

/**
 * Returns the findings with the codes `columnName` and `newColumn`, except those about the field that stores errors of expressions. Each
 * follows the validation rules of the sources that have the new columns.
 */
function newColumnFindings(
  { known, expressions }: ImportParams,
  runs: readonly SourceRun[],
  filled: Columns,
): readonly Findings[] {
  const isGiven = ({ name }: Column): boolean => expressions === null || name !== errorsField;
  const byRules = Map.groupBy(runs, ({ source }) => JSON.stringify(source.validation));
  return [...byRules.values()].map((group) => {
    const final =
      byRules.size === 1 ? filled : columnsWithData(filled, known, group.flatMap(chunkColumnsOf));
    return columnFindings(known, final.filter(isGiven), group[0]!.source.validation);
  });
}

function chunkColumnsOf(run: SourceRun): readonly Columns[] {
  return run.columnsOfChunks();
}

/** Returns the warnings about a source as a whole as one finding, because findings without a line and a field are counted as one. */
function warningsOf(
  { layout }: SourceRun,
  known: Columns,
  importBuild: GenomeBuild | undefined,
): Findings {
  const { header, warnings } = layout;
  const messages = [...header.warnings, ...warnings];
  const unread = (header.reserved ?? []).filter((name) => !known.some((one) => one.name === name));
  if (unread.length > 0)
    messages.push(`the columns ${unread.join(' and ')} are reserved: theirs are not read`);
  if (header.genomeBuild !== null && header.genomeBuild !== importBuild) {
    messages.push(
      `its positions are of ${header.genomeBuild}, those of the import of ${importBuild}`,
    );
  }
  if (messages.length === 0) return noFindings;
  const message = messages.join('; ');
  return {
    ...noFindings,
    counts: { 0: 1 },
    warnings: 1,
    examples: [{ code: 0, level: 'warning', line: 0, field: null, message, count: 1 }],
  };
}

/** Returns `Header.about` of the sources for the metadata: as `source` for a single file, as `sources` with their names for several. */
function sourceHeaderInfo(runs: readonly SourceRun[]): JsonObject {
  const [only, ...rest] = runs;
  if (only === undefined) return {};
  if (rest.length === 0) {
    const { about } = only.layout.header;
    return about === undefined ? {} : { source: about };
  }
  const sources = runs.flatMap(({ source, layout: { header } }) =>
    header.about === undefined ? [] : [{ name: source.name, ...header.about }],
  );
  return sources.length === 0 ? {} : { sources };
}

/** Returns the columns that have data, that is, those in `stored` or `seen`. A declared field without values has no column. */
function columnsWithData(columns: Columns, stored: Columns, seen: readonly Columns[]): Columns {
  const names = new Set([stored, ...seen].flat().map((column) => column.name));
  return columns.filter((column) => names.has(column.name));
}
