import { aggregateCount, bucketlessAnswerJson } from '../../results/facet-answer.js';
import type { Facet } from '../../request/facet-request.js';
import { doubleText, numberText } from '../../results/number-text.js';
import { mergeShiftedMoments, varianceOf, type ShiftedMoments } from './double-double.js';
import type { HugeValues, StatsPartial } from './facet-partial.js';
import {
  growExpansion,
  integerSum,
  nearestDouble,
  nearestQuotient,
  scaledInteger,
  type Expansion,
} from './exact-sum.js';

/** Combines the statistics of several threads, with exact sums. */
export class StatsTotal {
  #count = 0;
  #smallest = Infinity;
  #largest = -Infinity;
  readonly #sum: Expansion = [];
  readonly #squares: Expansion = [];
  #moments: ShiftedMoments | undefined;
  #huge: HugeValues | undefined;

  /** Adds the statistics of a group that has values. */
  add(partial: StatsPartial, group: number): void {
    const count = partial.counts[group]!;
    this.#count += count;
    this.#smallest = Math.min(this.#smallest, partial.smallest[group]!);
    this.#largest = Math.max(this.#largest, partial.largest[group]!);
    growExpansion(this.#sum, partial.sums[group]!);
    growExpansion(this.#sum, partial.sumRests[group]!);
    const huge = partial.huge.get(group);
    if (huge !== undefined) {
      this.#huge ??= { count: 0, sum: 0n, squares: 0n };
      this.#huge.count += huge.count;
      this.#huge.sum += huge.sum;
      this.#huge.squares += huge.squares;
    }
    const { moments } = partial;
    const ordinaryCount = count - (huge?.count ?? 0);
    if (moments === undefined || ordinaryCount === 0) return;
    growExpansion(this.#squares, moments.squares[group]!);
    growExpansion(this.#squares, moments.squareRests[group]!);
    const groupMoments: ShiftedMoments = {
      count: ordinaryCount,
      pivot: moments.pivots[group]!,
      deviationSum: [moments.deviationSums[group]!, moments.deviationSumRests[group]!],
      squares: [moments.squaredDeviationSums[group]!, moments.squaredDeviationSumRests[group]!],
    };
    this.#moments =
      this.#moments === undefined ? groupMoments : mergeShiftedMoments(this.#moments, groupMoments);
  }

  /** Returns the JSON text of the facet's answer, with the members that `facet-sql.ts` computes. */
  answer(facet: Extract<Facet, { kind: 'stats' }>): string {
    const { type } = facet.field;
    const isReal = type === 'double' || type === 'float';
    const { sum, mean, squares, variance } = this.#huge
      ? this.#withHuge(this.#huge)
      : this.#ordinaryMoments(isReal);
    const deviation = Math.sqrt(this.#smallest === this.#largest ? 0 : variance);
    const texts = [
      String(this.#count),
      numberText(this.#smallest, type),
      numberText(this.#largest, type),
      doubleText(mean),
      typeof sum === 'bigint' ? String(sum) : doubleText(sum),
      doubleText(squares),
      doubleText(this.#smallest === this.#largest ? 0 : variance),
      doubleText(deviation),
      doubleText(mean + 2 * deviation),
      doubleText(mean - 2 * deviation),
    ];
    return bucketlessAnswerJson(facet, texts.slice(0, aggregateCount(facet)));
  }

  #ordinaryMoments(isReal: boolean): Moments {
    const sum = isReal ? nearestDouble(this.#sum) : integerSum(this.#sum);
    return {
      sum,
      mean: Number(sum) / this.#count,
      squares: nearestDouble(this.#squares),
      variance: this.#moments ? varianceOf(this.#moments) : 0,
    };
  }

  /** Computes the moments with integers, where sums of doubles might overflow. */
  #withHuge(huge: HugeValues): Moments {
    const count = BigInt(this.#count);
    const sum = this.#sum.reduce((all, term) => all + scaledInteger(term), huge.sum);
    const squares = this.#squares.reduce((all, term) => all + (scaledInteger(term) << 1074n), huge.squares); // prettier-ignore
    return {
      sum: nearestQuotient(sum, 1n, 1074),
      mean: nearestQuotient(sum, count, 1074),
      squares: nearestQuotient(squares, 1n, 2148),
      variance: nearestQuotient(count * squares - sum * sum, count * count, 2148),
    };
  }
}

interface Moments {
  readonly sum: number | bigint;
  readonly mean: number;
  readonly squares: number;
  readonly variance: number;
}
