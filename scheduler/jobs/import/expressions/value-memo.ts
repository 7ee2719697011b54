import type { PyValue } from '../../../../engine/expression/values/values.js';

/** The most results that are kept, and what they may take, estimated in bytes. */
const maxResults = 1 << 17;
const maxBytes = 32_000_000;
/** What a result takes besides its value. */
const bytesPerResult = 100;

/** Values by the values of one input; those of several inputs are in maps inside each other. */
type MemoLevel = Map<PyValue, MemoLevel | { readonly result: PyValue }>;

/**
 * The results of an expression by the values that it reads, for expressions that call functions of datasets: the same call has the same answer
 * throughout a job, so neither the call nor its arguments have to be made again.
 */
export class ValueMemo {
  readonly #root: MemoLevel = new Map();
  #results = 0;
  #bytes = 0;

  /** The result for these values; undefined if it must be computed. */
  find(values: readonly (PyValue | undefined)[]): { readonly result: PyValue } | undefined {
    let level = this.#root;
    for (let i = 0; i < values.length; i++) {
      const found = level.get(values[i]!);
      if (found === undefined || !(found instanceof Map)) return found;
      level = found;
    }
    return undefined;
  }

  /** Keeps the result for these values, unless there are too many or one of the values is no text, number or None. */
  keep(values: readonly (PyValue | undefined)[], result: PyValue, bytes: number): void {
    const isPlain = values.every(
      (value) => value !== undefined && (typeof value !== 'object' || value === null),
    );
    if (!isPlain || this.#results === maxResults || this.#bytes > maxBytes) return;
    let level = this.#root;
    for (const value of values.slice(0, -1)) {
      const inner = level.get(value!);
      if (inner instanceof Map) level = inner;
      else {
        const next: MemoLevel = new Map();
        level.set(value!, next);
        level = next;
      }
    }
    level.set(values.at(-1)!, { result });
    this.#results += 1;
    this.#bytes += bytes + bytesPerResult;
  }
}
