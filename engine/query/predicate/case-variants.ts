import { lowerCase } from '../../text/fold.js';

/**
 * Returns a function that tells whether some case variant of one of these strings lies between two bounds, in the order of UTF-8 bytes.
 * Undefined if a string is not ASCII: its variants are not known here.
 */
export function caseVariantsBetween(
  values: readonly string[],
): ((low: Buffer, high: Buffer) => boolean) | undefined {
  // oxlint-disable-next-line no-control-regex -- the range of ASCII
  if (!values.every((value) => /^[\u0000-\u007f]*$/.test(value))) return undefined;
  const lower = [...new Set(values.map(lowerCase))].sort((a, b) => (a < b ? -1 : 1));
  const spelled = lower.map((value) => Array.from(value, variantsOf));
  const bytes = lower.map((value) => Buffer.from(value));
  return (low, high) => {
    const common = commonPrefix(low, high);
    // Every string between the bounds begins with their common prefix.
    const [from, to] = prefixRange(lower, lowerCase(common));
    for (let i = from; i < to; i++) {
      const byteAt = bytes[i]!;
      if (Buffer.compare(byteAt, low) >= 0 && Buffer.compare(byteAt, high) <= 0) return true;
      const leastVariant = leastFrom(spelled[i]!, low);
      if (leastVariant !== undefined && Buffer.compare(leastVariant, high) <= 0) return true;
    }
    return false;
  };
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

/** The whole characters that both begin with. */
function commonPrefix(low: Buffer, high: Buffer): string {
  const commonLength = Math.min(low.length, high.length);
  let end = 0;
  // Only ASCII is compared: the lower case of other characters may have another length.
  while (end < commonLength && low[end] === high[end] && low[end]! < 0x80) end++;
  return low.toString('latin1', 0, end);
}

/** The indices of the strings that begin with a prefix: from, and to before. */
function prefixRange(sorted: readonly string[], prefix: string): readonly [number, number] {
  const first = lowerBound(sorted, (value) => value < prefix);
  const last = lowerBound(sorted, (value) => value < prefix || value.startsWith(prefix));
  return [first, last];
}

/** The index of the first string for which the test, true for the strings before it, is false. */
function lowerBound(sorted: readonly string[], isBefore: (value: string) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(sorted[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
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

/**
 * The least case variant of a string that is not below a bound, in bytes; undefined if all are below it. `spelled` has the variants of each
 * character.
 */
function leastFrom(spelled: readonly (readonly Buffer[])[], bound: Buffer): Buffer | undefined {
  const variantsTaken: Buffer[] = [];
  /** The variant that leaves the bound upwards at the last possible character, and how many characters precede it. */
  let larger: Buffer | undefined;
  let preceding = 0;
  let at = 0;
  for (let i = 0; i < spelled.length; i++) {
    if (at === bound.length) return leastCompletion(variantsTaken, spelled, i);
    let equal: Buffer | undefined;
    let leastAbove: Buffer | undefined;
    for (const choice of spelled[i]!) {
      const sign = compareAt(choice, bound, at);
      if (sign === 0) equal = choice;
      else if (sign > 0) leastAbove ??= choice;
    }
    if (leastAbove !== undefined) [larger, preceding] = [leastAbove, i];
    if (equal === undefined) break;
    variantsTaken.push(equal);
    at += equal.length;
    if (i === spelled.length - 1 && at === bound.length) return Buffer.concat(variantsTaken);
  }
  if (spelled.length === 0 && bound.length === 0) return Buffer.alloc(0);
  if (larger === undefined) return undefined;
  return leastCompletion([...variantsTaken.slice(0, preceding), larger], spelled, preceding + 1);
}

/** Compares the bytes of a character with the bytes of the bound at a position. */
function compareAt(choice: Buffer, bound: Buffer, at: number): number {
  for (let i = 0; i < choice.length; i++) {
    const boundByte = bound[at + i];
    if (boundByte === undefined) return 1;
    if (choice[i] !== boundByte) return choice[i]! - boundByte;
  }
  return 0;
}

/** The least way to go on with the characters from `from`: each in its first variant. */
function leastCompletion(
  taken: readonly Buffer[],
  spelled: readonly (readonly Buffer[])[],
  from: number,
): Buffer {
  return Buffer.concat([...taken, ...spelled.slice(from).map(([first]) => first!)]);
}
