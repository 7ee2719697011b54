import type { Unsupported } from '../../unsupported.js';
import type { Facet } from '../../request/facet-request.js';
import type { SelectionBytes, SegmentView } from '../match/column.js';
import { forEachBlock, selectedValues, valueCount } from './blocks.js';
import { indexCounts } from './id-counts.js';
import { NumberBuckets } from './number-buckets.js';
import { NumberIds } from './number-ids.js';
import { FacetOverflow } from './facet-overflow.js';
import type { FacetPartial } from './facet-partial.js';
import { numberGrouping } from './number-grouping.js';
import { Stats } from './stats-facet.js';
import { StringBuckets } from './string-buckets.js';
import { FacetTree } from './facet-tree.js';

/** Aggregates the selected rows of segments for a request's facets, in one thread. */
interface FacetAccumulator {
  /** Adds the selected rows of a segment. If a value or a limit prevents counting the facets in memory, returns the reason. */
  add(view: SegmentView, selection: SelectionBytes): Unsupported | undefined;
  /** Returns the aggregates in the order of the facets, as plain data that can be sent to another thread and passed to `facetJson`. */
  partial(): readonly FacetPartial[] | Unsupported;
}

/** Creates an accumulator for facets that `unsupportedFacetReason` accepts. */
export function createFacetAccumulator(facets: readonly Facet[]): FacetAccumulator {
  const overflow = new FacetOverflow();
  const counters = facets.map((facet) => createCounter(facet, overflow));
  const refusal = (): Unsupported | undefined =>
    overflow.firstReason === undefined ? undefined : { unsupported: overflow.firstReason };
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

interface ColumnFacetCounter {
  add(view: SegmentView, selection: SelectionBytes): void;
  partial(): FacetPartial;
}

function createCounter(facet: Facet, overflow: FacetOverflow): ColumnFacetCounter {
  if (facet.kind === 'stats') return new StatsCounter(facet, overflow);
  if ('nested' in facet && facet.nested.length > 0) return new FacetTree(facet, overflow);
  if (facet.field.type === 'string') return new StringBuckets(facet.field, overflow);
  const ids = new NumberIds(overflow);
  return new NumberBuckets(facet.field, ids, numberGrouping(facet, ids), facet.kind === 'terms');
}

class StatsCounter implements ColumnFacetCounter {
  readonly #facet: Extract<Facet, { kind: 'stats' }>;
  readonly #overflow: FacetOverflow;
  readonly #stats: Stats;

  constructor(facet: Extract<Facet, { kind: 'stats' }>, overflow: FacetOverflow) {
    this.#facet = facet;
    this.#overflow = overflow;
    this.#stats = new Stats(facet.extended);
  }

  add(view: SegmentView, selection: SelectionBytes): void {
    const column = view.column(this.#facet.field);
    if (!column) return;
    const { values: columnValues } = column;
    if (
      columnValues.kind === 'number-dictionary' &&
      !columnValues.entries.hasNonFinite &&
      !this.#facet.extended
    ) {
      const selected = selectedValues(column, selection);
      if (selected === null) return;
      const numbers = columnValues.entries.numbers as Float64Array;
      const counts = indexCounts(
        columnValues.indices,
        numbers.length,
        valueCount(column),
        selected,
      );
      return this.#stats.addCounted(numbers, counts);
    }
    forEachBlock(column, selection, this.#overflow, (values, start, count) =>
      this.#stats.addBlock(values, start, count),
    );
  }

  partial(): FacetPartial {
    return this.#stats.partial();
  }
}
