import type { PyValue } from '../../../../engine/expression/values/values.js';
import type { KnownResult } from '../../../expressions/value-memo.js';
import type { KeyedResults } from './job-results.js';

/** The results of an expression in the records of a chunk, by codes that stand for the values that it reads. */
export class RowResults {
  readonly #codes: Int32Array;
  readonly #keyed: KeyedResults;
  /** The results that an evaluation ahead gave without all answers, by code; undefined after an error. */
  readonly #tried = new Map<number, PyValue | undefined>();

  constructor(codes: Int32Array, keyed: KeyedResults) {
    this.#codes = codes;
    this.#keyed = keyed;
  }

  /** Whether the values of a record have a code. */
  isCoded(row: number): boolean {
    return this.#codes[row]! >= 0;
  }

  find(row: number): KnownResult | undefined {
    return this.#keyed.find(this.#codes[row]!);
  }

  keep(row: number, known: KnownResult): void {
    this.#keyed.keep(this.#codes[row]!, known);
  }

  /** Begins an evaluation ahead. */
  startPass(): void {
    this.#tried.clear();
  }

  /** Whether a record with the same values was evaluated in this pass. */
  wasTried(row: number): boolean {
    return this.#tried.has(this.#codes[row]!);
  }

  /** The result of that evaluation. */
  triedResult(row: number): PyValue | undefined {
    return this.#tried.get(this.#codes[row]!);
  }

  /** Notes the result of an evaluation in this pass. */
  addTried(row: number, result: PyValue | undefined): void {
    if (this.isCoded(row)) this.#tried.set(this.#codes[row]!, result);
  }
}
