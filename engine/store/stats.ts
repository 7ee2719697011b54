import type { Column } from '../core/types.js';
import type { LeafCount, ListCount } from '../parquet/file-encoder.js';
import type { Bound } from '../parquet/statistics.js';
import type { LeafStats } from './store.js';

/** Statistics of so many leaves are kept, of the first ones: every log entry holds them once for each segment. */
const keptLeaves = 256;

/** The statistics that the log keeps of a segment, by dotted path; of lists, as a whole. */
export function segmentStats(
  leaves: readonly LeafCount[],
  lists: readonly ListCount[],
): Readonly<Record<string, LeafStats>> {
  const stats = Object.create(null) as Record<string, LeafStats>;
  for (const { leaf, nulls, hasNaN, min, max } of leaves.slice(0, keptLeaves)) {
    if (leaf.maxRepetition > 0) continue; // in a list
    stats[leafKey(leaf.path)] = leafStats(leaf.column, nulls, hasNaN, min, max);
  }
  for (const { path, nulls } of lists.slice(0, keptLeaves)) stats[leafKey(path)] = { nulls };
  return stats;
}

/** The key of a leaf in `Segment.stats`; a dot in a name is escaped, so that no two leaves share a key. */
export function leafKey(path: readonly string[]): string {
  return path.map((name) => name.replaceAll('.', '\\.')).join('.');
}

/** Bounds that JSON cannot say are left out, both of them. */
function leafStats(
  column: Column,
  nulls: number,
  hasNaN: boolean,
  least: Bound | undefined,
  most: Bound | undefined,
): LeafStats {
  if (least === undefined || most === undefined || hasNaN) return { nulls };
  if (column.type === 'boolean') return { nulls }; // Delta has none of these
  const min = bound(column, least, false);
  const max = bound(column, most, true);
  return min === undefined || max === undefined ? { nulls } : { nulls, min, max };
}

const textLength = 32;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function bound(column: Column, value: Bound, isUpper: boolean): number | string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined; // -0 is 0
  if (typeof value === 'bigint') {
    if (column.type === 'date') return dateBound(value, isUpper);
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  // Four bytes a character at most, and one more to see that there is more.
  const characters = Array.from(decoder.decode(value.subarray(0, textLength * 4 + 4)));
  if (characters.length <= textLength && value.byteLength <= textLength * 4) {
    return characters.join('');
  }
  const cut = characters.slice(0, textLength).join('');
  return isUpper ? `${cut}\u{10FFFF}` : cut;
}

/** Delta's bounds of timestamps have milliseconds: the lower one is rounded down, the upper one up. */
function dateBound(micros: bigint, isUpper: boolean): string | undefined {
  const floor = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  const millis = Number(isUpper && micros % 1000n !== 0n ? floor + 1n : floor);
  const date = new Date(millis);
  if (Number.isNaN(date.getTime())) return undefined;
  const text = date.toISOString();
  return /^\d{4}-/.test(text) ? text : undefined;
}
