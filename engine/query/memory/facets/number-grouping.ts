import type { Bins, DateUnit } from '../../request/facet-bins.js';
import { LogarithmicBins } from './log-bins.js';
import type { NumberIds, NumberGrouping } from './number-ids.js';
import type { BucketedFacet } from './facet-partial.js';
import { DoubleBins } from './double-bins.js';
import { IntegerBins } from './integer-bins.js';

/** Returns the grouping of numbers for a facet: by value, or by the bins of its histogram. */
export function numberGrouping(facet: BucketedFacet, ids: NumberIds): NumberGrouping {
  return facet.kind === 'histogram' ? binnedGrouping(ids, facet.bins) : distinctNumbers(ids);
}

/** Groups numbers by value; -0 has the key of 0. */
function distinctNumbers(ids: NumberIds): NumberGrouping {
  return {
    assign: (values, start, count, into) => ids.ids(values, start, count, into),
    key: (id) => ids.key(id) + 0,
  };
}

/** Groups numbers into bins with the same edges and the same arithmetic as those of the SQL executor. */
function binnedGrouping(ids: NumberIds, bins: Bins): NumberGrouping {
  if (bins.kind === 'real') return new DoubleBins(ids, bins.numerator, bins.denominator);
  if (bins.kind === 'whole') return new IntegerBins(ids, bins);
  if (bins.kind === 'log') return new LogarithmicBins(ids, bins);
  return dateBins(ids, bins.unit);
}

const dayMicros = 86_400e6;
const unitMicros: Readonly<Record<string, number>> = { week: 7 * dayMicros, day: dayMicros, hour: 3_600e6, minute: 60e6, second: 1e6 }; // prettier-ignore
const unitMonths: Readonly<Record<string, number>> = { month: 1, quarter: 3, year: 12 };

/** Groups dates, which are microseconds since 1970 in UTC, by a unit. The key of a bin is its start. */
function dateBins(ids: NumberIds, unit: DateUnit): NumberGrouping {
  const width = unitMicros[unit];
  if (width !== undefined) {
    // Weeks begin on Monday; 1970-01-05 was a Monday.
    const binOrigin = unit === 'week' ? 4 * dayMicros : 0;
    return {
      assign: (values, start, count, into) => {
        for (let i = 0; i < count; i++)
          into[i] = ids.id(Math.floor((values[start + i]! - binOrigin) / width));
      },
      key: (id) => ids.key(id) * width + binOrigin,
    };
  }
  const monthsPerBin = unitMonths[unit]!;
  let [lastDay, lastId] = [NaN, 0];
  return {
    assign: (values, start, count, into) => {
      for (let i = 0; i < count; i++) {
        const day = Math.floor(values[start + i]! / dayMicros);
        if (day !== lastDay) {
          lastDay = day;
          const date = new Date(day * 86_400_000);
          const month = 12 * (date.getUTCFullYear() - 1970) + date.getUTCMonth();
          lastId = ids.id(Math.floor(month / monthsPerBin));
        }
        into[i] = lastId;
      }
    },
    key: (id) => Date.UTC(1970, ids.key(id) * monthsPerBin) * 1000,
  };
}
