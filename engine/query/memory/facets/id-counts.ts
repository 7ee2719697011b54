import type { DictionaryValues, MemoryColumn, SelectionBytes } from '../match/column.js';
import { wordsOf } from '../match/selection-bytes.js';

/**
 * The largest number of ids that is counted in four tables: among more ids, equal neighbors are rare, and four tables do not fit in the
 * processor's caches.
 */
const maxInterleavedIds = 1 << 17;

/**
 * The number of occurrences of each id. Small tables exist four times and are used in rotation, because an increment has to wait for the
 * previous increment of the same counter (5 million indices in long runs: 5 ms instead of 8).
 */
export class IdCounts {
  #tables: CountTables;

  constructor(size = 256) {
    this.#tables = newCountTables(size);
  }

  /** Makes room for the counts of the ids below `size`. */
  ensureCapacity(size: number): void {
    const [first] = this.#tables;
    if (size <= first.length) return;
    const largerTables = newCountTables(
      Math.max(size, Math.min(2 * first.length, size + (1 << 20))),
    );
    const isSingleTable = largerTables[0] === largerTables[1];
    this.#tables.forEach((table, index) => {
      if (isSingleTable && index > 0 && table === first) return;
      const into = largerTables[index]!;
      if (isSingleTable && index > 0) for (let i = 0; i < table.length; i++) into[i]! += table[i]!;
      else into.set(table);
    });
    this.#tables = largerTables;
  }

  /** Counts the first `length` ids; `ensureCapacity` must have made room for them. */
  add(ids: Uint32Array, length: number): void {
    const [a, b, c, d] = this.#tables;
    const even = length & ~3;
    let i = 0;
    for (; i < even; i += 4) {
      a[ids[i]!]!++;
      b[ids[i + 1]!]!++;
      c[ids[i + 2]!]!++;
      d[ids[i + 3]!]!++;
    }
    for (; i < length; i++) a[ids[i]!]!++;
  }

  /** Counts the ids whose byte in `selected`, from index `from` on, is 1; otherwise like `add`. */
  addSelected(ids: Uint32Array, length: number, selected: Uint8Array, from: number): void {
    const [a, b, c, d] = this.#tables;
    const even = length & ~3;
    let i = 0;
    for (; i < even; i += 4) {
      const at = from + i;
      a[ids[i]!]! += selected[at]!;
      b[ids[i + 1]!]! += selected[at + 1]!;
      c[ids[i + 2]!]! += selected[at + 2]!;
      d[ids[i + 3]!]! += selected[at + 3]!;
    }
    for (; i < length; i++) a[ids[i]!]! += selected[from + i]!;
  }

  /** Counts the first `length` indices, except those whose byte in `selected` is 0; `ensureCapacity` must have made room for them. */
  addIndices(
    indices: DictionaryValues['indices'],
    length: number,
    selected: Uint8Array | undefined,
  ): void {
    const tables = this.#tables;
    const selectedFlags = selected?.subarray(0, length);
    if (isUint8Indices(indices)) {
      if (selectedFlags) countSelectedBytes(tables, indices, selectedFlags);
      else countBytes(tables, indices, length);
    } else if (isUint16Indices(indices)) {
      if (selectedFlags) countSelectedShorts(tables, indices, selectedFlags);
      else countShorts(tables, indices, length);
    } else if (selectedFlags) this.addSelected(indices, length, selectedFlags, 0);
    else this.add(indices, length);
  }

  /** The first count table, to whose counts callers may add. It has room for at least the largest `size` given to `ensureCapacity`. */
  get firstTable(): Uint32Array {
    return this.#tables[0];
  }

  /** Returns the counts of the ids below `size`. */
  counts(size: number): Uint32Array {
    this.ensureCapacity(size);
    const [a, b, c, d] = this.#tables;
    const counts = a.slice(0, size);
    if (a !== b) for (let i = 0; i < size; i++) counts[i]! += b[i]! + c[i]! + d[i]!;
    return counts;
  }
}

function isUint8Indices(indices: DictionaryValues['indices']): indices is Uint8Array {
  return indices.BYTES_PER_ELEMENT === 1;
}

function isUint16Indices(indices: DictionaryValues['indices']): indices is Uint16Array {
  return indices.BYTES_PER_ELEMENT === 2;
}

function newCountTables(size: number): CountTables {
  const table = new Uint32Array(size);
  if (size > maxInterleavedIds) return [table, table, table, table];
  return [table, new Uint32Array(size), new Uint32Array(size), new Uint32Array(size)];
}

/** Returns how often each index below `size` occurs among the first `length` indices, except those whose byte in `selected` is 0. */
export function indexCounts(
  indices: DictionaryValues['indices'],
  size: number,
  length: number,
  selected: Uint8Array | undefined,
): Uint32Array {
  const counts = new IdCounts(size);
  counts.addIndices(indices, length, selected);
  return counts.counts(size);
}

/*
 * There is one loop for each width of indices, each with and without a selection, because a loop that sees two kinds of arrays is slower. A
 * loop reads as many indices at once as fit into 32 bits; `selected` has one byte, 0 or 1, for each index.
 */

type CountTables = readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array];

function countBytes([a, b, c, d]: CountTables, ids: Uint8Array, length: number): void {
  const idWords = wordsOf(ids.subarray(0, length));
  for (let i = 0; i < idWords.length; i++) {
    const word = idWords[i]!;
    a[word & 0xff]!++;
    b[(word >>> 8) & 0xff]!++;
    c[(word >>> 16) & 0xff]!++;
    d[word >>> 24]!++;
  }
  for (let i = idWords.length << 2; i < length; i++) a[ids[i]!]!++;
}

function countSelectedBytes(
  [a, b, c, d]: CountTables,
  ids: Uint8Array,
  selected: Uint8Array,
): void {
  const [idWords, selectedWords] = [wordsOf(ids), wordsOf(selected)];
  const count = Math.min(idWords.length, selectedWords.length);
  for (let i = 0; i < count; i++) {
    const word = idWords[i]!;
    const selectedWord = selectedWords[i]!;
    a[word & 0xff]! += selectedWord & 1;
    b[(word >>> 8) & 0xff]! += (selectedWord >>> 8) & 1;
    c[(word >>> 16) & 0xff]! += (selectedWord >>> 16) & 1;
    d[word >>> 24]! += selectedWord >>> 24;
  }
  for (let i = count << 2; i < selected.length; i++) a[ids[i]!]! += selected[i]!;
}

function countShorts([a, b, c, d]: CountTables, ids: Uint16Array, length: number): void {
  const pairs = wordsOfShorts(ids.subarray(0, length));
  const even = pairs.length & ~1;
  for (let i = 0; i < even; i += 2) {
    const first = pairs[i]!;
    const second = pairs[i + 1]!;
    a[first & 0xffff]!++;
    b[first >>> 16]!++;
    c[second & 0xffff]!++;
    d[second >>> 16]!++;
  }
  for (let i = even << 1; i < length; i++) a[ids[i]!]!++;
}

function countSelectedShorts(
  [a, b, c, d]: CountTables,
  ids: Uint16Array,
  selected: Uint8Array,
): void {
  const [pairs, selectedWords] = [wordsOfShorts(ids), wordsOf(selected)];
  const count = Math.min(pairs.length >> 1, selectedWords.length);
  for (let i = 0; i < count; i++) {
    const first = pairs[2 * i]!;
    const second = pairs[2 * i + 1]!;
    const selectedWord = selectedWords[i]!;
    a[first & 0xffff]! += selectedWord & 1;
    b[first >>> 16]! += (selectedWord >>> 8) & 1;
    c[second & 0xffff]! += (selectedWord >>> 16) & 1;
    d[second >>> 16]! += selectedWord >>> 24;
  }
  for (let i = count << 2; i < selected.length; i++) a[ids[i]!]! += selected[i]!;
}

/** Returns the indices as 32-bit words of two indices each; empty if they do not start at a multiple of four bytes. */
function wordsOfShorts(ids: Uint16Array): Uint32Array {
  return wordsOf(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
}

/** Counts the ids of the values of a list column for the selected rows, each id once per row. `counts` must have room for all ids. */
export function countOncePerRow(
  { rows, offsets }: MemoryColumn,
  selection: SelectionBytes,
  ids: Uint32Array,
  counts: Uint32Array,
): void {
  const lastRow = new Int32Array(counts.length).fill(-1);
  const isAll = selection === 'all';
  const bytes = typeof selection === 'string' ? new Uint8Array(0) : selection;
  let end = 0;
  for (let row = 0; row < rows; row++) {
    let i = end;
    end = offsets![row + 1]!;
    if (!isAll && bytes[row] !== 1) continue;
    for (; i < end; i++) {
      const id = ids[i]!;
      if (lastRow[id] === row) continue;
      lastRow[id] = row;
      counts[id]! += 1;
    }
  }
}
