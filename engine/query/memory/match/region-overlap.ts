import { lowerCase } from '../../../text/fold.js';
import type { PredicateOfKind } from '../../predicate/predicate.js';
import type { Utf8Strings } from './column.js';
import type { ValueTest } from './row-test.js';
import { perEntryTest, filterSparse, stringTest } from './string-test.js';

/**
 * Returns the test that selects the strings that denote a region or variant sharing a base with the given region. A string is parsed byte
 * by byte with the result of the regular expression of the SQL dialects, `^(t2t-chm13|[^-]+)-(?:chr)?(.+?)-([0-9]+)-([0-9]+)(?:-.*)?$`, in
 * any letter case: with the shortest chromosome name with which the whole string matches, and without `chr` if possible.
 */
export function regionOverlapTest(condition: PredicateOfKind<'overlap'>): ValueTest {
  const region = encodeRegion(condition);
  return stringTest({
    entries: perEntryTest(overlapTest(condition)),
    testStrings: ({ bytes, offsets }: Utf8Strings, count, within) => {
      const test = (i: number): boolean =>
        overlapsRegion(bytes, offsets[i]!, offsets[i + 1]!, region);
      const sparseSelection = filterSparse(within, test);
      if (sparseSelection !== undefined) return sparseSelection;
      const selected = new Uint8Array(count);
      for (let i = 0; i < count; i++) selected[i] = test(i) ? 1 : 0;
      return selected;
    },
  });
}

/** Returns a function that tells whether one string overlaps the region. */
export function overlapTest(condition: PredicateOfKind<'overlap'>): (text: string) => boolean {
  const region = encodeRegion(condition);
  return (text) => {
    const bytes = Buffer.from(text);
    return overlapsRegion(bytes, 0, bytes.length, region);
  };
}

interface EncodedRegion {
  readonly build: string | undefined;
  readonly chromosome: string;
  /** The chromosome in UTF-8. */
  readonly letters: Buffer;
  readonly start: bigint;
  readonly stop: bigint;
}

function encodeRegion({
  build,
  chromosome,
  start,
  stop,
}: PredicateOfKind<'overlap'>): EncodedRegion {
  return {
    build: build?.toLowerCase().toWellFormed(),
    chromosome: chromosome.toLowerCase().toWellFormed(),
    letters: Buffer.from(chromosome.toLowerCase()),
    start,
    stop,
  };
}

const dash = 0x2d;
const newline = 0x0a;

function overlapsRegion(bytes: Buffer, start: number, end: number, region: EncodedRegion): boolean {
  let buildEnd = start;
  while (buildEnd < end && bytes[buildEnd] !== dash) buildEnd++;
  if (buildEnd - start === 3 && isT2tBuild(bytes, start, end, region))
    buildEnd = start + t2tBuildName.length;
  if (buildEnd === start || buildEnd === end) return false;
  const nameStart = buildEnd + 1;
  const bareStart = hasChrPrefix(bytes, nameStart, end) ? nameStart + 3 : -1;
  // Comparing the first letters excludes most strings, which name another chromosome.
  const isNear = mayBeginChromosome(bytes, nameStart, end, region) || (bareStart > 0 && mayBeginChromosome(bytes, bareStart, end, region)); // prettier-ignore
  if (!isNear) return false;
  const lastLine = lastNewline(bytes, nameStart, end);
  let chromosomeStart = bareStart;
  let chromosomeEnd = bareStart > 0 ? chromosomeNameEnd(bytes, bareStart, end, lastLine) : -1;
  if (chromosomeEnd < 0) {
    chromosomeStart = nameStart;
    chromosomeEnd = chromosomeNameEnd(bytes, nameStart, end, lastLine);
  }
  if (chromosomeEnd < 0) return false;
  const startEnd = digitsEnd(bytes, chromosomeEnd + 1, end);
  const startNumber = parseDigits(bytes, chromosomeEnd + 1, startEnd);
  const stopNumber = parseDigits(bytes, startEnd + 1, digitsEnd(bytes, startEnd + 1, end));
  if (startNumber > region.stop || stopNumber < region.start) return false;
  if (startNumber > largestLong || stopNumber > largestLong) return false;
  // Only few strings pass the tests before this comparison.
  if (!equalsIgnoringCase(bytes, chromosomeStart, chromosomeEnd, region.chromosome)) return false;
  return region.build === undefined || equalsIgnoringCase(bytes, start, buildEnd, region.build);
}

const t2tBuildName = Buffer.from('t2t-chm13');

/**
 * Returns whether to read the build as T2T-CHM13, whose name contains a hyphen, and not as `T2T` with a chromosome whose name begins with
 * `CHM13`. Unless the region's chromosome begins with `chm13`, the second reading cannot match, and is not tried.
 */
function isT2tBuild(
  bytes: Buffer,
  start: number,
  end: number,
  { letters }: EncodedRegion,
): boolean {
  const buildEnd = start + t2tBuildName.length;
  if (buildEnd >= end || bytes[buildEnd] !== dash) return false;
  for (let i = 0; i < t2tBuildName.length; i++) {
    const byte = bytes[start + i]!;
    if ((byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte) !== t2tBuildName[i]) return false;
  }
  if (letters.subarray(0, 5).toString() !== 'chm13') return true;
  return chromosomeNameEnd(bytes, buildEnd + 1, end, lastNewline(bytes, buildEnd + 1, end)) >= 0;
}

/** The largest signed 64-bit integer. */
const largestLong = 2n ** 63n - 1n;
/** Numbers of up to 15 digits are exact as doubles, and JavaScript compares doubles with bigints exactly. */
const maxExactDigits = 15;

function parseDigits(bytes: Buffer, from: number, to: number): number | bigint {
  if (to - from > maxExactDigits) return BigInt(bytes.toString('latin1', from, to));
  let number = 0;
  for (let at = from; at < to; at++) number = number * 10 + bytes[at]! - 0x30;
  return number;
}

function hasChrPrefix(bytes: Buffer, from: number, end: number): boolean {
  if (from + 3 > end) return false;
  // An ASCII letter and its lower case differ only in the bit 0x20.
  const [c, h, r] = [bytes[from]! | 0x20, bytes[from + 1]! | 0x20, bytes[from + 2]! | 0x20];
  return c === 0x63 && h === 0x68 && r === 0x72;
}

/** Returns whether the chromosome of the region may begin at this position; false only if it certainly does not. */
function mayBeginChromosome(
  bytes: Buffer,
  from: number,
  end: number,
  { letters }: EncodedRegion,
): boolean {
  for (let i = 0; i < letters.length; i++) {
    if (from + i >= end) return false;
    const byte = bytes[from + i]!;
    if (byte >= 0x80 || letters[i]! >= 0x80) return true;
    if ((byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte) !== letters[i]) return false;
  }
  return true;
}

/**
 * Returns the offset of the end of the shortest chromosome name without a line break that starts at `from` and is followed by a hyphen, a
 * number, a hyphen and a number, and then by the end of the string, or by a hyphen and a rest without line breaks; -1 if there is none.
 */
function chromosomeNameEnd(bytes: Buffer, from: number, end: number, lastLine: number): number {
  for (let at = from + 1; at < end; at++) {
    if (bytes[at - 1] === newline) return -1;
    if (bytes[at] !== dash) continue;
    const middle = digitsEnd(bytes, at + 1, end);
    if (middle === at + 1 || middle >= end || bytes[middle] !== dash) continue;
    const behind = digitsEnd(bytes, middle + 1, end);
    if (behind === middle + 1) continue;
    if (behind === end || (bytes[behind] === dash && lastLine < behind)) return at;
  }
  return -1;
}

function digitsEnd(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && bytes[at]! >= 0x30 && bytes[at]! <= 0x39) at++;
  return at;
}

function lastNewline(bytes: Buffer, from: number, end: number): number {
  let at = end - 1;
  while (at >= from && bytes[at] !== newline) at--;
  return at;
}

function equalsIgnoringCase(bytes: Buffer, from: number, to: number, lower: string): boolean {
  return lowerCase(bytes.toString('utf8', from, to)) === lower;
}
