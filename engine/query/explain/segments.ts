import { leafKey } from '../../store/stats.js';
import type { LeafStats, Segment, Snapshot } from '../../store/store.js';
import type { Column, Columns } from '../../types.js';
import { reservedColumns } from '../../store/arrow.js';
import type { FieldRef, Predicate, Scalar } from '../predicate.js';

/** Which segments a query can find something in, by the statistics that the log keeps of them. */
export interface SegmentsTouched {
  readonly total: number;
  readonly touched: number;
  readonly skipped: number;
  /** The records of those that are touched. */
  readonly rows: number;
  /** The first of those that are touched, below the dataset's folder. */
  readonly paths: readonly string[];
  /** How many more there are. */
  readonly more: number;
}

const namedPaths = 20;

/** Sorts out the segments whose statistics say that no record of theirs satisfies the predicate. */
export function segmentsTouched({ segments }: Snapshot, predicate: Predicate): SegmentsTouched {
  const touched = segments.filter((segment) => mayHold(segment, predicate));
  return {
    total: segments.length,
    touched: touched.length,
    skipped: segments.length - touched.length,
    rows: touched.reduce((sum, { rows }) => sum + rows, 0),
    paths: touched.slice(0, namedPaths).map(({ path }) => path),
    more: Math.max(0, touched.length - namedPaths),
  };
}

/** False only if no record of the segment satisfies the predicate. */
export function mayHold(segment: Segment, predicate: Predicate): boolean {
  switch (predicate.kind) {
    case 'all':
      return segment.rows > 0;
    case 'none':
      return false;
    case 'and':
      return predicate.items.every((item) => mayHold(segment, item));
    case 'or':
      return predicate.items.some((item) => mayHold(segment, item));
    case 'not':
      return !mustHold(segment, predicate.item);
    case 'missing': {
      const place = placeOf(segment, predicate.field);
      return place === 'absent' || place === 'unknown' || place.isList || place.stats.nulls > 0;
    }
    default: {
      const place = placeOf(segment, predicate.field);
      if (place === 'unknown') return true;
      if (place === 'absent' || place.stats.nulls >= segment.rows) return false;
      return place.isList || predicate.field.isNumberInText || mayMatch(place.stats, predicate);
    }
  }
}

/** True only if every record of the segment satisfies the predicate. */
function mustHold(segment: Segment, predicate: Predicate): boolean {
  switch (predicate.kind) {
    case 'all':
      return true;
    case 'and':
      return predicate.items.every((item) => mustHold(segment, item));
    case 'or':
      return predicate.items.some((item) => mustHold(segment, item));
    case 'not':
      return !mayHold(segment, predicate.item);
    case 'missing': {
      const place = placeOf(segment, predicate.field);
      return place === 'absent' || (place !== 'unknown' && place.stats.nulls >= segment.rows);
    }
    default:
      return false;
  }
}

interface Place {
  readonly stats: LeafStats;
  /** A list's statistics count the lists that are null, and nothing else. */
  readonly isList: boolean;
}

function placeOf(segment: Segment, field: FieldRef): Place | 'absent' | 'unknown' {
  let siblings: Columns | undefined = [...reservedColumns, ...segment.columns];
  let column: Column | undefined;
  const physical: string[] = [];
  for (const name of field.path) {
    if (column?.isList) return 'unknown'; // inside a list of objects
    column = siblings?.find((candidate) => candidate.name === name);
    if (!column) return 'absent';
    physical.push(column.physical);
    siblings = column.children;
  }
  const stats = segment.stats[leafKey(physical)];
  return stats === undefined ? 'unknown' : { stats, isList: column!.isList };
}

type Condition = Exclude<
  Predicate,
  { readonly kind: 'all' | 'none' | 'and' | 'or' | 'not' | 'missing' }
>;

function mayMatch(stats: LeafStats, predicate: Condition): boolean {
  const { type } = predicate.field;
  const [min, max] = [boundOf(stats.min, type), boundOf(stats.max, type)];
  if (min === undefined || max === undefined) return true;
  switch (predicate.kind) {
    case 'in':
      return predicate.values.some((value) => {
        const [low, high] = predicate.ignoreCase ? spellings(value) : [value, value];
        return low === undefined || (compare(low, max) <= 0 && compare(high!, min) >= 0);
      });
    case 'range': {
      const { low, high } = predicate;
      const isAbove = low && (low.inclusive ? compare(low.value, max) > 0 : compare(low.value, max) >= 0); // prettier-ignore
      const isBelow = high && (high.inclusive ? compare(high.value, min) < 0 : compare(high.value, min) <= 0); // prettier-ignore
      return !isAbove && !isBelow;
    }
    case 'prefix':
      return compare(predicate.text, max) <= 0 && compare(`${predicate.text}\u{10FFFF}`, min) >= 0;
    default:
      return true;
  }
}

/** A bound in the form in which predicates have values of the type. */
function boundOf(bound: LeafStats['min'], type: FieldRef['type']): Scalar | undefined {
  if (bound === undefined) return undefined;
  if (type === 'date') return typeof bound === 'string' ? BigInt(Date.parse(bound)) * 1000n : undefined; // prettier-ignore
  if (type === 'integer' || type === 'long')
    return typeof bound === 'boolean' ? undefined : BigInt(bound);
  if (type === 'double' || type === 'float') return typeof bound === 'number' ? bound : undefined;
  return typeof bound === 'string' ? bound : undefined;
}

/**
 * The first and the last spelling of a text in the order of its bytes; none for one that is not ASCII. Beyond ASCII, only the
 * Kelvin sign and the dotted capital i become ASCII letters in lower case.
 */
function spellings(value: Scalar): readonly [Scalar, Scalar] | readonly [] {
  if (typeof value !== 'string') return [value, value];
  if (!/^\p{ASCII}*$/u.test(value)) return [];
  const last = value.toLowerCase().replaceAll('k', '\u212A').replaceAll('i', '\u0130');
  return [value.toUpperCase(), last];
}

function compare(a: Scalar, b: Scalar): number {
  if (typeof a === 'string' && typeof b === 'string')
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : a > b ? 1 : 0;
}
