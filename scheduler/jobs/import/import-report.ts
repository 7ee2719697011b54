import { createHash } from 'node:crypto';
import { AppError } from '../../../engine/core/errors.js';
import { openFile } from '../../../engine/core/files.js';
import type { RejectedFile } from './rejected-file.js';
import type { LocalFile } from './source-files.js';
import type { SourceLayout } from './source-layout.js';
import type { SourceRun } from './source-run.js';

/**
 * Numbers of records. The records that were read from the sources or made by expressions always equal the sum of the stored and the
 * rejected records.
 */
interface RecordCounts {
  readonly records_read: number;
  /**
   * The number of records that expressions have added to those that were read; negative if they removed some, absent if the numbers are
   * equal.
   */
  readonly records_made?: number;
  /** Records without an error. If `is_committed` is true, the commit has stored them, or has deleted the records that they name. */
  readonly records_stored: number;
  readonly records_rejected: number;
}

/** The part of the import report about one source. */
interface SourceReport extends RecordCounts {
  readonly name: string;
  /** The id of the source object, with its revision; null for inline records and URLs. */
  readonly object_id: number | null;
  readonly revision: number | null;
  readonly url: string | null;
  /** Size of the file, before decompression. */
  readonly bytes: number;
  readonly md5: string;
  readonly compression: Exclude<SourceLayout['compression'], 'plain'> | null;
  readonly reader: string;
  readonly genome_build: string | null;
  /** The meanings of fields, as in `Header.meanings`. */
  readonly meanings: NonNullable<SourceLayout['header']['meanings']>;
  /** Number of lines read; fewer than the file has if `is_whole` is false or the records end before the file does. */
  readonly lines: number;
}

/** The counts and findings of an import: the value of `metadata.receipt`, with the keys of the HTTP interface. */
export interface ImportReport extends RecordCounts {
  readonly sources: readonly SourceReport[];
  readonly bytes: number;
  /** Number of chunks that were restored from an attempt before an interruption. */
  readonly resumed_chunks: number;
  /** False if reading stopped before the end of the sources, or if an error ended the import before all checks of its records were done. */
  readonly is_whole: boolean;
  /** Whether the import has made a commit. */
  readonly is_committed: boolean;
  /** The file at `/v2/dataset_imports/<id>/rejected`; null if no record was rejected. */
  readonly rejected_file: RejectedFile | null;
}

/** Creates the report of an import. Throws `internal` if the numbers of records do not add up. */
export async function createImportReport(
  runs: readonly SourceRun[],
  rejected: RejectedFile | null,
  outcome: Pick<ImportReport, 'is_whole' | 'is_committed'>,
): Promise<ImportReport> {
  const sources: SourceReport[] = [];
  for (const run of runs) sources.push(await createSourceReport(run));
  const sumOfSources = (of: (source: SourceReport) => number): number =>
    sources.reduce((sum, source) => sum + of(source), 0);
  const counts = requireConsistentCounts('the import', {
    records_read: sumOfSources((source) => source.records_read),
    records_stored: sumOfSources((source) => source.records_stored),
    records_rejected: sumOfSources((source) => source.records_rejected),
    ...recordsMadeEntry(sumOfSources((source) => source.records_made ?? 0)),
  });
  const bytes = sumOfSources((source) => source.bytes);
  return {
    sources,
    bytes,
    resumed_chunks: runs.reduce((sum, run) => sum + run.restoredChunkCount, 0),
    ...counts,
    ...outcome,
    rejected_file: rejected,
  };
}

async function createSourceReport(run: SourceRun): Promise<SourceReport> {
  const { source, file, layout } = run;
  const { header, compression } = layout;
  const results = run.results();
  const sumOfChunks = (of: (chunk: (typeof results)[number]) => number): number =>
    results.reduce((sum, chunk) => sum + of(chunk), 0);
  const [, objectId = null, revision = null] = /^object (\d+)-(\d+)$/.exec(file.identity) ?? [];
  return {
    name: source.name,
    object_id: objectId === null ? null : Number(objectId),
    revision: revision === null ? null : Number(revision),
    url: source.location.kind === 'url' ? source.location.url : null,
    bytes: file.bytes,
    md5: file.md5 ?? (await computeMd5(file)),
    compression: compression === 'plain' ? null : compression,
    reader: layout.reader.name,
    genome_build: header.genomeBuild,
    meanings: header.meanings ?? [],
    lines: header.bodyLine + sumOfChunks((chunk) => chunk.lines),
    ...requireConsistentCounts(source.name, {
      records_read: sumOfChunks((chunk) => chunk.read),
      records_stored: sumOfChunks((chunk) => chunk.stored),
      records_rejected: sumOfChunks((chunk) => chunk.rejected),
      ...recordsMadeEntry(sumOfChunks((chunk) => chunk.made ?? 0)),
    }),
  };
}

function recordsMadeEntry(made: number): Pick<RecordCounts, 'records_made'> {
  return made === 0 ? {} : { records_made: made };
}

function requireConsistentCounts(name: string, counts: RecordCounts): RecordCounts {
  const {
    records_read: read,
    records_stored: stored,
    records_rejected: rejected,
    records_made: made = 0,
  } = counts;
  if (read + made === stored + rejected) return counts;
  throw new AppError(
    'internal',
    `${name}: ${read} records read, but ${stored} stored and ${rejected} rejected`,
  );
}

/** Returns the MD5 of a source that has none stored: inline records, and files that were uploaded before MD5s were stored. */
async function computeMd5({ completeFile: path }: LocalFile): Promise<string> {
  const file = await openFile(path);
  try {
    const digest = createHash('md5');
    for await (const piece of file.stream()) digest.update(piece);
    return digest.digest('hex');
  } finally {
    await file.close();
  }
}
