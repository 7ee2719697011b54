import { parquetMetadata, type FileMetaData } from 'hyparquet';
import { AppError } from '../core/errors.js';
import { openFile } from '../core/files.js';
import type { LeafCount } from '../parquet/file-encoder.js';
import { physicalType } from '../parquet/schema.js';
import { compareBounds, type Bound } from '../parquet/statistics.js';

/** The end of every Parquet file: the length of the footer, then `PAR1`. */
const tailBytes = 8;
const magic = 0x31524150;
const magicBytes = 4;

/** Keeps values as the file has them: microseconds and bytes, not dates and strings. */
const parsers = {
  timestampFromMicroseconds: (value: bigint) => value,
  stringFromBytes: (value: Uint8Array | undefined) => value,
};

/** The footer of a Parquet file, and how many bytes are in front of it. */
export interface Footer extends FileMetaData {
  readonly dataBytes: number;
}

/** Reads a footer by a second implementation, not the one that wrote it. */
export async function readFooter(path: string): Promise<Footer> {
  const file = await openFile(path);
  try {
    const tail = await file.read(Math.max(0, file.bytes - tailBytes), tailBytes);
    const view = new DataView(tail.buffer, tail.byteOffset, tail.byteLength);
    if (tail.byteLength < tailBytes || view.getUint32(4, true) !== magic) {
      throw damaged(path, 'does not end as a Parquet file');
    }
    const length = view.getUint32(0, true) + tailBytes;
    if (length > file.bytes) throw damaged(path, 'has a footer longer than the file');
    const bytes = await file.read(file.bytes - length, length);
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + length);
    const footer = parquetMetadata(buffer as ArrayBuffer, { parsers, geoparquet: false });
    return { ...footer, dataBytes: file.bytes - length };
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw damaged(path, `has a footer that cannot be read (${String(error)})`, error);
  } finally {
    await file.close();
  }
}

/**
 * Compares what a file's footer says with what was counted in the batch (threats R2d): a file that lost row groups, nulls,
 * extremes or text is found before the segment can be committed.
 */
export async function checkFooter(
  path: string,
  rows: number,
  leaves: readonly LeafCount[],
  indexBytes = 0,
): Promise<void> {
  const footer = await readFooter(path);
  checkExtent(path, footer, indexBytes);
  if (Number(footer.num_rows) !== rows) {
    throw damaged(path, `has ${footer.num_rows} rows where ${rows} were written`);
  }
  for (const [i, leaf] of leaves.entries()) {
    const name = leaf.leaf.path.join('.');
    const found = footerLeaf(path, name, footer, i);
    if (found.nulls !== leaf.nulls) {
      const written = `${leaf.nulls} were written`;
      throw damaged(path, `column ${name} has ${found.nulls} nulls where ${written}`);
    }
    const isText = leaf.leaf.physical === physicalType.byteArray;
    const problem = isText ? textProblem(leaf, found) : numberProblem(leaf, found);
    if (problem !== undefined) throw damaged(path, `column ${name} ${problem}`);
  }
}

/**
 * Column chunks lie one behind the other, from the first magic bytes to the places of their pages, the index of texts and the footer:
 * nothing was lost.
 */
function checkExtent(path: string, { dataBytes, row_groups }: Footer, indexBytes: number): void {
  let at = magicBytes;
  for (const { meta_data: chunk } of row_groups.flatMap((group) => group.columns)) {
    const begin = Number(chunk?.dictionary_page_offset ?? chunk?.data_page_offset);
    if (begin !== at) throw damaged(path, `has a column chunk at byte ${begin}, not at ${at}`);
    at += Number(chunk?.total_compressed_size);
  }
  for (const column of row_groups.flatMap((group) => group.columns)) {
    const begin = Number(column.offset_index_offset);
    if (begin !== at) throw damaged(path, `has an index of pages at byte ${begin}, not at ${at}`);
    at += column.offset_index_length!;
  }
  const end = at + indexBytes;
  if (end !== dataBytes) throw damaged(path, `has its footer at byte ${dataBytes}, not at ${end}`);
}

/** What a footer says of one leaf, all row groups together. Bounds of long texts may be cut, and are bounds all the same. */
interface FooterLeaf {
  readonly nulls: number;
  readonly min: Bound | undefined;
  readonly max: Bound | undefined;
  readonly textBytes: number;
}

function footerLeaf(path: string, name: string, footer: FileMetaData, i: number): FooterLeaf {
  let nulls = 0;
  let min: Bound | undefined;
  let max: Bound | undefined;
  let textBytes = 0;
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
    textBytes += Number(chunk.size_statistics?.unencoded_byte_array_data_bytes ?? 0n);
  }
  return { nulls, min, max, textBytes };
}

function textProblem(leaf: LeafCount, found: FooterLeaf): string | undefined {
  if (found.textBytes !== leaf.textBytes) {
    return `has ${found.textBytes} bytes of text where ${leaf.textBytes} were written`;
  }
  if (leaf.min === undefined || leaf.max === undefined) return undefined;
  const { min, max } = found;
  if (min === undefined || max === undefined) return undefined; // texts too long for bounds
  const isOutside = compareBounds(leaf.min, min) < 0 || compareBounds(leaf.max, max) > 0;
  return isOutside ? 'has bounds that leave out what was written' : undefined;
}

function numberProblem(leaf: LeafCount, found: FooterLeaf): string | undefined {
  if (leaf.min === undefined || leaf.max === undefined) return undefined;
  const isSame =
    found.min !== undefined &&
    found.max !== undefined &&
    compareBounds(found.min, leaf.min) === 0 &&
    compareBounds(found.max, leaf.max) === 0;
  return isSame ? undefined : 'has other extreme values than were written';
}

function asBound(value: unknown): Bound | undefined {
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  return ArrayBuffer.isView(value) ? (value as Uint8Array) : undefined;
}

function damaged(path: string, what: string, cause?: unknown): AppError {
  const name = path.split(/[\\/]/).at(-1);
  return new AppError('damaged', `segment ${name} ${what}`, undefined, cause);
}
