import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { ChecksummedFile } from '../../../engine/core/block-checksums.js';
import { crashpoint } from '../../../engine/core/crashpoint.js';
import { AppError, canceledError } from '../../../engine/core/errors.js';
import { createFile } from '../../../engine/core/file-writer.js';
import { openFile } from '../../../engine/core/files.js';
import { areRowsFoundInLog, findRows } from '../../../engine/query/plan/find.js';
import { parseExportParams } from '../../../engine/query/request/query-request.js';
import { cellNames } from '../../../engine/query/results/cells.js';
import type { FileContext, FileWarning, Writer } from '../../../writers/writer.js';
import { writerNamed } from '../../../writers/index.js';
import type { RunContext } from '../job.js';
import type { ThreadJob } from '../thread-pool.js';
import { annotatedPartLimits, createAnnotatedTable } from './annotated-table.js';
import { findComputedRows, mapProgress } from './computed-search.js';
import type { ExportParams, ExportResult, QueryExport } from './export-types.js';
import { ResumableParts } from './finished-parts.js';
import { mapInOrder } from './in-order.js';
import type { PartLimits } from './part-splitter.js';
import { splitCommitIntoParts, exportQueryOptions, splitRowsIntoParts } from './part-jobs.js';
import type { EncodedPart, ExportAnnotation, ListLengthJob, PartJob, PartRows } from './part.js';

const encodeInThread = 'encode' as ThreadJob<PartJob, EncodedPart>;
const measureInThread = 'measure' as ThreadJob<ListLengthJob, readonly number[]>;

/** Writes the records of a query or a commit to a file in the scratch folder. */
export async function runExport(params: ExportParams, context: RunContext): Promise<ExportResult> {
  const writer = writerNamed(params.format);
  if (writer === undefined) throw new AppError('internal', `no writer for ${params.format}`);
  if (!('request' in params)) {
    const parts = () => splitCommitIntoParts(params, writer, context.data);
    return writeExportFile({ ...params, parts, annotation: null, total: null }, writer, context);
  }
  return exportQuery(params, writer, context);
}

async function exportQuery(
  params: QueryExport,
  writer: Writer,
  context: RunContext,
): Promise<ExportResult> {
  const { queryEngine } = context;
  const { snapshot, request, search, annotation, annotated, file, titles } = params;
  const options = exportQueryOptions(snapshot, context);
  const computedRows = search && (await findComputedRows(search, request.limit, context));
  const findRowsOfQuery =
    computedRows?.find ?? (() => findRows(queryEngine, snapshot, request, options));
  const { computedCount = 0 } = computedRows ?? {};
  const progressContext = mapProgress(context, ({ records, recordsTotal, ...progress }) => ({
    ...progress,
    records: computedCount + records,
    recordsTotal: recordsTotal === null ? null : computedCount + recordsTotal,
  }));
  const partsOf = (limits: PartLimits): AsyncGenerator<PartRows> =>
    splitRowsIntoParts(findRowsOfQuery(), snapshot, limits);
  const total = recordTotalFromLog(params);
  if (annotation === null || annotated === null)
    return writeExportFile(
      { ...params, parts: () => partsOf(writer), total },
      writer,
      progressContext,
    );
  const { projection } = file;
  const recordsToAnnotate = {
    projection,
    annotation,
    columns: annotated,
    parts: () => partsOf(annotatedPartLimits),
  };
  const progress = (records: number): void => reportRecords(progressContext, records, total);
  const table = await createAnnotatedTable(recordsToAnnotate, context, progress);
  const columns = cellNames(table.projection, titles);
  const annotatedContent = {
    ...params,
    file: { ...file, projection: table.projection, columns },
    annotation: null,
    parts: () =>
      splitRowsIntoParts(
        findRows(queryEngine, table.snapshot, allRecordsQuery, options),
        table.snapshot,
        writer,
      ),
    total: table.snapshot.rows,
    warnings: table.warnings,
  };
  return writeExportFile(annotatedContent, writer, progressContext);
}

/** A query that finds all records. */
const allRecordsQuery = parseExportParams({}, []);

/** The records of an export and the format of its file. */
interface ExportContent extends Pick<ExportParams, 'format' | 'snapshot' | 'isStored' | 'file'> {
  /** Finds the records, in parts. */
  parts(): AsyncGenerator<PartRows>;
  /** The annotation of the records; null if they are exported as they are. */
  readonly annotation: ExportAnnotation | null;
  /** The number of records, as far as it is known in advance; null if it is not. */
  readonly total: number | null;
  /** The warnings about records that were annotated into a table; absent for others. */
  readonly warnings?: readonly FileWarning[];
}

async function writeExportFile(
  content: ExportContent,
  writer: Writer,
  context: RunContext,
): Promise<ExportResult> {
  const { signal } = context;
  const measuredLists = writer.expandsLists === true ? await measureLists(content, context) : null;
  const file: FileContext = { ...content.file, longest: measuredLists?.longest ?? null };
  const warnings: FileWarning[] = [...(content.warnings ?? [])];
  const name = `export.${writer.extension}`;
  const writtenCount = { records: 0 };
  // Parts of annotated records are not reused after a kill, because expressions may depend on other datasets.
  const isComputed = content.annotation !== null || content.warnings !== undefined;
  const resumableParts = isComputed ? null : await ResumableParts.open(context, name);
  const output = await createFile(join(context.scratch, name), {
    md5: content.isStored,
    sha256: true,
  });
  try {
    const parts = encodeParts(
      { ...content, ...measuredLists },
      file,
      context,
      writtenCount,
      resumableParts,
    );
    for await (const piece of writer.join(parts, file, (warning) => warnings.push(warning))) {
      if (signal.aborted) throw canceledError();
      await output.write(piece);
      resumableParts?.recordWrittenPiece(piece, output);
      crashpoint('export.partial');
    }
    await resumableParts?.close();
    const writtenFile = await output.finish();
    crashpoint('export.finished');
    const { version } = content.snapshot;
    const { provenance } = file;
    const { records } = writtenCount;
    return { file: name, records, version, provenance, warnings, resumedParts: resumableParts?.reusedPartCount ?? 0, ...writtenFile }; // prettier-ignore
  } catch (error) {
    await resumableParts?.close().catch(() => undefined); // the first error is reported
    await output.abort();
    throw signal.aborted ? canceledError() : error;
  }
}

/**
 * Returns for each column of cells the length of its longest list, and the same parts for writing the file. Their row numbers, eight bytes
 * a record, are kept in the scratch folder, so that the query runs once.
 */
async function measureLists(
  { file, parts }: ExportContent,
  { pool, scratch, signal }: RunContext,
): Promise<{ readonly longest: readonly number[]; parts(): AsyncGenerator<PartRows> }> {
  const longest = file.columns.map(() => 0);
  const path = join(scratch, 'rows');
  const segments = new SegmentNumbers();
  const listLengths = mapInOrder(
    saveParts(parts(), path, segments),
    pool.threads + 1,
    ({ files, rows }) => {
      const job = { files, rows, projection: file.projection };
      return pool.run(measureInThread, () => job, signal, { isUrgent: true });
    },
  );
  try {
    for await (const lengths of listLengths)
      for (const [i, length] of lengths.entries()) longest[i] = Math.max(longest[i]!, length);
    return { longest, parts: () => readSavedParts(path, segments) };
  } catch (error) {
    throw signal.aborted ? canceledError() : error;
  }
}

/** Numbers the segments of saved parts, so that their checksums are kept once and not with every part. */
class SegmentNumbers {
  readonly files: ChecksummedFile[] = [];
  readonly #numbers = new Map<ChecksummedFile, number>();

  numberOf(file: ChecksummedFile): number {
    const knownNumber = this.#numbers.get(file);
    if (knownNumber !== undefined) return knownNumber;
    const number = this.files.push(file) - 1;
    this.#numbers.set(file, number);
    return number;
  }
}

/** A part in the scratch folder: its files are numbers of segments. */
interface SavedPart {
  readonly files: readonly number[];
  readonly rows: PartRows['rows'];
}

/** Yields parts and appends each of them to a new file, as its length in four bytes and its serialized form. */
async function* saveParts(
  parts: AsyncIterable<PartRows>,
  path: string,
  segments: SegmentNumbers,
): AsyncGenerator<PartRows> {
  const file = await createFile(path);
  let isComplete = false;
  try {
    for await (const part of parts) {
      const files = part.files.map((one) => segments.numberOf(one));
      const bytes = serialize({ files, rows: part.rows } satisfies SavedPart);
      await file.write(new Uint8Array(Uint32Array.of(bytes.length).buffer));
      await file.write(bytes);
      yield part;
    }
    await file.closeUnflushed();
    isComplete = true;
  } finally {
    if (!isComplete) await file.abort();
  }
}

async function* readSavedParts(path: string, segments: SegmentNumbers): AsyncGenerator<PartRows> {
  const file = await openFile(path);
  try {
    for (let at = 0; at < file.bytes;) {
      const [length] = new Uint32Array((await file.read(at, 4)).buffer);
      const saved = deserialize(await file.read(at + 4, length!)) as SavedPart;
      yield { files: saved.files.map((number) => segments.files[number]!), rows: saved.rows };
      at += 4 + length!;
    }
  } finally {
    await file.close();
  }
}

/** Returns the number of records if the Delta log alone tells it; null otherwise. */
function recordTotalFromLog({ snapshot, request, search }: QueryExport): number | null {
  if (search !== null || !areRowsFoundInLog(snapshot, request)) return null;
  // The log finds all records, or none because of its statistics.
  return request.predicate.kind === 'all' ? Math.min(snapshot.rows, request.limit) : 0;
}

function reportRecords(context: RunContext, records: number, recordsTotal: number | null): void {
  context.progress({ records, recordsTotal, bytes: 0, bytesTotal: 0, errors: 0 });
}

/**
 * Yields the encoded parts of the file, in order. Pool threads encode several parts at the same time, and only these parts are in memory.
 */
async function* encodeParts(
  content: ExportContent,
  file: FileContext,
  context: RunContext,
  writtenCount: { records: number },
  resumableParts: ResumableParts | null,
): AsyncGenerator<unknown> {
  const { pool, signal } = context;
  const { format, annotation } = content;
  let { total } = content;
  const jobs = async function* (): AsyncGenerator<PartJob> {
    let firstRecord = 0;
    for await (const { files, rows } of content.parts()) {
      yield { format, context: file, files, rows, annotation, first: firstRecord };
      firstRecord += rows.length / 2;
    }
    total = firstRecord;
  };
  const encode = async (job: PartJob) => {
    const foundCount = job.rows.length / 2;
    const encodeInPool = (): Promise<EncodedPart> =>
      pool.run(encodeInThread, () => job, signal, {
        isUrgent: true,
        ...(annotation && { calls: context.hostCalls }),
      });
    if (resumableParts === null) return { ...(await encodeInPool()), found: foundCount };
    const part = await resumableParts.restoreOrEncode(job, async () => (await encodeInPool()).part);
    return { part, records: foundCount, found: foundCount };
  };
  // For records that were annotated into a table, progress was reported meanwhile, so writing them reports none.
  const isReported = content.warnings === undefined;
  if (isReported) reportRecords(context, 0, total);
  let processedCount = 0;
  for await (const { part, records, found } of mapInOrder(jobs(), pool.threads + 1, encode)) {
    writtenCount.records += records;
    if (isReported) reportRecords(context, (processedCount += found), total);
    yield part;
  }
}
