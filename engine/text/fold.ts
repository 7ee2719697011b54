/*
 * Letters that differ in case alone, as RE2's `(?i)` sees them: Unicode's simple case folding, of the version that RE2 knows.
 * A test holds it against the SQL engine for every code point there is, because the index has to find what a scan finds.
 */

/** Pairs of letters that came to Unicode after RE2's tables, and the dotless i, which folds to itself alone. */
const unpaired: readonly (readonly [number, number])[] = [
  [0x131, 0x131],
  [0x19b, 0x19b],
  [0x264, 0x264],
  [0x1c89, 0x1c8a],
  [0xa7cb, 0xa7cf],
  [0xa7d2, 0xa7d5],
  [0xa7da, 0xa7dc],
  [0x10d50, 0x10d85],
  [0x16ea0, 0x16ed3],
];

const known = new Map<number, number>();

/** The one code point that stands for all that differ from this one in letter case alone. */
export function foldCode(code: number): number {
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? code + 32 : code;
  let folded = known.get(code);
  if (folded === undefined) known.set(code, (folded = found(code)));
  return folded;
}

/** By way of the upper case, which final and other sigmas have in common; a case of several letters is no simple one. */
function found(code: number): number {
  if (unpaired.some(([from, to]) => code >= from && code <= to)) return code;
  const upper = single(String.fromCodePoint(code).toUpperCase(), code);
  return single(String.fromCodePoint(upper).toLowerCase(), upper);
}

function single(text: string, otherwise: number): number {
  const code = text.codePointAt(0)!;
  return text.length === (code > 0xffff ? 2 : 1) ? code : otherwise;
}

const encoder = new TextEncoder();

/** A word in the form in which the index has it: folded, in UTF-8. */
export function foldTerm(word: string): Uint8Array {
  const codes = Array.from(word, (char) => foldCode(char.codePointAt(0)!));
  return encoder.encode(codes.map((code) => String.fromCodePoint(code)).join(''));
}
