import type { MissedCall, PyValue } from '../../../../engine/expression/values/values.js';
import type { KeyedResults } from './job-results.js';
import type { KnownResult } from './value-memo.js';

/** The results of an expression in the records of a chunk, by codes that stand for the values that it reads. */
export class RowResults {
  /** For each record, a code; 0 for None, and -1 for values without a code. */
  readonly codes: Int32Array;
  readonly keyed: KeyedResults;
  /** The results that an evaluation ahead gave without all answers, by code; undefined after an error. */
  readonly #tried = new Map<number, PyValue | undefined>();
  /** Calls whose values are the results of records, and the records. */
  #calls: MissedCall[] = [];
  #rowsOfCalls: number[] = [];

  constructor(codes: Int32Array, keyed: KeyedResults) {
    this.codes = codes;
    this.keyed = keyed;
  }

  /** Whether the values of a record have a code. */
  isCoded(row: number): boolean {
    return this.codes[row]! >= 0;
  }

  find(row: number): KnownResult | undefined {
    return this.keyed.find(this.codes[row]!);
  }

  keep(row: number, known: KnownResult): void {
    this.keyed.keep(this.codes[row]!, known);
  }

  /** Begins an evaluation ahead. */
  startPass(): void {
    this.#tried.clear();
  }

  /** Takes the calls that were noted with records; calls `use` with each of them and its record. */
  takeCalls(use: (call: MissedCall, row: number) => void): void {
    const [calls, rows] = [this.#calls, this.#rowsOfCalls];
    this.#calls = [];
    this.#rowsOfCalls = [];
    for (let i = 0; i < calls.length; i++) use(calls[i]!, rows[i]!);
  }

  /** Whether a record with the same values was evaluated in this pass. */
  wasTried(row: number): boolean {
    return this.#tried.has(this.codes[row]!);
  }

  /** The result of that evaluation. */
  triedResult(row: number): PyValue | undefined {
    return this.#tried.get(this.codes[row]!);
  }

  /** Notes the result of an evaluation in this pass, and the call whose value it will be. */
  addTried(row: number, result: PyValue | undefined, call?: MissedCall): void {
    if (!this.isCoded(row)) return;
    this.#tried.set(this.codes[row]!, result);
    if (call === undefined) return;
    this.#calls.push(call);
    this.#rowsOfCalls.push(row);
  }
}
