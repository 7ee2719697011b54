import { aggregateCount, flatAnswer } from '../../results/facet-answer.js';
import type { Facet } from '../../request/facets.js';
import { doubleText, numberText } from '../../results/number-text.js';
import type { StatsPartial } from './partial.js';
import { grow, rounded, wholeSum, type Parts } from './exact-sum.js';

/** The sums of several threads together, exactly. */
export class StatsTotal {
  #count = 0;
  #smallest = Infinity;
  #largest = -Infinity;
  readonly #sum: Parts = [];
  readonly #squares: Parts = [];
  #mean = 0;
  #distances = 0;

  /** Adds a group, which is not empty. */
  add(partial: StatsPartial, group: number): void {
    const count = partial.counts[group]!;
    this.#smallest = Math.min(this.#smallest, partial.smallest[group]!);
    this.#largest = Math.max(this.#largest, partial.largest[group]!);
    grow(this.#sum, partial.sums[group]!);
    grow(this.#sum, partial.sumRests[group]!);
    const { spread } = partial;
    if (spread) {
      grow(this.#squares, spread.squares[group]!);
      grow(this.#squares, spread.squareRests[group]!);
      const all = this.#count + count;
      const off = spread.means[group]! - this.#mean;
      this.#distances += spread.distances[group]! + off * off * ((this.#count * count) / all);
      this.#mean += (off * count) / all;
    }
    this.#count += count;
  }

  /** The JSON text of the facet's answer, of the members that facet-sql.ts computes. */
  answer(facet: Extract<Facet, { kind: 'stats' }>): string {
    const { type } = facet.field;
    const isReal = type === 'double' || type === 'float';
    const sum = isReal ? rounded(this.#sum) : wholeSum(this.#sum);
    const mean = (typeof sum === 'bigint' ? doubleOf(sum) : sum) / this.#count;
    const isSpread = this.#smallest > -1e145 && this.#largest < 1e145;
    const isOne = this.#smallest === this.#largest;
    const variance = !isSpread ? NaN : isOne ? 0 : Math.max(this.#distances, 0) / this.#count;
    const deviation = Math.sqrt(variance);
    const texts = [
      String(this.#count),
      numberText(this.#smallest, type),
      numberText(this.#largest, type),
      doubleText(mean),
      typeof sum === 'bigint' ? String(sum) : doubleText(sum),
      doubleText(rounded(this.#squares)),
      doubleText(variance),
      doubleText(deviation),
      doubleText(mean + 2 * deviation),
      doubleText(mean - 2 * deviation),
    ];
    return flatAnswer(facet, texts.slice(0, aggregateCount(facet)));
  }
}

/** As the SQL engine makes a double of 128 bits: of negative numbers by their distance from -1. */
function doubleOf(sum: bigint): number {
  return sum < 0n && sum >= -(2n ** 64n) ? -Number(-sum - 1n) - 1 : Number(sum);
}
