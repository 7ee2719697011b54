import { join } from 'node:path';
import { budgets, byteSizeText } from '../../../engine/core/budgets.js';
import { AppError, InputError } from '../../../engine/core/errors.js';
import { makeFolder, sweepFolder } from '../../../engine/core/files.js';
import { writeStream } from '../../../engine/core/file-writer.js';
import { PhysicalNames } from '../../../engine/ingest/physical-names.js';
import { unifyColumns } from '../../../engine/ingest/unify-columns.js';
import { encodeSchemaFile } from '../../../engine/store/schema-file.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Columns } from '../../../engine/core/types.js';
import { readerNamed, tableFormatOf } from '../../../readers/index.js';
import { openSource } from '../../../readers/source/open-source.js';
import type { RunContext } from '../job.js';
import { ChunkFlow } from '../import/chunk-flow.js';
import type { ImportRunContext } from '../import/chunk-runner.js';
import type { ImportSource } from '../import/import-source.js';
import { RejectedBudget } from '../import/rejected-budget.js';
import type { LocalFile } from '../import/source-files.js';
import { SourceRun, type SourceToRead } from '../import/source-run.js';
import type { TableFile } from './file-table.js';

/** The result of `runTable`. */
export interface TableResult {
  readonly columns: Columns;
  readonly segments: readonly Segment[];
  /** Absolute path of a folder that contains only the table. */
  readonly folder: string;
}

/** Name of the file that declares the columns. */
export const schemaFileName = 'schema.parquet';

/** Files of up to this size are read before the chunks of imports, because a query waits for them. */
const maxUrgentFileBytes = 64 << 20;

/**
 * Reads an uploaded file into segments, with the code of imports. The table is written to a folder of its own, which nothing uses
 * before the task has ended. Throws `input` for the first record that cannot be read, and `budget` for a table that is too large.
 */
export async function runTable(file: TableFile, context: RunContext): Promise<TableResult> {
  const { data, pool, signal, taskId } = context;
  const { objectId, revision } = file;
  const path = data.object(objectId, revision);
  const folder = data.fileTable(objectId, revision, taskId);
  await makeFolder(folder);
  await sweepFolder(folder); // the folder may have files of an earlier attempt
  const { known, bytes } = await readDeclaredColumns(file, path);
  let run: SourceRun | undefined;
  const importContext: ImportRunContext = {
    context: { ...context, scratch: folder, earlier: [], progress: () => undefined },
    known,
    expressions: null,
    transient: [],
    fixedEntities: [],
    commitId: 0,
    isUrgent: bytes <= maxUrgentFileBytes,
    isDryRun: false,
    isIntermediate: false,
    replaceable: undefined,
    rejected: new RejectedBudget(),
    resume: null,
    chunkRead: () => checkTableSize(file, run),
  };
  const flow = new ChunkFlow(pool.threads + 2, signal);
  const localFile: LocalFile = { completeFile: path, bytes, md5: null, identity: '' };
  const sourceToRead: SourceToRead = {
    source: importSourceOfFile(file, path),
    firstChunk: 0,
    isCounted: false,
    file: async () => localFile,
    opened: (opened) => void (run = opened),
  };
  await SourceRun.readSource(importContext, sourceToRead, flow);
  await flow.waitUntilFinished();
  const openedRun = run!;
  requireNoErrors(file, openedRun);
  const { columns } = unifyColumns(known, openedRun.columnsOfChunks());
  const secondFlow = new ChunkFlow(pool.threads + 2, signal);
  await openedRun.rewriteChunks(columns, secondFlow);
  await secondFlow.waitUntilFinished();
  requireNoErrors(file, openedRun);
  const segments = openedRun.results().flatMap(({ segment }) => segment ?? []);
  await writeStream(join(folder, schemaFileName), [encodeSchemaFile(columns)]);
  const files = new Set([schemaFileName, ...segments.map(({ path }) => path)]);
  await sweepFolder(folder, (name) => files.has(name));
  return { columns, segments, folder };
}

/** Returns the size of the file, and the columns that its header declares if all values of its format are strings. */
async function readDeclaredColumns(
  tableFile: TableFile,
  file: string,
): Promise<{ known: Columns; bytes: number }> {
  const format = tableFormatOf(tableFile.filename);
  const reader = readerNamed(format.reader);
  const source = await openSource(
    file,
    tableFile.filename,
    reader.encodingOf?.(format.readerParams),
  );
  try {
    const { bytes } = source;
    if (!format.isAllText) return { known: [], bytes };
    const { fields } = await reader.header(source.head, reader.params(format.readerParams));
    const names = new PhysicalNames([], true);
    const knownFields = fields.map(({ name = '' }) => ({
      name,
      physical: names.add(name),
      type: 'string' as const,
      isList: false,
    }));
    return { known: knownFields, bytes };
  } finally {
    await source.close();
  }
}

function importSourceOfFile(job: TableFile, file: string): ImportSource {
  const { reader, readerParams } = tableFormatOf(job.filename);
  return {
    location: { kind: 'file', file, identity: '', md5: null },
    name: job.filename,
    reader,
    isReaderNamed: true,
    readerParams,
    validation: { disable: false, raiseOnErrors: true, strict: false, allowNewFields: true },
    entityParams: { disable: true },
    expected: { md5: null, bytes: null },
  };
}

function checkTableSize(job: TableFile, run: SourceRun | undefined): void {
  const segmentSizes = run?.results().map(({ segment }) => segment?.bytes ?? 0) ?? [];
  const bytes = segmentSizes.reduce((sum, one) => sum + one, 0);
  if (bytes <= budgets.fileTableBytes) return;
  throw new AppError(
    'budget',
    `${job.filename} takes more than ${byteSizeText(budgets.fileTableBytes)} as a table, the most that a file may take to be queried: import it into a dataset`,
  );
}

function requireNoErrors(job: TableFile, run: SourceRun): void {
  const found = run.findings().examples.find(({ level }) => level === 'error');
  if (found === undefined) return;
  const field = found.field === null ? '' : `field ${found.field}: `;
  const location = found.line > 0 ? { line: found.line } : {};
  throw new InputError({ file: job.filename, ...location }, `${field}${found.message}`);
}
