import type { PyValue } from '../../../../engine/expression/values/values.js';
import type { KnownResult } from '../../../expressions/value-memo.js';

/** What the results of a chunk may take, estimated in bytes; then all are forgotten. */
const maxBytes = 32_000_000;

/**
 * The results of an expression in the records of a chunk, as far as they are known: where `codes` stand for the values that it reads, one
 * for all records with the same values, and without them those of a block of records.
 */
export class RowResults {
  readonly #codes: Int32Array | null;
  readonly #known: (KnownResult | undefined)[] = [];
  /** The results that an evaluation ahead gave without all answers, by code; undefined after an error. */
  readonly #tried = new Map<number, PyValue | undefined>();
  #bytes = 0;
  #from = 0;

  constructor(codes: Int32Array | null) {
    this.#codes = codes;
  }

  /** Begins a block of records. */
  startBlock(from: number): void {
    this.#from = from;
    if (this.#codes === null) this.#forget();
  }

  /** Begins an evaluation ahead of the block. */
  startPass(): void {
    this.#tried.clear();
  }

  find(row: number): KnownResult | undefined {
    const code = this.#code(row);
    return code < 0 ? undefined : this.#known[code];
  }

  keep(row: number, known: KnownResult): void {
    const code = this.#code(row);
    if (code < 0) return;
    if (this.#bytes > maxBytes) this.#forget();
    this.#known[code] = known;
    this.#bytes += known.bytes;
  }

  /** Whether a record with the same values was evaluated in this pass. */
  wasTried(row: number): boolean {
    return this.#codes !== null && this.#tried.has(this.#codes[row]!);
  }

  /** The result of that evaluation. */
  triedResult(row: number): PyValue | undefined {
    return this.#tried.get(this.#codes![row]!);
  }

  /** Notes the result of an evaluation in this pass. */
  addTried(row: number, result: PyValue | undefined): void {
    const code = this.#codes?.[row] ?? -1;
    if (code >= 0) this.#tried.set(code, result);
  }

  #code(row: number): number {
    return this.#codes === null ? row - this.#from : this.#codes[row]!;
  }

  #forget(): void {
    this.#known.length = 0;
    this.#bytes = 0;
  }
}
