import { variantFieldNames } from '../../../store/variant-places.js';
import { lowerCase } from '../../../text/fold.js';
import { caseVariantsBetween } from '../case-variants.js';
import type { SegmentTest } from './kind.js';
import { and, freezePredicate, type FieldRef, type Predicate } from '../predicate.js';
import { columnFinder } from './segment-column.js';
import {
  firstIndexWhere,
  isShortened,
  isStringBound,
  longOrder,
  type BoundStatistic,
  type StringBound,
} from '../value-bounds.js';

/** Returns true for a field whose values contain the coordinates of their records, in segments whose `areVariantsPlaced` is true. */
export function isVariantField({ path }: FieldRef): boolean {
  return path.length === 1 && path[0] === variantFieldNames.variant;
}

function coordinateField(name: 'chromosome' | 'start' | 'stop', type: 'string' | 'long'): FieldRef {
  const path = Object.freeze([variantFieldNames.coordinates, variantFieldNames[name]]);
  return Object.freeze({ name: path.join('.'), path, type });
}

const chromosomeField = coordinateField('chromosome', 'string');
const startColumn = coordinateField('start', 'long');
const stopColumn = coordinateField('stop', 'long');

/** The fields that the tests of variants read: chromosome, start and stop. */
export const coordinateFields: readonly FieldRef[] = [chromosomeField, startColumn, stopColumn];

/**
 * Returns the condition that a record lies on one of these chromosomes, in any letter case, starts at or before `mostStart`, and stops at
 * or after `leastStop`.
 */
export function variantCoordinateRange(
  names: readonly string[],
  mostStart: bigint,
  leastStop: bigint,
): Predicate {
  // Positions come first: they exclude most pages, and comparing numbers takes less time than comparing strings.
  return and([
    freezePredicate({
      kind: 'range',
      field: startColumn,
      low: null,
      high: { value: mostStart, inclusive: true },
    }),
    freezePredicate({
      kind: 'range',
      field: stopColumn,
      low: { value: leastStop, inclusive: true },
      high: null,
    }),
    freezePredicate({ kind: 'in', field: chromosomeField, values: names, ignoreCase: true }),
  ]);
}

/** The positions of the variants on one chromosome, sorted by start. */
interface VariantPositions {
  /** Returns whether a case variant of the chromosome's name lies between two bounds; true if that is not known. */
  readonly mayLieBetween: (low: StringBound, high: StringBound) => boolean;
  readonly starts: Float64Array;
  readonly stops: Float64Array;
}

/**
 * Returns a test that is false only for rows that, by the bounds of their coordinates, contain none of these variants. Undefined if the
 * name of a variant cannot be parsed.
 */
export function mayContainVariants(variants: readonly string[]): SegmentTest | undefined {
  const byChromosome = positionsOf(variants);
  if (byChromosome === undefined) return undefined;
  const all = [...byChromosome.values()];
  const [findChromosomes, findStarts, findStops] = coordinateFields.map(columnFinder) as [
    ColumnFinder,
    ColumnFinder,
    ColumnFinder,
  ];
  return (rows) => {
    const start = boundsIn(findStarts(rows));
    const stop = boundsIn(findStops(rows));
    const names = boundsIn(findChromosomes(rows));
    if (!isStringBound(names?.min) || !isStringBound(names.max))
      return all.some((positions) => isAmong(positions, start, stop));
    const { min, max } = names;
    const only = onlyStringBetween(min, max);
    if (only !== undefined) {
      const positions = byChromosome.get(only) ?? byChromosome.get(lowerCase(only));
      return positions !== undefined && isAmong(positions, start, stop);
    }
    return all.some((known) => known.mayLieBetween(min, max) && isAmong(known, start, stop));
  };
}

type ColumnFinder = ReturnType<typeof columnFinder>;
type ColumnBounds = Pick<Exclude<ReturnType<ColumnFinder>, string>['stats'], 'min' | 'max'>;

/** Returns the statistics of a column if they bound its values; undefined for a list, and if there are no statistics. */
function boundsIn(column: ReturnType<ColumnFinder>): ColumnBounds | undefined {
  return typeof column === 'string' || column.isList ? undefined : column.stats;
}

/** Returns the only string that lies between two bounds; undefined if there may be several. */
function onlyStringBetween(min: StringBound, max: StringBound): string | undefined {
  if (typeof min === 'string')
    return min === max && min.isWellFormed() && !isShortened(min) ? min : undefined;
  if (typeof max === 'string' || Buffer.compare(min, max) !== 0) return undefined;
  return Buffer.from(min.buffer, min.byteOffset, min.byteLength).toString();
}

/** Returns the positions of the variants by chromosome in lower case; undefined if one of the texts is not a variant. */
function positionsOf(
  variants: readonly string[],
): ReadonlyMap<string, VariantPositions> | undefined {
  const positionsByChromosome = new Map<string, (readonly [start: number, stop: number])[]>();
  for (const variant of variants) {
    const match = /^.+-([^-]+)-(\d+)-(\d+)-(?:-|[^-]*)$/su.exec(variant);
    if (match === null) return undefined;
    const chromosome = lowerCase(match[1]!);
    const [start, stop] = [Number(match[2]), Number(match[3])];
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(stop)) return undefined;
    const positions = positionsByChromosome.get(chromosome);
    if (positions === undefined) positionsByChromosome.set(chromosome, [[start, stop]]);
    else positions.push([start, stop]);
  }
  return new Map(
    Array.from(positionsByChromosome, ([chromosome, positions]) => {
      positions.sort(([a], [b]) => a - b);
      const mayLieBetween = caseVariantsBetween([chromosome]) ?? (() => true);
      const starts = Float64Array.from(positions, ([start]) => start);
      const stops = Float64Array.from(positions, ([, stop]) => stop);
      return [chromosome, { mayLieBetween, starts, stops }];
    }),
  );
}

/** Returns whether one of the positions lies between these bounds; an unknown bound excludes nothing. */
function isAmong(
  { starts, stops }: VariantPositions,
  start: ColumnBounds | undefined,
  stop: ColumnBounds | undefined,
): boolean {
  const firstStart = positionOf(start?.min) ?? -Infinity;
  const lastStart = positionOf(start?.max) ?? Infinity;
  const firstStop = positionOf(stop?.min) ?? -Infinity;
  const lastStop = positionOf(stop?.max) ?? Infinity;
  let i = firstIndexWhere(starts.length, (index) => starts[index]! >= firstStart);
  for (; i < starts.length && starts[i]! <= lastStart; i++)
    if (stops[i]! >= firstStop && stops[i]! <= lastStop) return true;
  return false;
}

/** Returns a bound of a column of positions; undefined if it is unknown. */
function positionOf(statistic: BoundStatistic | undefined): number | undefined {
  if (typeof statistic === 'number') return statistic;
  const long = statistic === undefined ? undefined : longOrder.lower(statistic);
  return long === undefined ? undefined : Number(long);
}
