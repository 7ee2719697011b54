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
import type { Columns, GenomeBuild, JsonObject } from '../../../engine/core/types.js';
import { TaskFailure, type RunContext } from '../job.js';
import type { Detected } from './detect-entities.js';
import { sampleOf } from './dry-run.js';
import type { ImportParams, ImportResult } from './import-types.js';
import type { ImportSource } from './source.js';
import { receiptOf, type Receipt } from './report.js';
import { writeRejectedFile } from './rejected-file.js';
import type { SourceRun } from './source-run.js';

/** What the runs of an import came to together; throws a `TaskFailure` when anything in them was an error. */
export async function importResult(
  params: ImportParams,
  context: RunContext,
  runs: readonly SourceRun[],
  columns: Columns,
  detected: Detected,
): Promise<ImportResult> {
  const seen = runs.flatMap((run) => run.columns());
  const stayed = withData(columns, params.stored, seen);
  const findings = findingsOf(runs, newColumnFindings(params, runs, stayed));
  const message = errorMessage(nameOf(params.sources), findings);
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
  context.progress({ records, recordsTotal: records, bytes, bytesTotal: bytes, errors: 0 });
  // Later ones win: what a format says goes before what the values look like, the first source before the others.
  const formats = runs.toReversed().flatMap(({ head }) => head.fields);
  const described = [...detected.fields, ...formats];
  return {
    segments: results.flatMap(({ segment }) => (segment === null ? [] : [segment])),
    columns: stayed,
    described,
    genomeBuild: buildOf(runs) ?? null,
    records,
    metadata: { ...metadata, validation },
    ...(params.dryRun !== null && {
      dryRun: {
        sample: await sampleOf(
          runs,
          stayed,
          params.dryRun.fields,
          [...described, ...params.dryRun.described],
          context,
        ),
        seen: pathsWithValues(seen.reduce(joinColumns, [])),
      },
    }),
  };
}

function pathsWithValues(columns: Columns, above: readonly string[] = []): readonly string[] {
  return columns.flatMap(({ name, seen, children }) => {
    const path = [...above, name];
    return seen === 'null' ? [] : [JSON.stringify(path), ...pathsWithValues(children ?? [], path)];
  });
}

/** What a run that broke off has to tell besides its reason: what it had read and rejected until then. */
export async function runFailure(
  params: ImportParams,
  context: RunContext,
  runs: readonly SourceRun[],
  error: unknown,
): Promise<unknown> {
  const isTold = error instanceof TaskFailure || !(error instanceof AppError);
  if (isTold || error.code === 'canceled' || context.signal.aborted) return error;
  const outcome = { is_whole: false, is_committed: false };
  const metadata = await metadataOf(context, runs, findingsOf(runs, []), outcome).catch(
    () => undefined, // a full disk, say, takes the receipt as well; the reason is what counts
  );
  return metadata === undefined ? error : new TaskFailure(error, metadata);
}

async function metadataOf(
  context: RunContext,
  runs: readonly SourceRun[],
  findings: Findings,
  outcome: Pick<Receipt, 'is_whole' | 'is_committed'>,
): Promise<JsonObject> {
  const receipt = await receiptOf(runs, await writeRejectedFile(runs, context), outcome);
  return {
    progress: { processed_records: receipt.records_read, errors: progressErrors(findings) },
    validation: validationJson(findings),
    receipt,
    ...aboutSources(runs),
  };
}

/** All findings, by file; those about new columns are of the import as a whole. */
function findingsOf(runs: readonly SourceRun[], newColumns: readonly Findings[]): Findings {
  const genomeBuild = buildOf(runs);
  return joinFindings([
    ...newColumns.map((part) => ({ findings: part, file: null })),
    ...runs.map((run) => ({
      findings: mergeFindings([
        { findings: warningsOf(run, genomeBuild), linesBefore: 0 },
        { findings: run.findings(), linesBefore: 0 },
      ]),
      file: run.source.name,
    })),
  ]);
}

function buildOf(runs: readonly SourceRun[]): GenomeBuild | undefined {
  return runs.map(({ head }) => head.genomeBuild).find((build) => build !== null) ?? undefined;
}

/** How messages about the whole import call what it reads. */
export function nameOf(sources: readonly ImportSource[]): string {
  const [first] = sources;
  return sources.length === 1 && first !== undefined ? first.name : `${sources.length} files`;
}

/** Codes 202 and 203, by the rules of the sources that bring the columns. */
function newColumnFindings(
  { known }: ImportParams,
  runs: readonly SourceRun[],
  stayed: Columns,
): readonly Findings[] {
  const byRules = Map.groupBy(runs, ({ source }) => JSON.stringify(source.validation));
  return [...byRules.values()].map((group) => {
    const final = byRules.size === 1 ? stayed : withData(stayed, known, group.flatMap(columnsOf));
    return columnFindings(known, final, group[0]!.source.validation);
  });
}

function columnsOf(run: SourceRun): readonly Columns[] {
  return run.columns();
}

/** What a source is warned of as a whole: one finding, because findings without a line and a field count as the same. */
function warningsOf({ head, warnings }: SourceRun, importBuild: GenomeBuild | undefined): Findings {
  const messages = [...head.warnings, ...warnings];
  if (head.genomeBuild !== null && head.genomeBuild !== importBuild) {
    messages.push(
      `its positions are of ${head.genomeBuild}, those of the import of ${importBuild}`,
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

/** What the formats say about their files: `source` for one file, `sources` by name for several. */
function aboutSources(runs: readonly SourceRun[]): JsonObject {
  const [only, ...rest] = runs;
  if (only === undefined) return {};
  if (rest.length === 0) return only.head.about === undefined ? {} : { source: only.head.about };
  const about = runs.filter(({ head }) => head.about !== undefined);
  if (about.length === 0) return {};
  return { sources: about.map(({ source, head }) => ({ name: source.name, ...head.about })) };
}

/** The columns that have data: a field that is declared and came in no record stays without a column. */
function withData(columns: Columns, stored: Columns, seen: readonly Columns[]): Columns {
  const kept = new Set([stored, ...seen].flat().map((column) => column.name));
  return columns.filter((column) => kept.has(column.name));
}
