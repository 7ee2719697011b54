import { ValueTable } from './value-table.js';
import { PairHashTable } from './dictionary-indices.js';
import { TextResults } from './text-results.js';
import { cachedResult, ValueMemo, type CachedResult } from './value-memo.js';

/**
 * Limit of the estimated size in bytes of the results of one expression that a thread keeps, besides `textResults`: half for the latest
 * results, half for earlier ones. `textResults` has the same limit of its own. If the results of all expressions of the job exceed
 * `maxJobBytes`, `indexedResultsOf` forgets all of them.
 */
const maxResultsBytes = 48_000_000;
const maxJobBytes = 64_000_000;
/** The estimated overhead of a distinct value in bytes, besides the value itself. */
const bytesPerValue = 60;

/** The results of those expressions of a job that call dataset functions, as far as a thread keeps them. */
export class JobResults {
  readonly valueMemo = new ValueMemo();
  readonly #resultsByName = new Map<string, IndexedResults>();

  /**
   * Returns the kept results of an expression that reads `columnCount` columns; `name` identifies the expression and the types of the
   * columns. Must be called for each chunk, because it forgets results that take too much memory.
   */
  indexedResultsOf(name: string, columnCount: number): IndexedResults {
    let bytes = 0;
    for (const one of this.#resultsByName.values()) bytes += one.bytes;
    if (bytes > maxJobBytes) this.#resultsByName.clear();
    let results = this.#resultsByName.get(name);
    if (results === undefined || !results.hasRoom)
      this.#resultsByName.set(name, (results = new IndexedResults(columnCount)));
    return results;
  }
}

/** The results of an expression, by dictionary indices of the values that it reads. */
export class IndexedResults {
  /** The distinct values of each column that the expression reads. */
  readonly valueTables: readonly ValueTable[];
  /** The results that are texts or None and were computed for a whole chunk at once. */
  readonly textResults = new TextResults();
  /** For each column after the first, the pairs of an index for the values of the columns before it and an index of its own values. */
  readonly #pairTables: readonly PairHashTable[];
  #latest: (CachedResult | undefined)[] = [];
  #earlier: (CachedResult | undefined)[] = [];
  #latestBytes = 0;
  #earlierBytes = 0;

  constructor(columnCount: number) {
    this.valueTables = Array.from({ length: columnCount }, () => new ValueTable());
    this.#pairTables = this.valueTables.slice(1).map(() => new PairHashTable());
  }

  /** The estimated size of the kept results, in bytes. */
  get bytes(): number {
    const valueBytes = this.valueTables.reduce((sum, one) => sum + one.byteLength + bytesPerValue * one.size, 0); // prettier-ignore
    const pairBytes = this.#pairTables.reduce((sum, one) => sum + bytesPerValue * one.size, 0);
    return (
      this.#latestBytes + this.#earlierBytes + this.textResults.byteLength + valueBytes + pairBytes
    );
  }

  /** Whether `textResults` is small enough to be kept for the next chunk. While a chunk is processed, it may become twice as large. */
  get hasRoom(): boolean {
    return this.textResults.byteLength <= maxResultsBytes / 2;
  }

  /** Whether `textResults` exceeds its limit while a chunk is processed, which is twice the limit at the beginning of a chunk. */
  get isFull(): boolean {
    return this.textResults.byteLength > maxResultsBytes;
  }

  /** Returns for each record the index of the combined values of all columns; -1 where the index of one column's value is -1. */
  combineIndices(indicesByColumn: readonly Int32Array[]): Int32Array {
    return indicesByColumn.reduce((combinedIndices, indices, i) => {
      const pairTable = this.#pairTables[i - 1]!;
      return combinedIndices.map((index, row) => pairTable.addPair(index, indices[row]!));
    });
  }

  findResult(index: number): CachedResult | undefined {
    const text = this.textResults.findText(index);
    if (text !== undefined) return cachedResult(text, 0);
    const latestResult = this.#latest[index];
    if (latestResult !== undefined) return latestResult;
    const earlierResult = this.#earlier[index];
    if (earlierResult !== undefined) this.keepResult(index, earlierResult);
    return earlierResult;
  }

  keepResult(index: number, cached: CachedResult): void {
    if (this.#latestBytes > maxResultsBytes / 2) {
      this.#earlier = this.#latest;
      this.#earlierBytes = this.#latestBytes;
      // The new array has the full length at once, because V8 stores an array that begins with a large index as a slow map.
      this.#latest = this.#earlier.map(() => undefined);
      this.#latestBytes = 0;
    }
    this.#latest[index] = cached;
    this.#latestBytes += cached.bytes;
  }
}
