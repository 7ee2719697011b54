import { parquetMetadata, type ColumnChunk, type FileMetaData } from 'hyparquet';
import { AppError } from '../errors.js';
import { openFile } from '../files.js';
import { compareBounds, type Bound, type Leaf } from './stats.js';

/** The end of every Parquet file: the length of the footer, then `PAR1`. */
const tailBytes = 8;
const magic = 0x31524150;

/** Keeps values as the file has them: microseconds and bytes, not dates and strings. */
const parsers = {
  timestampFromMicroseconds: (value: bigint) => value,
  stringFromBytes: (value: Uint8Array | undefined) => value,
};

/** The footer of a Parquet file, read by a second implementation, not the one that wrote it. */
export async function readFooter(path: string): Promise<FileMetaData> {
  const file = await openFile(path);
  try {
    const tail = await file.read(Math.max(0, file.bytes - tailBytes), tailBytes);
    const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength);
    if (tail.byteLength < tailBytes || view.getUint32(4, true) !== magic) {
      throw damaged(path, 'does not end as a Parquet file');
    }
    const length = view.getUint32(0, true) + tailBytes;
    if (length > file.bytes) throw damaged(path, 'has a footer longer than the file');
    const footer = await file.read(file.bytes - length, length);
    const buffer = footer.buffer.slice(footer.byteOffset, footer.byteOffset + length);
    return parquetMetadata(buffer as ArrayBuffer, { parsers, geoparquet: false });
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw damaged(path, `has a footer that cannot be read (${String(error)})`, error);
  } finally {
    await file.close();
  }
}

/**
 * Compares what a file's footer says with what the batch held (threats R2d): an encoder that lost rows, nulls or extremes
 * is found before the segment can be committed.
 */
export async function checkFooter(
  path: string,
  rows: number,
  leaves: readonly Leaf[],
): Promise<void> {
  const footer = await readFooter(path);
  if (Number(footer.num_rows) !== rows) {
    throw damaged(path, `has ${footer.num_rows} rows where ${rows} were written`);
  }
  for (const [i, leaf] of leaves.entries()) {
    const name = leaf.path.join('.');
    let nulls = 0;
    for (const group of footer.row_groups) {
      const chunk = group.columns[i];
      if (chunk?.meta_data?.path_in_schema.join('.') !== name) {
        throw damaged(path, `has no column ${name} in its place`);
      }
      nulls += Number(chunk.meta_data.statistics?.null_count ?? 0n);
      checkBounds(path, name, leaf, chunk);
    }
    if (nulls !== leaf.nulls) {
      throw damaged(path, `column ${name} has ${nulls} nulls where ${leaf.nulls} were written`);
    }
    checkExtremes(path, name, leaf, footer, i);
  }
}

/** No row group may claim a value outside the batch's range. */
function checkBounds(path: string, name: string, leaf: Leaf, chunk: ColumnChunk): void {
  if (leaf.hasNaN) return;
  const { min, max, isExact } = boundsOf(chunk);
  if (min === undefined || max === undefined || !isExact) return;
  const isInside =
    leaf.min !== undefined &&
    leaf.max !== undefined &&
    compareBounds(min, leaf.min) >= 0 &&
    compareBounds(max, leaf.max) <= 0;
  if (!isInside) throw damaged(path, `column ${name} has values that were not written`);
}

/** Some row group must have the batch's smallest value, and some its largest. */
function checkExtremes(
  path: string,
  name: string,
  leaf: Leaf,
  footer: FileMetaData,
  i: number,
): void {
  if (leaf.hasNaN || leaf.min === undefined || leaf.max === undefined) return;
  const bounds = footer.row_groups.map((group) => boundsOf(group.columns[i]!));
  const known = bounds.filter((b) => b.min !== undefined && b.max !== undefined);
  if (known.length === 0 || known.some((b) => !b.isExact)) return; // all null, or long texts cut
  const hasMin = known.some((b) => compareBounds(b.min!, leaf.min!) === 0);
  const hasMax = known.some((b) => compareBounds(b.max!, leaf.max!) === 0);
  if (!hasMin || !hasMax) throw damaged(path, `column ${name} lost its extreme values`);
}

interface Bounds {
  readonly min: Bound | undefined;
  readonly max: Bound | undefined;
  readonly isExact: boolean;
}

function boundsOf(chunk: ColumnChunk): Bounds {
  const stats = chunk.meta_data?.statistics;
  const min = asBound(stats?.min_value);
  const max = asBound(stats?.max_value);
  const isExact = stats?.is_min_value_exact !== false && stats?.is_max_value_exact !== false;
  return { min, max, isExact };
}

function asBound(value: unknown): Bound | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return ArrayBuffer.isView(value) ? (value as Uint8Array) : undefined;
}

function damaged(path: string, what: string, cause?: unknown): AppError {
  const name = path.split(/[\\/]/).at(-1);
  return new AppError('damaged', `segment ${name} ${what}`, undefined, cause);
}
