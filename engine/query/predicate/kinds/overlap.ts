import { overlapTest, regionOverlapTest } from '../../memory/match/region-overlap.js';
import { nsPerRow, rowCost } from '../predicate-cost.js';
import type { PredicateOfKind } from '../predicate.js';
import { variantCoordinateRange } from './variant-place.js';
import { requireStringField, kindOfValueCondition } from './value-kind.js';

/** The predicate kind `overlap`: the value is a region or variant that shares a base with the given region. */
export const overlap = kindOfValueCondition<PredicateOfKind<'overlap'>>({
  cost: () => rowCost(nsPerRow.region),
  unsupportedOver: requireStringField,
  spans: () => undefined,
  place({ chromosome, start, stop }, mayHold) {
    // Chromosomes are compared without `chr`, so both spellings of the stored chromosome are looked for. A chromosome name with a dash
    // could be confused with a chromosome and a position, so it is not used for pruning.
    if (chromosome.includes('-')) return undefined;
    return mayHold(variantCoordinateRange([chromosome, `chr${chromosome}`], stop, start));
  },
  valueSql({ build, chromosome, start, stop }, { dialect, params }) {
    const buildParam = build === null ? undefined : params.add('string', build.toLowerCase());
    const chromosomeParam = params.add('string', chromosome.toLowerCase());
    const [first, last] = [params.add('long', start), params.add('long', stop)];
    return (value) => {
      const part = (number: number): string => dialect.regionPart(value, number);
      const tests = [
        `${dialect.fold(part(2))} = ${chromosomeParam}`,
        `${dialect.wholeNumber(part(3))} <= ${last}`,
        `${dialect.wholeNumber(part(4))} >= ${first}`,
      ];
      if (buildParam) tests.unshift(`${dialect.fold(part(1))} = ${buildParam}`);
      return tests.join(' AND ');
    };
  },
  valueTest: regionOverlapTest,
  plainTest(condition) {
    const overlaps = overlapTest(condition);
    return (value) => overlaps(String(value));
  },
  requirement: ({ build }) => (build === null ? {} : { build }),
  describe: ({ field, build, chromosome, start, stop }) =>
    `${field.name} overlaps ${build === null ? '' : `${build} `}${chromosome}:${start}-${stop}`,
});
