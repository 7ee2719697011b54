import type { Bins, DateUnit } from '../../request/facet-bins.js';
import { LogBins } from './log-bins.js';
import type { NumberSlots } from './number-slots.js';
import { RealBins } from './real-bins.js';
import { WholeBins } from './whole-bins.js';

/** How numbers become slots, and slots become what their bins are known by. */
export interface Slotting {
  /** Finds the slots of `count` numbers from `start` on. */
  find(values: Float64Array, start: number, count: number, into: Uint32Array): void;
  /** The number of a term, the place of a whole or logarithmic bin, the lower edge of others. */
  key(slot: number): number;
}

/** Every number by itself; -0 is no other than 0. */
export function plainSlots(slots: NumberSlots): Slotting {
  return {
    find: (values, start, count, into) => slots.slots(values, start, count, into),
    key: (slot) => slots.key(slot) + 0,
  };
}

/** By bins, which are those of the SQL path (duckdb.ts) in the same arithmetic. */
export function binSlots(slots: NumberSlots, bins: Bins): Slotting {
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
