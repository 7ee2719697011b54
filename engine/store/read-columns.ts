import { createHash } from 'node:crypto';
import type { Data } from 'apache-arrow';
import { freeMemory } from '../core/buffers.js';
import { AppError } from '../core/errors.js';
import { openFile } from '../core/files.js';
import type { Columns } from '../core/types.js';
import { assemble } from '../parquet/assemble.js';
import { withoutRows } from '../parquet/drop-rows.js';
import { readProjectedLeaves } from '../parquet/leaf-projection.js';
import { readChunk, type DecodedLeaf } from '../parquet/read-column-chunk.js';
import { isZstd } from '../parquet/read-pages.js';
import { parquetSchema, type ParquetSchema } from '../parquet/parquet-schema.js';
import {
  arrowSchema,
  parquetColumns,
  parquetColumnsWithoutReserved,
  reservedColumns,
} from './arrow-columns.js';
import { readFooter, type Footer } from './footer.js';
import { consecutiveRowIds, rowIdColumn, storesRowIds } from './row-ids.js';
import type { Segment } from './store.js';

/** A segment to be read, and the absolute path of its file. */
interface SegmentToRead {
  readonly file: string;
  readonly segment: Segment;
  /** The numbers of the rows to leave out, ascending. */
  readonly leftOut: Int32Array;
}

/**
 * Reads the rows of several segments, in their order, as Arrow columns, one for each of `columns`, which are columns of the dataset or
 * reserved ones. A column or member that a segment lacks is null there, and numbers of a narrower type are widened.
 */
export async function readColumns(
  reads: readonly SegmentToRead[],
  columns: Columns,
): Promise<readonly Data[]> {
  const schema = parquetSchema(parquetColumnsWithoutReserved(columns));
  const parts: DecodedLeaf[][] = schema.leaves.map(() => []);
  for (const segmentToRead of reads) {
    if (segmentToRead.leftOut.length === segmentToRead.segment.rows) continue;
    await appendSegmentParts(
      segmentToRead,
      await readFooter(segmentToRead.file),
      schema,
      parts,
      segmentToRead.leftOut,
    );
  }
  return assemble(schema, parts, arrowSchema(columns).fields.slice(reservedColumns.length));
}

/**
 * Appends the parts of a segment, without some of its rows, to those of earlier segments. `file` is the absolute path. Returns the counts
 * of what was left out, as negative numbers. Throws `damaged` for a file that does not match its checksum or cannot be decoded.
 */
export async function appendSegmentParts(
  { file, segment }: { readonly file: string; readonly segment: Segment },
  footer: Footer,
  schema: ParquetSchema,
  parts: readonly DecodedLeaf[][],
  leftOutRows: Int32Array,
): Promise<FooterCounts> {
  const bytes = await readVerifiedFile(file, segment);
  const source = parquetSchema(parquetColumns(segment.columns));
  const droppedColumns = new Map<string, [number, number]>();
  let first = 0;
  try {
    for (const { num_rows: rows, columns: chunks } of footer.row_groups) {
      const readLeaf = (leaf: number): DecodedLeaf => {
        const meta = chunks[leaf]?.meta_data;
        if (meta === undefined) throw new RangeError(`leaf ${leaf} is missing`);
        const begin = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
        const end = begin + Number(meta.total_compressed_size);
        const part = readChunk(bytes.subarray(begin, end), source.leaves[leaf]!, {
          slots: Number(meta.num_values),
          isCompressed: isZstd(meta.codec),
        });
        const reduced = withoutRows(part, source.leaves[leaf]!.maxDefinition, leftOutRows, first);
        const key = JSON.stringify(meta.path_in_schema);
        const [values, stringBytes] = droppedColumns.get(key) ?? [0, 0];
        droppedColumns.set(key, [
          values - reduced.droppedValueCount,
          stringBytes - reduced.stringBytes,
        ]);
        return reduced.part;
      };
      const end = first + Number(rows);
      const leftOutInGroup = leftOutRows.reduce(
        (sum, row) => sum + (row >= first && row < end ? 1 : 0),
        0,
      );
      const groupParts = readProjectedLeaves(
        schema,
        source,
        Number(rows) - leftOutInGroup,
        readLeaf,
      ).map((part, leaf) => {
        if (storesRowIds(segment) || !isRowIdLeaf(schema, leaf)) return part;
        const ids = consecutiveRowIds((segment.baseRowId ?? 0) + first, Number(rows));
        return withoutRows(ids, 1, leftOutRows, first).part;
      });
      for (const [leaf, part] of groupParts.entries()) parts[leaf]!.push(part);
      first = end;
    }
    const isCompressed = footer.row_groups.every(({ columns }) =>
      columns.every(({ meta_data: meta }) => meta !== undefined && isZstd(meta.codec)),
    );
    if (isCompressed) freeMemory(bytes.buffer);
    return { rows: -leftOutRows.length, leaves: droppedColumns };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw damagedSegmentError(segment, `cannot be read column by column (${reason})`, error);
  }
}

const rowIdPathKey = JSON.stringify([rowIdColumn.physical]);

function isRowIdLeaf({ leaves }: ParquetSchema, leaf: number): boolean {
  return JSON.stringify(leaves[leaf]!.path) === rowIdPathKey;
}

/** Returns the bytes of a segment; throws `damaged` if they do not match its checksum. */
async function readVerifiedFile(path: string, segment: Segment): Promise<Uint8Array> {
  const file = await openFile(path);
  try {
    const bytes = await file.read(0, file.bytes);
    const checksum = createHash('sha256').update(bytes).digest('hex');
    if (checksum === segment.checksum) return bytes;
    throw damagedSegmentError(
      segment,
      'does not match its checksum; restore the file from a backup',
    );
  } finally {
    await file.close();
  }
}

/** The counts in a footer: the rows, and for each leaf, by its path as JSON, the values and the bytes of strings. */
export interface FooterCounts {
  readonly rows: number;
  readonly leaves: ReadonlyMap<string, readonly [values: number, stringBytes: number]>;
}

/** Returns the counts in a footer. */
export function footerCounts(footer: Footer): FooterCounts {
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

/**
 * Describes the first difference between the total numbers of rows, values and string bytes of some files and those of other files;
 * undefined if they are equal. Row ids are not compared, because not every segment stores them.
 */
export function describeCountDifference(
  before: readonly FooterCounts[],
  after: readonly FooterCounts[],
): string | undefined {
  const [expectedCounts, foundCounts] = [before, after].map(sumFooterCounts) as [
    FooterCounts,
    FooterCounts,
  ];
  if (expectedCounts.rows !== foundCounts.rows)
    return `${foundCounts.rows} records of ${expectedCounts.rows}`;
  for (const key of new Set([...expectedCounts.leaves.keys(), ...foundCounts.leaves.keys()])) {
    const [values, bytes] = expectedCounts.leaves.get(key) ?? [0, 0];
    const [foundValues, foundBytes] = foundCounts.leaves.get(key) ?? [0, 0];
    if (values !== foundValues) return `${foundValues} of ${values} values in the column ${key}`;
    if (bytes !== foundBytes) return `${foundBytes} of ${bytes} bytes of text in the column ${key}`;
  }
  return undefined;
}

function sumFooterCounts(counts: readonly FooterCounts[]): FooterCounts {
  const leaves = new Map<string, [number, number]>();
  let rows = 0;
  for (const fileCounts of counts) {
    rows += fileCounts.rows;
    for (const [key, [values, bytes]] of fileCounts.leaves) {
      if (key === rowIdPathKey) continue;
      const [ownValues, ownBytes] = leaves.get(key) ?? [0, 0];
      leaves.set(key, [ownValues + values, ownBytes + bytes]);
    }
  }
  return { rows, leaves };
}

function damagedSegmentError(segment: Segment, what: string, cause?: unknown): AppError {
  return new AppError('damaged', `segment ${segment.path} ${what}`, undefined, cause);
}
