import { lowerCase } from '../../text/fold.js';
import { firstIndexWhere, stringOrder, type StringBound } from './value-bounds.js';

/**
 * Returns a function that tells whether some case variant of one of these strings lies between two bounds (inclusive), in the order of
 * UTF-8 bytes; it may also return true if a bound has no UTF-8 form. Undefined if a string is not ASCII, because this module knows the
 * variants of ASCII characters only.
 */
export function caseVariantsBetween(
  values: readonly string[],
): ((low: StringBound, high: StringBound) => boolean) | undefined {
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  if (!values.every((value) => /^[\u0000-\u007f]*$/.test(value))) return undefined;
  const lower = [...new Set(values.map(lowerCase))].sort();
  const only = lower.length === 1 ? lower[0] : undefined;
  return (low, high) => {
    const isBetween = only === undefined ? undefined : isOnlyVariantBetween(only, low, high);
    if (isBetween !== undefined) return isBetween;
    const bounds = [stringOrder.lower(low), stringOrder.upper(high)] as const;
    if (bounds[0] === undefined || bounds[1] === undefined) return true;
    return isAnyVariantBetween(lower, { from: 0, to: lower.length, depth: 0 }, 0, ...bounds);
  };
}

/**
 * Returns whether a case variant of an ASCII string, given in lower case, lies between two bounds; undefined if that may depend on the case
 * of a letter, or on characters that are not ASCII. Bounds mostly share the letters with which they begin, and digits decide. Then neither
 * bound has to be converted to bytes, which a query would do for each segment.
 */
function isOnlyVariantBetween(
  lower: string,
  low: StringBound,
  high: StringBound,
): boolean | undefined {
  /** Whether the characters so far equal those of the bound. */
  let [isAtLow, isAtHigh] = [true, true];
  for (let i = 0; i < lower.length; i++) {
    const code = lower.charCodeAt(i);
    if (isAtHigh && i >= high.length) return false;
    if (i >= low.length) isAtLow = false;
    const lowCode = isAtLow ? codeAt(low, i) : 0;
    const highCode = isAtHigh ? codeAt(high, i) : 0;
    if (lowCode >= 0x80 || highCode >= 0x80) return undefined;
    if (code >= 0x61 && code <= 0x7a) {
      if (!isAtLow || !isAtHigh || lowCode !== highCode) return undefined;
      const isUpper = lowCode >= 0x41 && lowCode <= 0x5a;
      if ((isUpper ? lowCode + 0x20 : lowCode) !== code) return false;
      continue;
    }
    if ((isAtLow && code < lowCode) || (isAtHigh && code > highCode)) return false;
    isAtLow &&= code === lowCode;
    isAtHigh &&= code === highCode;
    if (!isAtLow && !isAtHigh) return true;
  }
  return !isAtLow || low.length === lower.length;
}

/** Returns a UTF-16 code unit of a string, or a byte of its UTF-8 bytes, which is the same for ASCII. */
function codeAt(text: StringBound, i: number): number {
  return typeof text === 'string' ? text.charCodeAt(i) : text[i]!;
}

/** A range of a sorted list, from index `from` to `to` (exclusive), whose strings share their first `depth` characters. */
interface SharedPrefixRange {
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/**
 * Returns whether a case variant of one of the strings, from character `depth` on, lies between the remainders of the bounds from byte `at`
 * on. A bound is undefined if the preceding characters already lie strictly inside it.
 */
function isAnyVariantBetween(
  sorted: readonly string[],
  { from, to, depth }: SharedPrefixRange,
  at: number,
  low: Buffer | undefined,
  high: Buffer | undefined,
): boolean {
  if (low === undefined && high === undefined) return from < to;
  let first = from;
  if (first < to && sorted[first]!.length === depth) {
    if (low === undefined || low.length === at) return true;
    first++;
  }
  while (first < to) {
    const char = sorted[first]!.charAt(depth);
    const isLast = sorted[to - 1]!.charAt(depth) === char;
    const next = isLast
      ? to
      : first + firstIndexWhere(to - first, (i) => sorted[first + i]!.charAt(depth) > char);
    for (const choice of caseVariantsOfCharacter(char)) {
      const aboveLow = low === undefined ? 1 : compareBytesAt(choice, low, at);
      const aboveHigh = high === undefined ? -1 : compareBytesAt(choice, high, at);
      if (aboveLow < 0 || aboveHigh > 0) continue;
      const alike = { from: first, to: next, depth: depth + 1 };
      const [below, above] = [aboveLow === 0 ? low : undefined, aboveHigh === 0 ? high : undefined];
      if (isAnyVariantBetween(sorted, alike, at + choice.length, below, above)) return true;
    }
    first = next;
  }
  return false;
}

/**
 * Returns all case variants of these strings that begin with an ASCII prefix; undefined if there are more than `most`, or if a string is
 * not ASCII.
 */
export function caseVariantsOf(
  values: readonly string[],
  most: number,
  prefix = '',
): readonly string[] | undefined {
  const lowerPrefix = lowerCase(prefix);
  const all = new Set<string>();
  for (const value of values) {
    // oxlint-disable-next-line no-control-regex -- the range of ASCII
    if (!/^[\u0000-\u007f]*$/.test(value)) return undefined;
    const lower = lowerCase(value);
    if (!lower.startsWith(lowerPrefix)) continue;
    let spellings = [''];
    /** The characters after the last one that has variants. */
    let run = prefix;
    for (const char of lower.slice(prefix.length)) {
      const choices = caseVariantsOfCharacter(char);
      if (choices.length === 1) {
        run += char;
        continue;
      }
      if (spellings.length * choices.length > most) return undefined;
      const endings = choices.map((choice) => run + choice.toString());
      spellings = spellings.flatMap((before) => endings.map((ending) => before + ending));
      run = '';
    }
    for (const spelling of spellings) all.add(spelling + run);
  }
  return all.size > most ? undefined : [...all];
}

/**
 * Returns the characters whose lower case is `char`, in the order of their bytes. Outside ASCII, these are the Kelvin sign and the dotted
 * capital I.
 */
function caseVariantsOfCharacter(char: string): readonly Buffer[] {
  const cachedVariants = variantsByCharacter.get(char);
  if (cachedVariants !== undefined) return cachedVariants;
  const beyondAscii = char === 'k' ? ['\u212A'] : char === 'i' ? ['\u0130'] : [];
  const all = [...new Set([char.toUpperCase(), char, ...beyondAscii])].map((each) =>
    Buffer.from(each),
  );
  variantsByCharacter.set(char, all);
  return all;
}

const variantsByCharacter = new Map<string, readonly Buffer[]>();

/** Compares the bytes of a character with the bytes of the bound at position `at`. */
function compareBytesAt(choice: Buffer, bound: Buffer, at: number): number {
  for (let i = 0; i < choice.length; i++) {
    const boundByte = bound[at + i];
    if (boundByte === undefined) return 1;
    if (choice[i] !== boundByte) return choice[i]! - boundByte;
  }
  return 0;
}
