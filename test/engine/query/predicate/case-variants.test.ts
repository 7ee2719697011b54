import { expect, test } from '@jest/globals';
import {
  caseVariantsBetween,
  caseVariantsOf,
} from '../../../../engine/query/predicate/case-variants.js';
import { Random } from '../random.js';
import { seed } from '../../../seed.js';

/** Returns all strings whose lower case is the given one, found by trying every letter in every case. */
function variantsOf(lower: string): Buffer[] {
  let variants = [''];
  for (const char of lower) {
    const choices = new Set([char, char.toUpperCase()]);
    if (char === 'k') choices.add('\u212A');
    if (char === 'i') choices.add('\u0130');
    variants = variants.flatMap((begin) => [...choices].map((choice) => begin + choice));
  }
  return variants.map((each) => Buffer.from(each));
}

test(`a case variant lies between two bounds exactly if one of all variants does (seed ${seed})`, () => {
  const random = new Random(seed);
  const chars = ['a', 'B', 'k', 'K', 'i', 'I', '1', '-', '~', '\u212A', '\u0130', 'é'];
  const randomText = (most: number, of = chars): string =>
    random.list(random.integerBelow(most + 1), () => random.pick(of)).join('');
  const asciiChars = chars.slice(0, 9);
  let insideCount = 0;
  let outsideCount = 0;
  for (let round = 0; round < 20_000; round++) {
    const prefix = random.chance(0.5) ? randomText(3) : '';
    const bounds = [prefix + randomText(4), prefix + randomText(4)].map((each) =>
      Buffer.from(each),
    );
    const [low, high] = bounds.sort(Buffer.compare) as [Buffer, Buffer];
    const values = random.list(1 + random.integerBelow(2), () => {
      const ownLetters = random.chance(0.6) ? prefix.replaceAll(/[^\p{ASCII}]/gu, 'k') : '';
      return ownLetters + randomText(5, asciiChars);
    });
    const expected = values
      .flatMap((value) => variantsOf(value.toLowerCase()))
      .some((each) => Buffer.compare(low, each) <= 0 && Buffer.compare(each, high) <= 0);
    const hasVariantBetween = caseVariantsBetween(values)!;
    const isFound = hasVariantBetween(low, high);
    // The statistics of the log have strings, those of pages bytes.
    if (isFound !== expected || hasVariantBetween(low.toString(), high.toString()) !== expected)
      throw new Error(
        `${JSON.stringify(values)} between ${low.toString()} and ${high.toString()}: ${isFound}`,
      );
    if (expected) insideCount++;
    else outsideCount++;
  }
  expect(Math.min(insideCount, outsideCount)).toBeGreaterThan(1_000);
});

test(`the case variants with a prefix are those of all that begin with it (seed ${seed})`, () => {
  const random = new Random(seed);
  const chars = ['a', 'B', 'k', 'I', '1', '-'];
  let [knownCount, undecidedCount] = [0, 0];
  for (let round = 0; round < 5_000; round++) {
    const values = random.list(1 + random.integerBelow(3), () =>
      random.list(random.integerBelow(7), () => random.pick(chars)).join(''),
    );
    const variants = values.flatMap((value) => variantsOf(value.toLowerCase()).map(String));
    const someVariant = random.pick(variants).replace(/[^\p{ASCII}].*$/u, '');
    const prefix = random.chance(0.9) ? someVariant.slice(0, random.integerBelow(4)) : 'z';
    const expected = new Set(variants.filter((one) => one.startsWith(prefix)));
    const foundVariants = caseVariantsOf(values, 20, prefix);
    if (expected.size <= 20) knownCount++;
    else undecidedCount++;
    expect([
      values,
      prefix,
      foundVariants && foundVariants.length === expected.size && new Set(foundVariants),
    ]).toEqual(
      [values, prefix, expected.size <= 20 ? expected : undefined], // prettier-ignore
    );
  }
  expect(Math.min(knownCount, undecidedCount)).toBeGreaterThan(200);
});

test('a string beyond ASCII has variants that are not known', () => {
  expect(caseVariantsBetween(['straße'])).toBeUndefined();
});

test('a variant of the genome is told from its neighbours in any letter case', () => {
  const hasVariantBetween = caseVariantsBetween(['grch38-1-12345-a-g'])!;
  const isBetween = (low: string, high: string) =>
    hasVariantBetween(Buffer.from(low), Buffer.from(high));
  expect(isBetween('GRCh38-1-12340-A-G', 'GRCh38-1-12350-A-G')).toBe(true);
  expect(isBetween('GRCh38-1-12346-A-G', 'GRCh38-1-12350-A-G')).toBe(false);
  expect(isBetween('GRCh38-2-1-A-G', 'GRCh38-2-9-A-G')).toBe(false);
  expect(isBetween('GRCh37-1-12340-A-G', 'GRCh37-1-12350-A-G')).toBe(false);
});
