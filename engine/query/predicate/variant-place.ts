import { variantFields } from '../../store/variant-places.js';
import { lowerCase } from '../../text/fold.js';
import { caseVariantsBetween } from './case-variants.js';
import type { SegmentTest } from './kind.js';
import { and, node, type FieldRef, type Predicate } from './predicate.js';
import { columnFinder } from './segment-column.js';
import { firstIndex, longs, strings, type Order } from './value-bounds.js';

/** True for a field whose values name the coordinates of their records, in segments that say so (`areVariantsPlaced`). */
export function isVariant({ path }: FieldRef): boolean {
  return path.length === 1 && path[0] === variantFields.variant;
}

function coordinateField(name: 'chromosome' | 'start' | 'stop', type: 'string' | 'long'): FieldRef {
  const path = Object.freeze([variantFields.coordinates, variantFields[name]]);
  return Object.freeze({ name: path.join('.'), path, type });
}

const chromosomes = coordinateField('chromosome', 'string');
const startColumn = coordinateField('start', 'long');
const stopColumn = coordinateField('stop', 'long');

/** The fields that the conditions of this file read. */
export const placeFields: readonly FieldRef[] = [chromosomes, startColumn, stopColumn];

/** The record lies on one of these chromosomes, in any letter case, starts at `mostStart` or before, and stops at `leastStop` or behind. */
export function placedVariant(
  names: readonly string[],
  mostStart: bigint,
  leastStop: bigint,
): Predicate {
  // Positions rule out most pages, and comparing numbers takes less time than comparing strings.
  return and([
    node({
      kind: 'range',
      field: startColumn,
      low: null,
      high: { value: mostStart, inclusive: true },
    }),
    node({
      kind: 'range',
      field: stopColumn,
      low: { value: leastStop, inclusive: true },
      high: null,
    }),
    node({ kind: 'in', field: chromosomes, values: names, ignoreCase: true }),
  ]);
}

/** The positions of the variants on one chromosome, by their starts. */
interface Positions {
  /** Whether a case variant of the chromosome's name lies between two bounds. */
  readonly mayLieBetween: (low: Buffer, high: Buffer) => boolean;
  readonly starts: Float64Array;
  readonly stops: Float64Array;
}

/**
 * A test that is false for rows of which none can have one of these variants, by the bounds of their coordinates; undefined if a variant cannot be taken
 * apart in one way only. It takes about as long for thousands of variants as for one.
 */
export function variantsTest(variants: readonly string[]): SegmentTest | undefined {
  const byChromosome = positionsOf(variants);
  if (byChromosome === undefined) return undefined;
  const all = [...byChromosome.values()];
  const [findChromosomes, findStarts, findStops] = placeFields.map(columnFinder) as [
    Find,
    Find,
    Find,
  ];
  return (rows) => {
    const names = boundsIn(strings, findChromosomes(rows));
    const start = boundsIn(longs, findStarts(rows));
    const stop = boundsIn(longs, findStops(rows));
    const isNear = (positions: Positions): boolean => isAmong(positions, start, stop);
    if (names === undefined) return all.some(isNear);
    const [low, high] = names;
    if (low.equals(high)) {
      const known = byChromosome.get(lowerCase(low.toString()));
      return known !== undefined && isNear(known);
    }
    return all.some((known) => known.mayLieBetween(low, high) && isNear(known));
  };
}

type Find = ReturnType<typeof columnFinder>;

/** The least and the greatest value of a column; undefined if they are not known. */
function boundsIn<T>(order: Order<T>, column: ReturnType<Find>): readonly [T, T] | undefined {
  if (typeof column === 'string' || column.isList) return undefined;
  const { min, max } = column.stats;
  const low = min === undefined ? undefined : order.lower(min);
  const high = max === undefined ? undefined : order.upper(max);
  return low === undefined || high === undefined ? undefined : [low, high];
}

/** Positions by chromosome in lower case; undefined if one of the texts is not a variant. */
function positionsOf(variants: readonly string[]): ReadonlyMap<string, Positions> | undefined {
  const found = new Map<string, (readonly [start: number, stop: number])[]>();
  for (const variant of variants) {
    const match = /^.+-([^-]+)-(\d+)-(\d+)-(?:-|[^-]*)$/su.exec(variant);
    if (match === null) return undefined;
    const chromosome = lowerCase(match[1]!);
    const [start, stop] = [Number(match[2]), Number(match[3])];
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(stop)) return undefined;
    const known = found.get(chromosome);
    if (known === undefined) found.set(chromosome, [[start, stop]]);
    else known.push([start, stop]);
  }
  return new Map(
    Array.from(found, ([chromosome, positions]) => {
      positions.sort(([a], [b]) => a - b);
      const mayLieBetween = caseVariantsBetween([chromosome]) ?? (() => true);
      const starts = Float64Array.from(positions, ([start]) => start);
      const stops = Float64Array.from(positions, ([, stop]) => stop);
      return [chromosome, { mayLieBetween, starts, stops }];
    }),
  );
}

/** Whether one of the positions lies between these bounds, as far as they are known. */
function isAmong(
  { starts, stops }: Positions,
  start: readonly [bigint, bigint] | undefined,
  stop: readonly [bigint, bigint] | undefined,
): boolean {
  const [firstStart, lastStart] = (start ?? everywhere).map(Number) as [number, number];
  const [firstStop, lastStop] = (stop ?? everywhere).map(Number) as [number, number];
  let i = firstIndex(starts.length, (index) => starts[index]! >= firstStart);
  for (; i < starts.length && starts[i]! <= lastStart; i++)
    if (stops[i]! >= firstStop && stops[i]! <= lastStop) return true;
  return false;
}

const everywhere = [-Infinity, Infinity] as const;
