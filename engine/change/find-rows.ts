import type { Data } from 'apache-arrow';
import type { CheckedFile } from '../core/block-checksums.js';
import { ascendingOrder } from '../core/ascending.js';
import { acquire, release } from '../core/buffers.js';
import { AppError } from '../core/errors.js';
import { loadColumn } from '../query/memory/load.js';
import { Overflow } from '../query/memory/facets/overflow.js';
import { StringTable } from '../query/memory/facets/string-table.js';
import { GrowingDictionary } from '../query/memory/growing-dictionary.js';
import { SegmentFile } from '../query/memory/segment-file.js';
import { deletedRows, type DeletionVector } from '../store/deletion-vector.js';
import { rowIdColumn } from '../store/row-ids.js';
import type { IdRun } from '../store/store.js';
import { PlacedRows } from './placed-rows.js';
import { eachKey, type VisitKey } from './row-keys.js';

/** Records to find by a key: their `_id`, or the values of fields. */
export interface RowSearch {
  /** Files with the keys to find. */
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
  /** The first row id, as in `Segment`. */
  readonly baseRowId: number | undefined;
  /** If the key is one string: the bounds of the strings in the log, in byte order; undefined if the log has none. */
  readonly bounds: readonly [min: string, max: string] | undefined;
  /** If the key is the `_id`: the runs of ids, as in `Segment`. With them, the file is read only for row ids. */
  readonly idRuns?: readonly IdRun[] | undefined;
  /** The number of rows of the file. */
  readonly rows: number;
}

/** A row of one of the files with the keys: the number of the file, and of the row in it. */
export type WantedRow = readonly [file: number, row: number];

/** The records that a `RowSearch` has found. */
export interface FoundRows {
  /** The findings for each segment. */
  readonly segments: readonly FoundInSegment[];
  /** The number of distinct keys. */
  readonly distinct: number;
  /** The first row of `wanted` without a key. */
  readonly missing: WantedRow | undefined;
  /** The first row of `wanted` with the key of an earlier row, if `isUnique`, and that earlier row. */
  readonly repeated: readonly [WantedRow, WantedRow] | undefined;
}

/** The rows of one segment with a wanted key that are not deleted, ascending. */
export interface FoundInSegment {
  readonly rows: Int32Array;
  /** For each found row, the first row of `wanted` with its key: number of the file, and of the row in the file. */
  readonly files: Int32Array;
  readonly given: Int32Array;
  readonly rowIds: Float64Array;
}

/** The records that `placeAll` has found. */
export interface PlacedRecords {
  /** The number of each string, in ascending order of the row ids of their records. */
  readonly given: Int32Array;
  /** The row ids, ascending. */
  readonly rowIds: Float64Array;
  /** The rows of each segment. */
  readonly segments: readonly PlacedInSegment[];
}

/** The rows of one segment that strings name, ascending, and for each of them the number of its string. */
export type PlacedInSegment = Pick<FoundInSegment, 'rows' | 'given'>;

/** Maximum number of different keys. */
const maxKeys = 100_000_000;
/** The number of keys above which nearly every segment may contain one of them. */
const fewKeys = 10_000;

/** Finds the rows whose key is among those wanted. Reads no other column. Throws `damaged`, and `budget` for too many keys. */
export function findRows({ wanted, columns, segments, isUnique }: RowSearch): FoundRows {
  const overflow = new Overflow();
  /** The keys that the log alone does not place. */
  const table = new StringTable(maxKeys, overflow);
  const first: { readonly files: number[]; readonly rows: number[] } = { files: [], rows: [] };
  const placedRows = new PlacedRows(segments);
  const found = segments.map(() => new Matches());
  let places = 0;
  let missing: WantedRow | undefined;
  let repeatedKey: FoundRows['repeated'];
  const givenColumns = columns.map((column) => column.given);
  for (const [number, checked] of wanted.entries()) {
    withFile(checked, (file) =>
      eachKey(file, givenColumns, (row, bytes, start, end) => {
        if (start < 0) {
          missing ??= [number, row];
          return;
        }
        const take = placedRows.take(bytes, start, end);
        if (take === 'first') {
          found[placedRows.segment]!.add(placedRows.row, number, row);
          places++;
        } else if (take === 'again') {
          if (isUnique)
            repeatedKey ??= [found[placedRows.segment]!.givenOf(placedRows.row), [number, row]];
        } else {
          const before = table.size;
          const key = table.add(bytes, start, end);
          if (table.size > before) {
            first.files.push(number);
            first.rows.push(row);
          } else if (isUnique && overflow.unsupported === undefined)
            repeatedKey ??= [
              [first.files[key]!, first.rows[key]!],
              [number, row],
            ];
        }
      }),
    );
  }
  if (overflow.unsupported !== undefined || table.size + places > maxKeys)
    throw new AppError('budget', `an import names at most ${maxKeys} different records`);
  const fewKeysList = table.size > fewKeys ? undefined : Array.from({ length: table.size }, (_, i) => Buffer.from(table.text(i))); // prettier-ignore
  const stored = columns.map((column) => column.stored);
  return {
    segments: segments.map((segment, i): FoundInSegment => {
      const matches = found[i]!;
      if (segment.idRuns !== undefined || (fewKeysList !== undefined && !mayHold(segment, fewKeysList)))
        return matches.finish((rows) => rowIdsOf(rows, segment, () => withFile(segment, storedRowIds))); // prettier-ignore
      return withFile(segment, (file) => {
        eachLivingKey(file, segment, stored, (row, bytes, start, end) => {
          const key = start < 0 ? -1 : table.find(bytes, start, end);
          if (key >= 0) matches.add(row, first.files[key]!, first.rows[key]!);
        });
        return matches.finish((rows) => rowIdsOf(rows, segment, () => storedRowIds(file)));
      });
    }),
    distinct: table.size + places,
    missing,
    repeated: repeatedKey,
  };
}

/** The records whose `_id`s are these strings, if the log alone determines them and no two strings are equal; else undefined. */
export function placeAll(ids: Data, segments: readonly SearchedFile[]): PlacedRecords | undefined {
  if (ids.nullCount > 0) return undefined;
  const { buffer, byteOffset, byteLength } = ids.values as Uint8Array;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const count = ids.length;
  const numbers = acquire(Int32Array, count);
  const rows = acquire(Int32Array, count);
  try {
    const placedRows = new PlacedRows(segments);
    if (!placedRows.takeAll(bytes, ids.valueOffsets, count, numbers, rows)) return undefined;
    const rowIds = rowIdsAt(numbers, rows, count, segments);
    const given = ascendingOrder(rowIds) ?? firstNumbers(count);
    const ordered = new Float64Array(count);
    for (let i = 0; i < count; i++) ordered[i] = rowIds[given[i]!]!;
    return {
      given,
      rowIds: ordered,
      segments: bySegment(numbers, rows, given, segments.length),
    };
  } finally {
    release(numbers);
    release(rows);
  }
}

function firstNumbers(count: number): Int32Array {
  const numbers = new Int32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}

/** The row ids of the rows `rows[i]` of the segments `numbers[i]`. */
function rowIdsAt(
  numbers: Int32Array,
  rows: Int32Array,
  count: number,
  segments: readonly SearchedFile[],
): Float64Array {
  const rowIds = new Float64Array(count);
  const bases = Float64Array.from(segments, ({ baseRowId }) => baseRowId ?? NaN);
  for (let i = 0; i < count; i++) rowIds[i] = bases[numbers[i]!]! + rows[i]!;
  const stored = new Map<number, Float64Array>();
  for (let i = 0; i < count; i++) {
    if (!Number.isNaN(rowIds[i])) continue;
    const number = numbers[i]!;
    if (!stored.has(number)) stored.set(number, withFile(segments[number]!, storedRowIds));
    rowIds[i] = stored.get(number)![rows[i]!]!;
  }
  return rowIds;
}

/** The rows of each segment, ascending, of which `given[i]` names row `rows[given[i]]` of the segment `numbers[given[i]]`. */
function bySegment(
  numbers: Int32Array,
  rows: Int32Array,
  given: Int32Array,
  segments: number,
): readonly PlacedInSegment[] {
  const begins = new Int32Array(segments + 1);
  for (let i = 0; i < given.length; i++) begins[numbers[i]! + 1]!++;
  for (let n = 0; n < segments; n++) begins[n + 1]! += begins[n]!;
  const next = begins.slice();
  const groupedRows = new Int32Array(given.length);
  const groupedGiven = new Int32Array(given.length);
  for (let i = 0; i < given.length; i++) {
    const from = given[i]!;
    const at = next[numbers[from]!]!++;
    groupedRows[at] = rows[from]!;
    groupedGiven[at] = from;
  }
  return Array.from({ length: segments }, (_, n) => {
    const own = groupedRows.subarray(begins[n], begins[n + 1]);
    const ownGiven = groupedGiven.subarray(begins[n], begins[n + 1]);
    const order = ascendingOrder(own); // row ids may descend in a segment
    if (order === undefined) return { rows: own, given: ownGiven };
    return { rows: order.map((at) => own[at]!), given: order.map((at) => ownGiven[at]!) };
  });
}

/** The rows of a segment that are found, in any order. */
class Matches {
  readonly #rows: number[] = [];
  readonly #files: number[] = [];
  readonly #given: number[] = [];

  add(row: number, file: number, given: number): void {
    this.#rows.push(row);
    this.#files.push(file);
    this.#given.push(given);
  }

  /** The given row for which a row was added. */
  givenOf(row: number): WantedRow {
    const at = this.#rows.indexOf(row);
    return [this.#files[at]!, this.#given[at]!];
  }

  finish(rowIdsOfRows: (rows: Int32Array) => Float64Array): FoundInSegment {
    const order = ascendingOrder(this.#rows);
    const inOrder = (numbers: readonly number[]): Int32Array =>
      order === undefined ? Int32Array.from(numbers) : order.map((at) => numbers[at]!);
    const rows = inOrder(this.#rows);
    return {
      rows,
      files: inOrder(this.#files),
      given: inOrder(this.#given),
      rowIds: rowIdsOfRows(rows),
    };
  }
}

/** Calls `visit` for each row of a segment that is not deleted. */
function eachLivingKey(
  file: SegmentFile,
  { deletion }: SearchedFile,
  stored: readonly (readonly string[])[],
  visit: VisitKey,
): void {
  const deletedRowList = deletion ? deletedRows(deletion) : [];
  let next = 0;
  eachKey(file, stored, (row, bytes, start, end) => {
    if (deletedRowList[next] === row) next++;
    else visit(row, bytes, start, end);
  });
}

/** The row ids of rows of a segment; `read` returns the stored row ids of all its rows, if it has any. */
function rowIdsOf(
  rows: Int32Array,
  { baseRowId }: SearchedFile,
  read: () => Float64Array,
): Float64Array {
  const ids = new Float64Array(rows.length);
  const stored = baseRowId === undefined && rows.length > 0 ? read() : undefined;
  for (let i = 0; i < rows.length; i++) ids[i] = stored?.[rows[i]!] ?? baseRowId! + rows[i]!;
  return ids;
}

/** The row ids of all rows of a segment that stores them. */
export function storedRowIds(file: SegmentFile): Float64Array {
  const values = loadColumn(file, [rowIdColumn.physical], new GrowingDictionary())?.values;
  if (values?.kind !== 'numbers') throw file.damaged('has no row ids');
  return Float64Array.from(values.numbers);
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
