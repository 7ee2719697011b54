import { isAscending, mergedLists, placeOf } from './ascending.js';
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
  const sorted = own.map((numbers) => (isAscending(numbers) ? numbers : numbers.slice().sort()));
  const { all, places } = mergedLists(sorted);
  const numbers = own.map((keys, part) => {
    if (keys === sorted[part]) return places[part]!;
    return Uint32Array.from(keys, (key) => places[part]![placeOf(sorted[part]!, key)]!);
  });
  return {
    size: all.length,
    numbers,
    compare: (a, b) => a - b,
    ranks: () => Uint32Array.from(all, (_, key) => key),
    number: (key) => all[key]!,
    json: (key) => json(all[key]!),
  };
}
