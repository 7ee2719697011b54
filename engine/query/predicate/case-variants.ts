import { lowerCase } from '../../text/fold.js';
import { firstIndex } from './value-bounds.js';

/**
 * Returns a function that tells whether some case variant of one of these strings lies between two bounds, in the order of UTF-8 bytes.
 * Undefined if a string is not ASCII: its variants are not known here.
 */
export function caseVariantsBetween(
  values: readonly string[],
): ((low: Buffer, high: Buffer) => boolean) | undefined {
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  if (!values.every((value) => /^[\u0000-\u007f]*$/.test(value))) return undefined;
  const lower = [...new Set(values.map(lowerCase))].sort();
  return (low, high) => anyBetween(lower, { from: 0, to: lower.length, depth: 0 }, 0, low, high);
}

/** Strings that begin with the same `depth` characters: those from index `from` to before index `to`, of a sorted list. */
interface Alike {
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/**
 * Whether a case variant of one of the strings, from its character `depth` on, lies between what the bounds have from byte `at` on. A bound is undefined if
 * the characters before lie inside of it already.
 */
function anyBetween(
  sorted: readonly string[],
  { from, to, depth }: Alike,
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
      : first + firstIndex(to - first, (i) => sorted[first + i]!.charAt(depth) > char);
    for (const choice of variantsOf(char)) {
      const aboveLow = low === undefined ? 1 : compareAt(choice, low, at);
      const aboveHigh = high === undefined ? -1 : compareAt(choice, high, at);
      if (aboveLow < 0 || aboveHigh > 0) continue;
      const alike = { from: first, to: next, depth: depth + 1 };
      const [below, above] = [aboveLow === 0 ? low : undefined, aboveHigh === 0 ? high : undefined];
      if (anyBetween(sorted, alike, at + choice.length, below, above)) return true;
    }
    first = next;
  }
  return false;
}

/** All case variants of these strings; undefined if there are more than `most`, or if a string is not ASCII. */
export function caseVariantsOf(
  values: readonly string[],
  most: number,
): readonly string[] | undefined {
  const all = new Set<string>();
  for (const value of values) {
    // oxlint-disable-next-line no-control-regex -- the range of ASCII
    if (!/^[\u0000-\u007f]*$/.test(value)) return undefined;
    let spelled = [''];
    /** The characters since the last that has variants. */
    let run = '';
    for (const char of lowerCase(value)) {
      const choices = variantsOf(char);
      if (choices.length === 1) {
        run += char;
        continue;
      }
      if (spelled.length * choices.length > most) return undefined;
      const endings = choices.map((choice) => run + choice.toString());
      spelled = spelled.flatMap((before) => endings.map((ending) => before + ending));
      run = '';
    }
    for (const one of spelled) all.add(one + run);
  }
  return all.size > most ? undefined : [...all];
}

/** The characters whose lower case is this one, in the order of their bytes. Beyond ASCII, they are the signs of Kelvin and the dotted I. */
function variantsOf(char: string): readonly Buffer[] {
  const cachedVariants = variants.get(char);
  if (cachedVariants !== undefined) return cachedVariants;
  const beyondAscii = char === 'k' ? ['\u212A'] : char === 'i' ? ['\u0130'] : [];
  const all = [...new Set([char.toUpperCase(), char, ...beyondAscii])].map((each) =>
    Buffer.from(each),
  );
  variants.set(char, all);
  return all;
}

const variants = new Map<string, readonly Buffer[]>();

/** Compares the bytes of a character with those of the bound at a position. */
function compareAt(choice: Buffer, bound: Buffer, at: number): number {
  for (let i = 0; i < choice.length; i++) {
    const boundByte = bound[at + i];
    if (boundByte === undefined) return 1;
    if (choice[i] !== boundByte) return choice[i]! - boundByte;
  }
  return 0;
}
