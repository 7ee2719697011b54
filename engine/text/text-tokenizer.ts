/**
 * Ranges of code points that separate tokens: white space, controls, common punctuation, arrows and other symbols, emoji. All other code
 * points are part of a token: letters, marks and digits of every script, and also the punctuation of some scripts, such as the Arabic
 * comma. A change requires a new `indexVersion` (index-writer.ts).
 */
const separatorRanges: readonly (readonly [number, number])[] = [
  [0x00, 0x2f],
  [0x3a, 0x40],
  [0x5b, 0x60],
  [0x7b, 0xa9],
  [0xab, 0xb1],
  [0xb4, 0xb4],
  [0xb6, 0xb8],
  [0xbb, 0xbb],
  [0xbf, 0xbf],
  [0xd7, 0xd7],
  [0xf7, 0xf7],
  [0x2000, 0x206f], // general punctuation
  [0x20a0, 0x20cf], // currencies
  [0x2190, 0x2bff], // arrows, mathematics, boxes
  [0x2e00, 0x2e7f],
  [0x3000, 0x3003], // CJK punctuation
  [0x3008, 0x3020],
  [0x3030, 0x3030],
  [0xfe10, 0xfe1f],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff0f], // full width
  [0xff1a, 0xff20],
  [0xff3b, 0xff40],
  [0xff5b, 0xff65],
  [0xfffd, 0xfffd],
  [0x1f000, 0x1faff], // emoji
];

/**
 * The separators as the content of a character class of RE2.
 * Choice: separators of words are written as ranges of code points, because RE2 takes 5 ms to compile classes such as `\p{L}` for every
 * condition, and 1 ms for the ranges.
 */
export const separators = separatorRanges
  .map(([from, to]) => (from === to ? escapeCode(from) : `${escapeCode(from)}-${escapeCode(to)}`))
  .join('');

function escapeCode(code: number): string {
  return `\\x{${code.toString(16)}}`;
}

const tokenPattern = new RegExp(`[^${separators.replaceAll('\\x{', '\\u{')}]+`, 'gu');

/** Returns the tokens of a text, in order, not folded. */
export function tokenize(text: string): string[] {
  return text.match(tokenPattern) ?? [];
}

/** Returns whether a text is a single token: not empty, and without separators and lone surrogates. */
export function isToken(text: string): boolean {
  return text.isWellFormed() && tokenize(text)[0] === text;
}

/** Returns whether a code point separates tokens. */
export function isSeparator(code: number): boolean {
  let low = 0;
  let high = separatorRanges.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [from, to] = separatorRanges[middle]!;
    if (code < from) high = middle - 1;
    else if (code > to) low = middle + 1;
    else return true;
  }
  return false;
}
