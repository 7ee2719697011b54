import type { Facet } from '../../request/facets.js';
import type { Mask, SegmentView } from '../column.js';
import { eachBlock } from './blocks.js';
import { NumberBuckets } from './number-buckets.js';
import { NumberSlots } from './number-slots.js';
import type { Partial } from './partial.js';
import { slottingOf } from './slotting.js';
import { Stats } from './stats.js';
import { TextBuckets } from './text-buckets.js';
import { Tree } from './tree.js';

/** Counts in one thread what facets ask for, segment by segment. */
export interface Accumulator {
  /** The records of a segment that the mask marks. Throws NotCovered if the SQL engine has to answer after all. */
  add(view: SegmentView, mask: Mask): void;
  /** What was counted, for `facetTexts`: plain data. Throws NotCovered likewise. */
  partial(): readonly Partial[];
}

/** Begins to count for facets that `canCount` has let pass. */
export function accumulator(facets: readonly Facet[]): Accumulator {
  const counters = facets.map(counterOf);
  return {
    add: (view, mask) => counters.forEach((counter) => counter.add(view, mask)),
    partial: () => counters.map((counter) => counter.partial()),
  };
}

interface Counter {
  add(view: SegmentView, mask: Mask): void;
  partial(): Partial;
}

function counterOf(facet: Facet): Counter {
  if (facet.kind === 'stats') return new StatsCounter(facet);
  if ('nested' in facet && facet.nested.length > 0) return new Tree(facet);
  if (facet.field.type === 'string') return new TextBuckets(facet.field);
  const slots = new NumberSlots();
  return new NumberBuckets(facet.field, slots, slottingOf(facet, slots), facet.kind === 'terms');
}

class StatsCounter implements Counter {
  readonly #facet: Facet;
  readonly #stats: Stats;

  constructor(facet: Extract<Facet, { kind: 'stats' }>) {
    this.#facet = facet;
    this.#stats = new Stats(facet.extended);
  }

  add(view: SegmentView, mask: Mask): void {
    const column = view.column(this.#facet.field);
    if (!column) return;
    eachBlock(column, mask, (values, start, count) => this.#stats.addBlock(values, start, count));
  }

  partial(): Partial {
    return this.#stats.partial();
  }
}
