import { DataType, type Data } from 'apache-arrow';

/**
 * Desired average size of a page's values in bytes, over all leaves. Each page costs 35 bytes of headers and a call of zstd, and small
 * pages compress less: a million records of a VCF file are 4 % larger than in pages of 65,536 values, and 8 % larger in pages of half this
 * size.
 */
const targetPageBytes = 32 << 10;
const minPageRows = 16;
/** The maximum number of rows in a page. It matters for records with hardly any values, whose pages consist of levels. */
const maxPageRows = 32_768;

/**
 * Returns the number of rows in each page of a row group, from the average width of the rows `from` to `to` of `columns`. The number is the
 * same for all leaves, so that a record is read from one small page of each.
 */
export function rowsPerPage(
  columns: readonly Data[],
  leafCount: number,
  from: number,
  to: number,
): number {
  const bytes = columns.reduce((sum, data) => sum + encodedBytesOfRows(data, from, to), 0);
  const rows = (leafCount * targetPageBytes * (to - from)) / Math.max(1, bytes);
  return Math.min(maxPageRows, Math.max(minPageRows, Math.round(rows / 8) * 8)); // bit packing has groups of eight
}

/** Returns an estimate of the size in bytes of the non-null items `from` to `to`. */
function encodedBytesOfRows(data: Data, from: number, to: number): number {
  const { type, children } = data;
  if (to <= from) return 0; // without items, the offsets may be missing
  if (DataType.isStruct(type)) {
    return children.reduce((sum, child) => sum + encodedBytesOfRows(child, from, to), 0);
  }
  const offsets = data.valueOffsets as Int32Array;
  if (DataType.isList(type)) return encodedBytesOfRows(children[0]!, offsets[from]!, offsets[to]!);
  const values = (to - from) * (1 - data.nullCount / data.length);
  if (DataType.isUtf8(type)) return 4 * values + offsets[to]! - offsets[from]!;
  if (DataType.isBool(type)) return values / 8;
  return values * (data.values as Int32Array).BYTES_PER_ELEMENT;
}
