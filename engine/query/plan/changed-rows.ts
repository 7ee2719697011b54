import { budgets } from '../../core/budgets.js';
import { AppError } from '../../core/errors.js';
import { reservedColumns } from '../../store/arrow-columns.js';
import type { Snapshot } from '../../store/store.js';
import { FacetOverflow } from '../memory/facets/facet-overflow.js';
import { StringTable } from '../memory/facets/string-table.js';
import { lineFormat } from '../results/encoded-page.js';
import type { RunOptions } from '../executor/run-options.js';
import type { QueryEngine } from './query-engine.js';
import { readPageRecords } from './read-page-records.js';
import type { RowSequence } from './row-sequence.js';

/** Rows of a version, in insertion order. */
interface VersionRows {
  readonly snapshot: Snapshot;
  readonly rows: RowSequence;
}

/**
 * Returns, for each added row, the index of the removed row with the same `_id` and another `_commit`; -1 if there is none. A record that
 * was replaced has kept its row id, so its rows are found by row ids and then confirmed by their `_id`s. Only rows that have no such
 * partner are matched by `_id`: row ids occur again after a rollback, and a record that was deleted and added again has another row id.
 * Takes some tens of bytes of memory per row, and holds at most `budgets.comparedIds` `_id`s at a time. Throws `budget` if the held `_id`s
 * have more than 2 GB.
 */
export async function matchChangedRows(
  engine: QueryEngine,
  removed: VersionRows,
  added: VersionRows,
  options: RunOptions,
): Promise<Int32Array> {
  const partners = joinAscending(
    await added.rows.rowIds(added.snapshot),
    await removed.rows.rowIds(removed.snapshot),
  );
  await clearFalsePartners(engine, removed, added, partners, options);
  const isMatched = new Uint8Array(removed.rows.length);
  for (const index of partners) if (index >= 0) isMatched[index] = 1;
  const removedLeft = indexesWhere(isMatched, (one) => one === 0);
  const addedLeft = indexesWhere(partners, (one) => one < 0);
  const holdsAdded = removedLeft.length > addedLeft.length;
  const [heldRows, heldLeft, readRows, readLeft] = holdsAdded
    ? ([added, addedLeft, removed, removedLeft] as const)
    : ([removed, removedLeft, added, addedLeft] as const);
  if (readLeft.length === 0) return partners;
  const pair = (heldIndex: number, index: number): void => {
    if (holdsAdded) partners[heldIndex] = index;
    else partners[index] = heldIndex;
  };
  for (let first = 0; first < heldLeft.length; first += budgets.comparedIds) {
    const someHeld = heldLeft.subarray(first, first + budgets.comparedIds);
    await matchById(
      engine,
      selectRows(heldRows, someHeld),
      selectRows(readRows, readLeft),
      options,
      (i, k) => pair(someHeld[i]!, readLeft[k]!),
    );
  }
  return partners;
}

/** Returns, for each element of `these`, the index of the equal element of `others`, or -1. Both lists ascend, without duplicates. */
function joinAscending(these: Float64Array, others: Float64Array): Int32Array {
  const partners = new Int32Array(these.length).fill(-1);
  for (let i = 0, k = 0; i < these.length && k < others.length;) {
    if (these[i] === others[k]) partners[i++] = k++;
    else if (these[i]! < others[k]!) i++;
    else k++;
  }
  return partners;
}

/** Sets to -1 the partners of added rows that have another `_id`, or the same `_commit`. */
async function clearFalsePartners(
  engine: QueryEngine,
  removed: VersionRows,
  added: VersionRows,
  partners: Int32Array,
  options: RunOptions,
): Promise<void> {
  const indexes = indexesWhere(partners, (one) => one >= 0);
  const earlier = readIds(engine, selectRows(removed, indexes.map((i) => partners[i]!)), options); // prettier-ignore
  let at = 0;
  try {
    for await (const later of readIds(engine, selectRows(added, indexes), options)) {
      // The rows of both versions are read in parts of equal numbers of rows.
      const { value: before } = (await earlier.next()) as { readonly value: IdLines };
      for (let line = 0; line < later.ends.length; line++, at++) {
        const [a, b] = [idOfLine(before, line), idOfLine(later, line)];
        if (!areIdsEqual(before, a, later, b) || a.commit === b.commit) partners[indexes[at]!] = -1;
      }
    }
  } finally {
    await earlier.return(undefined);
  }
}

/** Calls `pair` with the indexes of each two rows, one held and one read, that have the same `_id` and another `_commit`. */
async function matchById(
  engine: QueryEngine,
  held: VersionRows,
  read: VersionRows,
  options: RunOptions,
  pair: (heldIndex: number, index: number) => void,
): Promise<void> {
  const overflow = new FacetOverflow();
  const table = new StringTable(budgets.comparedIds, overflow);
  /** For each number of the table, the index of its row; -1 after the row was paired. */
  const heldIndexes = new Int32Array(held.rows.length);
  const commits: number[] = [];
  let heldIndex = 0;
  for await (const lines of readIds(engine, held, options))
    for (let line = 0; line < lines.ends.length; line++) {
      const { start, end, commit } = idOfLine(lines, line);
      const number = table.add(lines.bytes, start, end);
      heldIndexes[number] = heldIndex++;
      commits[number] = commit;
    }
  if (overflow.firstReason !== undefined)
    throw new AppError(
      'budget',
      `The versions cannot be compared, because the _ids of their records are too long (${overflow.firstReason}): compare versions that differ in fewer records.`,
    );
  let index = 0;
  for await (const lines of readIds(engine, read, options))
    for (let line = 0; line < lines.ends.length; line++, index++) {
      const { start, end, commit } = idOfLine(lines, line);
      const number = table.find(lines.bytes, start, end);
      if (number < 0 || heldIndexes[number] === -1 || commits[number] === commit) continue;
      pair(heldIndexes[number]!, index);
      heldIndexes[number] = -1;
    }
}

function selectRows({ snapshot, rows }: VersionRows, indexes: Int32Array): VersionRows {
  return { snapshot, rows: rows.selectIndexes(indexes) };
}

function indexesWhere<A extends Int32Array | Uint8Array>(
  values: A,
  isWanted: (value: number) => boolean,
): Int32Array {
  let count = 0;
  for (const value of values) if (isWanted(value)) count++;
  const indexes = new Int32Array(count);
  for (let i = 0, next = 0; next < count; i++) if (isWanted(values[i]!)) indexes[next++] = i;
  return indexes;
}

/** Lines of text, each with the `_id` of a row, a tab and its `_commit`; `ends` has the offset after each line. */
interface IdLines {
  readonly bytes: Buffer;
  readonly ends: ArrayLike<number>;
}

/** The `_id` in a line, as the bytes from `start` to `end` (exclusive), and the number of the commit. */
interface IdOfLine {
  readonly start: number;
  readonly end: number;
  readonly commit: number;
}

function idOfLine({ bytes, ends }: IdLines, line: number): IdOfLine {
  const start = line === 0 ? 0 : ends[line - 1]!;
  let end = ends[line]! - 2;
  let commit = 0;
  for (let unit = 1; bytes[end] !== tab; unit *= 10) commit += (bytes[end--]! - zero) * unit;
  return { start, end, commit };
}

const tab = 0x09;
const zero = 0x30;

function areIdsEqual(a: IdLines, one: IdOfLine, b: IdLines, other: IdOfLine): boolean {
  return a.bytes.compare(b.bytes, other.start, other.end, one.start, one.end) === 0;
}

/** Number of rows whose ids are read at a time. */
const rowsPerIdRead = 50_000;

/** Reads the `_id` and the `_commit` of rows. */
async function* readIds(
  engine: QueryEngine,
  { snapshot, rows }: VersionRows,
  options: RunOptions,
): AsyncGenerator<IdLines, undefined> {
  const projection = reservedColumns.map((column) => ({ column, isStored: true }));
  const layout = { projection, format: lineFormat('\t') };
  for (let first = 0; first < rows.length; first += rowsPerIdRead) {
    const someRows = rows.slice(first, first + rowsPerIdRead);
    for await (const { bytes, ends } of readPageRecords(
      engine,
      snapshot,
      someRows,
      layout,
      options,
    ))
      yield { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), ends };
  }
}
