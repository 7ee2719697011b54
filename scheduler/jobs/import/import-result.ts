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
import { joinColumns } from '../../../engine/ingest/unify-columns.js';
import type { Column, Columns, GenomeBuild, JsonObject } from '../../../engine/core/types.js';
import { TaskFailure, type RunContext } from '../job.js';
import type { DetectedEntities } from './detect-entities.js';
import { sampleOf } from './dry-run.js';
import type { ImportParams, ImportResult } from './import-types.js';
import type { ImportSource } from './import-source.js';
import { errorsField } from './expressions/record-errors.js';
import { importReport, type ImportReport } from './import-report.js';
import { writeRejectedFile } from './rejected-file.js';
import { exceededLimit, type SourceRun } from './source-run.js';

/** The result of an import whose sources have been read. Throws a `TaskFailure` with the report if a record had an error. */
export async function importResult(
  params: ImportParams,
  context: RunContext,
  runs: readonly SourceRun[],
  columns: Columns,
  detected: DetectedEntities,
): Promise<ImportResult> {
  const seenColumns = runs.flatMap((run) => run.columns());
  const filledColumns = withData(columns, params.stored, seenColumns);
  const newColumns = newColumnFindings(params, runs, filledColumns);
  const findings = findingsOf(params, runs, newColumns);
  const message = failureOf(params, runs, newColumns, findings);
  const isStopped = runs.some((run) => run.isStopped) || runs.length < params.sources.length;
  const metadata = await metadataOf(context, runs, findings, {
    is_whole: !isStopped,
    is_committed: message === null && params.dryRun === null,
  });
  if (message !== null) throw new TaskFailure(new AppError('input', message), metadata);
  const results = runs.flatMap((run) => run.results());
  const records = results.reduce((sum, chunk) => sum + chunk.read, 0);
  const bytes = runs.reduce((sum, run) => sum + run.file.bytes, 0);
  const validation = { ...(metadata['validation'] as JsonObject), detections: detected.detections };
  context.progress({
    records,
    recordsTotal: records,
    bytes,
    bytesTotal: bytes,
    errors: findings.records,
  });
  // Later descriptions take precedence: formats over detected entities, and the first source over the others.
  const formats = runs.toReversed().flatMap(({ layout }) => layout.header.fields);
  const describedFields = [...detected.fields, ...formats];
  return {
    segments: results.flatMap(({ segment }) => (segment === null ? [] : [segment])),
    columns: filledColumns,
    declared: params.declared,
    described: describedFields,
    genomeBuild: buildOf(runs) ?? null,
    records,
    metadata: { ...metadata, validation },
    ...(params.dryRun !== null && {
      dryRun: {
        sample: await sampleOf(
          runs,
          filledColumns,
          params.dryRun.fields,
          [...describedFields, ...params.dryRun.described],
          context,
        ),
        seen: pathsWithValues(seenColumns.reduce(joinColumns, [])),
      },
    }),
  };
}

/** The message of the error that fails the import; null if it succeeds, with rejected records if it may have some. */
function failureOf(
  { sources }: ImportParams,
  runs: readonly SourceRun[],
  newColumns: readonly Findings[],
  findings: Findings,
): string | null {
  const limit = exceededLimit(runs);
  if (limit === undefined && newColumns.every(({ errors }) => errors === 0)) return null;
  const message = errorMessage(nameOf(sources), findings);
  const rejectedCount = runs.reduce((sum, run) => sum + run.rejected, 0);
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

/** The error of an import that could not be finished, with the report of what it had read and rejected until then. */
export async function runFailure(
  params: ImportParams,
  context: RunContext,
  runs: readonly SourceRun[],
  error: unknown,
): Promise<unknown> {
  const hasReport = error instanceof TaskFailure || !(error instanceof AppError);
  if (hasReport || error.code === 'canceled' || context.signal.aborted) return error;
  const outcome = { is_whole: false, is_committed: false };
  const metadata = await metadataOf(context, runs, findingsOf(params, runs, []), outcome).catch(
    () => undefined, // without a report (the disk may be full) the error itself still counts
  );
  return metadata === undefined ? error : new TaskFailure(error, metadata);
}

async function metadataOf(
  context: RunContext,
  runs: readonly SourceRun[],
  findings: Findings,
  outcome: Pick<ImportReport, 'is_whole' | 'is_committed'>,
): Promise<JsonObject> {
  const rejecting = runs.map((run) => run.rejecting());
  const report = await importReport(runs, await writeRejectedFile(rejecting, context), outcome);
  return {
    progress: { processed_records: report.records_read, errors: progressErrors(findings) },
    validation: validationJson(findings),
    receipt: report,
    ...aboutSources(runs),
  };
}

/** All findings with the names of their files; findings about new columns have no file. */
function findingsOf(
  { known }: ImportParams,
  runs: readonly SourceRun[],
  newColumns: readonly Findings[],
): Findings {
  const genomeBuild = buildOf(runs);
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

function buildOf(runs: readonly SourceRun[]): GenomeBuild | undefined {
  return (
    runs.map(({ layout }) => layout.header.genomeBuild).find((build) => build !== null) ?? undefined
  );
}

/** The name of the sources in messages about the import as a whole. */
export function nameOf(sources: readonly ImportSource[]): string {
  const [first] = sources;
  return sources.length === 1 && first !== undefined ? first.name : `${sources.length} files`;
}

/** Findings of the codes `columnName` and `newColumn`, but not about the errors of expressions, each by the validation rules of the sources that have the new columns. */
function newColumnFindings(
  { known, expressions }: ImportParams,
  runs: readonly SourceRun[],
  filled: Columns,
): readonly Findings[] {
  const isGiven = ({ name }: Column): boolean => expressions === null || name !== errorsField;
  const byRules = Map.groupBy(runs, ({ source }) => JSON.stringify(source.validation));
  return [...byRules.values()].map((group) => {
    const final = byRules.size === 1 ? filled : withData(filled, known, group.flatMap(columnsOf));
    return columnFindings(known, final.filter(isGiven), group[0]!.source.validation);
  });
}

function columnsOf(run: SourceRun): readonly Columns[] {
  return run.columns();
}

/** The warnings about a source as a whole, in one finding, because findings without line and field are counted as one. */
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

/** `Header.about` of the sources: `source` for a single file, `sources` with names for several. */
function aboutSources(runs: readonly SourceRun[]): JsonObject {
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

/** The columns with data: those in `stored` or `seen`. A declared field without values has no column. */
function withData(columns: Columns, stored: Columns, seen: readonly Columns[]): Columns {
  const names = new Set([stored, ...seen].flat().map((column) => column.name));
  return columns.filter((column) => names.has(column.name));
}
