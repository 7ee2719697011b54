import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { RecordBatch, RecordBatchStreamWriter, type Schema } from 'apache-arrow';
import { Table as WasmTable, transformParquetStream } from 'parquet-wasm/node';
import { crashpoint } from '../crashpoint.js';
import { AppError } from '../errors.js';
import { createFile, removeFile, syncFolder } from '../files.js';
import type { Columns } from '../types.js';
import { arrowSchema } from './arrow.js';
import { writerProperties } from './encoding.js';
import { checkFooter } from './footer.js';
import { countLeaves } from './leaves.js';
import { segmentStats } from './stats.js';
import type { Segment } from './store.js';

/** What `writeSegment` takes: batches of the reserved columns and then `columns`, in their order. */
export interface SegmentInput {
  readonly columns: Columns;
  readonly data: RecordBatch | readonly RecordBatch[];
  readonly rows: number;
}

/**
 * The encoder is fed in slices of so many rows, so that its memory holds one encoded row group and never the whole batch
 * (45 MB where a whole batch of 250,000 rows took 155 MB, at the same speed).
 */
const sliceRows = 16_384;
/** Slices of long texts are made shorter, to about so many bytes. */
const sliceBytes = 16 << 20;

/**
 * Writes a batch as one Parquet file and returns once it is durable and its footer, read back, agrees with the batch.
 * Runs in pool threads. The file is named by the caller, inside a task's scratch folder; on failure it is removed.
 * A trap of the encoder (threats R2c) surfaces as an uncaught error and so ends the thread: its module is not to be trusted again.
 */
export async function writeSegment(input: SegmentInput, path: string): Promise<Segment> {
  const schema = arrowSchema(input.columns);
  const batches = asBatches(input, schema);
  const counted = countLeaves(input.columns, batches);
  const digest = createHash('sha256');
  await removeFile(path); // of a first pass over the chunk, with other types
  const file = await createFile(path);
  try {
    for await (const piece of encode(input.columns, batches)) {
      digest.update(piece);
      await file.write(piece);
      crashpoint('segment.partial');
    }
    await file.finish();
    crashpoint('segment.flushed');
    await syncFolder(dirname(path));
    const footer = await checkFooter(path, input.rows, counted.leaves);
    return {
      path: basename(path),
      rows: input.rows,
      bytes: file.bytes,
      checksum: digest.digest('hex'),
      columns: input.columns,
      stats: segmentStats(counted, footer),
    };
  } catch (error) {
    await file.abort();
    throw error;
  }
}

/** The batches under the schema that says what we know of the columns; throws if they do not fit it. */
function asBatches(input: SegmentInput, schema: Schema): readonly RecordBatch[] {
  const batches = Array.isArray(input.data) ? input.data : [input.data as RecordBatch];
  const rows = batches.reduce((sum: number, batch: RecordBatch) => sum + batch.numRows, 0);
  if (rows !== input.rows) {
    throw new AppError('internal', `a batch says ${input.rows} rows and holds ${rows}`);
  }
  return batches.map((batch: RecordBatch) => {
    for (const [i, field] of schema.fields.entries()) {
      const found = batch.schema.fields[i];
      if (found?.name !== field.name || String(found.type) !== String(field.type)) {
        const is = found === undefined ? 'nothing' : `${found.name}: ${String(found.type)}`;
        throw new AppError(
          'internal',
          `column ${i} of a batch should be ${field.name}: ${String(field.type)}, and is ${is}`,
        );
      }
    }
    return new RecordBatch(schema, batch.data);
  });
}

async function* encode(
  columns: Columns,
  batches: readonly RecordBatch[],
): AsyncGenerator<Uint8Array> {
  const slices = slicesOf(batches);
  // The encoder ends its file without a word when its source fails: the failure has to be kept and thrown here.
  let failure: unknown;
  const source = new ReadableStream(
    {
      pull(controller) {
        try {
          const next = slices.next();
          if (next.done) return controller.close();
          const ipc = RecordBatchStreamWriter.writeAll([next.value]).toUint8Array(true);
          const table = WasmTable.fromIPCStream(ipc);
          // The encoder takes the batch over and frees it.
          controller.enqueue(table.recordBatch(0));
          table.free();
        } catch (error) {
          failure = error;
          controller.error(error);
        }
      },
    },
    { highWaterMark: 0 },
  );
  const sample = batches.reduce((a, b) => (b.numRows > a.numRows ? b : a));
  const properties = writerProperties(columns, sample.data.children);
  const output: ReadableStream<Uint8Array> = await transformParquetStream(source, properties);
  for await (const piece of output) yield piece;
  if (failure !== undefined) throw failure;
}

/** Never empty: an encoder without a batch would not know the schema. */
function* slicesOf(batches: readonly RecordBatch[]): Generator<RecordBatch> {
  let isEmpty = true;
  for (const batch of batches) {
    const rowBytes = batch.data.byteLength / Math.max(1, batch.numRows);
    const most = Math.max(8, Math.floor(sliceBytes / Math.max(1, rowBytes)));
    // A multiple of 8 rows, so that the validity bits are copied and not shifted.
    const step = Math.min(sliceRows, most - (most % 8));
    for (let at = 0; at < batch.numRows; at += step) {
      isEmpty = false;
      yield batch.slice(at, Math.min(batch.numRows, at + step));
    }
  }
  if (isEmpty) yield batches[0]!;
}
