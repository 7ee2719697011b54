import { DataType, type Data } from 'apache-arrow';

/**
 * What the values of a page take, on average. Each page costs 35 bytes of headers and a call of zstd, which also finds less in small
 * ones: a million records of a VCF became 4 % larger than in pages of 65,536 values, with half of this 8 %.
 */
const pageBytes = 32 << 10;
const fewest = 16;
/** Of records that have hardly any values: what is nothing but levels. */
const most = 32_768;

/**
 * How many rows the pages of a row group hold: the same in all leaves, so that a record is read from one small page of each. Chosen
 * by how wide the rows `from` to `to` of these columns are.
 */
export function rowsPerPage(
  columns: readonly Data[],
  leaves: number,
  from: number,
  to: number,
): number {
  const bytes = columns.reduce((sum, data) => sum + widthOf(data, from, to), 0);
  const rows = (leaves * pageBytes * (to - from)) / Math.max(1, bytes);
  return Math.min(most, Math.max(fewest, Math.round(rows / 8) * 8)); // numbers are packed in groups of eight
}

/** About how many bytes the items `from` to `to` take that are not null. */
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
