import { parquetMetadata, type FileMetaData } from 'hyparquet';
import { AppError } from '../errors.js';
import { openFile } from '../files.js';
import { compareBounds, type Bound, type Leaf } from './leaves.js';

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

/** What a footer says of one leaf, all row groups together. Bounds of long texts may be cut, and are bounds all the same. */
export interface FooterLeaf {
  readonly nulls: number;
  readonly min: Bound | undefined;
  readonly max: Bound | undefined;
  readonly textBytes: number | undefined;
}

/**
 * Compares what a file's footer says with what the batch held (threats R2d): an encoder that lost rows, nulls, extremes or
 * text is found before the segment can be committed. Returns what the footer says.
 */
export async function checkFooter(
  path: string,
  rows: number,
  leaves: readonly Leaf[],
): Promise<readonly FooterLeaf[]> {
  const footer = await readFooter(path);
  if (Number(footer.num_rows) !== rows) {
    throw damaged(path, `has ${footer.num_rows} rows where ${rows} were written`);
  }
  return leaves.map((leaf, i) => {
    const name = leaf.path.join('.');
    const found = footerLeaf(path, name, footer, i);
    if (found.nulls !== leaf.nulls) {
      const written = `${leaf.nulls} were written`;
      throw damaged(path, `column ${name} has ${found.nulls} nulls where ${written}`);
    }
    const problem = isText(leaf) ? textProblem(leaf, found) : numberProblem(leaf, found);
    if (problem !== undefined) throw damaged(path, `column ${name} ${problem}`);
    return found;
  });
}

function footerLeaf(path: string, name: string, footer: FileMetaData, i: number): FooterLeaf {
  let nulls = 0;
  let min: Bound | undefined;
  let max: Bound | undefined;
  let textBytes: number | undefined;
  for (const group of footer.row_groups) {
    const chunk = group.columns[i]?.meta_data;
    if (chunk?.path_in_schema.join('.') !== name) {
      throw damaged(path, `has no column ${name} in its place`);
    }
    nulls += Number(chunk.statistics?.null_count ?? 0n);
    const least = asBound(chunk.statistics?.min_value);
    const most = asBound(chunk.statistics?.max_value);
    if (least !== undefined && (min === undefined || compareBounds(least, min) < 0)) min = least;
    if (most !== undefined && (max === undefined || compareBounds(most, max) > 0)) max = most;
    const bytes = chunk.size_statistics?.unencoded_byte_array_data_bytes;
    if (bytes !== undefined) textBytes = (textBytes ?? 0) + Number(bytes);
  }
  return { nulls, min, max, textBytes };
}

function isText(leaf: Leaf): boolean {
  return ['string', 'text', 'blob', 'json'].includes(leaf.column.type);
}

function textProblem(leaf: Leaf, found: FooterLeaf): string | undefined {
  if (leaf.samples.length === 0 && leaf.textBytes === 0) return undefined;
  if (found.textBytes !== leaf.textBytes) {
    return `has ${found.textBytes} bytes of text where ${leaf.textBytes} were written`;
  }
  const { min, max } = found;
  if (min === undefined || max === undefined) return undefined; // texts too long for bounds
  const isOutside = leaf.samples.some(
    (sample) => compareBounds(sample, min) < 0 || compareBounds(sample, max) > 0,
  );
  return isOutside ? 'has bounds that leave out what was written' : undefined;
}

function numberProblem(leaf: Leaf, found: FooterLeaf): string | undefined {
  // The encoder leaves NaN out of its bounds, or the bounds out where there is one.
  if (leaf.min === undefined || leaf.max === undefined || leaf.hasNaN) return undefined;
  const isSame =
    found.min !== undefined &&
    found.max !== undefined &&
    compareBounds(found.min, leaf.min) === 0 &&
    compareBounds(found.max, leaf.max) === 0;
  return isSame ? undefined : 'has other extreme values than were written';
}

function asBound(value: unknown): Bound | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return ArrayBuffer.isView(value) ? (value as Uint8Array) : undefined;
}

function damaged(path: string, what: string, cause?: unknown): AppError {
  const name = path.split(/[\\/]/).at(-1);
  return new AppError('damaged', `segment ${name} ${what}`, undefined, cause);
}
