import type { Texts } from '../column.js';
import { lowerCase } from '../lower.js';
import type { Predicate } from '../../predicate/predicate.js';
import { costs, type ValueTest } from './field-test.js';
import { eachEntry, someOf, textTest } from './text-test.js';

/**
 * Texts of a region or variant that share a base with a region. They are read byte by byte as the regular expression of the SQL
 * dialects reads them, `^([^-]+)-(?:chr)?(.+?)-([0-9]+)-([0-9]+)(?:-.*)?$` in any letter case: with the shortest chromosome that
 * lets the rest match, without `chr` if that can be.
 */
export function textOverlap({
  build,
  chromosome,
  start,
  stop,
}: Extract<Predicate, { kind: 'overlap' }>): ValueTest {
  const region: Region = {
    build: build?.toLowerCase().toWellFormed(),
    chromosome: chromosome.toLowerCase().toWellFormed(),
    letters: Buffer.from(chromosome.toLowerCase()),
    start,
    stop,
  };
  return textTest({
    cost: costs.scan,
    entries: eachEntry((entry) => {
      const bytes = Buffer.from(entry);
      return overlaps(bytes, 0, bytes.length, region);
    }),
    texts: ({ bytes, offsets }: Texts, count, within) => {
      const test = (i: number): boolean => overlaps(bytes, offsets[i]!, offsets[i + 1]!, region);
      const some = someOf(within, test);
      if (some !== undefined) return some;
      const mask = new Uint8Array(count);
      for (let i = 0; i < count; i++) mask[i] = test(i) ? 1 : 0;
      return mask;
    },
  });
}

interface Region {
  readonly build: string | undefined;
  readonly chromosome: string;
  /** Of the chromosome, in UTF-8. */
  readonly letters: Buffer;
  readonly start: bigint;
  readonly stop: bigint;
}

const dash = 0x2d;
const newline = 0x0a;

function overlaps(bytes: Buffer, start: number, end: number, region: Region): boolean {
  let build = start;
  while (build < end && bytes[build] !== dash) build++;
  if (build === start || build === end) return false;
  const plain = build + 1;
  const short = hasChr(bytes, plain, end) ? plain + 3 : -1;
  // Most are of another chromosome, which its first letters tell.
  const isNear = mayBegin(bytes, plain, end, region) || (short > 0 && mayBegin(bytes, short, end, region)); // prettier-ignore
  if (!isNear) return false;
  const last = lastNewline(bytes, plain, end);
  let from = short;
  let behind = short > 0 ? chromosomeEnd(bytes, short, end, last) : -1;
  if (behind < 0) {
    from = plain;
    behind = chromosomeEnd(bytes, plain, end, last);
  }
  if (behind < 0) return false;
  const middle = digitsEnd(bytes, behind + 1, end);
  const first = numberIn(bytes, behind + 1, middle);
  const final = numberIn(bytes, middle + 1, digitsEnd(bytes, middle + 1, end));
  if (first > region.stop || final < region.start) return false;
  if (first > largest || final > largest) return false;
  // Of these there are few.
  if (!isText(bytes, from, behind, region.chromosome)) return false;
  return region.build === undefined || isText(bytes, start, build, region.build);
}

/** Longer texts of digits are no numbers of 64 bits. */
const largest = 2n ** 63n - 1n;
/** So many digits doubles hold exactly; JavaScript compares them with bigints exactly, too. */
const exactDigits = 15;

function numberIn(bytes: Buffer, from: number, to: number): number | bigint {
  if (to - from > exactDigits) return BigInt(bytes.toString('latin1', from, to));
  let number = 0;
  for (let at = from; at < to; at++) number = number * 10 + bytes[at]! - 0x30;
  return number;
}

function hasChr(bytes: Buffer, from: number, end: number): boolean {
  if (from + 3 > end) return false;
  // A letter's lower case differs by this bit.
  const [c, h, r] = [bytes[from]! | 0x20, bytes[from + 1]! | 0x20, bytes[from + 2]! | 0x20];
  return c === 0x63 && h === 0x68 && r === 0x72;
}

/** False only if there is another chromosome. */
function mayBegin(bytes: Buffer, from: number, end: number, { letters }: Region): boolean {
  for (let i = 0; i < letters.length; i++) {
    if (from + i >= end) return false;
    const byte = bytes[from + i]!;
    if (byte >= 0x80 || letters[i]! >= 0x80) return true;
    if ((byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte) !== letters[i]) return false;
  }
  return true;
}

/** Where the shortest chromosome ends that begins here and is followed by two numbers, and by nothing or a part without line ends. */
function chromosomeEnd(bytes: Buffer, from: number, end: number, lastLine: number): number {
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

function isText(bytes: Buffer, from: number, to: number, lower: string): boolean {
  return lowerCase(bytes.toString('utf8', from, to)) === lower;
}
