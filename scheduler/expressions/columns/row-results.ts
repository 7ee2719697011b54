import type { PendingCall, PyValue } from '../../../engine/expression/values/python-values.js';
import type { CodedResults } from './job-results.js';
import type { CachedResult } from './value-memo.js';

/** The results of an expression in the records of a chunk, by codes that stand for the values that it reads. */
export class RowResults {
  /** For each record, the code of the values that the expression reads; -1 for values without a code. 0 is None if it reads one column. */
  readonly codes: Int32Array;
  readonly codedResults: CodedResults;
  /** The results of evaluations that did not have all answers of dataset functions, by code; undefined after an error. */
  readonly #tried = new Map<number, PyValue | undefined>();
  /** The calls whose answers will be the results of records; `#rowsOfCalls` are these records. */
  #calls: PendingCall[] = [];
  #rowsOfCalls: number[] = [];

  constructor(codes: Int32Array, keyed: CodedResults) {
    this.codes = codes;
    this.codedResults = keyed;
  }

  /** Whether the values of a record have a code. */
  isCoded(row: number): boolean {
    return this.codes[row]! >= 0;
  }

  findForRow(row: number): CachedResult | undefined {
    return this.codedResults.findResult(this.codes[row]!);
  }

  keepForRow(row: number, cached: CachedResult): void {
    this.codedResults.keepResult(this.codes[row]!, cached);
  }

  /** Begins a prefetch pass: forgets the results of the previous pass. */
  startEvaluationAhead(): void {
    this.#tried.clear();
  }

  /** Removes the noted calls, and calls `use` with each of them and with the record whose result is the answer to the call. */
  takePendingCalls(use: (call: PendingCall, row: number) => void): void {
    const [calls, rows] = [this.#calls, this.#rowsOfCalls];
    this.#calls = [];
    this.#rowsOfCalls = [];
    for (let i = 0; i < calls.length; i++) use(calls[i]!, rows[i]!);
  }

  /** Whether a record with the same values was already evaluated in this pass. */
  hasTriedResult(row: number): boolean {
    return this.#tried.has(this.codes[row]!);
  }

  /** Returns the result that a record with the same values had in this pass; undefined also if its evaluation failed. */
  triedResult(row: number): PyValue | undefined {
    return this.#tried.get(this.codes[row]!);
  }

  /** Notes the result of an evaluation in this pass, and the call whose answer will be the final result, if that is known. */
  addTried(row: number, result: PyValue | undefined, call?: PendingCall): void {
    if (!this.isCoded(row)) return;
    this.#tried.set(this.codes[row]!, result);
    if (call === undefined) return;
    this.#calls.push(call);
    this.#rowsOfCalls.push(row);
  }
}
