import type { CheckedFile } from '../core/block-checksums.js';
import { ascendingOrder } from '../core/ascending.js';
import { AppError } from '../core/errors.js';
import { loadColumn } from '../query/memory/load.js';
import { Overflow } from '../query/memory/facets/overflow.js';
import { StringTable } from '../query/memory/facets/string-table.js';
import { GrowingDictionary } from '../query/memory/growing-dictionary.js';
import { SegmentFile } from '../query/memory/segment-file.js';
import { deletedRows, type DeletionVector } from '../store/deletion-vector.js';
import { rowIdColumn } from '../store/row-ids.js';
import type { IdRun } from '../store/store.js';
import { placedRows, type PlacedRows } from './placed-rows.js';
import { eachKey } from './row-keys.js';

/** Records to find by a key: their `_id`, or the values of fields. */
export interface RowSearch {
  /** Files with the keys that are looked for. */
  readonly wanted: readonly CheckedFile[];
  readonly columns: readonly KeyColumn[];
  readonly segments: readonly SearchedFile[];
  /** Whether the search ends with the first key that two rows of `wanted` have. */
  readonly isUnique: boolean;
}

/** A column of the key: its physical path in the files with the keys, and in the segments. */
export interface KeyColumn {
  readonly given: readonly string[];
  readonly stored: readonly string[];
}

/** A segment in which keys are looked for. */
export interface SearchedFile extends CheckedFile {
  readonly deletion: DeletionVector | undefined;
  /** As in `Segment`. */
  readonly baseRowId: number | undefined;
  /** If the key is one string: its bounds in the log, in the order of their bytes; undefined if the log has none. */
  readonly bounds: readonly [min: string, max: string] | undefined;
  /** If the key is the `_id`: as in `Segment`. Where they are known, the file is read only for row ids. */
  readonly idRuns?: readonly IdRun[] | undefined;
  /** Rows of the file. */
  readonly rows: number;
}

/** A row of one of the files with the keys: the number of the file, and of the row in it. */
export type WantedRow = readonly [file: number, row: number];

/** The records that a `RowSearch` has found. */
export interface FoundRows {
  /** For each segment, the rows with a wanted key that are not deleted, ascending. */
  readonly rows: readonly Int32Array[];
  /** For each of these rows, the number of its key: the keys are numbered in the order in which `wanted` has them. */
  readonly keys: readonly Int32Array[];
  /** For each of these rows, its row id. */
  readonly rowIds: readonly Float64Array[];
  /** For each file of `wanted`, the number of the key of each row; -1 for a row without one. */
  readonly wanted: readonly Int32Array[];
  /** Number of different keys. */
  readonly distinct: number;
  /** The first row of `wanted` without a key. */
  readonly missing: WantedRow | undefined;
  /** The first row of `wanted` with the key of an earlier row, if `isUnique`, and that earlier row. */
  readonly repeated: readonly [WantedRow, WantedRow] | undefined;
}

/** Maximum number of different keys. */
const maxKeys = 100_000_000;
/** With more keys than this, nearly every segment may hold one of them. */
const fewKeys = 10_000;

/** Finds the rows whose key is among those wanted. Reads no other column. Throws `damaged`, and `budget` for too many keys. */
export function findRows({ wanted, columns, segments, isUnique }: RowSearch): FoundRows {
  const overflow = new Overflow();
  const table = new StringTable(maxKeys, overflow);
  let missing: WantedRow | undefined;
  let repeated: FoundRows['repeated'];
  const given = columns.map((column) => column.given);
  const numbers: Int32Array[] = [];
  for (const [number, checked] of wanted.entries()) {
    const own = withFile(checked, (file) => {
      const keys = new Int32Array(file.rows).fill(-1);
      eachKey(file, given, (row, bytes, start, end) => {
        if (start < 0) missing ??= [number, row];
        else {
          const before = table.size;
          keys[row] = table.add(bytes, start, end);
          if (isUnique && table.size === before && overflow.unsupported === undefined)
            repeated ??= [placeOf([...numbers, keys], keys[row]), [number, row]];
        }
      });
      return keys;
    });
    numbers.push(own);
  }
  if (overflow.unsupported !== undefined)
    throw new AppError('budget', `an import names at most ${maxKeys} different records`);
  const few = table.size > fewKeys ? undefined : Array.from({ length: table.size }, (_, i) => Buffer.from(table.text(i))); // prettier-ignore
  const stored = columns.map((column) => column.stored);
  const placed = placedRows(table, segments);
  const found = segments.map((segment, i) => {
    if (segment.idRuns !== undefined) return livingRows(segment, placed[i]!);
    if (few !== undefined && !mayHold(segment, few)) return nothing;
    return withFile(segment, (file) => rowsOf(file, segment, stored, table));
  });
  return {
    rows: found.map(({ rows }) => rows),
    keys: found.map(({ keys }) => keys),
    rowIds: found.map(({ rowIds }) => rowIds),
    wanted: numbers,
    distinct: table.size,
    missing,
    repeated,
  };
}

/** Those of the rows of a segment that are not deleted. */
function livingRows(segment: SearchedFile, placed: PlacedRows): FoundInFile {
  if (placed.rows.length === 0) return nothing;
  const { deletion, baseRowId } = segment;
  const gone = new Uint8Array(segment.rows);
  if (deletion) for (const row of deletedRows(deletion)) gone[row] = 1;
  const order = ascendingOrder(placed.rows);
  const rows: number[] = [];
  const keys: number[] = [];
  for (let at = 0; at < placed.rows.length; at++) {
    const i = order?.[at] ?? at;
    if (gone[placed.rows[i]!] === 1) continue;
    rows.push(placed.rows[i]!);
    keys.push(placed.keys[i]!);
  }
  return {
    rows: new Int32Array(rows),
    keys: new Int32Array(keys),
    rowIds: rowIdsOf(rows, baseRowId, () => withFile(segment, storedRowIds)),
  };
}

/** Rows of one file, ascending, the numbers of their keys, and their row ids. */
interface FoundInFile {
  readonly rows: Int32Array;
  readonly keys: Int32Array;
  readonly rowIds: Float64Array;
}

const nothing: FoundInFile = {
  rows: new Int32Array(0),
  keys: new Int32Array(0),
  rowIds: new Float64Array(0),
};

function rowsOf(
  file: SegmentFile,
  { deletion, baseRowId }: SearchedFile,
  stored: readonly (readonly string[])[],
  table: StringTable,
): FoundInFile {
  const gone = deletion ? deletedRows(deletion) : [];
  const rows: number[] = [];
  const keys: number[] = [];
  let next = 0;
  eachKey(file, stored, (row, bytes, start, end) => {
    if (gone[next] === row) {
      next++;
      return;
    }
    const key = start < 0 ? -1 : table.find(bytes, start, end);
    if (key < 0) return;
    rows.push(row);
    keys.push(key);
  });
  return {
    rows: new Int32Array(rows),
    keys: new Int32Array(keys),
    rowIds: rowIdsOf(rows, baseRowId, () => storedRowIds(file)),
  };
}

/** The row ids of rows of a segment; `read` returns those of all its rows, if it stores them. */
function rowIdsOf(
  rows: readonly number[],
  baseRowId: number | undefined,
  read: () => Float64Array,
): Float64Array {
  if (baseRowId !== undefined) return new Float64Array(rows.map((row) => baseRowId + row));
  if (rows.length === 0) return new Float64Array(0);
  const stored = read();
  return new Float64Array(rows.map((row) => stored[row]!));
}

/** The row ids of all rows of a segment that stores them. */
export function storedRowIds(file: SegmentFile): Float64Array {
  const values = loadColumn(file, [rowIdColumn.physical], new GrowingDictionary())?.values;
  if (values?.kind !== 'numbers') throw file.damaged('has no row ids');
  return Float64Array.from(values.numbers);
}

/** The first row with a key. */
function placeOf(numbers: readonly Int32Array[], key: number): WantedRow {
  for (const [file, keys] of numbers.entries()) {
    const row = keys.indexOf(key);
    if (row >= 0) return [file, row];
  }
  throw new Error(`no row has the key ${key}`);
}

function withFile<T>(checked: CheckedFile, work: (file: SegmentFile) => T): T {
  const file = new SegmentFile(checked);
  try {
    return work(file);
  } finally {
    file.close();
  }
}

/** Whether one of the keys is within the bounds of a segment. */
function mayHold({ bounds }: SearchedFile, keys: readonly Buffer[]): boolean {
  if (bounds === undefined) return true;
  const [min, max] = bounds.map((bound) => Buffer.from(bound)) as [Buffer, Buffer];
  return keys.some((key) => key.compare(min) >= 0 && key.compare(max) <= 0);
}
