import { makeData, Utf8, type Data, type RecordBatch, type Struct } from 'apache-arrow';
import type { Column, Columns } from '../core/types.js';
import {
  writeColumnIndex,
  writeListIndex,
  type ColumnSummary,
  type WrittenColumn,
} from './column-writer.js';
import { collectListedValues } from './listed-values.js';

/**
 * The version of text indexes. It must change when the format of the index, the tokenizer or case folding changes; indexes of other
 * versions are ignored.
 */
export const indexVersion = 3;
/** The last four bytes of an index, which follow the length of its summary in the trailer. */
export const indexMagic = 0x31585453; // STX1
/** The size of the trailer of an index: the length of its summary, and `indexMagic`. */
export const indexTrailerBytes = 8;

/** The summary at the end of an index, stored as JSON. */
export interface IndexSummary {
  readonly version: number;
  readonly rows: number;
  /** Total size in bytes of all parts of all columns, which precede the summary. */
  readonly bytes: number;
  readonly columns: readonly ColumnSummary[];
}

/** Returns whether one of these columns, or a member of an object or list of objects among them, is of type `text`. */
function hasTextColumn(columns: Columns): boolean {
  return columns.some((column) => column.type === 'text' || hasTextColumn(memberColumns(column)));
}

/** Returns whether one of these columns, or a member of an object among them, is of type `text` and is a list or lies in one. */
export function hasListedTexts(columns: Columns): boolean {
  return columns.some((column) =>
    column.isList ? hasTextColumn([column]) : hasListedTexts(memberColumns(column)),
  );
}

function memberColumns({ type, children = [] }: Column): Columns {
  return type === 'object' ? children : [];
}

/** Returns the name of a column in an index: the physical names from the top-level column down, as JSON. */
export function indexedName(path: readonly string[]): string {
  return JSON.stringify(path);
}

/** Returns the index of a segment, in pieces; `fileBytes` is the size of the segment's file without the index. */
type IndexForFileSize = (fileBytes: number) => readonly Uint8Array[];

/**
 * Returns the index of the text columns of a segment; undefined without text columns. The index is stored before the footer of the
 * segment's Parquet file, where other readers ignore it, so it is flushed, moved, checked and removed with the segment.
 */
export function writeIndex(
  columns: Columns,
  batches: readonly RecordBatch[],
): IndexForFileSize | undefined {
  if (!hasTextColumn(columns)) return undefined;
  const writtenColumns: WrittenColumn[] = [];
  const roots = batches.map(({ data }) => data);
  const write = (below: Columns, parents: readonly Data[], above: Columns): void => {
    for (const column of below) {
      if (!hasTextColumn([column])) continue;
      const path = [...above, column];
      if (column.isList) {
        for (const text of textColumnPaths(path))
          writtenColumns.push(
            writeListIndex(indexedNameOfPath(text), collectListedValues(roots, text)),
          );
        continue;
      }
      const datas = parents.map((parent) => memberData(parent, column.physical));
      if (column.type === 'text')
        writtenColumns.push(writeColumnIndex(indexedNameOfPath(path), datas));
      else write(memberColumns(column), datas, path);
    }
  };
  write(columns, roots, []);
  const rows = batches.reduce((sum, { numRows }) => sum + numRows, 0);
  return (fileBytes) => {
    const keptColumns = keepWithinListBudget(writtenColumns, fileBytes);
    const pieces = keptColumns.flatMap(({ parts }) => parts);
    const bytes = keptColumns.reduce((sum, column) => sum + indexSize(column), 0);
    const summaries = keptColumns.map(({ summary }) => summary);
    return [
      ...pieces,
      encodeIndexSummary({ version: indexVersion, rows, bytes, columns: summaries }),
    ];
  };
}

/**
 * Maximum size of the indexes of all list columns together, as a share of the size of the file without the index; `minListIndexBytes` is
 * permitted in any case.
 */
const maxListIndexShare = 0.1;
/**
 * Up to this size in bytes, indexes of lists are always written: many small segments without an index would make a query slow, and the
 * index hardly enlarges them.
 */
const minListIndexBytes = 1 << 20;

/**
 * Leaves out the largest indexes of lists until the remaining ones are within the permitted size (`maxListIndexShare`). The index of a list
 * is small if many records share its texts, and such an index speeds up searches most.
 */
function keepWithinListBudget(
  columns: readonly WrittenColumn[],
  fileBytes: number,
): readonly WrittenColumn[] {
  let budgetLeft = Math.max(minListIndexBytes, maxListIndexShare * fileBytes);
  const lists = columns.filter(({ summary }) => summary.isList === true);
  const keptColumns = new Set<WrittenColumn>();
  for (const column of lists.toSorted((a, b) => indexSize(a) - indexSize(b)))
    if ((budgetLeft -= indexSize(column)) >= 0) keptColumns.add(column);
  return columns.filter((column) => column.summary.isList !== true || keptColumns.has(column));
}

function indexSize({ parts }: WrittenColumn): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

function indexedNameOfPath(path: Columns): string {
  return indexedName(path.map(({ physical }) => physical));
}

/** Returns the paths of the text columns in the column at the end of a path, including that column itself. */
function textColumnPaths(path: Columns): readonly Columns[] {
  const last = path.at(-1)!;
  if (last.type === 'text') return [path];
  return memberColumns(last).flatMap((member) => textColumnPaths([...path, member]));
}

/** Returns a member of objects; it is null where its object is null. */
function memberData(parent: Data, name: string): Data {
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

/** Returns the end of an index: the summary as JSON and the trailer, which has its length and the magic number. */
function encodeIndexSummary(summary: IndexSummary): Uint8Array {
  const text = Buffer.from(JSON.stringify(summary));
  const trailer = Buffer.alloc(indexTrailerBytes);
  trailer.writeUInt32LE(text.length, 0);
  trailer.writeUInt32LE(indexMagic, 4);
  return Buffer.concat([text, trailer]);
}
