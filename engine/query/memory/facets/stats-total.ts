import { aggregateCount, flatAnswer } from '../../results/facet-answer.js';
import type { Facet } from '../../request/facets.js';
import { doubleText, numberText } from '../../results/number-text.js';
import type { StatsPartial } from './partial.js';
import { growExpansion, nearestDouble, integerSum, type Expansion } from './exact-sum.js';

/** Combines the statistics of several threads, with exact sums. */
export class StatsTotal {
  #count = 0;
  #smallest = Infinity;
  #largest = -Infinity;
  readonly #sum: Expansion = [];
  readonly #squares: Expansion = [];
  #mean = 0;
  #distances = 0;

  /** Adds a group that has values. */
  add(partial: StatsPartial, group: number): void {
    const count = partial.counts[group]!;
    this.#smallest = Math.min(this.#smallest, partial.smallest[group]!);
    this.#largest = Math.max(this.#largest, partial.largest[group]!);
    growExpansion(this.#sum, partial.sums[group]!);
    growExpansion(this.#sum, partial.sumRests[group]!);
    const { spread } = partial;
    if (spread) {
      growExpansion(this.#squares, spread.squares[group]!);
      growExpansion(this.#squares, spread.squareRests[group]!);
      const all = this.#count + count;
      const off = spread.means[group]! - this.#mean;
      this.#distances += spread.distances[group]! + off * off * ((this.#count * count) / all);
      this.#mean += (off * count) / all;
    }
    this.#count += count;
  }

  /** The JSON text of the facet's answer, with the members that `facet-sql.ts` computes. */
  answer(facet: Extract<Facet, { kind: 'stats' }>): string {
    const { type } = facet.field;
    const isReal = type === 'double' || type === 'float';
    const sum = isReal ? nearestDouble(this.#sum) : integerSum(this.#sum);
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
      doubleText(nearestDouble(this.#squares)),
      doubleText(variance),
      doubleText(deviation),
      doubleText(mean + 2 * deviation),
      doubleText(mean - 2 * deviation),
    ];
    return flatAnswer(facet, texts.slice(0, aggregateCount(facet)));
  }
}

/** Converts a 128-bit integer to a double as DuckDB does: negative ones by their distance from -1. */
function doubleOf(sum: bigint): number {
  return sum < 0n && sum >= -(2n ** 64n) ? -Number(-sum - 1n) - 1 : Number(sum);
}
