import type { StoredType } from '../core/types.js';
import { GrowingDictionary } from '../query/memory/growing-dictionary.js';
import { loadColumn, withDoubles } from '../query/memory/load-column.js';
import type { MemoryColumn } from '../query/memory/match/column.js';
import { loadPage } from '../query/memory/page-column.js';
import type { SegmentFile } from '../store/segment-file.js';
import { wantedPages, type WantedLeaf } from './wanted-pages.js';
import type { WantedValues } from './wanted-values.js';

/** A column of the key: its physical path in the files with the wanted keys (`given`), and in the segments (`stored`). */
export interface KeyColumn {
  readonly given: readonly string[];
  readonly stored: readonly string[];
  /** The type of the field in the dataset; a segment may store a narrower one. */
  readonly type: StoredType;
}

/** Called with the number of a row and its key, which is `bytes[start..end)`; `start` is -1 for a row without a key. */
export type KeyVisitor = (row: number, bytes: Buffer, start: number, end: number) => void;

/**
 * Calls `visit` for each row of a file with the wanted keys, in their order, and adds the values of the columns to `wantedValues`. If the
 * key is one column of strings, the key of a row is its value, which is not added to the strings of `wantedValues`; otherwise it is the
 * values of the columns as text. A row in which one of the values is null has no key. If the file lacks one of the columns, no row has a
 * key, and no value is added. The numbers of a field of doubles are compared as doubles, also where a narrower type is stored.
 */
export function forEachWantedKey(
  file: SegmentFile,
  key: readonly KeyColumn[],
  wantedValues: readonly WantedValues[],
  visit: KeyVisitor,
): void {
  const loadedColumns = key.map((column) =>
    toComparable(column, loadColumn(file, column.given, new GrowingDictionary())),
  );
  const columns = loadedColumns.filter((column) => column !== undefined);
  if (columns.length < key.length) {
    for (let row = 0; row < file.rows; row++) visit(row, emptyBuffer, -1, -1);
    return;
  }
  for (const [i, column] of columns.entries()) wantedValues[i]!.add(column, key.length > 1);
  forEachKeyOf(columns, undefined, 0, visit);
}

/**
 * Calls `visit` for rows of a segment that have a key, in their order, with their keys as `forEachWantedKey` passes them; rows whose keys
 * are certainly not wanted are left out. If the file has a page index, and the pages that may contain a wanted key (`wantedPages`) have at
 * most half of the rows, only these pages are read; otherwise whole columns are, which takes less time per row. Of a page, or of the
 * segment, a column is read only if the columns read before leave a row; with a page index, those that rule out most pages are read first.
 */
export function forEachStoredKey(
  file: SegmentFile,
  key: readonly KeyColumn[],
  wantedValues: readonly WantedValues[],
  visit: KeyVisitor,
): void {
  const columns = key.flatMap((column, i) => {
    const leaf = file.leaf(column.stored);
    return leaf === undefined ? [] : [{ ...column, leaf, wanted: wantedValues[i]! }];
  });
  if (columns.length < key.length) return;
  const pagesToSearch = wantedPages(file, columns);
  const order = [...columns.keys()];
  if (pagesToSearch)
    order.sort((a, b) => pagesToSearch.pageCounts[a]! - pagesToSearch.pageCounts[b]!);
  const visitPart = (
    first: number,
    load: (column: WantedLeaf & KeyColumn) => MemoryColumn | undefined,
  ): void => {
    const loadedColumns: MemoryColumn[] = [];
    let rows: Int32Array | undefined;
    for (const i of order) {
      const column = columns[i]!;
      loadedColumns[i] = toComparable(column, load(column))!;
      rows = column.wanted.rowsIn(loadedColumns[i], rows);
      if (rows.length === 0) return;
    }
    forEachKeyOf(loadedColumns, rows, first, visit);
  };
  const rowsLeft = pagesToSearch?.pages.reduce((sum, { rows }) => sum + rows, 0);
  if (pagesToSearch === undefined || 2 * rowsLeft! > file.rows)
    visitPart(0, ({ stored }) => loadColumn(file, stored, new GrowingDictionary()));
  else
    for (const page of pagesToSearch.pages)
      visitPart(page.first, ({ leaf }) =>
        loadPage(file, leaf, page, pagesToSearch.entriesOf(leaf, page.group)),
      );
}

/** Returns a column with its numbers as keys compare them. */
function toComparable(
  { type }: KeyColumn,
  column: MemoryColumn | undefined,
): MemoryColumn | undefined {
  return column !== undefined && type === 'double' ? withDoubles(column) : column;
}

const emptyBuffer = Buffer.alloc(0);

/** Calls `visit` for the given rows of columns, or for all; the first row of the columns has the number `first`. */
function forEachKeyOf(
  columns: readonly MemoryColumn[],
  rows: Int32Array | undefined,
  first: number,
  visit: KeyVisitor,
): void {
  const rowCount = rows?.length ?? columns[0]!.rows;
  const readKey = keyReaderOf(columns);
  for (let i = 0; i < rowCount; i++) {
    const row = rows === undefined ? i : rows[i]!;
    if (columns.some(({ present }) => present?.[row] === 0))
      visit(first + row, emptyBuffer, -1, -1);
    else readKey(row, first + row, visit);
  }
}

/** Returns a function that calls `visit` with the key of row `row` of the columns, and with `number` as the number of the row. */
function keyReaderOf(
  columns: readonly MemoryColumn[],
): (row: number, number: number, visit: KeyVisitor) => void {
  const [{ values }] = columns as readonly [MemoryColumn];
  if (columns.length === 1 && (values.kind === 'strings' || values.kind === 'dictionary')) {
    const indices = values.kind === 'dictionary' ? values.indices : undefined;
    const { bytes, offsets } = values.kind === 'dictionary' ? values.dictionary.utf8 : values;
    return (row, number, visit) => {
      const at = indices === undefined ? row : indices[row]!;
      visit(number, bytes, offsets[at]!, offsets[at + 1]!);
    };
  }
  const textReaders = columns.map(textReaderOf);
  return (row, number, visit) => {
    // `textReaderOf` writes equal values of a field as the same text, however they are stored, and JSON keeps the boundaries of the texts.
    const key = Buffer.from(JSON.stringify(textReaders.map((text) => text(row))));
    visit(number, key, 0, key.length);
  };
}

function textReaderOf({ values }: MemoryColumn): (row: number) => string {
  switch (values.kind) {
    case 'numbers':
      return (row) => String(values.numbers[row]! + 0);
    case 'number-dictionary': {
      const { indices, entries } = values;
      return (row) => String(entries.numbers[indices[row]!]! + 0);
    }
    case 'longs':
      return (row) => String(values.longs[row]!);
    case 'flags':
      return (row) => String(values.flags[row]!);
    case 'dictionary':
      return (row) => values.dictionary.strings[values.indices[row]!]!;
    case 'strings':
      return (row) => values.bytes.toString('utf8', values.offsets[row]!, values.offsets[row + 1]!);
  }
}
