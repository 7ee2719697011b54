import { createHash } from 'node:crypto';
import { makeData, RecordBatch, Struct } from 'apache-arrow';
import { AppError } from '../core/errors.js';
import { openFile } from '../core/files.js';
import type { Columns } from '../core/types.js';
import { assemble } from '../parquet/assemble.js';
import { withoutRows } from '../parquet/drop-rows.js';
import { leafParts } from '../parquet/leaf-projection.js';
import { readChunk, type LeafPart } from '../parquet/read-chunk.js';
import { isZstd } from '../parquet/read-pages.js';
import { parquetSchema, type ParquetSchema } from '../parquet/schema.js';
import { arrowSchema, parquetColumns } from './arrow.js';
import { readFooter, type Footer } from './footer.js';
import { flushSegment, writeUnflushed, type SegmentInput } from './segment.js';
import { consecutiveRowIds, mergedRowIds, rowIdColumn, storesRowIds } from './row-ids.js';
import { deletedRows, deletionVector } from './deletion-vector.js';
import { liveRows, type Segment } from './store.js';

/** A segment to be merged, and the absolute path of its file. */
export interface MergeSource {
  readonly file: string;
  readonly segment: Segment;
}

/**
 * Writes the rows of several segments, in their order, as one segment and makes it durable. Deleted rows are left out, in which case at least
 * one record must be left, or (`dropsDeleted` is false) stay as deleted rows of the merged segment. `dataset` holds the columns of the dataset. The sources must match their checksums, and the counts in the footer of
 * the result must equal the sums of theirs less those of rows left out; otherwise the merge fails with `damaged`.
 */
export async function mergeSegments(
  sources: readonly MergeSource[],
  dataset: Columns,
  file: string,
  dropsDeleted = true,
): Promise<Segment> {
  const segments = sources.map(({ segment }) => segment);
  const { isStored, ...rowIds } = mergedRowIds(segments, dropsDeleted);
  const present = presentColumns(
    dataset,
    segments.map((segment) => segment.columns),
  );
  const columns = isStored ? [rowIdColumn, ...present] : present;
  const schema = parquetSchema(parquetColumns(columns));
  const parts: LeafPart[][] = schema.leaves.map(() => []);
  const counts: FooterCounts[] = [];
  for (const source of sources) {
    const footer = await readFooter(source.file);
    counts.push(countOf(footer));
    if (isStored && !storesRowIds(source.segment)) counts.push(countOfRowIds(source.segment));
    counts.push(await addParts(source, footer, schema, parts, dropsDeleted));
  }
  const rows = sources.reduce((sum, { segment }) => sum + (dropsDeleted ? liveRows(segment) : segment.rows), 0); // prettier-ignore
  const segment = await writeUnflushed(inputOf(rows, columns, schema, parts), file);
  checkCounts(file, counts, countOf(await readFooter(file)));
  await flushSegment(file);
  return { ...segment, ...rowIds, ...(!dropsDeleted && deletionOf(sources)) };
}

/** The deleted rows of several segments, as rows of the one that has all their rows. */
function deletionOf(sources: readonly MergeSource[]): Pick<Segment, 'deletion'> {
  const rows: number[] = [];
  let before = 0;
  for (const { segment } of sources) {
    if (segment.deletion) for (const row of deletedRows(segment.deletion)) rows.push(before + row);
    before += segment.rows;
  }
  return rows.length === 0 ? {} : { deletion: deletionVector(Int32Array.from(rows)) };
}

/** Appends the parts of a file to those of the files before it. Returns the counts of its deleted rows, as negative numbers. */
async function addParts(
  { file, segment }: MergeSource,
  footer: Footer,
  schema: ParquetSchema,
  parts: readonly LeafPart[][],
  dropsDeleted: boolean,
): Promise<FooterCounts> {
  const bytes = await wholeFile(file, segment);
  const source = parquetSchema(parquetColumns(segment.columns));
  const { deletion } = segment;
  const deleted = deletion && dropsDeleted ? deletedRows(deletion) : new Int32Array(0);
  const dropped = new Map<string, [number, number]>();
  let first = 0;
  try {
    for (const { num_rows: rows, columns: chunks } of footer.row_groups) {
      const read = (leaf: number): LeafPart => {
        const meta = chunks[leaf]?.meta_data;
        if (meta === undefined) throw new RangeError(`leaf ${leaf} is missing`);
        const begin = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
        const end = begin + Number(meta.total_compressed_size);
        const part = readChunk(bytes.subarray(begin, end), source.leaves[leaf]!, {
          slots: Number(meta.num_values),
          isCompressed: isZstd(meta.codec),
        });
        const reduced = withoutRows(part, source.leaves[leaf]!.maxDefinition, deleted, first);
        const key = JSON.stringify(meta.path_in_schema);
        const [values, stringBytes] = dropped.get(key) ?? [0, 0];
        dropped.set(key, [values - reduced.values, stringBytes - reduced.stringBytes]);
        return reduced.part;
      };
      const end = first + Number(rows);
      const here = deleted.reduce((sum, row) => sum + (row >= first && row < end ? 1 : 0), 0);
      const found = leafParts(schema, source, Number(rows) - here, read).map((part, leaf) => {
        if (!isRowId(schema, leaf) || storesRowIds(segment)) return part;
        const ids = consecutiveRowIds((segment.baseRowId ?? 0) + first, Number(rows));
        const reduced = withoutRows(ids, 1, deleted, first);
        dropped.set(rowIdKey, [(dropped.get(rowIdKey)?.[0] ?? 0) - reduced.values, 0]);
        return reduced.part;
      });
      for (const [leaf, part] of found.entries()) parts[leaf]!.push(part);
      first = end;
    }
    return { rows: -deleted.length, leaves: dropped };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw damagedLogEntry(segment, `cannot be merged with others (${reason})`, error);
  }
}

const rowIdKey = JSON.stringify([rowIdColumn.physical]);

function isRowId({ leaves }: ParquetSchema, leaf: number): boolean {
  return JSON.stringify(leaves[leaf]!.path) === rowIdKey;
}

/** The counts of the row ids of a segment that does not store them. */
function countOfRowIds({ rows }: Segment): FooterCounts {
  return { rows: 0, leaves: new Map([[rowIdKey, [rows, 0]]]) };
}

/** The bytes of a segment; throws `damaged` if they do not match its checksum. */
async function wholeFile(path: string, segment: Segment): Promise<Uint8Array> {
  const file = await openFile(path);
  try {
    const bytes = await file.read(0, file.bytes);
    const checksum = createHash('sha256').update(bytes).digest('hex');
    if (checksum === segment.checksum) return bytes;
    throw damagedLogEntry(segment, 'does not match its checksum; restore the file from a backup');
  } finally {
    await file.close();
  }
}

function inputOf(
  rows: number,
  columns: Columns,
  schema: ParquetSchema,
  parts: readonly (readonly LeafPart[])[],
): SegmentInput {
  const arrow = arrowSchema(columns);
  const children = [...assemble(schema, parts, arrow.fields)];
  const type = new Struct(arrow.fields);
  const struct = makeData({ type, length: rows, nullCount: 0, children });
  return { columns, rows, data: new RecordBatch(arrow, struct) };
}

/** The columns of a dataset, and the members of its objects, that at least one of the segments has. */
export function presentColumns(columns: Columns, segments: readonly Columns[]): Columns {
  return columns.flatMap((column) => {
    const found = segments.flatMap((own) => own.filter((one) => one.physical === column.physical));
    if (found.length === 0) return [];
    if (column.children === undefined) return [column];
    const children = found.map((one) => one.children ?? []);
    return [{ ...column, children: presentColumns(column.children, children) }];
  });
}

/** The counts in a footer: records, and per leaf the values and, of strings, their bytes. */
interface FooterCounts {
  readonly rows: number;
  readonly leaves: ReadonlyMap<string, readonly [values: number, stringBytes: number]>;
}

function countOf(footer: Footer): FooterCounts {
  const leaves = new Map<string, [number, number]>();
  for (const { meta_data: chunk } of footer.row_groups.flatMap((group) => group.columns)) {
    if (chunk === undefined) continue;
    const key = JSON.stringify(chunk.path_in_schema);
    const [values, stringBytes] = leaves.get(key) ?? [0, 0];
    leaves.set(key, [
      values + Number(chunk.num_values) - Number(chunk.statistics?.null_count ?? 0n),
      stringBytes + Number(chunk.size_statistics?.unencoded_byte_array_data_bytes ?? 0n),
    ]);
  }
  return { rows: Number(footer.num_rows), leaves };
}

function checkCounts(file: string, sources: readonly FooterCounts[], merged: FooterCounts): void {
  const rows = sources.reduce((sum, source) => sum + source.rows, 0);
  const differ = (what: string): AppError =>
    new AppError('damaged', `merged segment ${file.split(/[\\/]/).at(-1)}: ${what}`);
  if (rows !== merged.rows) throw differ(`has ${merged.rows} records of ${rows}`);
  for (const [key, [values, stringBytes]] of merged.leaves) {
    const of = (i: 0 | 1): number =>
      sources.reduce((sum, source) => sum + (source.leaves.get(key)?.[i] ?? 0), 0);
    if (of(0) !== values) throw differ(`column ${key} has ${values} values of ${of(0)}`);
    if (of(1) !== stringBytes) throw differ(`column ${key} has ${stringBytes} bytes of ${of(1)}`);
  }
}

function damagedLogEntry(segment: Segment, what: string, cause?: unknown): AppError {
  return new AppError('damaged', `segment ${segment.path} ${what}`, undefined, cause);
}
