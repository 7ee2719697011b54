import type { QueryEngine } from '../../../engine/query/plan/query-engine.js';
import type { RowBatch } from '../../../engine/query/plan/executor.js';
import { findRows } from '../../../engine/query/plan/find.js';
import { segmentFiles, type Snapshot } from '../../../engine/store/store.js';
import { bitmapRows } from '../../../engine/text/bitmap.js';
import type { Writer } from '../../../writers/writer.js';
import type { RunContext } from '../job.js';
import type { ExportParams } from './export-types.js';
import type { PartJob } from './part.js';

/** Timeout of the query of an export: the lifetime of a download URL. */
const exportMs = 24 * 3_600_000;

/** Approximate bytes of segment files that the records of one part take: parts of wide records have fewer records. */
const partBytes = 8 << 20;

/** Number of rows after which `acceptBatch` yields. */
const rowsAtOnce = 4_096;

/** Runs the query of an export and cuts the rows that it finds, in order, into parts. */
export async function* partJobs(
  { format, snapshot, request, file: fileContext }: ExportParams,
  writer: Writer,
  context: RunContext,
  engine: QueryEngine | undefined,
): AsyncGenerator<PartJob> {
  const recordBytes = snapshot.bytes / Math.max(1, snapshot.rows);
  const most = Math.max(256, Math.min(writer.partRecords, Math.floor(partBytes / recordBytes)));
  const options = {
    signal: context.signal,
    timeoutMs: exportMs,
    subject: `dataset ${snapshot.datasetId}`,
  };
  const jobs: PartJob[] = [];
  const all = segmentFiles(snapshot);
  let files = new Map<number, number>();
  let rows = new Int32Array(2 * most);
  let length = 0;
  const cut = (): void => {
    if (length === 0) return;
    const used = [...files.keys()].map((segment) => all[segment]!);
    jobs.push({ format, context: fileContext, files: used, rows: rows.slice(0, length) });
    files = new Map();
    rows = new Int32Array(2 * most);
    length = 0;
  };
  const accept = (segment: number, row: number): void => {
    let file = files.get(segment);
    if (file === undefined) files.set(segment, (file = files.size));
    rows[length++] = file;
    rows[length++] = row;
    if (length === rows.length) cut();
  };
  for await (const batch of findRows(engine, snapshot, request, options))
    for (const _ of acceptBatch(batch, snapshot, accept)) yield* jobs.splice(0);
  cut();
  yield* jobs;
}

/** Calls `accept` with each row of the batch, in order, and yields from time to time, so that parts are encoded meanwhile. */
function* acceptBatch(
  batch: RowBatch,
  { segments }: Snapshot,
  accept: (segment: number, row: number) => void,
): Generator<void> {
  let count = 0;
  const isDue = (): boolean => ++count % rowsAtOnce === 0;
  if ('refs' in batch) {
    for (const [segment, row] of batch.refs) {
      accept(segment, row);
      if (isDue()) yield;
    }
  } else if (batch.rows === 'all') {
    const { rows } = segments[batch.segment]!;
    for (let row = 0; row < rows; row++) {
      accept(batch.segment, row);
      if (isDue()) yield;
    }
  } else {
    const { segment, rows } = batch;
    for (const row of rows instanceof Int32Array ? rows : bitmapRows(rows)) {
      accept(segment, row);
      if (isDue()) yield;
    }
  }
  yield;
}
