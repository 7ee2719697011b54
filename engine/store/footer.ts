import { parquetMetadata, type FileMetaData } from 'hyparquet';
import { AppError } from '../core/errors.js';
import { openFile } from '../core/files.js';
import type { EncodedLeafStatistics } from '../parquet/file-encoder.js';
import { footerLength, tailBytes } from '../parquet/read-footer.js';
import { physicalType } from '../parquet/parquet-schema.js';
import { compareBounds, type Bound } from '../parquet/statistics.js';

/** The length of `PAR1` at the beginning of a file. */
const leadingMagicBytes = 4;

/** The footer of a segment's or a checkpoint's file, and the number of bytes before it. */
export interface Footer extends FileMetaData {
  readonly dataBytes: number;
}

/** The parsers keep the form of the file in statistics: timestamps are bigints of microseconds, strings are bytes. */
const statisticsParsers = {
  timestampFromMicroseconds: (value: bigint) => value,
  stringFromBytes: (value: Uint8Array | undefined) => value,
};

/**
 * Reads the footer of the file at this absolute path with hyparquet, an independent implementation, so that a mistake of Strandlake's
 * writer is detected when a file is read back. Throws `damaged` if the file is not a Parquet file.
 */
export async function readFooter(path: string): Promise<Footer> {
  const file = await openFile(path);
  try {
    const tail = await file.read(Math.max(0, file.bytes - tailBytes), tailBytes);
    const length = footerLength(tail, file.bytes);
    const bytes = await file.read(file.bytes - length, length);
    const footer = parquetMetadata(bytes.slice().buffer, {
      parsers: statisticsParsers,
      geoparquet: false,
    });
    return { ...footer, dataBytes: file.bytes - length };
  } catch (error) {
    if (error instanceof AppError) throw error;
    const message = `the file ${fileNameOf(path)} has no readable footer (${String(error)})`;
    throw new AppError('damaged', message, undefined, error);
  } finally {
    await file.close();
  }
}

/**
 * Compares the footer of a file with the counts of the batches that were written (threat R2d), so that a file that lost row groups, nulls,
 * extremes or strings cannot be committed. `indexBytes` is the size of the text index before the footer.
 */
export async function checkFooter(
  path: string,
  rows: number,
  leaves: readonly EncodedLeafStatistics[],
  indexBytes = 0,
): Promise<void> {
  const footer = await readFooter(path);
  checkChunkExtents(path, footer, indexBytes);
  if (Number(footer.num_rows) !== rows) {
    throw damagedSegmentFileError(path, `has ${footer.num_rows} rows where ${rows} were written`);
  }
  for (const [i, leaf] of leaves.entries()) {
    const name = leaf.leaf.path.join('.');
    const footerStatistics = footerLeafStatistics(path, name, footer, i);
    if (footerStatistics.nulls !== leaf.nulls) {
      const writtenText = `${leaf.nulls} were written`;
      throw damagedSegmentFileError(
        path,
        `column ${name} has ${footerStatistics.nulls} nulls where ${writtenText}`,
      );
    }
    const isText = leaf.leaf.physical === physicalType.byteArray;
    const problem = isText
      ? stringStatisticsProblem(leaf, footerStatistics)
      : numberStatisticsProblem(leaf, footerStatistics);
    if (problem !== undefined) throw damagedSegmentFileError(path, `column ${name} ${problem}`);
  }
}

/** Checks that column chunks, their Bloom filters and page indexes, the text index, and the footer follow each other without gaps. */
function checkChunkExtents(
  path: string,
  { dataBytes, row_groups }: Footer,
  indexBytes: number,
): void {
  let at = leadingMagicBytes;
  for (const { meta_data: chunk } of row_groups.flatMap((group) => group.columns)) {
    const begin = Number(chunk?.dictionary_page_offset ?? chunk?.data_page_offset);
    if (begin !== at)
      throw damagedSegmentFileError(path, `has a column chunk at byte ${begin}, not at ${at}`);
    at += Number(chunk?.total_compressed_size);
  }
  const columns = row_groups.flatMap((group) => group.columns);
  for (const [offset, length] of [
    ...columns.map(({ meta_data: chunk }) => [chunk?.bloom_filter_offset, chunk?.bloom_filter_length] as const), // prettier-ignore
    ...columns.map((column) => [column.column_index_offset, column.column_index_length] as const),
    ...columns.map((column) => [column.offset_index_offset, column.offset_index_length] as const),
  ]) {
    if (offset === undefined) continue; // the column chunk has no filter, or no bounds of its pages
    if (Number(offset) !== at)
      throw damagedSegmentFileError(path, `has an index at byte ${offset}, not at ${at}`);
    at += length!;
  }
  const end = at + indexBytes;
  if (end !== dataBytes)
    throw damagedSegmentFileError(path, `has its footer at byte ${dataBytes}, not at ${end}`);
}

/** The statistics of one leaf over all row groups of a footer. The bounds of long strings may be truncated. */
interface FooterLeafStatistics {
  readonly nulls: number;
  readonly min: Bound | undefined;
  readonly max: Bound | undefined;
  readonly stringBytes: number;
}

function footerLeafStatistics(
  path: string,
  name: string,
  footer: FileMetaData,
  i: number,
): FooterLeafStatistics {
  let nulls = 0;
  let min: Bound | undefined;
  let max: Bound | undefined;
  let stringBytes = 0;
  for (const group of footer.row_groups) {
    const chunk = group.columns[i]?.meta_data;
    if (chunk?.path_in_schema.join('.') !== name) {
      throw damagedSegmentFileError(path, `has no column ${name} in its place`);
    }
    nulls += Number(chunk.statistics?.null_count ?? 0n);
    const leastBound = toBound(chunk.statistics?.min_value);
    const greatestBound = toBound(chunk.statistics?.max_value);
    if (leastBound !== undefined && (min === undefined || compareBounds(leastBound, min) < 0))
      min = leastBound;
    if (greatestBound !== undefined && (max === undefined || compareBounds(greatestBound, max) > 0))
      max = greatestBound;
    stringBytes += Number(chunk.size_statistics?.unencoded_byte_array_data_bytes ?? 0n);
  }
  return { nulls, min, max, stringBytes };
}

function stringStatisticsProblem(
  leaf: EncodedLeafStatistics,
  footerStatistics: FooterLeafStatistics,
): string | undefined {
  if (footerStatistics.stringBytes !== leaf.stringBytes) {
    return `has ${footerStatistics.stringBytes} bytes of text where ${leaf.stringBytes} were written`;
  }
  if (leaf.min === undefined || leaf.max === undefined) return undefined;
  const { min, max } = footerStatistics;
  if (min === undefined || max === undefined) return undefined; // long strings without an upper bound
  const isOutside = compareBounds(leaf.min, min) < 0 || compareBounds(leaf.max, max) > 0;
  return isOutside ? 'has bounds that leave out what was written' : undefined;
}

function numberStatisticsProblem(
  leaf: EncodedLeafStatistics,
  footerStatistics: FooterLeafStatistics,
): string | undefined {
  // A chunk with NaN has no bounds.
  if (leaf.min === undefined || leaf.max === undefined || leaf.hasNaN) return undefined;
  const isSame =
    footerStatistics.min !== undefined &&
    footerStatistics.max !== undefined &&
    compareBounds(footerStatistics.min, leaf.min) === 0 &&
    compareBounds(footerStatistics.max, leaf.max) === 0;
  return isSame ? undefined : 'has other extreme values than were written';
}

function toBound(value: unknown): Bound | undefined {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return ArrayBuffer.isView(value) ? (value as Uint8Array) : undefined;
}

function damagedSegmentFileError(path: string, what: string): AppError {
  return new AppError('damaged', `segment ${fileNameOf(path)} ${what}`);
}

function fileNameOf(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? '';
}
