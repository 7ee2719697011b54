import type { Bins, DateUnit } from '../../request/facet-bins.js';
import { LogBins } from './log-bins.js';
import type { NumberSlots, Slotting } from './number-ids.js';
import type { BucketedFacet } from './partial.js';
import { RealBins } from './double-bins.js';
import { WholeBins } from './integer-bins.js';

/** What a facet puts numbers together by. */
export function slottingOf(facet: BucketedFacet, slots: NumberSlots): Slotting {
  return facet.kind === 'histogram' ? binSlots(slots, facet.bins) : plainSlots(slots);
}

/** Every number by itself; -0 is no other than 0. */
function plainSlots(slots: NumberSlots): Slotting {
  return {
    find: (values, start, count, into) => slots.slots(values, start, count, into),
    key: (slot) => slots.key(slot) + 0,
  };
}

/** By bins, which are those of the SQL path (duckdb.ts) in the same arithmetic. */
function binSlots(slots: NumberSlots, bins: Bins): Slotting {
  if (bins.kind === 'real') return new RealBins(slots, bins.numerator, bins.denominator);
  if (bins.kind === 'whole') return new WholeBins(slots, bins);
  if (bins.kind === 'log') return new LogBins(slots, bins);
  return dateSlots(slots, bins.unit);
}

const day = 86_400e6;
const widths: Readonly<Record<string, number>> = { week: 7 * day, day, hour: 3_600e6, minute: 60e6, second: 1e6 }; // prettier-ignore
const months: Readonly<Record<string, number>> = { month: 1, quarter: 3, year: 12 };

/** In microseconds since 1970, in UTC. */
function dateSlots(slots: NumberSlots, unit: DateUnit): Slotting {
  const width = widths[unit];
  if (width !== undefined) {
    // 1970-01-05 was a Monday.
    const zero = unit === 'week' ? 4 * day : 0;
    return {
      find: (values, start, count, into) => {
        for (let i = 0; i < count; i++)
          into[i] = slots.slot(Math.floor((values[start + i]! - zero) / width));
      },
      key: (slot) => slots.key(slot) * width + zero,
    };
  }
  const many = months[unit]!;
  let [lastDay, lastSlot] = [NaN, 0];
  return {
    find: (values, start, count, into) => {
      for (let i = 0; i < count; i++) {
        const own = Math.floor(values[start + i]! / day);
        if (own !== lastDay) {
          lastDay = own;
          const date = new Date(own * 86_400_000);
          const month = 12 * (date.getUTCFullYear() - 1970) + date.getUTCMonth();
          lastSlot = slots.slot(Math.floor(month / many));
        }
        into[i] = lastSlot;
      }
    },
    key: (slot) => Date.UTC(1970, slots.key(slot) * many) * 1000,
  };
}
