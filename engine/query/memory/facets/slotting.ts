import type { Facet } from '../../request/facets.js';
import { binSlots, plainSlots, type Slotting } from './bin-slots.js';
import type { NumberSlots } from './number-slots.js';

/** A facet that is answered from how often each value or bin is there: all but statistics. */
export type BucketedFacet = Exclude<Facet, { kind: 'stats' }>;

/** What a facet puts numbers together by. */
export function slottingOf(facet: BucketedFacet, slots: NumberSlots): Slotting {
  return facet.kind === 'histogram' ? binSlots(slots, facet.bins) : plainSlots(slots);
}
