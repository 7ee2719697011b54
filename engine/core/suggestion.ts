/** Names that other systems use, each with the names that it may have here, the likeliest first. */
export type Synonyms = Readonly<Record<string, readonly string[]>>;

interface KnownName {
  readonly name: string;
  readonly letters: string;
  readonly mask: number;
}

/** The names that are known at one place. Made once for a place where a request may have thousands of unknown words. */
export class KnownNames {
  readonly #names: readonly KnownName[];
  readonly #synonyms: Synonyms;

  constructor(names: Iterable<string>, synonyms: Synonyms = {}) {
    this.#names = Array.from(names, (name) => {
      const plainLetters = lettersOf(name);
      return { name, letters: plainLetters, mask: maskOf(plainLetters) };
    });
    this.#synonyms = synonyms;
  }

  /**
   * The name that an unknown word most likely stands for: one that differs in letter case, hyphens, underscores or blanks alone,
   * the first known name among its synonyms, or the nearest name within one mistake (two in words of eight letters and more).
   * A mistake is a letter added, left out or replaced, or two neighbours in the wrong order. Undefined if there is no such name.
   */
  suggestionFor(word: string): string | undefined {
    return this.suggestionsFor(word)[0];
  }

  /** The names that an unknown word most likely stands for: as `suggestionFor`, but with all names that are equally near. */
  suggestionsFor(word: string): readonly string[] {
    if (word === '' || word.length > maxLength) return [];
    const plainLetters = lettersOf(word);
    const sameName = this.#names.find((known) => known.letters === plainLetters);
    if (sameName !== undefined) return [sameName.name];
    const meant = Object.hasOwn(this.#synonyms, plainLetters) ? this.#synonyms[plainLetters]! : [];
    const synonym = meant.find((name) => this.#names.some((known) => known.name === name));
    if (synonym !== undefined) return [synonym];
    const mask = maskOf(plainLetters);
    let nearestNames: string[] = [];
    let leastDistance = Infinity;
    for (const known of this.#names) {
      const otherLetters = known.letters;
      const maxDistance = Math.min(
        allowedEdits(Math.max(plainLetters.length, otherLetters.length)),
        leastDistance,
      );
      if (Math.abs(plainLetters.length - otherLetters.length) > maxDistance) continue;
      // One edit changes at most two of the letters' bits: it removes one letter and adds another.
      if (bitsIn(mask ^ known.mask) > 2 * maxDistance) continue;
      const mistakeCount = editDistance(plainLetters, otherLetters);
      if (mistakeCount > maxDistance) continue;
      if (mistakeCount < leastDistance) nearestNames = [];
      nearestNames.push(known.name);
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

/** The sentence that ends a message about an unknown word; empty without suggestions. */
export function didYouMean(suggestions: string | readonly string[] | undefined): string {
  const names = [suggestions ?? []].flat().map((name) => JSON.stringify(name));
  return names.length === 0 ? '' : ` Did you mean ${names.join(' or ')}?`;
}

/** Maximum length of words that are compared: longer ones are data, not misspelt names. */
const maxLength = 200;

function lettersOf(word: string): string {
  return word.toLowerCase().replaceAll(/[\s_-]/g, '');
}

/** A set of letters as 32 bits; different letters may share one. */
function maskOf(word: string): number {
  let mask = 0;
  for (let i = 0; i < word.length; i++) mask |= 1 << (word.charCodeAt(i) & 31);
  return mask;
}

function bitsIn(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

function allowedEdits(length: number): number {
  if (length >= 8) return 2;
  return length >= 4 ? 1 : 0;
}

/** The optimal string alignment distance of two words: letters added, left out and replaced, and neighbours in the wrong order. */
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
