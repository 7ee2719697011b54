import type { Random } from '../../random.js';

/** Words with unusual case foldings, without letter case, or with digits and punctuation; many in several letter cases. */
const unusualWords = [
  'ß', 'ẞ', 'SS', 'İ', 'i̇', 'ı', 'I', 'K', 'k', 'ſ', 'S', 'Σ', 'ς', 'σ', 'Å', 'å', 'Ⱥ', 'ⱥ', 'é', 'e\u0301', 'É', '\u0301',
  'ǅ', 'Ǆ', 'ǆ', 'Ω', 'ω', 'Ꭰ', 'ꭰ', '漢字', '日本語', '𐐀', '𐐨', '𝒜', 'ﬁ', 'x_y', 'IL-2', '1q21.1', 'p.Val600Glu',
]; // prettier-ignore
const plainWords = [
  'cancer',
  'Cancer',
  'CANCER',
  'cancers',
  'breast',
  'Breast',
  'of',
  'the',
  'a',
  'b',
  'type',
];
const separators = [
  ' ',
  ' ',
  ' ',
  ', ',
  '|',
  '-',
  '/',
  '//',
  '.',
  '\n',
  '\t',
  '\u0000',
  '。',
  '\u2028',
  '😀',
  '\ufffd',
  '_',
  '"',
  '\\',
];

/** Returns a random text of words and separators; sometimes null, an empty text, or one separator. */
export function randomText(random: Random): string | null {
  const kind = randomBelow(random, 20);
  if (kind === 0) return null;
  if (kind === 1) return '';
  if (kind === 2) return pickRandom(random, separators);
  const wordCount = 1 + randomBelow(random, kind === 3 ? 80 : 8);
  let text = '';
  for (let i = 0; i < wordCount; i++) text += randomWord(random) + pickRandom(random, separators);
  return text;
}

/** Returns a random word, as it may occur in a text or in a search. */
export function randomWord(random: Random): string {
  const kind = randomBelow(random, 10);
  if (kind < 3) return pickRandom(random, unusualWords);
  if (kind < 4) return pickRandom(random, unusualWords) + pickRandom(random, unusualWords);
  if (kind < 5) return `w${randomBelow(random, 300)}`;
  return pickRandom(random, plainWords);
}

/** Returns a random integer from 0 to (not including) `limit`. */
export function randomBelow(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

/** Returns a random element of a list. */
export function pickRandom<T>(random: Random, list: readonly T[]): T {
  return list[randomBelow(random, list.length)]!;
}
