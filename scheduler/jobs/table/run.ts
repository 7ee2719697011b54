import { join } from 'node:path';
import { budgets } from '../../../engine/core/budgets.js';
import type { DataFolder } from '../../../engine/core/data-folder.js';
import { AppError, InputError } from '../../../engine/core/errors.js';
import { makeFolder, sweep, writeStream } from '../../../engine/core/files.js';
import { PhysicalNames } from '../../../engine/ingest/physical-names.js';
import { unifyColumns } from '../../../engine/ingest/unify-columns.js';
import { schemaFile } from '../../../engine/store/schema-file.js';
import type { Segment } from '../../../engine/store/store.js';
import type { Columns } from '../../../engine/core/types.js';
import { readerNamed } from '../../../readers/index.js';
import { openSource } from '../../../readers/source/open.js';
import type { Pool } from '../../worker/pool.js';
import type { RunContext } from '../job.js';
import { ChunkFlow } from '../import/chunk-flow.js';
import type { ImportSource } from '../import/source.js';
import { RejectedRoom } from '../import/rejected-file.js';
import type { LocalFile } from '../import/source-files.js';
import { SourceRun } from '../import/source-run.js';
import { tableKind } from './kind.js';
import type { TableFile } from './table.js';

/** What the worker needs to make a table. */
export interface TableJob extends TableFile {
  /** Names the folder that the table goes to. */
  readonly attempt: number;
}

/** A finished table; nothing else is in its folder. */
export interface TableResult {
  readonly columns: Columns;
  readonly segments: readonly Segment[];
}

/** The name of the file that tells the columns. */
export const schemaName = 'schema.parquet';

/** Somebody waits for a file of up to this size: it goes before the chunks of imports. */
const urgentBytes = 64 << 20;

/** Reads an uploaded file into segments in a folder of its own; the first row that cannot be read ends it with an error. */
export async function tabulate(
  job: TableJob,
  { data, pool }: { readonly data: DataFolder; readonly pool: Pool },
  signal: AbortSignal,
): Promise<TableResult> {
  const file = data.object(job.objectId, job.revision);
  const folder = data.fileTable(job.objectId, job.revision, job.attempt);
  await makeFolder(folder);
  const { known, bytes } = await declared(job, file);
  const context = contextOf(job, data, folder, pool, signal);
  let run: SourceRun | undefined;
  const share = {
    context,
    known,
    transient: [],
    commitId: 0,
    isUrgent: bytes <= urgentBytes,
    isDryRun: false,
    rejected: new RejectedRoom(),
    resume: null,
    tell: () => checkSize(job, run),
  };
  const flow = new ChunkFlow(pool.threads + 2, signal);
  const local: LocalFile = { file, bytes, md5: null, identity: '' };
  const begun = (one: SourceRun): void => void (run = one);
  await SourceRun.read(share, sourceOf(job, file), async () => local, flow, 0, false, begun);
  await flow.settled();
  const done = run!;
  refuseFindings(job, done);
  const { columns } = unifyColumns(known, done.columns());
  const second = new ChunkFlow(pool.threads + 2, signal);
  await done.rewrite(columns, second);
  await second.settled();
  refuseFindings(job, done);
  const segments = done.results().flatMap(({ segment }) => segment ?? []);
  await writeStream(join(folder, schemaName), [schemaFile(columns)]);
  const kept = new Set([schemaName, ...segments.map(({ path }) => path)]);
  await sweep(folder, (name) => kept.has(name));
  return { columns, segments };
}

/** The size of the file, and what its header says of the columns where all values are texts. */
async function declared(job: TableJob, file: string): Promise<{ known: Columns; bytes: number }> {
  const kind = tableKind(job.filename);
  const source = await openSource(file, job.filename);
  try {
    const { bytes } = source;
    if (!kind.isAllText) return { known: [], bytes };
    const reader = readerNamed(kind.reader);
    const { fields } = await reader.header(source.head, reader.params(kind.readerParams));
    const names = new PhysicalNames([], true);
    const known = fields.map(({ name = '' }) => ({
      name,
      physical: names.add(name),
      type: 'string' as const,
      isList: false,
    }));
    return { known, bytes };
  } finally {
    await source.close();
  }
}

function sourceOf(job: TableJob, file: string): ImportSource {
  const { reader, readerParams } = tableKind(job.filename);
  return {
    place: { kind: 'file', file, identity: '', md5: null },
    name: job.filename,
    reader,
    isReaderAsked: true,
    readerParams,
    validation: { disable: false, raiseOnErrors: true, strict: false, allowNewFields: true },
    entityParams: { disable: true },
    promised: { md5: null, bytes: null },
  };
}

/** What reading a source asks of a task; there is no task, only somebody who waits. */
function contextOf(
  job: TableJob,
  data: DataFolder,
  scratch: string,
  pool: Pool,
  signal: AbortSignal,
): RunContext {
  const never = (): Promise<never> =>
    Promise.reject(new AppError('internal', 'a table is made of a file of the data folder alone'));
  return {
    taskId: 0,
    attempt: job.attempt,
    data,
    scratch,
    earlier: [],
    pool,
    signal,
    progress: () => undefined,
    fetchSource: never,
    withQueryEngine: never,
  };
}

function checkSize(job: TableJob, run: SourceRun | undefined): void {
  const segments = run?.results().map(({ segment }) => segment?.bytes ?? 0) ?? [];
  const bytes = segments.reduce((sum, one) => sum + one, 0);
  if (bytes <= budgets.fileTableBytes) return;
  throw new AppError(
    'budget',
    `${job.filename} takes more than ${budgets.fileTableBytes} bytes as a table (budget fileTableBytes): import it into a dataset`,
  );
}

function refuseFindings(job: TableJob, run: SourceRun): void {
  const found = run.findings().examples.find(({ level }) => level === 'error');
  if (found === undefined) return;
  const field = found.field === null ? '' : `field ${found.field}: `;
  const place = found.line > 0 ? { line: found.line } : {};
  throw new InputError({ file: job.filename, ...place }, `${field}${found.message}`);
}
