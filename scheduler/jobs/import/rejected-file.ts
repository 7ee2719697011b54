import { join } from 'node:path';
import { budgets, byteSizeText } from '../../../engine/core/budgets.js';
import type { StatusRow } from '../../../engine/catalog/jobs.js';
import type { TaskRow } from '../../../engine/catalog/task-row.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { readFileStats, moveFile, readFile, syncFolder } from '../../../engine/core/files.js';
import { createFile, type FileWriter } from '../../../engine/core/file-writer.js';
import { shiftedLine } from '../../../engine/ingest/rejected-lines.js';
import type { RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';
import type { RejectedPart } from './rejected-part.js';

const gzipInThread = 'gzip' as ThreadJob<Uint8Array, Uint8Array>;

/** Name of the file of rejected records in the scratch folder, where it stays until `keepRejected` moves it or the task ends. */
const rejectedFileName = 'rejected.jsonl.gz';

/** The properties of the file of rejected records, with the keys of the import report. */
export interface RejectedFile {
  /** Number of records (lines) in the file. */
  readonly records: number;
  /** Number of rejected records that were left out, because the file had reached its maximum size. */
  readonly left_out: number;
  readonly bytes: number;
  readonly md5: string;
  /** The limit that was reached, as a sentence; null if no record was left out. */
  readonly budget: string | null;
}

/** The rejected records of a source: of a file, or of the dataset that a migration reads. */
export interface SourceRejections {
  /** The name of the source in messages. */
  readonly name: string;
  readonly rejected: number;
  /** The rejected records of each chunk that has some, in order, with the number of lines of the source before the chunk. */
  readonly parts: readonly { readonly part: RejectedPart; readonly linesBefore: number }[];
}

/**
 * Writes the rejected records of all chunks, in the order of the sources and up to `budgets.rejectedFileBytes`, to a file in the scratch
 * folder. Returns null if no record was rejected.
 */
export async function writeRejectedFile(
  sources: readonly SourceRejections[],
  context: Pick<RunContext, 'pool' | 'scratch' | 'signal'>,
): Promise<RejectedFile | null> {
  const rejectedCount = sources.reduce((sum, source) => sum + source.rejected, 0);
  if (rejectedCount === 0) return null;
  const { pool, scratch, signal } = context;
  const file = await createFile(join(scratch, rejectedFileName), { md5: true });
  try {
    const records = await writeLines(sources, file, (block) =>
      pool.run(gzipInThread, () => block, signal, { isUrgent: true }),
    );
    const writtenFile = await file.finish();
    const recordsLeft = rejectedCount - records;
    const budget = `The file holds the first ${byteSizeText(budgets.rejectedFileBytes)} of rejected records, before compression.`;
    return {
      records,
      left_out: recordsLeft,
      ...writtenFile,
      budget: recordsLeft > 0 ? budget : null,
    };
  } catch (error) {
    await file.abort();
    throw error;
  }
}

/**
 * Moves the file of rejected records from the scratch folder to its final path, where it is kept as long as the import or the migration.
 */
export async function keepRejected(
  { id, resourceId }: Pick<TaskRow, 'id' | 'resourceId'>,
  attempt: number,
  data: DataFolder,
): Promise<void> {
  const scratchFile = join(data.taskScratch(id, attempt), rejectedFileName);
  if ((await readFileStats(scratchFile)) === undefined) return; // no record was rejected, or an earlier call has moved the file
  await moveFile(scratchFile, data.rejectedLines(resourceId));
  await syncFolder(data.rejected);
  crashpoint('rejected.renamed');
}

/** Whether the file of rejected records of an import or a migration is kept; its row is undefined if it was deleted. */
export function keepsRejected(row: StatusRow | undefined): boolean {
  return row?.status === 'failed' || row?.status === 'completed';
}

async function writeLines(
  sources: readonly SourceRejections[],
  file: FileWriter,
  gzip: (block: Uint8Array) => Promise<Uint8Array>,
): Promise<number> {
  let block: Uint8Array[] = [];
  let blockBytes = 0;
  let bytes = 0;
  let records = 0;
  const writeBlock = async (): Promise<void> => {
    if (blockBytes > 0) await file.write(await gzip(Buffer.concat(block, blockBytes)));
    block = [];
    blockBytes = 0;
  };
  for await (const line of rejectedFileLines(sources)) {
    if (bytes + line.length > budgets.rejectedFileBytes) break;
    block.push(line);
    blockBytes += line.length;
    bytes += line.length;
    records++;
    if (blockBytes >= 1 << 20) await writeBlock();
  }
  await writeBlock();
  return records;
}

async function* rejectedFileLines(
  sources: readonly SourceRejections[],
): AsyncGenerator<Uint8Array> {
  for (const { name, parts } of sources) {
    for (const { part, linesBefore } of parts) {
      const bytes = await readFile(part.file, budgets.rejectedFileBytes);
      for (let at = 0; at < bytes.length;) {
        const end = bytes.indexOf(10, at) + 1;
        yield shiftedLine(bytes.subarray(at, end), name, linesBefore);
        at = end;
      }
    }
  }
}
