import type { LeafCount, ListCount } from '../parquet/file-encoder.js';
import type { ParquetColumn } from '../parquet/schema.js';
import type { Bound } from '../parquet/statistics.js';
import type { LeafStats } from './store.js';

/** Statistics are limited to the first leaves, because every log entry repeats them for each segment it adds. */
const maxLeaves = 256;

/** The statistics of a segment in the log, by `leafKey`. A list has one entry, with its number of nulls. */
export function segmentStats(
  leaves: readonly LeafCount[],
  lists: readonly ListCount[],
): Readonly<Record<string, LeafStats>> {
  const stats = Object.create(null) as Record<string, LeafStats>;
  for (const { leaf, nulls, hasNaN, min, max } of leaves.slice(0, maxLeaves)) {
    if (leaf.maxRepetition > 0) continue; // in a list
    stats[leafKey(leaf.path)] = leafStats(leaf.column, nulls, hasNaN, min, max);
  }
  for (const { path, nulls } of lists.slice(0, maxLeaves)) stats[leafKey(path)] = { nulls };
  return stats;
}

/** The key of a leaf in `Segment.stats`: its path joined by dots. Dots in names are escaped, so keys are unique. */
export function leafKey(path: readonly string[]): string {
  return path.map((name) => name.replaceAll('.', '\\.')).join('.');
}

/** Omits both bounds if JSON or Delta cannot express one of them. */
function leafStats(
  column: ParquetColumn,
  nulls: number,
  hasNaN: boolean,
  least: Bound | undefined,
  most: Bound | undefined,
): LeafStats {
  if (least === undefined || most === undefined || hasNaN) return { nulls };
  if (column.type === 'boolean') return { nulls }; // Delta has no bounds of booleans
  const min = storedBound(column, least, false);
  const max = storedBound(column, most, true);
  return min === undefined || max === undefined ? { nulls } : { nulls, min, max };
}

const maxCharacters = 32;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function storedBound(
  column: ParquetColumn,
  value: Bound,
  isUpper: boolean,
): number | string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined; // -0 is 0
  if (typeof value === 'bigint') {
    if (column.type === 'timestamp') return dateBound(value, isUpper);
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  // At most four bytes per character, and four more to see whether the string continues.
  const characters = Array.from(decoder.decode(value.subarray(0, maxCharacters * 4 + 4)));
  if (characters.length <= maxCharacters && value.byteLength <= maxCharacters * 4) {
    return characters.join('');
  }
  const truncatedText = characters.slice(0, maxCharacters).join('');
  return isUpper ? `${truncatedText}\u{10FFFF}` : truncatedText;
}

/** Bounds of timestamps have milliseconds in Delta ("Per-file Statistics"): the lower one is rounded down, the upper one up. */
function dateBound(micros: bigint, isUpper: boolean): string | undefined {
  const floor = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  const millis = Number(isUpper && micros % 1000n !== 0n ? floor + 1n : floor);
  const date = new Date(millis);
  if (Number.isNaN(date.getTime())) return undefined;
  const text = date.toISOString();
  return /^\d{4}-/.test(text) ? text : undefined;
}

/**
 * A bound of the statistics in the form of the file's values: the inverse of what `segmentStats` writes. Undefined if it is no bound of that
 * type.
 */
export function boundValue(
  { type }: ParquetColumn,
  bound: number | string | boolean,
): Bound | undefined {
  if (type === 'string') return typeof bound === 'string' ? Buffer.from(bound) : undefined;
  if (type === 'timestamp') {
    const millis = typeof bound === 'string' ? Date.parse(bound) : NaN;
    return Number.isNaN(millis) ? undefined : BigInt(millis) * 1000n;
  }
  if (typeof bound === 'number') return bound;
  const isLong = type === 'int64' && typeof bound === 'string' && /^-?\d{1,20}$/.test(bound);
  return isLong ? BigInt(bound) : undefined;
}
