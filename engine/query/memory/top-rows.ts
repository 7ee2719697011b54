import { compareCodePoints } from '../../core/compare-code-points.js';
import type { OrderKey } from '../request/query-request.js';
import { rowIdColumn } from '../../store/row-ids.js';
import { FirstRowIds } from './first-row-ids.js';
import type { ColumnValues, MemoryColumn, SegmentView } from './match/column.js';
import { isSparse, selectionBytesOf, type SelectionVector } from './match/selection-vector.js';

/** The sort key for row ids, which determine the order of an interleaved snapshot (engine/store/row-ids.ts). */
export const rowIdKey: OrderKey = {
  field: { name: rowIdColumn.name, path: [rowIdColumn.name], type: 'long' },
  descending: false,
};

/** The sort key of a row; null if it has no value. */
type SortValue = number | bigint | string | null;

/**
 * The value of a sort key before which no record of a segment sorts; null if no record has a value, undefined if the bound is not known.
 */
export type KeyBound = SortValue | undefined;

/** A row that may be among the first rows, with its sort keys. */
export interface TopRow {
  readonly values: readonly SortValue[];
  readonly segment: number;
  readonly row: number;
}

/** Rows with their sort keys as arrays, which are sent to another thread in a tenth of the time of as many objects. */
export interface PackedTopRows {
  /** The values of each sort key: doubles if all of them are numbers. */
  readonly keys: readonly (Float64Array | readonly SortValue[])[];
  readonly segments: Uint32Array;
  readonly rows: Uint32Array;
}

/** Packs rows that have `keyCount` sort keys. */
export function packTopRows(rows: readonly TopRow[], keyCount: number): PackedTopRows {
  const keys = Array.from({ length: keyCount }, (_, key) => {
    const values = rows.map((row) => row.values[key]!);
    return values.every((value) => typeof value === 'number') ? Float64Array.from(values) : values;
  });
  return {
    keys,
    segments: Uint32Array.from(rows, ({ segment }) => segment),
    rows: Uint32Array.from(rows, ({ row }) => row),
  };
}

export function unpackTopRows({ keys, segments, rows }: PackedTopRows): readonly TopRow[] {
  return Array.from(rows, (row, i) => ({
    values: keys.map((values) => values[i]!),
    segment: segments[i]!,
    row,
  }));
}

/** Returns a comparator that sorts by the keys, then by segment and row. Rows without a value come last in both directions. */
export function candidateComparator(
  ordering: readonly OrderKey[],
): (a: TopRow, b: TopRow) => number {
  const signs = ordering.map(({ descending }) => (descending ? -1 : 1));
  return (a, b) => {
    for (let i = 0; i < signs.length; i++) {
      const order = compareValues(a.values[i]!, b.values[i]!, signs[i]!);
      if (order !== 0) return order;
    }
    return a.segment - b.segment || a.row - b.row;
  };
}

/** Compares values of a sort key; `sign` is -1 for descending order. Missing values sort last in both directions. */
export function compareValues(a: SortValue, b: SortValue, sign: number): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (typeof a === 'string' || typeof b === 'string')
    return sign * compareCodePoints(String(a), String(b));
  // NaN sorts above all numbers, as in DuckDB, so it is compared separately.
  if (a !== a || b !== b) return a !== a && b !== b ? 0 : a !== a ? sign : -sign;
  return a < b ? -sign : a > b ? sign : 0;
}

/** The number of a segment in its snapshot, and the row id of its first row if the file does not store row ids. */
interface NumberedSegment {
  readonly number: number;
  readonly baseRowId?: number | undefined;
}

/** Finds the first `count` rows in sort order. The segments may be added in any order, and the rows of each ascend. */
export class TopRows {
  readonly #ordering: readonly OrderKey[];
  readonly #count: number;
  readonly #compare: (a: TopRow, b: TopRow) => number;
  /** If `rowIdKey` is the only key, rows with a row id up to this one are skipped. */
  readonly #afterRowId: number;
  /** The first rows if `rowIdKey` is the only key. */
  readonly #firstRowIds: FirstRowIds | undefined;
  #keptRows: TopRow[] = [];
  /** First sort key of the last row that the last `#cut` kept; undefined until one has kept `count` rows. */
  #lastKey: SortValue | undefined;
  /** The segment of the last row that the last `#cut` kept, and below it the segment whose rows are being added. */
  #lastKeptSegment = -1;
  #addedSegment = -1;

  constructor(ordering: readonly OrderKey[], count: number, afterRowId = -1) {
    this.#afterRowId = afterRowId;
    this.#ordering = ordering;
    this.#count = count;
    this.#compare = candidateComparator(ordering);
    if (count > 0 && isRowIdKey(ordering[0]!)) this.#firstRowIds = new FirstRowIds(count);
  }

  add(view: SegmentView, selection: SelectionVector, segment: NumberedSegment): void {
    if (selection === 'none' || this.#count === 0) return;
    if (this.#firstRowIds !== undefined)
      return this.#addByRowId(this.#firstRowIds, view, selection, segment);
    const { number, baseRowId } = segment;
    this.#addedSegment = number;
    const keys = this.#ordering.map((key) =>
      isRowIdKey(key)
        ? rowIdReader(view, baseRowId)
        : sortKeyReader(view.column(key.field), key.descending),
    );
    const insert = (row: number): void => {
      this.#keptRows.push({
        values: keys.map((get) => get(row)),
        segment: number,
        row: view.rowOf?.(row) ?? row,
      });
      if (this.#keptRows.length >= 2 * this.#count + 64) this.#cut();
    };
    const bytes = selectionBytesOf(selection, view.rows);
    const selected = typeof bytes === 'string' ? undefined : bytes;
    const firstColumn = view.column(this.#ordering[0]!.field);
    const isPlain =
      firstColumn !== undefined &&
      firstColumn.offsets === undefined &&
      areAllNumbersFinite(firstColumn.values);
    if (isPlain) this.#addNumbers(firstColumn, selected, insert);
    else this.#addAny(view.rows, keys[0]!, selected, insert);
  }

  /**
   * Returns whether no row of a segment can be among the first rows, because `count` rows are kept that sort before all rows of the
   * segment, whose first sort keys are `bound` or sort after it. False if this is not known.
   */
  isBehind(segment: number, bound: KeyBound): boolean {
    if (bound === undefined || this.#firstRowIds !== undefined) return false;
    // The last row that is kept is found by sorting them, which pays only if many were added since.
    const addedCount = this.#keptRows.length - this.#count;
    if (this.#lastKey === undefined ? addedCount >= 0 : addedCount > this.#count >> 3) this.#cut();
    if (this.#lastKey === undefined) return false;
    const sign = this.#ordering[0]!.descending ? -1 : 1;
    const distance = compareValues(bound, this.#lastKey, sign);
    return distance > 0 || (distance === 0 && this.#areEqualKeysLast(segment));
  }

  inSortOrder(): readonly TopRow[] {
    if (this.#firstRowIds !== undefined) return this.#firstRowIds.inOrder();
    this.#cut();
    return this.#keptRows;
  }

  #cut(): void {
    this.#keptRows.sort(this.#compare);
    if (this.#count === 0 || this.#keptRows.length < this.#count) return;
    this.#keptRows.length = this.#count;
    const last = this.#keptRows.at(-1)!;
    this.#lastKey = last.values[0]!;
    this.#lastKeptSegment = last.segment;
  }

  /**
   * Returns whether a row of a segment that is yet to be added sorts after the last row that is kept if their first keys are equal: there
   * is no other key, and the row is in a later segment, or later in the same one.
   */
  #areEqualKeysLast(segment: number): boolean {
    return this.#ordering.length === 1 && segment >= this.#lastKeptSegment;
  }

  /**
   * Adds rows by their row ids alone: few selected rows one by one, others in the order of their row ids up to the first one that is too
   * great for the first `count` rows.
   */
  #addByRowId(
    first: FirstRowIds,
    view: SegmentView,
    selection: Exclude<SelectionVector, 'none'>,
    { number, baseRowId }: NumberedSegment,
  ): void {
    if (baseRowId !== undefined && !first.isKept(baseRowId)) return;
    const after = this.#afterRowId;
    const idOf = rowIdReader(view, baseRowId);
    const add = (id: number, row: number): void => first.add(id, number, view.rowOf?.(row) ?? row);
    if (isSparse(selection)) {
      for (const row of selection) {
        const id = idOf(row);
        if (id > after && first.isKept(id)) add(id, row);
      }
      return;
    }
    const selected = typeof selection === 'string' ? undefined : selection;
    const order = baseRowId === undefined ? view.rowOrder?.() : undefined;
    const rowAt = (i: number): number => order?.[i] ?? i;
    const begin = after < 0 ? 0 : countUpTo(after, view.rows, (at) => idOf(rowAt(at)));
    for (let i = begin; i < view.rows; i++) {
      const row = rowAt(i);
      if (selected !== undefined && selected[row] === 0) continue;
      const id = idOf(row);
      if (!first.isKept(id)) return;
      add(id, row);
    }
  }

  #addNumbers(
    { rows, present, values }: MemoryColumn,
    selected: Uint8Array | undefined,
    insert: (row: number) => void,
  ): void {
    if (values.kind !== 'numbers' && values.kind !== 'number-dictionary') return;
    const isDictionary = values.kind === 'number-dictionary';
    const { numbers } = isDictionary ? values.entries : values;
    const indices = isDictionary ? values.indices : undefined;
    const sign = this.#ordering[0]!.descending ? -1 : 1;
    const lastKeyBefore = this.#lastKey;
    // Many segments have no number that sorts before that of the last row that is kept, so their distinct numbers are tested first.
    if (isDictionary && typeof lastKeyBefore === 'number') {
      const mayBeKept = (number: number): boolean => {
        const distance = (number - lastKeyBefore) * sign;
        return distance < 0 || (distance === 0 && !this.#areEqualKeysLast(this.#addedSegment));
      };
      if (!numbers.some(mayBeKept)) return;
    }
    // The first key of the last row that is kept, in a local variable for the loop; NaN, with which both comparisons are false, if it is
    // not a number.
    let lastNumber = numberOrNaN(lastKeyBefore);
    for (let row = 0; row < rows; row++) {
      if (selected !== undefined && selected[row] === 0) continue;
      if (present !== undefined && present[row] === 0) {
        const lastKey = this.#lastKey;
        if (lastKey !== undefined && (lastKey !== null || this.#areEqualKeysLast(this.#addedSegment))) continue; // prettier-ignore
      } else {
        const number = indices === undefined ? numbers[row]! : numbers[indices[row]!]!;
        const distance = (number - lastNumber) * sign;
        if (distance > 0 || (distance === 0 && this.#areEqualKeysLast(this.#addedSegment)))
          continue;
      }
      insert(row);
      lastNumber = numberOrNaN(this.#lastKey);
    }
  }

  #addAny(
    rows: number,
    get: (row: number) => SortValue,
    selected: Uint8Array | undefined,
    insert: (row: number) => void,
  ): void {
    const sign = this.#ordering[0]!.descending ? -1 : 1;
    for (let row = 0; row < rows; row++) {
      if (selected !== undefined && selected[row] === 0) continue;
      if (this.#lastKey !== undefined) {
        const distance = compareValues(get(row), this.#lastKey, sign);
        if (distance > 0 || (distance === 0 && this.#areEqualKeysLast(this.#addedSegment)))
          continue;
      }
      insert(row);
    }
  }
}

function numberOrNaN(value: SortValue | undefined): number {
  return typeof value === 'number' ? value : NaN;
}

function isRowIdKey({ field }: OrderKey): boolean {
  return field.name === rowIdColumn.name;
}

/** Returns how many of `count` ascending numbers are at most `limit`. */
function countUpTo(limit: number, count: number, numberAt: (i: number) => number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numberAt(middle) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns true for numbers without NaN and infinities. */
function areAllNumbersFinite(values: ColumnValues): boolean {
  if (values.kind === 'number-dictionary') return areAllNumbersFinite(values.entries);
  return values.kind === 'numbers' && !values.hasNonFinite;
}

/** Returns a function from a row to its row id. */
function rowIdReader(view: SegmentView, baseRowId: number | undefined): (row: number) => number {
  if (baseRowId !== undefined) return (row) => baseRowId + (view.rowOf?.(row) ?? row);
  const values = view.column(rowIdKey.field)?.values;
  if (values?.kind !== 'numbers') throw new Error('a segment has no row ids');
  return (row) => values.numbers[row]!;
}

/** Returns a function from a row to its sort key. The sort key of a list is its smallest value if ascending, its largest if descending. */
function sortKeyReader(
  column: MemoryColumn | undefined,
  descending: boolean,
): (row: number) => SortValue {
  if (column === undefined) return () => null;
  const { present, offsets } = column;
  const get = valueReader(column);
  if (offsets === undefined) {
    return (row) => (present !== undefined && present[row] === 0 ? null : get(row));
  }
  const sign = descending ? -1 : 1;
  return (row) => {
    let best: SortValue = null;
    for (let i = offsets[row]!; i < offsets[row + 1]!; i++) {
      const value = get(i);
      if (best === null || compareValues(value, best, sign) < 0) best = value;
    }
    return best;
  };
}

function valueReader({ values }: MemoryColumn): (i: number) => SortValue {
  switch (values.kind) {
    case 'numbers':
      return (i) => values.numbers[i]!;
    case 'number-dictionary': {
      const { indices, entries } = values;
      return (i) => entries.numbers[indices[i]!]!;
    }
    case 'longs':
      return (i) => values.longs[i]!;
    case 'flags':
      return (i) => values.flags[i]!;
    case 'dictionary':
      return (i) => values.dictionary.strings[values.indices[i]!]!;
    case 'strings':
      return (i) => values.bytes.toString('utf8', values.offsets[i]!, values.offsets[i + 1]!);
  }
}
