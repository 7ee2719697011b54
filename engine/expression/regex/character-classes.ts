import { isWhiteSpace } from '../values/unicode-characters.js';

/** Whether `\d` in a regular expression matches a code point. */
function isDigitCode(code: number): boolean {
  if (code < 0x80) return code >= 48 && code <= 57;
  return /^\p{Nd}$/u.test(String.fromCodePoint(code));
}

/** Whether `\w` in a regular expression matches a code point: letters and numbers of all scripts, and the underscore. */
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

/** The tests of `\d \w \s` and of their complements. */
export const categoryTests: Readonly<Record<string, (code: number) => boolean>> = {
  d: isDigitCode,
  D: (code) => !isDigitCode(code),
  w: isWordCode,
  W: (code) => !isWordCode(code),
  s: isWhiteSpace,
  S: (code) => !isWhiteSpace(code),
};

/** Returns the code point to which a code point is mapped when texts are compared without case. */
export function lowerCaseCode(code: number): number {
  if (code < 0x80) return code >= 65 && code <= 90 ? code + 32 : code;
  const lower = String.fromCodePoint(code).toLowerCase();
  return lower.codePointAt(0)! > 0xffff === (lower.length === 2) ? lower.codePointAt(0)! : code;
}

/** Returns `code` and its forms in lower and upper case, if these are single code points; the same code may be returned repeatedly. */
export function caseForms(code: number): readonly number[] {
  const character = String.fromCodePoint(code);
  const singleCode = (text: string) =>
    Array.from(text).length === 1 ? [text.codePointAt(0)!] : [];
  return [code].concat(singleCode(character.toLowerCase()), singleCode(character.toUpperCase()));
}
