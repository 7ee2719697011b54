import type { Unsupported } from '../../unsupported.js';
import type { Facet } from '../../request/facets.js';
import type { Mask, SegmentView } from '../column.js';
import { eachBlock } from './blocks.js';
import { NumberBuckets } from './number-buckets.js';
import { NumberSlots } from './number-ids.js';
import { Overflow } from './overflow.js';
import type { Partial } from './partial.js';
import { slottingOf } from './number-grouping.js';
import { Stats } from './stats.js';
import { TextBuckets } from './string-buckets.js';
import { Tree } from './tree.js';

/** Counts in one thread what facets ask for, segment by segment. */
export interface Accumulator {
  /** Counts the selected records of a segment; unsupported if the values turn out to be more than memory can count. */
  add(view: SegmentView, mask: Mask): Unsupported | undefined;
  /** What was counted, for `facetTexts`: plain data. */
  partial(): readonly Partial[] | Unsupported;
}

/** Begins to count for facets that `facetRefusal` has let pass. */
export function accumulator(facets: readonly Facet[]): Accumulator {
  const overflow = new Overflow();
  const counters = facets.map((facet) => counterOf(facet, overflow));
  const refusal = (): Unsupported | undefined =>
    overflow.unsupported === undefined ? undefined : { unsupported: overflow.unsupported };
  return {
    add: (view, mask) => {
      for (const counter of counters) counter.add(view, mask);
      return refusal();
    },
    partial: () => {
      const partials = counters.map((counter) => counter.partial());
      return refusal() ?? partials;
    },
  };
}

interface Counter {
  add(view: SegmentView, mask: Mask): void;
  partial(): Partial;
}

function counterOf(facet: Facet, overflow: Overflow): Counter {
  if (facet.kind === 'stats') return new StatsCounter(facet, overflow);
  if ('nested' in facet && facet.nested.length > 0) return new Tree(facet, overflow);
  if (facet.field.type === 'string') return new TextBuckets(facet.field, overflow);
  const slots = new NumberSlots(overflow);
  return new NumberBuckets(facet.field, slots, slottingOf(facet, slots), facet.kind === 'terms');
}

class StatsCounter implements Counter {
  readonly #facet: Facet;
  readonly #overflow: Overflow;
  readonly #stats: Stats;

  constructor(facet: Extract<Facet, { kind: 'stats' }>, overflow: Overflow) {
    this.#facet = facet;
    this.#overflow = overflow;
    this.#stats = new Stats(facet.extended);
  }

  add(view: SegmentView, mask: Mask): void {
    const column = view.column(this.#facet.field);
    if (!column) return;
    eachBlock(column, mask, this.#overflow, (values, start, count) =>
      this.#stats.addBlock(values, start, count),
    );
  }

  partial(): Partial {
    return this.#stats.partial();
  }
}
