import type { Random } from '../../random.js';

/** Words with letters that fold in unusual ways, alone and in pairs of cases. */
const oddWords = [
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
const signs = [
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

/** A text of words and signs; now and then null, empty, or nothing but signs. */
export function randomText(random: Random): string | null {
  const kind = randomBelow(random, 20);
  if (kind === 0) return null;
  if (kind === 1) return '';
  if (kind === 2) return pick(random, signs);
  const words = 1 + randomBelow(random, kind === 3 ? 80 : 8);
  let text = '';
  for (let i = 0; i < words; i++) text += randomWord(random) + pick(random, signs);
  return text;
}

/** A word as it may occur in a text or a search. */
export function randomWord(random: Random): string {
  const kind = randomBelow(random, 10);
  if (kind < 3) return pick(random, oddWords);
  if (kind < 4) return pick(random, oddWords) + pick(random, oddWords);
  if (kind < 5) return `w${randomBelow(random, 300)}`;
  return pick(random, plainWords);
}

/** A whole number from 0 up to (not including) `limit`. */
export function randomBelow(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

/** A random element of a list. */
export function pick<T>(random: Random, list: readonly T[]): T {
  return list[randomBelow(random, list.length)]!;
}
