/*
 * Defines letter case once for the whole platform: simple mappings of one code point to one, of Unicode 15.
 *
 * Choice: letter case is that of Unicode 15, whatever version the runtime has: a letter whose counterpart in the other case was added to
 * Unicode later is a letter without case. The text indexes on disk contain folded terms, so the mapping must never change.
 */

/** Letters whose counterpart in the other case was added to Unicode after version 15. */
const pairedAfterUnicode15: readonly (readonly [number, number])[] = [
  [0x19b, 0x19b],
  [0x264, 0x264],
  [0x1c89, 0x1c8a],
  [0xa7cb, 0xa7cf],
  [0xa7d2, 0xa7d5],
  [0xa7da, 0xa7dc],
  [0x10d50, 0x10d85],
  [0x16ea0, 0x16ed3],
];

function isPairedAfterUnicode15(code: number): boolean {
  return pairedAfterUnicode15.some(([from, to]) => code >= from && code <= to);
}

/**
 * Returns the lower case of a string, code point by code point. Comparisons that ignore letter case compare this form. A lone surrogate
 * becomes U+FFFD.
 */
export function lowerCase(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase();
  let lower = '';
  for (const char of text.toWellFormed()) lower += lowerChar(char);
  return lower;
}

function lowerChar(char: string): string {
  // The dotted capital I is the only letter whose full lower case is longer than its simple lower case.
  if (char === '\u0130') return 'i';
  return isPairedAfterUnicode15(char.codePointAt(0)!) ? char : char.toLowerCase();
}

const foldByCode = new Map<number, number>();

/**
 * Returns the code point that represents all code points that differ from this one only in letter case: simple case folding, as in RE2 with
 * `(?i)`. Terms are compared in this form.
 */
export function caseFoldCode(code: number): number {
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? code + 32 : code;
  let foldedCode = foldByCode.get(code);
  if (foldedCode === undefined) foldByCode.set(code, (foldedCode = computeFold(code)));
  return foldedCode;
}

/** Folds by way of the upper case, which the final and the ordinary sigma share. The dotless i folds to itself. */
function computeFold(code: number): number {
  if (code === 0x131 || isPairedAfterUnicode15(code)) return code;
  const upper = singleCode(String.fromCodePoint(code).toUpperCase(), code);
  return singleCode(String.fromCodePoint(upper).toLowerCase(), upper);
}

/**
 * Returns the only code point of a string, or `otherwise` if it has several, because a mapping to several code points is not a simple one.
 */
function singleCode(text: string, otherwise: number): number {
  const code = text.codePointAt(0)!;
  return text.length === (code > 0xffff ? 2 : 1) ? code : otherwise;
}

/** Returns a string with every code point folded. */
export function caseFold(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase();
  return Array.from(text, (char) => String.fromCodePoint(caseFoldCode(char.codePointAt(0)!))).join(
    '',
  );
}

const encoder = new TextEncoder();

/** Returns a term as the index stores it: folded, in UTF-8. */
export function foldTerm(word: string): Uint8Array {
  return encoder.encode(caseFold(word));
}
