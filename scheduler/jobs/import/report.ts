import { createHash } from 'node:crypto';
import { AppError } from '../../../engine/core/errors.js';
import { openFile } from '../../../engine/core/files.js';
import type { RejectedFile } from './rejected-file.js';
import type { LocalFile } from './source-files.js';
import type { SourceRun } from './source-run.js';

/** How many records there were; `read = stored + rejected` always. */
export interface RecordCounts {
  readonly records_read: number;
  /** Fit to be stored; they are in the dataset when the receipt says `is_committed`. */
  readonly records_stored: number;
  readonly records_rejected: number;
}

/** What was read of one source. */
export interface SourceReceipt extends RecordCounts {
  readonly name: string;
  /** Its object and which upload of it; null for what is none. */
  readonly object_id: number | null;
  readonly revision: number | null;
  readonly url: string | null;
  /** As it came, before decompression. */
  readonly bytes: number;
  readonly md5: string;
  readonly compression: Exclude<SourceRun['compression'], 'plain'> | null;
  readonly reader: string;
  readonly genome_build: string | null;
  /** Lines that were read; fewer than the file has when `is_whole` is false or its records end early. */
  readonly lines: number;
}

/** What an import has read and what became of it, as its metadata keeps it: keys as clients see them. */
export interface Receipt extends RecordCounts {
  readonly sources: readonly SourceReceipt[];
  readonly bytes: number;
  /** Chunks that had been read before an interruption, and were not read again. */
  readonly resumed_chunks: number;
  /** False when the import stopped before the end of its sources. */
  readonly is_whole: boolean;
  /** Whether the stored records are in the dataset. */
  readonly is_committed: boolean;
  /** The records that were rejected, at `/v2/dataset_imports/<id>/rejected`; null without any. */
  readonly rejected_file: RejectedFile | null;
}

/** The receipt of these runs. */
export async function receiptOf(
  runs: readonly SourceRun[],
  rejected: RejectedFile | null,
  outcome: Pick<Receipt, 'is_whole' | 'is_committed'>,
): Promise<Receipt> {
  const sources: SourceReceipt[] = [];
  for (const run of runs) sources.push(await sourceReceipt(run));
  const total = (of: (source: SourceReceipt) => number): number =>
    sources.reduce((sum, source) => sum + of(source), 0);
  const counts = checked('the import', {
    records_read: total((source) => source.records_read),
    records_stored: total((source) => source.records_stored),
    records_rejected: total((source) => source.records_rejected),
  });
  const bytes = total((source) => source.bytes);
  const resumed = runs.reduce((sum, run) => sum + run.resumed.size, 0);
  return {
    sources,
    bytes,
    resumed_chunks: resumed,
    ...counts,
    ...outcome,
    rejected_file: rejected,
  };
}

async function sourceReceipt(run: SourceRun): Promise<SourceReceipt> {
  const { source, file, head, compression } = run;
  const results = run.results();
  const sum = (of: (chunk: (typeof results)[number]) => number): number =>
    results.reduce((total, chunk) => total + of(chunk), 0);
  const [, objectId = null, revision = null] = /^object (\d+)-(\d+)$/.exec(file.identity) ?? [];
  return {
    name: source.name,
    object_id: objectId === null ? null : Number(objectId),
    revision: revision === null ? null : Number(revision),
    url: source.place.kind === 'url' ? source.place.url : null,
    bytes: file.bytes,
    md5: file.md5 ?? (await md5Of(file)),
    compression: compression === 'plain' ? null : compression,
    reader: run.readerName,
    genome_build: head.genomeBuild,
    lines: head.bodyLine + sum((chunk) => chunk.lines),
    ...checked(source.name, {
      records_read: sum((chunk) => chunk.read),
      records_stored: sum((chunk) => chunk.stored),
      records_rejected: sum((chunk) => chunk.rejected),
    }),
  };
}

function checked(name: string, counts: RecordCounts): RecordCounts {
  const { records_read: read, records_stored: stored, records_rejected: rejected } = counts;
  if (read === stored + rejected) return counts;
  throw new AppError(
    'internal',
    `${name}: ${read} records read, but ${stored} stored and ${rejected} rejected`,
  );
}

/** Of inline records, and of files from before their md5 was kept. */
async function md5Of({ file: path }: LocalFile): Promise<string> {
  const file = await openFile(path);
  try {
    const digest = createHash('md5');
    for await (const piece of file.stream()) digest.update(piece);
    return digest.digest('hex');
  } finally {
    await file.close();
  }
}
