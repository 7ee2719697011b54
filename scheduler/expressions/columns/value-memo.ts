import type { PyValue } from '../../../engine/expression/values/python-values.js';

/**
 * Maximum number of kept results; `maxMemoBytes` is their maximum estimated size. Half of each is for the latest results, half for earlier
 * ones.
 */
const maxMemoResults = 1 << 18;
const maxMemoBytes = 32_000_000;
/** The estimated overhead of a result in bytes, besides its value. */
const bytesPerResult = 100;

/** A kept result, and its estimated size in bytes. */
export interface CachedResult {
  readonly result: PyValue;
  readonly bytes: number;
}

/** Returns a result to be kept; `bytes` is the memory that its evaluation has used. */
export function cachedResult(result: PyValue, bytes: number): CachedResult {
  const isShort = typeof result !== 'object' && String(result).length < minSlicedStringLength;
  return { result, bytes: (isShort ? 0 : bytes) + bytesPerResult };
}

/**
 * If a substring has at least this many characters, V8 stores it as a reference into the original string, which therefore stays in memory
 * too.
 */
const minSlicedStringLength = 13;

/** Results by the values that one input has; for several inputs, the maps are nested. */
type MemoLevel = Map<PyValue, MemoLevel | CachedResult>;

/** The values that an expression read. */
type ReadValues = readonly (PyValue | undefined)[];

/**
 * The results of expressions of a job that call dataset functions, by the values that they read. For the same values, neither the call nor
 * its arguments have to be evaluated again. When there are too many results, those that were not used lately are forgotten.
 */
export class ValueMemo {
  #latest = new Map<string, MemoLevel>();
  #earlier = new Map<string, MemoLevel>();
  /** The number of the latest results; `#latestBytes` is their estimated size. */
  #latestCount = 0;
  #latestBytes = 0;

  /** Returns the result of an expression for the given values; undefined if it must be computed. */
  findMemoized(expression: string, values: ReadValues): CachedResult | undefined {
    const latestResult = resultAtLevel(this.#latest.get(expression), values);
    if (latestResult !== undefined) return latestResult;
    const earlierResult = resultAtLevel(this.#earlier.get(expression), values);
    if (earlierResult !== undefined) this.#add(expression, values, earlierResult);
    return earlierResult;
  }

  /** Keeps the result of an expression for the given values, unless one of them is missing, a float or a collection. */
  memoize(expression: string, values: ReadValues, cached: CachedResult): void {
    const isPlain = values.every(
      (value) => value !== undefined && (typeof value !== 'object' || value === null),
    );
    if (isPlain) this.#add(expression, values, cached);
  }

  #add(expression: string, values: ReadValues, cached: CachedResult): void {
    if (this.#latestCount >= maxMemoResults / 2 || this.#latestBytes >= maxMemoBytes / 2) {
      this.#earlier = this.#latest;
      this.#latest = new Map();
      this.#latestCount = this.#latestBytes = 0;
    }
    let level = this.#latest.get(expression);
    if (level === undefined) this.#latest.set(expression, (level = new Map()));
    const last = values.length - 1;
    for (let i = 0; i < last; i++) {
      const inner: MemoLevel | CachedResult | undefined = level.get(values[i]!);
      if (inner instanceof Map) level = inner;
      else {
        const next: MemoLevel = new Map();
        level.set(values[i]!, next);
        level = next;
      }
    }
    level.set(values[last]!, cached);
    this.#latestCount += 1;
    this.#latestBytes += cached.bytes;
  }
}

function resultAtLevel(root: MemoLevel | undefined, values: ReadValues): CachedResult | undefined {
  let level = root;
  if (level === undefined) return undefined;
  for (let i = 0; i < values.length; i++) {
    const inner: MemoLevel | CachedResult | undefined = level.get(values[i]!);
    if (inner === undefined || !(inner instanceof Map)) return inner;
    level = inner;
  }
  return undefined;
}
