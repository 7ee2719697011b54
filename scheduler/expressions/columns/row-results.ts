import type { PendingCall, PyValue } from '../../../engine/expression/values/python-values.js';
import type { IndexedResults } from './job-results.js';
import type { CachedResult } from './value-memo.js';

/** The results of an expression in the records of a chunk, by dictionary indices of the values that it reads. */
export class RowResults {
  /** For each record, the index of the values that the expression reads, -1 for values without one; 0 is None if it reads one column. */
  readonly indices: Int32Array;
  readonly indexedResults: IndexedResults;
  /** The results of evaluations in the current pass that may not be final, by index; undefined after an error. */
  readonly #passResults = new Map<number, PyValue | undefined>();
  /** The calls whose answers will be the results of records; `#rowsOfPendingCalls` are these records. */
  #pendingCalls: PendingCall[] = [];
  #rowsOfPendingCalls: number[] = [];

  constructor(indices: Int32Array, indexedResults: IndexedResults) {
    this.indices = indices;
    this.indexedResults = indexedResults;
  }

  /** Whether the values of a record have a dictionary index. */
  hasIndex(row: number): boolean {
    return this.indices[row]! >= 0;
  }

  findForRow(row: number): CachedResult | undefined {
    return this.indexedResults.findResult(this.indices[row]!);
  }

  keepForRow(row: number, cached: CachedResult): void {
    this.indexedResults.keepResult(this.indices[row]!, cached);
  }

  /** Begins a pass of evaluation ahead: forgets the results of the previous pass. */
  startEvaluationAhead(): void {
    this.#passResults.clear();
  }

  /** Removes the pending calls, and passes each of them to `use` with the record whose result is the answer to the call. */
  takePendingCalls(use: (call: PendingCall, row: number) => void): void {
    const [calls, rows] = [this.#pendingCalls, this.#rowsOfPendingCalls];
    this.#pendingCalls = [];
    this.#rowsOfPendingCalls = [];
    for (let i = 0; i < calls.length; i++) use(calls[i]!, rows[i]!);
  }

  /** Whether this pass has evaluated a record with the same values, with a result that may not be final. */
  hasTriedResult(row: number): boolean {
    return this.#passResults.has(this.indices[row]!);
  }

  /** Returns the result that a record with the same values had in this pass; undefined also if its evaluation failed. */
  findTriedResult(row: number): PyValue | undefined {
    return this.#passResults.get(this.indices[row]!);
  }

  /** Notes the result of an evaluation in this pass, and the call whose answer will be the final result, if that is known. */
  addTriedResult(row: number, result: PyValue | undefined, call?: PendingCall): void {
    if (!this.hasIndex(row)) return;
    this.#passResults.set(this.indices[row]!, result);
    if (call === undefined) return;
    this.#pendingCalls.push(call);
    this.#rowsOfPendingCalls.push(row);
  }
}
