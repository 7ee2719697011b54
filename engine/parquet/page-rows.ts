import { DataType, type Data } from 'apache-arrow';

/**
 * Bytes of the values of a page, on average over the leaves. Each page costs 35 bytes of headers and a call of zstd, which compresses
 * small pages less: a million records of a VCF are 4 % larger than in pages of 65,536 values, and 8 % with half of this.
 */
const pageBytes = 32 << 10;
const fewestRows = 16;
/** The limit for records with hardly any values, whose pages consist of levels. */
const maxRows = 32_768;

/**
 * Number of rows in each page of a row group, from the average width of the rows `from` to `to` of these columns. It is the same in
 * all leaves, so that a record is read from one small page of each.
 */
export function rowsPerPage(
  columns: readonly Data[],
  leaves: number,
  from: number,
  to: number,
): number {
  const bytes = columns.reduce((sum, data) => sum + widthOf(data, from, to), 0);
  const rows = (leaves * pageBytes * (to - from)) / Math.max(1, bytes);
  return Math.min(maxRows, Math.max(fewestRows, Math.round(rows / 8) * 8)); // bit packing works in groups of eight
}

/** An estimate of the bytes of the non-null items `from` to `to`. */
function widthOf(data: Data, from: number, to: number): number {
  const { type, children } = data;
  if (to <= from) return 0; // the offsets may be missing
  if (DataType.isStruct(type)) {
    return children.reduce((sum, child) => sum + widthOf(child, from, to), 0);
  }
  const offsets = data.valueOffsets as Int32Array;
  if (DataType.isList(type)) return widthOf(children[0]!, offsets[from]!, offsets[to]!);
  const values = (to - from) * (1 - data.nullCount / data.length);
  if (DataType.isUtf8(type)) return 4 * values + offsets[to]! - offsets[from]!;
  if (DataType.isBool(type)) return values / 8;
  return values * (data.values as Int32Array).BYTES_PER_ELEMENT;
}
