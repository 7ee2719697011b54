import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { RecordBatch } from 'apache-arrow';
import { BlockChecksums } from '../core/block-checksums.js';
import { crashpoint } from '../core/crashpoint.js';
import { AppError } from '../core/errors.js';
import { hasListedTexts, writeIndex } from '../text/index-writer.js';
import { flushFile, removeFile } from '../core/files.js';
import { createFile } from '../core/file-writer.js';
import type { Columns } from '../core/types.js';
import { ParquetEncoder } from '../parquet/file-encoder.js';
import { arrowSchema, parquetColumns, reservedColumns } from './arrow-columns.js';
import { checkFooter } from './footer.js';
import { storesRowIds } from './row-ids.js';
import { segmentStats } from './segment-stats.js';
import type { Segment } from './store.js';
import { areVariantsPlaced } from './variant-places.js';

/** The program name in the footer (`created_by`) of every file. */
export const createdBy = 'strandlake';

/** The records of a segment: batches of the reserved columns followed by `columns`. */
export interface SegmentInput {
  /** True for a segment that is never committed: it is written fast, with bounds of booleans only, and no Bloom filters or text index. */
  readonly isIntermediate?: boolean;
  readonly columns: Columns;
  readonly data: RecordBatch | readonly RecordBatch[];
  readonly rows: number;
}

/**
 * The version of the segment format; it grows with what a segment has besides its values: 1 is Parquet with an OffsetIndex; 2 adds the
 * ColumnIndex, and terms of texts that end at underscores; 3 adds block checksums in the log, which also says whether variants follow from
 * coordinates; 4 adds an index of texts in lists. Segments of earlier formats answer every query, some of them more slowly, until they are
 * rewritten.
 */
export const segmentFormat = 4;

/** Returns whether the segment, if it were written now, would have more indexes or checksums than it has. */
export function isOutdated({ format, columns }: Pick<Segment, 'format' | 'columns'>): boolean {
  return format < 3 || (format < segmentFormat && hasListedTexts(columns));
}

/**
 * Writes a segment as one Parquet file at `path`, reads its footer back, and compares it with the batches. The file is not durable yet, so
 * that pool threads do not wait for the disk: call `flushSegment` before the segment is journaled or committed. If writing fails, the file
 * is removed.
 */
export async function writeSegmentUnflushed(input: SegmentInput, path: string): Promise<Segment> {
  const batches = checkedBatches(input);
  const { isIntermediate = false } = input;
  const writeSizedIndex = isIntermediate ? undefined : writeIndex(input.columns, batches);
  let indexBytes = 0;
  const indexPieces = (fileBytes: number): readonly Uint8Array[] => {
    const pieces = writeSizedIndex?.(fileBytes) ?? [];
    indexBytes = pieces.reduce((sum, { length }) => sum + length, 0);
    return pieces;
  };
  const filters = areRowsScattered(input.columns, batches) ? 'all' : 'unordered';
  const options = { isIntermediate, filters } as const;
  const encoder = new ParquetEncoder(parquetColumns(input.columns), createdBy, options);
  const digest = createHash('sha256');
  const blocks = new BlockChecksums();
  await removeFile(path); // left over from a first pass over the chunk, which found other types
  const file = await createFile(path);
  try {
    for (const piece of encoder.encodeBatches(batches, indexPieces)) {
      digest.update(piece);
      blocks.update(piece);
      await file.write(piece);
      crashpoint('segment.partial');
    }
    await file.closeUnflushed();
    await checkFooter(path, input.rows, encoder.leaves, indexBytes);
    return {
      path: basename(path),
      rows: input.rows,
      bytes: file.bytes,
      checksum: digest.digest('hex'),
      blockChecksums: blocks.finish(),
      format: segmentFormat,
      columns: input.columns,
      stats: segmentStats(encoder.leaves, encoder.lists),
      areVariantsPlaced: !isIntermediate && areVariantsPlaced(input.columns, batches),
    };
  } catch (error) {
    await file.abort();
    throw error;
  }
}

/**
 * Returns whether the records are scattered over the dataset: fewer than every second one of those between the first and the last. So are
 * those of an upsert of few records. The bounds in the log then rule out such a segment in hardly any lookup, even if it is sorted, so its
 * strings get Bloom filters.
 */
function areRowsScattered(columns: Columns, batches: readonly RecordBatch[]): boolean {
  if (!storesRowIds({ columns })) return false;
  let [least, greatest, rows] = [Infinity, -Infinity, 0];
  for (const { data, numRows } of batches) {
    const { buffer, byteOffset } = data.children[reservedColumns.length]!.values as BigInt64Array;
    const halves = new Int32Array(buffer, byteOffset, 2 * numRows);
    for (let i = 0; i < halves.length; i += 2) {
      const id = halves[i + 1]! * 2 ** 32 + (halves[i]! >>> 0);
      if (id < least) least = id;
      if (id > greatest) greatest = id;
    }
    rows += numRows;
  }
  return greatest - least + 1 > 2 * rows;
}

/** Makes a segment written by `writeSegmentUnflushed` durable. */
export async function flushSegment(path: string): Promise<void> {
  await flushFile(path);
  crashpoint('segment.flushed');
}

/** Returns the batches; throws if they do not fit the columns. */
function checkedBatches(input: SegmentInput): readonly RecordBatch[] {
  const batches = Array.isArray(input.data) ? input.data : [input.data as RecordBatch];
  const rows = batches.reduce((sum: number, batch: RecordBatch) => sum + batch.numRows, 0);
  if (rows !== input.rows) {
    throw new AppError('internal', `a batch says ${input.rows} rows and holds ${rows}`);
  }
  const { fields } = arrowSchema(input.columns);
  for (const batch of batches as readonly RecordBatch[]) {
    for (const [i, field] of fields.entries()) {
      const batchField = batch.schema.fields[i];
      if (batchField?.name === field.name && String(batchField.type) === String(field.type))
        continue;
      const actualField =
        batchField === undefined ? 'nothing' : `${batchField.name}: ${String(batchField.type)}`;
      throw new AppError(
        'internal',
        `column ${i} of a batch should be ${field.name}: ${String(field.type)}, and is ${actualField}`,
      );
    }
  }
  return batches;
}
