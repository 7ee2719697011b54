import { isWhiteSpace } from '../values/characters.js';

/** Whether a regular expression's `\d` has a code point. */
export function isDigitCode(code: number): boolean {
  if (code < 0x80) return code >= 48 && code <= 57;
  return /^\p{Nd}$/u.test(String.fromCodePoint(code));
}

/** Whether a regular expression's `\w` has a code point: letters and numbers of all scripts, and the underscore. */
export function isWordCode(code: number): boolean {
  if (code < 0x80)
    return (
      (code >= 97 && code <= 122) ||
      (code >= 65 && code <= 90) ||
      (code >= 48 && code <= 57) ||
      code === 95
    );
  return /^[\p{L}\p{N}]$/u.test(String.fromCodePoint(code));
}

/** The tests of `\d \w \s` and of their opposites. */
export const categories: Readonly<Record<string, (code: number) => boolean>> = {
  d: isDigitCode,
  D: (code) => !isDigitCode(code),
  w: isWordCode,
  W: (code) => !isWordCode(code),
  s: isWhiteSpace,
  S: (code) => !isWhiteSpace(code),
};

/** A code point in the letter case in which texts are compared without case. */
export function foldCode(code: number): number {
  if (code < 0x80) return code >= 65 && code <= 90 ? code + 32 : code;
  const lower = String.fromCodePoint(code).toLowerCase();
  return lower.codePointAt(0)! > 0xffff === (lower.length === 2) ? lower.codePointAt(0)! : code;
}

/** All code points that differ from this one in letter case alone, including itself. */
export function caseVariants(code: number): readonly number[] {
  const character = String.fromCodePoint(code);
  const singleCode = (text: string) =>
    Array.from(text).length === 1 ? [text.codePointAt(0)!] : [];
  return [code].concat(singleCode(character.toLowerCase()), singleCode(character.toUpperCase()));
}
