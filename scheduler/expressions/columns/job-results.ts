import { ValueTable } from './value-table.js';
import { PairHashTable } from './column-codes.js';
import { TextResults } from './text-results.js';
import { cachedResult, ValueMemo, type CachedResult } from './value-memo.js';

/**
 * Maximum estimated size in bytes of the results of one expression that a thread keeps: half for the latest results, half for earlier ones.
 * If the results of all expressions of the job exceed `maxJobBytes`, all are forgotten before the next chunk.
 */
const maxResultsBytes = 48_000_000;
const maxJobBytes = 64_000_000;
/** The estimated overhead of a distinct value in bytes, besides the value itself. */
const bytesPerValue = 60;

/** The results of those expressions of a job that call dataset functions, as far as a thread keeps them. */
export class JobResults {
  readonly valueMemo = new ValueMemo();
  readonly #keyed = new Map<string, CodedResults>();

  /**
   * Returns the results of an expression by the values of the columns that it reads; `name` identifies the expression and the types of the
   * columns. Must be called for each chunk, because it forgets results that take too much memory.
   */
  resultsByCodes(name: string, columns: number): CodedResults {
    let bytes = 0;
    for (const one of this.#keyed.values()) bytes += one.bytes;
    if (bytes > maxJobBytes) this.#keyed.clear();
    let found = this.#keyed.get(name);
    if (found === undefined || !found.hasRoom)
      this.#keyed.set(name, (found = new CodedResults(columns)));
    return found;
  }
}

/** The results of an expression, by codes of the values that it reads. */
export class CodedResults {
  /** The distinct values of each column that the expression reads. */
  readonly valueTables: readonly ValueTable[];
  /** The results that are texts or None and were computed for a whole chunk at once. */
  readonly textResults = new TextResults();
  /** For each column after the first, the codes of its values combined with those of the columns before it. */
  readonly #pairs: readonly PairHashTable[];
  #latest: (CachedResult | undefined)[] = [];
  #earlier: (CachedResult | undefined)[] = [];
  #bytes = 0;
  #earlierBytes = 0;

  constructor(columns: number) {
    this.valueTables = Array.from({ length: columns }, () => new ValueTable());
    this.#pairs = this.valueTables.slice(1).map(() => new PairHashTable());
  }

  /** The estimated size of the kept results, in bytes. */
  get bytes(): number {
    const values = this.valueTables.reduce((sum, one) => sum + one.byteLength + bytesPerValue * one.size, 0); // prettier-ignore
    const pairs = this.#pairs.reduce((sum, one) => sum + bytesPerValue * one.size, 0);
    return this.#bytes + this.#earlierBytes + this.textResults.byteLength + values + pairs;
  }

  /** Whether `textResults` is small enough to be kept for the next chunk. While a chunk is processed, it may become twice as large. */
  get hasRoom(): boolean {
    return this.textResults.byteLength <= maxResultsBytes / 2;
  }

  /** Whether `textResults` exceeds its limit while a chunk is processed, which is twice the limit at the beginning of a chunk. */
  get isFull(): boolean {
    return this.textResults.byteLength > maxResultsBytes;
  }

  /**
   * Returns for each record a code of the combined values of all columns, from the codes of each column; -1 where one of these codes is -1.
   */
  combineCodes(columns: readonly Int32Array[]): Int32Array {
    return columns.reduce((joint, column, i) => {
      const pairs = this.#pairs[i - 1]!;
      return joint.map((code, row) => pairs.code(code, column[row]!));
    });
  }

  findResult(code: number): CachedResult | undefined {
    const text = this.textResults.findText(code);
    if (text !== undefined) return cachedResult(text, 0);
    const latestResult = this.#latest[code];
    if (latestResult !== undefined) return latestResult;
    const earlierResult = this.#earlier[code];
    if (earlierResult !== undefined) this.keepResult(code, earlierResult);
    return earlierResult;
  }

  keepResult(code: number, cached: CachedResult): void {
    if (this.#bytes > maxResultsBytes / 2) {
      this.#earlier = this.#latest;
      this.#earlierBytes = this.#bytes;
      // The new array has the full length at once, because V8 stores an array that begins with a large index as a slow map.
      this.#latest = this.#earlier.map(() => undefined);
      this.#bytes = 0;
    }
    this.#latest[code] = cached;
    this.#bytes += cached.bytes;
  }
}
