import { overlapTest, regionOverlap } from '../../memory/match/region-overlap.js';
import { nsPerRow, rowCost } from '../cost.js';
import type { OfKind } from '../predicate.js';
import { placedVariant } from '../variant-place.js';
import { onlyStrings, valueKind } from './value-kind.js';

/** The value is a region or variant that shares a base with a region. */
export const overlap = valueKind<OfKind<'overlap'>>({
  cost: () => rowCost(nsPerRow.region),
  unsupportedOver: onlyStrings,
  spans: () => undefined,
  place({ chromosome, start, stop }, mayHold) {
    // The chromosome of a variant is compared without `chr`; one with a dash could be taken for a chromosome and a position.
    if (chromosome.includes('-')) return undefined;
    return mayHold(placedVariant([chromosome, `chr${chromosome}`], stop, start));
  },
  valueSql({ build, chromosome, start, stop }, { dialect, params }) {
    const isBuild = build === null ? undefined : params.add('string', build.toLowerCase());
    const isChromosome = params.add('string', chromosome.toLowerCase());
    const [first, last] = [params.add('long', start), params.add('long', stop)];
    return (value) => {
      const part = (number: number): string => dialect.regionPart(value, number);
      const tests = [
        `${dialect.fold(part(2))} = ${isChromosome}`,
        `${dialect.wholeNumber(part(3))} <= ${last}`,
        `${dialect.wholeNumber(part(4))} >= ${first}`,
      ];
      if (isBuild) tests.unshift(`${dialect.fold(part(1))} = ${isBuild}`);
      return tests.join(' AND ');
    };
  },
  valueTest: regionOverlap,
  plainTest(condition) {
    const overlaps = overlapTest(condition);
    return (value) => overlaps(String(value));
  },
  describe: ({ field, build, chromosome, start, stop }) =>
    `${field.name} overlaps ${build === null ? '' : `${build} `}${chromosome}:${start}-${stop}`,
});
