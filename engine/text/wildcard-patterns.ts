import { isSeparator } from './text-tokenizer.js';

/** A wildcard pattern as a sequence of parts: each is folded text in UTF-8, one character, or any number of characters. */
export type FoldedPattern = readonly (Uint8Array | 'one' | 'any')[];

/** Maps the bytes of A to Z to those of a to z, and other bytes to themselves. */
export const lowerCaseBytes = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);
/** For each byte, 1 if it is an ASCII character that separates terms. */
export const separatorByteFlags = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x80 && isSeparator(byte) ? 1 : 0,
);

/** Returns a pattern as text, as in `brc?2*`. Different patterns have different texts: neither sign is a character of a term. */
export function patternText(pattern: FoldedPattern): string {
  const signs = { one: '?', any: '*' } as const;
  return pattern.map((part) => (typeof part === 'string' ? signs[part] : Buffer.from(part).toString())).join(''); // prettier-ignore
}

/**
 * Returns true if a value that matches a pattern of terms as a whole always has a term that matches it: the pattern is one text with or
 * without asterisks at its ends. The value `breast cancer` matches `b*cer`, but neither of its terms does.
 */
export function impliesMatchingTerm(pattern: FoldedPattern): boolean {
  return pattern.filter((part) => part !== 'any').length === 1 && !pattern.includes('one');
}

/**
 * Returns whether the pattern matches from `from` on: up to the end of the value or, for a term, up to the end of a term, with wildcards
 * that match only characters of terms. Bytes of A to Z match in either case; other letters must be folded, and for a term the bytes must be
 * ASCII. Backtracks to the last wildcard for any number of characters, which is sufficient for globs.
 */
export function matchesWildcard(
  bytes: Uint8Array,
  from: number,
  end: number,
  pattern: FoldedPattern,
  isTerm: boolean,
): boolean {
  const stands = (at: number): boolean =>
    at < end && !(isTerm && separatorByteFlags[bytes[at]!] === 1);
  let [part, at] = [0, from];
  let [retryPart, retryAt] = [-1, 0];
  for (;;) {
    const patternPart = pattern[part];
    let goesOn: boolean;
    if (patternPart === undefined) {
      if (isTerm ? !stands(at) : at === end) return true;
      goesOn = false;
    } else if (patternPart === 'any') {
      [retryPart, retryAt] = [part++, at];
      continue;
    } else if (patternPart === 'one') {
      goesOn = stands(at);
      at = nextCharacter(bytes, at, end);
    } else {
      goesOn = startsWithPart(bytes, at, end, patternPart);
      at += patternPart.length;
    }
    if (goesOn) part += 1;
    else if (retryPart < 0 || !stands(retryAt)) return false;
    else [part, at] = [retryPart + 1, (retryAt = nextCharacter(bytes, retryAt, end))];
  }
}

/** Returns whether the bytes from `at` to `end` start with `part`, which is in lower case; bytes of A to Z match in either case. */
export function startsWithPart(
  bytes: Uint8Array,
  at: number,
  end: number,
  part: Uint8Array,
): boolean {
  if (at + part.length > end) return false;
  for (let same = 0; same < part.length; same++)
    if (lowerCaseBytes[bytes[at + same]!] !== part[same]) return false;
  return true;
}

/** Returns the position of the character after the one that begins at a position of valid UTF-8. */
function nextCharacter(bytes: Uint8Array, at: number, end: number): number {
  let next = at + 1;
  while (next < end && (bytes[next]! & 0xc0) === 0x80) next += 1;
  return next;
}
