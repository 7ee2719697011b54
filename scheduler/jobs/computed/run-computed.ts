import { join } from 'node:path';
import { byteSizeText } from '../../../engine/core/budgets.js';
import { AppError, canceledError } from '../../../engine/core/errors.js';
import { writeStream } from '../../../engine/core/file-writer.js';
import { makeFolder, sweepFolder } from '../../../engine/core/files.js';
import { findRows } from '../../../engine/query/plan/find.js';
import { encodeSchemaFile } from '../../../engine/store/schema-file.js';
import type { RunContext } from '../job.js';
import { ChunkWriter } from '../migration/chunk-writer.js';
import { migrationOutcome } from '../migration/migration-outcome.js';
import { schemaFileName, type TableResult } from '../table/run-table.js';
import type { ComputedParams } from './computed-types.js';

/**
 * Finds the records and writes their stored and computed columns as segments, chunk by chunk as a migration does, to a folder that nothing
 * uses before the task has ended. Throws `budget` for a table that takes too much time or space.
 */
export async function runComputedTable(
  params: ComputedParams,
  context: RunContext,
): Promise<TableResult> {
  const { snapshot } = params.migration;
  const folder = context.data.fileTable(snapshot.datasetId, 0, context.taskId);
  const limit = AbortSignal.timeout(params.timeoutMs);
  const signal = AbortSignal.any([context.signal, limit]);
  const limitedContext = { ...context, signal };
  try {
    return await writeComputedTable(params, folder, limitedContext);
  } catch (error) {
    if (context.signal.aborted) throw canceledError();
    throw limit.aborted ? computationTimeoutError(params) : error;
  }
}

/** Writes the table to a folder, from which all other files are removed. Throws `budget` if the table takes too much space. */
export async function writeComputedTable(
  params: ComputedParams,
  folder: string,
  context: RunContext,
): Promise<TableResult> {
  const { migration } = params;
  const { snapshot, request, sourceRowColumn } = migration;
  await makeFolder(folder);
  await sweepFolder(folder); // the folder may have files of an earlier attempt
  const writer: ChunkWriter = new ChunkWriter(migration, {
    ...context,
    scratch: folder,
    progress(progress) {
      checkTableSize(params, writer);
      context.progress(progress);
    },
  });
  const { signal } = context;
  const subject = `dataset ${snapshot.datasetId}`;
  const options = { signal, timeoutMs: params.timeoutMs, subject };
  await writer.writeAllChunks(findRows(context.queryEngine, snapshot, request, options));
  const outcome = migrationOutcome(migration, writer.completedChunks, writer.countRecords());
  const columns = [...outcome.columns, sourceRowColumn!];
  const segments = writer.segments();
  await writeStream(join(folder, schemaFileName), [encodeSchemaFile(columns)]);
  // If a chunk was written a second time, its first file is still in the folder.
  const files = new Set([schemaFileName, ...segments.map(({ path }) => path)]);
  await sweepFolder(folder, (name) => files.has(name));
  return { columns, segments, folder };
}

function checkTableSize({ names, maxBytes }: ComputedParams, writer: ChunkWriter): void {
  const bytes = writer.segments().reduce((sum, segment) => sum + segment.bytes, 0);
  if (bytes <= maxBytes) return;
  throw new AppError(
    'budget',
    `Computing ${joinFieldNames(names)} takes more than ${byteSizeText(maxBytes)}, the most that a query may take: ${narrowQueryAdvice}`,
  );
}

function computationTimeoutError({ names, timeoutMs }: ComputedParams): AppError {
  return new AppError(
    'budget',
    `Computing ${joinFieldNames(names)} to find, sort or count by it took longer than ${timeoutMs / 1000} s, the most that a query may take: ${narrowQueryAdvice}`,
  );
}

/** What a user may do about a table that cannot be made. */
export const narrowQueryAdvice =
  'narrow the query with filters on stored fields, or store the field with a migration and query that';

/** Returns the names of fields as a text for messages: the first three, followed by `and others` if there are more. */
export function joinFieldNames(names: readonly string[]): string {
  const shownNames = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shownNames} and others` : shownNames;
}
