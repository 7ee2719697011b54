import type { EncodedLeafStatistics, ListNullCount } from '../parquet/file-encoder.js';
import type { ParquetColumn } from '../parquet/parquet-schema.js';
import type { Bound } from '../parquet/statistics.js';
import type { LeafStats } from './store.js';

/** Maximum number of leaves, and of lists, with statistics in the log, because log entries have them for each segment that they add. */
const maxLeavesWithStatistics = 256;

/** Returns the statistics of a segment for the log, by `leafKey`. A list has one entry, with its number of nulls. */
export function segmentStats(
  leaves: readonly EncodedLeafStatistics[],
  lists: readonly ListNullCount[],
): Readonly<Record<string, LeafStats>> {
  const stats = Object.create(null) as Record<string, LeafStats>;
  for (const { leaf, nulls, hasNaN, min, max } of leaves.slice(0, maxLeavesWithStatistics)) {
    if (leaf.maxRepetition > 0) continue; // the leaf is inside a list
    stats[leafKey(leaf.path)] = leafStatsOfMinMax(leaf.column, nulls, hasNaN, min, max);
  }
  for (const { path, nulls } of lists.slice(0, maxLeavesWithStatistics))
    stats[leafKey(path)] = { nulls };
  return stats;
}

/** Returns the key of a leaf in `Segment.stats`: its path joined by dots. Dots and backslashes in names are escaped. */
export function leafKey(path: readonly string[]): string {
  return path.map((name) => name.replace(/[\\.]/g, '\\$&')).join('.');
}

/** Returns the statistics of a leaf. Omits both bounds if JSON or Delta cannot express one of them. */
function leafStatsOfMinMax(
  column: ParquetColumn,
  nulls: number,
  hasNaN: boolean,
  least: Bound | undefined,
  most: Bound | undefined,
): LeafStats {
  if (least === undefined || most === undefined || hasNaN) return { nulls };
  if (column.type === 'boolean') return { nulls }; // Delta does not support bounds of booleans
  const min = storedBound(column, least, false);
  const max = storedBound(column, most, true);
  return min === undefined || max === undefined ? { nulls } : { nulls, min, max };
}

const maxBoundCharacters = 32;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function storedBound(
  column: ParquetColumn,
  value: Bound,
  isUpper: boolean,
): number | string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined; // `+ 0` turns -0 into 0
  if (typeof value === 'bigint') {
    if (column.type === 'timestamp') return dateBound(value, isUpper);
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  // Decodes up to four bytes per character, and four more bytes that show whether the string continues.
  const characters = Array.from(decoder.decode(value.subarray(0, maxBoundCharacters * 4 + 4)));
  if (characters.length <= maxBoundCharacters && value.byteLength <= maxBoundCharacters * 4) {
    return characters.join('');
  }
  const truncatedText = characters.slice(0, maxBoundCharacters).join('');
  if (!isUpper) return truncatedText;
  // No character is greater than U+10FFFF, so a string that continues with it may have no upper bound of this length.
  return characters[maxBoundCharacters] === '\u{10FFFF}' ? undefined : `${truncatedText}\u{10FFFF}`;
}

/**
 * Returns a bound of timestamps in milliseconds, the precision of Delta's statistics. A lower bound is rounded down, an upper bound up.
 * Undefined if the year does not have four digits.
 */
function dateBound(micros: bigint, isUpper: boolean): string | undefined {
  const floor = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  const millis = Number(isUpper && micros % 1000n !== 0n ? floor + 1n : floor);
  const date = new Date(millis);
  if (Number.isNaN(date.getTime())) return undefined;
  const text = date.toISOString();
  return /^\d{4}-/.test(text) ? text : undefined;
}

/**
 * Converts a bound of the log's statistics to the form of the file's values: the counterpart of `storedBound`. Undefined if it is not a
 * bound of that type.
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
