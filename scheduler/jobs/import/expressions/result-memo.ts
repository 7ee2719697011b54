import type { PyValue } from '../../../../engine/expression/values/values.js';

/**
 * The results of an expression by the values that it reads, within a chunk: columns of few different values, such as significances and
 * consequences, need few evaluations.
 */
export class ResultMemo {
  readonly #codes: readonly Int32Array[];
  /** The number of values of each column, with None. */
  readonly #sizes: readonly number[];
  readonly #results = new Map<number, PyValue>();
  #key = -1;
  #left = trial;
  #hits = 0;

  /** `codes` stand for the values of the columns that decide the result, by record: of one to three columns. */
  constructor(codes: readonly Int32Array[]) {
    this.#codes = codes;
    this.#sizes = codes.map((column) => column.reduce((most, code) => Math.max(most, code), 0) + 1);
  }

  /** The result for a record; undefined if it must be computed. */
  find(row: number): PyValue | undefined {
    this.#key = -1;
    if (this.#left === 0) return undefined;
    let key = 0;
    for (let i = 0; i < this.#codes.length; i++) {
      const code = this.#codes[i]![row]!;
      if (code < 0) return undefined;
      // Small numbers are found faster in a map.
      key = key * this.#sizes[i]! + code;
    }
    this.#key = key;
    const result = this.#results.get(key);
    if (result !== undefined) this.#hits++;
    if (this.#left > 1) this.#left--;
    // At the end of the trial, most results must have been found; then it counts no more.
    else if (this.#hits < trial / 2) this.#left = 0;
    return result;
  }

  /** Keeps the result that was computed for the record asked for last. */
  keep(result: PyValue): void {
    if (this.#key >= 0 && this.#results.size < maxResults) this.#results.set(this.#key, result);
  }
}

const trial = 2048;
const maxResults = 1 << 16;
