import { ValueTable } from '../../../expressions/value-table.js';
import { PairTable } from './column-codes.js';
import { TextResults } from './text-results.js';
import { knownResult, ValueMemo, type KnownResult } from './value-memo.js';

/**
 * What the results of an expression may take that a thread keeps, estimated in bytes: half of it each, the latest and those before. A chunk
 * begins with none if those of all expressions of the job take more than `maxJobBytes`.
 */
const maxBytes = 48_000_000;
const maxJobBytes = 64_000_000;
/** The estimated size of a distinct value besides its bytes. */
const bytesPerValue = 60;

/** The results of the expressions of a job that call functions of datasets, as far as a thread keeps them. */
export class JobResults {
  readonly memo = new ValueMemo();
  readonly #keyed = new Map<string, KeyedResults>();

  /** The results by the values of some columns; the name has the expression and the types of the columns. To be called for each chunk. */
  keyed(name: string, columns: number): KeyedResults {
    let bytes = 0;
    for (const one of this.#keyed.values()) bytes += one.bytes;
    if (bytes > maxJobBytes) this.#keyed.clear();
    let found = this.#keyed.get(name);
    if (found === undefined || !found.hasRoom)
      this.#keyed.set(name, (found = new KeyedResults(columns)));
    return found;
  }
}

/** The results of an expression by the codes of the values that it reads. */
export class KeyedResults {
  /** The values of each column. */
  readonly tables: readonly ValueTable[];
  /** The results that are texts or None and were made for a chunk at once. */
  readonly texts = new TextResults();
  /** The codes of a column's values combined with those of the columns before it. */
  readonly #pairs: readonly PairTable[];
  #latest: (KnownResult | undefined)[] = [];
  #earlier: (KnownResult | undefined)[] = [];
  #bytes = 0;
  #earlierBytes = 0;

  constructor(columns: number) {
    this.tables = Array.from({ length: columns }, () => new ValueTable());
    this.#pairs = this.tables.slice(1).map(() => new PairTable());
  }

  /** The estimated size of the kept results, in bytes. */
  get bytes(): number {
    const values = this.tables.reduce((sum, one) => sum + one.byteLength + bytesPerValue * one.size, 0); // prettier-ignore
    const pairs = this.#pairs.reduce((sum, one) => sum + bytesPerValue * one.size, 0);
    return this.#bytes + this.#earlierBytes + this.texts.byteLength + values + pairs;
  }

  /** Whether `texts` takes no more than it may at the beginning of a chunk. During one, it may take twice as much. */
  get hasRoom(): boolean {
    return this.texts.byteLength <= maxBytes / 2;
  }

  /** Whether `texts` exceeds its limit during a chunk, which is twice that at the beginning of one. */
  get isFull(): boolean {
    return this.texts.byteLength > maxBytes;
  }

  /** A code for the combined values of all columns in each record, from the codes of each column; -1 where one of these is. */
  joint(columns: readonly Int32Array[]): Int32Array {
    return columns.reduce((joint, column, i) => {
      const pairs = this.#pairs[i - 1]!;
      return joint.map((code, row) => pairs.code(code, column[row]!));
    });
  }

  find(code: number): KnownResult | undefined {
    const text = this.texts.find(code);
    if (text !== undefined) return knownResult(text, 0);
    const latestResult = this.#latest[code];
    if (latestResult !== undefined) return latestResult;
    const earlierResult = this.#earlier[code];
    if (earlierResult !== undefined) this.keep(code, earlierResult);
    return earlierResult;
  }

  keep(code: number, known: KnownResult): void {
    if (this.#bytes > maxBytes / 2) {
      this.#earlier = this.#latest;
      this.#earlierBytes = this.#bytes;
      // An array that begins with a large index would be a slow map.
      this.#latest = this.#earlier.map(() => undefined);
      this.#bytes = 0;
    }
    this.#latest[code] = known;
    this.#bytes += known.bytes;
  }
}
