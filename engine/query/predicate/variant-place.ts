import { variantFields } from '../../store/variant-places.js';
import { and, node, or, type FieldRef, type Predicate } from './predicate.js';

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

/** The positions of a record, from and to, both included; null where the span is open. */
type Positions = readonly [from: bigint | null, to: bigint | null];

/** The record lies on one of these chromosomes, in any letter case, and its start and stop lie in these spans. */
export function placedVariant(
  names: readonly string[],
  start: Positions,
  stop: Positions,
): Predicate {
  const rangeOf = (field: FieldRef, [from, to]: Positions): Predicate =>
    node({
      kind: 'range',
      field,
      low: from === null ? null : { value: from, inclusive: true },
      high: to === null ? null : { value: to, inclusive: true },
    });
  // Positions rule out most pages, and comparing numbers takes less time than comparing strings.
  return and([
    rangeOf(startColumn, start),
    rangeOf(stopColumn, stop),
    node({ kind: 'in', field: chromosomes, values: names, ignoreCase: true }),
  ]);
}

/** With more variants than this, a single span per chromosome encloses them. */
const maxPlaces = 64;

/** The condition on the coordinates of records with one of these variants; undefined if one cannot be parsed unambiguously. */
export function placeOfVariants(variants: readonly string[]): Predicate | undefined {
  const places = new Map<string, [chromosome: string, start: bigint, stop: bigint]>();
  for (const variant of variants) {
    const match = /^.+-([^-]+)-(\d+)-(\d+)-(?:-|[^-]*)$/su.exec(variant);
    if (match === null) return undefined;
    const [, chromosome, from, to] = match as unknown as [string, string, string, string];
    const [start, stop] = [BigInt(from), BigInt(to)];
    const key = variants.length > maxPlaces ? chromosome : variant;
    const knownPlace = places.get(key);
    if (knownPlace === undefined) places.set(key, [chromosome, start, stop]);
    else {
      if (start < knownPlace[1]) knownPlace[1] = start;
      if (stop > knownPlace[2]) knownPlace[2] = stop;
    }
  }
  return or(
    Array.from(places.values(), ([chromosome, start, stop]) =>
      variants.length > maxPlaces
        ? placedVariant([chromosome], [start, null], [null, stop])
        : placedVariant([chromosome], [start, start], [stop, stop]),
    ),
  );
}
