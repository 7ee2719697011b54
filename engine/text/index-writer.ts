import type { RecordBatch } from 'apache-arrow';
import type { Columns } from '../types.js';
import { writeColumn, type ColumnSummary } from './column-writer.js';

/** Changes with the form of the index, and with what is a word (words.ts, fold.ts): an index of another version is not used. */
export const indexVersion = 1;
/** The last bytes of an index: the length of its summary, then this. */
export const indexMagic = 0x31585453; // STX1
export const indexTailBytes = 8;

/** What stands before the last bytes of an index, as JSON. */
export interface IndexSummary {
  readonly version: number;
  readonly rows: number;
  /** Bytes of all parts of all columns, which come before this. */
  readonly bytes: number;
  readonly columns: readonly ColumnSummary[];
}

/** Whether a segment with these columns has an index: only texts that are neither in a list nor in an object are indexed. */
export function hasIndex(columns: Columns): boolean {
  return columns.some(isIndexed);
}

function isIndexed({ type, isList }: Columns[number]): boolean {
  return type === 'text' && !isList;
}

/**
 * The index of the text columns of a segment, in pieces; undefined if there is none. It lies between the last row group and the
 * footer of the segment's file, where Parquet has room for what readers do not know, so that it is flushed, moved, checked
 * and removed with the segment.
 */
export function writeIndex(
  columns: Columns,
  batches: readonly RecordBatch[],
): readonly Uint8Array[] | undefined {
  if (!hasIndex(columns)) return undefined;
  const names = batches[0]?.schema.fields.map(({ name }) => name) ?? [];
  const pieces: Uint8Array[] = [];
  const summaries: ColumnSummary[] = [];
  for (const column of columns.filter(isIndexed)) {
    const at = names.indexOf(column.physical);
    const { summary, parts } = writeColumn(
      column.physical,
      batches.map(({ data }) => data.children[at]!),
    );
    summaries.push(summary);
    pieces.push(...parts);
  }
  const rows = batches.reduce((sum, { numRows }) => sum + numRows, 0);
  const data = pieces.reduce((sum, { length }) => sum + length, 0);
  pieces.push(ending({ version: indexVersion, rows, bytes: data, columns: summaries }));
  return pieces;
}

/** The summary and its length. */
function ending(summary: IndexSummary): Uint8Array {
  const text = Buffer.from(JSON.stringify(summary));
  const tail = Buffer.alloc(indexTailBytes);
  tail.writeUInt32LE(text.length, 0);
  tail.writeUInt32LE(indexMagic, 4);
  return Buffer.concat([text, tail]);
}
