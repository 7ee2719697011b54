import { maySearchFolded, searchFolded } from './byte-search.js';
import type { Utf8Strings } from './column.js';
import { rowOfValue } from './row-test.js';
import {
  lowerCaseBytes,
  matchesWildcard,
  separatorByteFlags,
  startsWithPart,
  type FoldedPattern,
} from '../../../text/wildcard-patterns.js';

/** The result of a search in one value; `unknown` if characters outside ASCII, in the value or in the text, prevent a decision by bytes. */
type SearchOutcome = 'found' | 'none' | 'unknown';

/** A search for a text in strings, in any letter case. */
export interface FoldedSearch {
  /**
   * The longest of the ASCII parts of the text that is searched for, in lower case: a value of ASCII characters without it cannot match.
   * Undefined if there is no such part.
   */
  readonly needle: Buffer | undefined;
  /** Whether the needle must be a whole term. */
  readonly isTerm: boolean;
  /** Searches a value, which contains the needle if there is one, for the whole text. */
  readonly verify: (bytes: Buffer, start: number, end: number) => SearchOutcome;
}

/** If more than one value is examined per this many bytes, the remaining values are searched one by one. */
const minBytesPerCandidate = 64;
/**
 * Number of bytes that are added to those searched so far when `minBytesPerCandidate` is applied, so that a few values at the beginning do
 * not decide.
 */
const denseAfterBytes = 1 << 14;

/**
 * Selects the values that contain the text; calls `test` for values that cannot be decided by their bytes. The scan ends when `test`
 * returns undefined.
 */
export function scanFolded(
  { bytes, offsets }: Utf8Strings,
  count: number,
  { needle, isTerm, verify }: FoldedSearch,
  test: (value: number) => boolean | undefined,
): Uint8Array {
  const selected = new Uint8Array(count);
  /** Examines a value; returns false if the scan has to end. */
  const examine = (value: number): boolean => {
    const [start, end] = [offsets[value]!, offsets[value + 1]!];
    let outcome: SearchOutcome = needle ? searchPart(bytes, start, end, needle, isTerm) : 'found';
    if (outcome === 'found') outcome = verify(bytes, start, end);
    if (outcome === 'none') return true;
    const passes = outcome === 'found' || test(value);
    selected[value] = passes === true ? 1 : 0;
    return passes !== undefined;
  };
  /** The first value that still has to be searched. */
  let next = 0;
  if (needle && maySearchFolded(needle)) {
    const [from, to] = [offsets[0]!, offsets[count]!];
    let examinedCount = 0;
    let isDense = false;
    searchFolded(bytes, from, to, needle, (at) => {
      isDense = ++examinedCount * minBytesPerCandidate > at - from + denseAfterBytes;
      next = rowOfValue(at, offsets, next, count);
      if (isDense) return to;
      if (!examine(next)) {
        next = count;
        return to;
      }
      next += 1;
      return offsets[next]!;
    });
    if (!isDense) return selected;
  }
  while (next < count && examine(next)) next += 1;
  return selected;
}

/** Searches a value for all of several terms. */
export function searchTerms(
  bytes: Buffer,
  start: number,
  end: number,
  terms: readonly Buffer[],
): SearchOutcome {
  for (const term of terms) {
    const outcome = searchPart(bytes, start, end, term, true);
    if (outcome !== 'found') return outcome;
  }
  return 'found';
}

/** Searches a value for consecutive terms, with only separators between them. */
export function searchPhrase(
  bytes: Buffer,
  start: number,
  end: number,
  parts: readonly Buffer[],
): SearchOutcome {
  let combinedBits = 0;
  let at = start;
  while (at < end) {
    while (at < end && separatorByteFlags[bytes[at]!] === 1) at++;
    if (phraseEnd(bytes, at, end, parts) >= 0) return 'found';
    for (; at < end && separatorByteFlags[bytes[at]!] === 0; at++) combinedBits |= bytes[at]!;
  }
  return combinedBits < 0x80 ? 'none' : 'unknown';
}

/** Returns the end of the phrase that begins at `at`; -1 if none does. */
function phraseEnd(bytes: Buffer, at: number, end: number, parts: readonly Buffer[]): number {
  for (const [i, part] of parts.entries()) {
    if (i > 0) {
      const from = at;
      while (at < end && separatorByteFlags[bytes[at]!] === 1) at++;
      if (at === from) return -1;
    }
    if (!startsWithPart(bytes, at, end, part)) return -1;
    at += part.length;
  }
  return at === end || separatorByteFlags[bytes[at]!] === 1 ? at : -1;
}

function searchPart(
  bytes: Buffer,
  start: number,
  end: number,
  part: Buffer,
  needsEdges: boolean,
): SearchOutcome {
  const { length } = part;
  const first = part[0]!;
  let combinedBits = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    combinedBits |= byte;
    if (lowerCaseBytes[byte] !== first || at + length > end) continue;
    let same = 1;
    while (same < length && lowerCaseBytes[bytes[at + same]!] === part[same]) same++;
    if (same < length) continue;
    if (!needsEdges) return 'found';
    const isBegin = at === start || separatorByteFlags[bytes[at - 1]!] === 1;
    const isEnd = at + length === end || separatorByteFlags[bytes[at + length]!] === 1;
    if (isBegin && isEnd) return 'found';
  }
  return combinedBits < 0x80 ? 'none' : 'unknown';
}

/** Tests whether a value matches a wildcard pattern as a whole or in one term; `unknown` if the value has characters outside ASCII. */
export function searchWildcard(
  bytes: Buffer,
  start: number,
  end: number,
  parts: FoldedPattern,
): SearchOutcome {
  for (let at = start; at < end; at++) if (bytes[at]! >= 0x80) return 'unknown';
  if (matchesWildcard(bytes, start, end, parts, false)) return 'found';
  for (let at = start; at <= end; at++)
    if (isTermBoundary(bytes, at - 1, start, end) && matchesWildcard(bytes, at, end, parts, true))
      return 'found';
  return 'none';
}

/** Returns whether the byte at `at` is a separator or outside the value, so that it belongs to no term. */
function isTermBoundary(bytes: Buffer, at: number, start: number, end: number): boolean {
  return at < start || at >= end || separatorByteFlags[bytes[at]!] === 1;
}
