/** What other systems call a thing, to the names that it may have here, the likeliest first. */
export type Synonyms = Readonly<Record<string, readonly string[]>>;

/**
 * The name that an unknown word most likely stands for: one that differs in letter case, hyphens, underscores or blanks alone,
 * the first known name among its synonyms, or the nearest name within one mistake (two in words of eight letters and more).
 * A mistake is a letter added, left out or replaced, or two neighbours in the wrong order. Undefined if there is no such name.
 */
export function suggestionFor(
  word: string,
  names: Iterable<string>,
  synonyms: Synonyms = {},
): string | undefined {
  if (word === '' || word.length > maxLength) return undefined;
  const known = [...names];
  const plain = letters(word);
  const same = known.find((name) => letters(name) === plain);
  if (same !== undefined) return same;
  const meant = Object.hasOwn(synonyms, plain) ? synonyms[plain]! : [];
  const synonym = meant.find((name) => known.includes(name));
  if (synonym !== undefined) return synonym;
  let nearest: string | undefined;
  let least = Infinity;
  for (const name of known) {
    const other = letters(name);
    const most = allowed(Math.max(plain.length, other.length));
    const mistakes = Math.abs(plain.length - other.length) > most ? Infinity : distance(plain, other); // prettier-ignore
    if (mistakes > most || mistakes >= least) continue;
    nearest = name;
    least = mistakes;
  }
  return nearest;
}

/** The sentence that ends a message about an unknown word; empty without a suggestion. */
export function didYouMean(suggestion: string | undefined): string {
  return suggestion === undefined ? '' : ` Did you mean ${JSON.stringify(suggestion)}?`;
}

/** Longer words are not compared: they are data, not misspelt names. */
const maxLength = 200;

function letters(word: string): string {
  return word.toLowerCase().replaceAll(/[\s_-]/g, '');
}

function allowed(length: number): number {
  if (length >= 8) return 2;
  return length >= 4 ? 1 : 0;
}

/** The optimal string alignment distance of two words: letters added, left out and replaced, and neighbours in the wrong order. */
export function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, replaced);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) next[j] = Math.min(next[j]!, before[j - 2]! + 1);
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}
