/**
 * Names that other systems use, in lower case and without hyphens, underscores and blanks, each with the names that it may stand for in
 * Strandlake, the most likely first.
 */
export type Synonyms = Readonly<Record<string, readonly string[]>>;

interface KnownName {
  readonly name: string;
  readonly letters: string;
  readonly mask: number;
}

/**
 * The valid names among which the suggestions for unknown words are found. A request that may contain thousands of unknown words should
 * build the instance only once.
 */
export class KnownNames {
  readonly #names: readonly KnownName[];
  readonly #synonyms: Synonyms;

  constructor(names: Iterable<string>, synonyms: Synonyms = {}) {
    this.#names = Array.from(names, (name) => {
      const plainLetters = normalizedLetters(name);
      return { name, letters: plainLetters, mask: letterMask(plainLetters) };
    });
    this.#synonyms = synonyms;
  }

  /**
   * Returns the name that an unknown word most likely stands for: one that differs only in letter case, hyphens, underscores or blanks;
   * else the first valid name among its synonyms; else the nearest name within one mistake if the longer of the two has four to seven
   * letters, or within two if it has more. A mistake is a letter added, left out or replaced, or two neighbouring letters exchanged.
   * Undefined if there is no such name, and for an empty word or one of more than 200 characters.
   */
  suggestionFor(word: string): string | undefined {
    return this.suggestionsFor(word)[0];
  }

  /**
   * Returns the names that an unknown word may stand for: the one that it equals but for case, hyphens, underscores and blanks; else its
   * first valid synonym; else all names with the fewest spelling mistakes, as far as `suggestionFor` allows.
   */
  suggestionsFor(word: string): readonly string[] {
    if (word === '' || word.length > maxWordLength) return [];
    const plainLetters = normalizedLetters(word);
    const sameName = this.#names.find((known) => known.letters === plainLetters);
    if (sameName !== undefined) return [sameName.name];
    const meant = Object.hasOwn(this.#synonyms, plainLetters) ? this.#synonyms[plainLetters]! : [];
    const synonym = meant.find((name) => this.#names.some((known) => known.name === name));
    if (synonym !== undefined) return [synonym];
    const mask = letterMask(plainLetters);
    let nearestNames: string[] = [];
    let leastDistance = Infinity;
    for (const candidate of this.#names) {
      const otherLetters = candidate.letters;
      const maxDistance = Math.min(
        maxEditDistance(Math.max(plainLetters.length, otherLetters.length)),
        leastDistance,
      );
      if (Math.abs(plainLetters.length - otherLetters.length) > maxDistance) continue;
      // A mistake changes at most two bits of the mask of letters, because it removes at most one letter and adds at most one; words
      // with more different bits are skipped.
      if (bitCount(mask ^ candidate.mask) > 2 * maxDistance) continue;
      const mistakeCount = editDistance(plainLetters, otherLetters);
      if (mistakeCount > maxDistance) continue;
      if (mistakeCount < leastDistance) nearestNames = [];
      nearestNames.push(candidate.name);
      leastDistance = mistakeCount;
    }
    return nearestNames;
  }
}

/** The suggestion for one unknown word, see `KnownNames.suggestionFor`. */
export function suggestionFor(
  word: string,
  names: Iterable<string>,
  synonyms?: Synonyms,
): string | undefined {
  return new KnownNames(names, synonyms).suggestionFor(word);
}

/** Returns the last sentence of a message about an unknown word; empty if there is no suggestion. */
export function didYouMean(suggestions: string | readonly string[] | undefined): string {
  const names = [suggestions ?? []].flat().map((name) => JSON.stringify(name));
  return names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
}

/** Maximum length of words that are compared: longer ones are data, not misspelt names. */
const maxWordLength = 200;

function normalizedLetters(word: string): string {
  return word.toLowerCase().replaceAll(/[\s_-]/g, '');
}

/** Returns the set of letters of a word as 32 bits; different letters may share a bit. */
function letterMask(word: string): number {
  let mask = 0;
  for (let i = 0; i < word.length; i++) mask |= 1 << (word.charCodeAt(i) & 31);
  return mask;
}

function bitCount(mask: number): number {
  let count = 0;
  for (let remainingBits = mask; remainingBits !== 0; remainingBits &= remainingBits - 1)
    count += 1;
  return count;
}

function maxEditDistance(length: number): number {
  if (length >= 8) return 2;
  return length >= 4 ? 1 : 0;
}

/**
 * Returns the optimal string alignment distance of two words, which counts letters added, left out and replaced, and exchanged neighbours.
 */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaceCost = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, replaceCost);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) next[j] = Math.min(next[j]!, before[j - 2]! + 1);
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}
