import type { PyValue } from '../../../../engine/expression/values/values.js';

/** Maximum number of kept results, and their maximum estimated size. Half of each is for the latest results, half for earlier ones. */
const maxResults = 1 << 18;
const maxBytes = 32_000_000;
/** The size of a result besides its value. */
const bytesPerResult = 100;

/** A kept result, and its estimated size in bytes. */
export interface KnownResult {
  readonly result: PyValue;
  readonly bytes: number;
}

/** A result to be kept; `bytes` is what its evaluation has used. */
export function knownResult(result: PyValue, bytes: number): KnownResult {
  const isShort = typeof result !== 'object' && String(result).length < shortestPart;
  return { result, bytes: (isShort ? 0 : bytes) + bytesPerResult };
}

/** V8 keeps a string of at least this many characters that was cut from another as a reference into it, which holds the other in memory, too. */
const shortestPart = 13;

/** Results by the values of one input; those by several inputs are in maps inside each other. */
type MemoLevel = Map<PyValue, MemoLevel | KnownResult>;

/** The values that an expression read. */
type ReadValues = readonly (PyValue | undefined)[];

/**
 * The results of the expressions of a job that call functions of datasets, by the values that they read: the same call has the same answer
 * throughout a job, so neither the call nor its arguments have to be made again. When there are too many, those that were not asked for
 * lately are forgotten.
 */
export class ValueMemo {
  #latest = new Map<string, MemoLevel>();
  #earlier = new Map<string, MemoLevel>();
  /** The number and the size of the latest results. */
  #results = 0;
  #bytes = 0;

  /** The result of an expression for these values; undefined if it must be computed. */
  find(expression: string, values: ReadValues): KnownResult | undefined {
    const latestResult = resultIn(this.#latest.get(expression), values);
    if (latestResult !== undefined) return latestResult;
    const earlierResult = resultIn(this.#earlier.get(expression), values);
    if (earlierResult !== undefined) this.#add(expression, values, earlierResult);
    return earlierResult;
  }

  /** Keeps the result of an expression for these values, unless a value is not a text, a number or None. */
  keep(expression: string, values: ReadValues, known: KnownResult): void {
    const isPlain = values.every(
      (value) => value !== undefined && (typeof value !== 'object' || value === null),
    );
    if (isPlain) this.#add(expression, values, known);
  }

  #add(expression: string, values: ReadValues, known: KnownResult): void {
    if (this.#results >= maxResults / 2 || this.#bytes >= maxBytes / 2) {
      this.#earlier = this.#latest;
      this.#latest = new Map();
      this.#results = this.#bytes = 0;
    }
    let level = this.#latest.get(expression);
    if (level === undefined) this.#latest.set(expression, (level = new Map()));
    const last = values.length - 1;
    for (let i = 0; i < last; i++) {
      const inner: MemoLevel | KnownResult | undefined = level.get(values[i]!);
      if (inner instanceof Map) level = inner;
      else {
        const next: MemoLevel = new Map();
        level.set(values[i]!, next);
        level = next;
      }
    }
    level.set(values[last]!, known);
    this.#results += 1;
    this.#bytes += known.bytes;
  }
}

function resultIn(root: MemoLevel | undefined, values: ReadValues): KnownResult | undefined {
  let level = root;
  if (level === undefined) return undefined;
  for (let i = 0; i < values.length; i++) {
    const found: MemoLevel | KnownResult | undefined = level.get(values[i]!);
    if (found === undefined || !(found instanceof Map)) return found;
    level = found;
  }
  return undefined;
}
