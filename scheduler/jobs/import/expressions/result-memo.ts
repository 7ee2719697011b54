import type { PyValue } from '../../../../engine/expression/values/values.js';
import type { RecordSlots } from './record-slots.js';

/**
 * The results of an expression by the values that it reads, within a chunk: columns of few different values, such as significances and
 * consequences, need few evaluations. A memo that does not pay is given up.
 */
export class ResultMemo {
  readonly #slots: RecordSlots;
  readonly #inputs: readonly number[];
  /** Different values of each input that have a place. */
  readonly #most: number;
  readonly #results = new Map<number, PyValue>();
  #key = -1;
  #left = trial;
  #hits = 0;

  /** `inputs` are the slots that decide the result: one to three. */
  constructor(slots: RecordSlots, inputs: readonly number[]) {
    this.#slots = slots;
    this.#inputs = inputs;
    this.#most = inputs.length === 1 ? 1 << 16 : inputs.length === 2 ? 1 << 15 : 1 << 10;
  }

  /** The result for the current record; undefined if it must be computed. */
  find(): PyValue | undefined {
    this.#key = -1;
    if (this.#left === 0) return undefined;
    let key = 0;
    for (const input of this.#inputs) {
      const code = this.#slots.code(input, this.#most);
      if (code < 0) return this.#count(undefined);
      key = key * this.#most + code;
    }
    this.#key = key;
    return this.#count(this.#results.get(key));
  }

  /** Keeps the result that was computed for the current record. */
  keep(result: PyValue): void {
    if (this.#key >= 0 && this.#results.size < maxResults) this.#results.set(this.#key, result);
  }

  #count(result: PyValue | undefined): PyValue | undefined {
    if (result !== undefined) this.#hits++;
    if (this.#left > 1) this.#left--;
    // At the end of the trial, most results must have been found; then it counts no more.
    else if (this.#left === 1 && this.#hits < trial / 2) this.#left = 0;
    return result;
  }
}

const trial = 2048;
const maxResults = 1 << 16;
