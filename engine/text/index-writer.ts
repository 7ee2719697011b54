import { makeData, Utf8, type Data, type RecordBatch, type Struct } from 'apache-arrow';
import type { Column, Columns } from '../core/types.js';
import {
  writeColumn,
  writeLists,
  type ColumnSummary,
  type WrittenColumn,
} from './column-writer.js';
import { listedValues } from './listed-values.js';

/** Changes with the format of the index, the tokenizer and case folding. Indexes of other versions are ignored. */
export const indexVersion = 3;
/** The last four bytes of an index, after the length of its summary. */
export const indexMagic = 0x31585453; // STX1
export const indexTailBytes = 8;

/** The summary at the end of an index, stored as JSON. */
export interface IndexSummary {
  readonly version: number;
  readonly rows: number;
  /** Bytes of all parts of all columns; they lie before the summary. */
  readonly bytes: number;
  readonly columns: readonly ColumnSummary[];
}

/** Whether a segment with these columns has an index: columns of type `text` have one, also in objects and lists. */
function hasIndex(columns: Columns): boolean {
  return columns.some((column) => column.type === 'text' || hasIndex(membersOf(column)));
}

/** Whether one of these columns is a text in a list. */
export function hasListedTexts(columns: Columns): boolean {
  return columns.some((column) =>
    column.isList ? hasIndex([column]) : hasListedTexts(membersOf(column)),
  );
}

function membersOf({ type, children = [] }: Column): Columns {
  return type === 'object' ? children : [];
}

/** The name of a column in an index: the physical names from the top-level column down, as JSON. */
export function indexedName(path: readonly string[]): string {
  return JSON.stringify(path);
}

/** The index of a segment, in pieces, when the number of bytes of its file without the index is known. */
export type SizedIndex = (fileBytes: number) => readonly Uint8Array[];

/**
 * The index of the text columns of a segment; undefined without text columns. It is stored before the footer of the
 * segment's Parquet file, where other readers ignore it, so it is flushed, moved, checked and removed with the segment.
 */
export function writeIndex(
  columns: Columns,
  batches: readonly RecordBatch[],
): SizedIndex | undefined {
  if (!hasIndex(columns)) return undefined;
  const writtenColumns: WrittenColumn[] = [];
  const roots = batches.map(({ data }) => data);
  const write = (below: Columns, parents: readonly Data[], above: Columns): void => {
    for (const column of below) {
      if (!hasIndex([column])) continue;
      const path = [...above, column];
      if (column.isList) {
        for (const text of textsIn(path))
          writtenColumns.push(writeLists(nameOf(text), listedValues(roots, text)));
        continue;
      }
      const datas = parents.map((parent) => memberOf(parent, column.physical));
      if (column.type === 'text') writtenColumns.push(writeColumn(nameOf(path), datas));
      else write(membersOf(column), datas, path);
    }
  };
  write(columns, roots, []);
  const rows = batches.reduce((sum, { numRows }) => sum + numRows, 0);
  return (fileBytes) => {
    const keptColumns = withinBudget(writtenColumns, fileBytes);
    const pieces = keptColumns.flatMap(({ parts }) => parts);
    const bytes = keptColumns.reduce((sum, column) => sum + sizeOf(column), 0);
    const summaries = keptColumns.map(({ summary }) => summary);
    return [...pieces, indexEnding({ version: indexVersion, rows, bytes, columns: summaries })];
  };
}

/** The indexes of lists take at most this share of the rest of a file, */
const listShare = 0.1;
/** unless they are smaller than this: many small segments without an index would make a query slow, and with one they are hardly larger. */
const minListIndexBytes = 1 << 20;

/**
 * Leaves out the largest indexes of lists until the others are within the budget. The index of a list of which many records share the
 * texts is small, and a search gains most by it.
 */
function withinBudget(
  columns: readonly WrittenColumn[],
  fileBytes: number,
): readonly WrittenColumn[] {
  let budgetLeft = Math.max(minListIndexBytes, listShare * fileBytes);
  const lists = columns.filter(({ summary }) => summary.isList === true);
  const keptColumns = new Set<WrittenColumn>();
  for (const column of lists.toSorted((a, b) => sizeOf(a) - sizeOf(b)))
    if ((budgetLeft -= sizeOf(column)) >= 0) keptColumns.add(column);
  return columns.filter((column) => column.summary.isList !== true || keptColumns.has(column));
}

function sizeOf({ parts }: WrittenColumn): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function nameOf(path: Columns): string {
  return indexedName(path.map(({ physical }) => physical));
}

/** The paths of the texts in the column at the end of a path, itself included. */
function textsIn(path: Columns): readonly Columns[] {
  const last = path.at(-1)!;
  if (last.type === 'text') return [path];
  return membersOf(last).flatMap((member) => textsIn([...path, member]));
}

/** A member of objects; null where its object is null. */
function memberOf(parent: Data, name: string): Data {
  const at = (parent.type as Struct).children.findIndex((field) => field.name === name);
  const member = parent.children[at]!;
  if (parent.nullCount === 0) return member;
  const { length, children } = member;
  const nullBitmap = new Uint8Array((length + 7) >> 3);
  let presentCount = 0;
  for (let i = 0; i < length; i++) {
    if (!parent.getValid(i) || !member.getValid(i)) continue;
    nullBitmap[i >> 3]! |= 1 << (i & 7);
    presentCount++;
  }
  const common = { length, nullCount: length - presentCount, nullBitmap };
  return member.type instanceof Utf8
    ? makeData({
        ...common,
        type: member.type,
        valueOffsets: member.valueOffsets,
        data: member.values,
      })
    : makeData({ ...common, type: member.type as Struct, children });
}

/** The summary, its length and the magic number. */
function indexEnding(summary: IndexSummary): Uint8Array {
  const text = Buffer.from(JSON.stringify(summary));
  const tail = Buffer.alloc(indexTailBytes);
  tail.writeUInt32LE(text.length, 0);
  tail.writeUInt32LE(indexMagic, 4);
  return Buffer.concat([text, tail]);
}
