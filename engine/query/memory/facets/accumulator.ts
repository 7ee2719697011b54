import type { Unsupported } from '../../unsupported.js';
import type { Facet } from '../../request/facets.js';
import type { SelectionBytes, SegmentView } from '../column.js';
import { eachBlock, selectedValues, valueCount } from './blocks.js';
import { indexCounts } from './id-counts.js';
import { NumberBuckets } from './number-buckets.js';
import { NumberIds } from './number-ids.js';
import { Overflow } from './overflow.js';
import type { FacetPartial } from './partial.js';
import { numberGrouping } from './number-grouping.js';
import { Stats } from './stats.js';
import { StringBuckets } from './string-buckets.js';
import { FacetTree } from './tree.js';

/** Aggregates the selected rows of segments for a request's facets, in one thread. */
export interface Accumulator {
  /** Adds the selected rows of a segment. Returns why the facets cannot be counted in memory if a value or a limit forbids it. */
  add(view: SegmentView, selection: SelectionBytes): Unsupported | undefined;
  /** Returns what was aggregated, in the order of the facets: plain data for another thread, to be passed to `facetJson`. */
  partial(): readonly FacetPartial[] | Unsupported;
}

/** Creates an accumulator for facets that `facetRefusal` accepts. */
export function accumulator(facets: readonly Facet[]): Accumulator {
  const overflow = new Overflow();
  const counters = facets.map((facet) => counterOf(facet, overflow));
  const refusal = (): Unsupported | undefined =>
    overflow.unsupported === undefined ? undefined : { unsupported: overflow.unsupported };
  return {
    add: (view, selection) => {
      for (const counter of counters) counter.add(view, selection);
      return refusal();
    },
    partial: () => {
      const partials = counters.map((counter) => counter.partial());
      return refusal() ?? partials;
    },
  };
}

interface Counter {
  add(view: SegmentView, selection: SelectionBytes): void;
  partial(): FacetPartial;
}

function counterOf(facet: Facet, overflow: Overflow): Counter {
  if (facet.kind === 'stats') return new StatsCounter(facet, overflow);
  if ('nested' in facet && facet.nested.length > 0) return new FacetTree(facet, overflow);
  if (facet.field.type === 'string') return new StringBuckets(facet.field, overflow);
  const ids = new NumberIds(overflow);
  return new NumberBuckets(facet.field, ids, numberGrouping(facet, ids), facet.kind === 'terms');
}

class StatsCounter implements Counter {
  readonly #facet: Extract<Facet, { kind: 'stats' }>;
  readonly #overflow: Overflow;
  readonly #stats: Stats;

  constructor(facet: Extract<Facet, { kind: 'stats' }>, overflow: Overflow) {
    this.#facet = facet;
    this.#overflow = overflow;
    this.#stats = new Stats(facet.extended);
  }

  add(view: SegmentView, selection: SelectionBytes): void {
    const column = view.column(this.#facet.field);
    if (!column) return;
    const { values: stored } = column;
    if (
      stored.kind === 'number-dictionary' &&
      !stored.entries.hasNonFinite &&
      !this.#facet.extended
    ) {
      const selected = selectedValues(column, selection);
      if (selected === null) return;
      const numbers = stored.entries.numbers as Float64Array;
      const counts = indexCounts(stored.indices, numbers.length, valueCount(column), selected);
      return this.#stats.addCounted(numbers, counts);
    }
    eachBlock(column, selection, this.#overflow, (values, start, count) =>
      this.#stats.addBlock(values, start, count),
    );
  }

  partial(): FacetPartial {
    return this.#stats.partial();
  }
}
