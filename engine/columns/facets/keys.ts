import { cachedTexts } from './text-keys.js';
import type { PartialKeys } from './partial.js';

/** The keys of a facet's buckets in all partials: numbered together, each once. */
export interface Keys {
  readonly size: number;
  /** Of each partial, the number of each of its keys. */
  readonly numbers: readonly Uint32Array[];
  /** Below zero if key `a` comes before key `b`. */
  compare(a: number, b: number): number;
  /** Place of each key in their order; may take a while to find the first time. */
  ranks(): Uint32Array;
  /** A key that is a number. */
  number(key: number): number;
  /** The JSON text of a key. */
  json(key: number): string;
}

/** The keys of partials; `json` makes the text of a number. */
export function mergedKeys(parts: readonly PartialKeys[], json: (number: number) => string): Keys {
  const texts = parts.filter((part) => part.kind === 'texts');
  return texts.length > 0 ? cachedTexts(texts) : numberKeys(parts, json);
}

/** Ascending, so that each is its own rank. */
function numberKeys(parts: readonly PartialKeys[], json: (number: number) => string): Keys {
  const own = parts.map((part) => (part.kind === 'numbers' ? part.numbers : new Float64Array(0)));
  const all = new Float64Array(own.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const numbers of own) {
    all.set(numbers, at);
    at += numbers.length;
  }
  all.sort();
  let size = 0;
  for (const number of all) if (size === 0 || number !== all[size - 1]) all[size++] = number;
  const sorted = all.subarray(0, size);
  const numbers = own.map((keys) => Uint32Array.from(keys, (key) => placeOf(sorted, key)));
  return {
    size,
    numbers,
    compare: (a, b) => a - b,
    ranks: () => Uint32Array.from(sorted, (_, key) => key),
    number: (key) => sorted[key]!,
    json: (key) => json(sorted[key]!),
  };
}

function placeOf(sorted: Float64Array, key: number): number {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
