import type { Data, RecordBatch } from 'apache-arrow';
import type { Column, Columns } from '../core/types.js';
import { reservedColumns } from './arrow-columns.js';

/** The names of the fields from which a variant is composed, and of the variant itself. */
export const variantFieldNames = {
  variant: 'variant',
  coordinates: 'genomic_coordinates',
  build: 'build',
  chromosome: 'chromosome',
  start: 'start',
  stop: 'stop',
} as const;

/**
 * Returns whether every variant of these records begins with the record's own genomic coordinates, as in `GRCH38-7-117559593-117559593-A`
 * (contract 10.6), and its chromosome contains no dash, so that the text can be parsed unambiguously. Records without a variant are
 * ignored. False if the columns cannot hold such variants.
 */
export function areVariantsPlaced(columns: Columns, batches: readonly RecordBatch[]): boolean {
  const columnIndices = locateVariantColumns(columns);
  return (
    columnIndices !== undefined &&
    batches.every((batch) => areBatchVariantsPlaced(batch, columnIndices))
  );
}

/** The indices of columns in a batch, and of members in the coordinates. */
interface VariantColumns {
  readonly variant: number;
  readonly coordinates: number;
  readonly build: number;
  readonly chromosome: number;
  readonly start: number;
  readonly stop: number;
}

function locateVariantColumns(columns: Columns): VariantColumns | undefined {
  const { variant, coordinates, ...members } = variantFieldNames;
  const allColumns = [...reservedColumns, ...columns];
  const coordinatesIndex = findColumnIndex(allColumns, coordinates, ['object']);
  if (coordinatesIndex < 0) return undefined;
  const coordinateMembers = allColumns[coordinatesIndex]!.children ?? [];
  const columnIndices = {
    variant: findColumnIndex(allColumns, variant, ['string', 'text']),
    coordinates: coordinatesIndex,
    build: findColumnIndex(coordinateMembers, members.build, ['string']),
    chromosome: findColumnIndex(coordinateMembers, members.chromosome, ['string']),
    start: findColumnIndex(coordinateMembers, members.start, ['integer', 'long']),
    stop: findColumnIndex(coordinateMembers, members.stop, ['integer', 'long']),
  };
  return Object.values(columnIndices).includes(-1) ? undefined : columnIndices;
}

function findColumnIndex(columns: Columns, name: string, types: readonly Column['type'][]): number {
  return columns.findIndex((one) => one.name === name && !one.isList && types.includes(one.type));
}

const dash = 45;
const zeroDigitByte = 48;

function areBatchVariantsPlaced(batch: RecordBatch, columnIndices: VariantColumns): boolean {
  const variant = batch.data.children[columnIndices.variant]!;
  const coordinates = batch.data.children[columnIndices.coordinates]!;
  const [build, chromosome, start, stop] = (['build', 'chromosome', 'start', 'stop'] as const).map(
    (name) => coordinates.children[columnIndices[name]]!,
  ) as [Data, Data, Data, Data];
  const starts = coordinateValuesOf(start);
  const stops = coordinateValuesOf(stop);
  // Local variables are used, because reading the properties for each record would take longer than the comparison.
  const bytes = variant.values as Uint8Array;
  const offsets = variant.valueOffsets as Int32Array;
  const [buildBytes, buildOffsets] = [build.values as Uint8Array, build.valueOffsets as Int32Array];
  const chromosomeBytes = chromosome.values as Uint8Array;
  const chromosomeOffsets = chromosome.valueOffsets as Int32Array;
  const parents = [coordinates, build, chromosome, start, stop];
  const hasAllVariants = variant.nullCount === 0;
  const hasAllCoordinates = parents.every((data) => data.nullCount === 0);
  for (let row = 0; row < batch.numRows; row++) {
    if (!hasAllVariants && isNull(variant, row)) continue;
    if (!hasAllCoordinates && parents.some((data) => isNull(data, row))) return false;
    const end = offsets[row + 1]!;
    let at = offsets[row]!;
    at = positionAfterText(
      bytes,
      at,
      end,
      buildBytes,
      buildOffsets[row]!,
      buildOffsets[row + 1]!,
      false,
    );
    if (at >= 0) at = positionAfterText(bytes, at, end, chromosomeBytes, chromosomeOffsets[row]!, chromosomeOffsets[row + 1]!, true); // prettier-ignore
    if (at >= 0) at = positionAfterNumber(bytes, at, end, coordinateAt(starts, row));
    if (at >= 0) at = positionAfterNumber(bytes, at, end, coordinateAt(stops, row));
    if (at < 0) return false;
  }
  return true;
}

function isNull(data: Data, row: number): boolean {
  if (data.nullCount === 0) return false;
  const bit = data.offset + row;
  return ((data.nullBitmap![bit >> 3]! >> (bit & 7)) & 1) === 0;
}

/** Integers, stored as one element each or as two halves. */
interface CoordinateValues {
  readonly int32s: Int32Array;
  readonly areHalves: boolean;
}

function coordinateValuesOf({ values }: Data): CoordinateValues {
  const { buffer, byteOffset, byteLength } = values as Int32Array | BigInt64Array;
  const areHalves = (values as Int32Array | BigInt64Array).BYTES_PER_ELEMENT === 8;
  return { int32s: new Int32Array(buffer, byteOffset, byteLength / 4), areHalves };
}

function coordinateAt({ int32s, areHalves }: CoordinateValues, row: number): number {
  if (!areHalves) return int32s[row]!;
  return int32s[2 * row + 1]! * 2 ** 32 + (int32s[2 * row]! >>> 0);
}

/**
 * Returns the position after a text in upper case and the dash that follows it; -1 if the bytes differ, if the text is empty, or if it must
 * be dashless (`isDashless`) and is not.
 */
function positionAfterText(
  bytes: Uint8Array,
  from: number,
  end: number,
  expected: Uint8Array,
  first: number,
  last: number,
  isDashless: boolean,
): number {
  let at = from;
  if (last === first || from + (last - first) >= end) return -1;
  for (let i = first; i < last; i++) {
    const byte = expected[i]!;
    if (isDashless && byte === dash) return -1;
    if (bytes[at++] !== (byte >= 97 && byte <= 122 ? byte - 32 : byte)) return -1;
  }
  return bytes[at] === dash ? at + 1 : -1;
}

/** Returns the position after an integer in decimal, without leading zeros, and the dash that follows it; -1 if the bytes differ. */
function positionAfterNumber(
  bytes: Uint8Array,
  from: number,
  end: number,
  expected: number,
): number {
  let value = 0;
  let at = from;
  while (at < end && bytes[at] !== dash) {
    const digit = bytes[at++]! - zeroDigitByte;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  const isDecimal = at > from && (bytes[from] !== zeroDigitByte || at === from + 1);
  // Integers of up to 15 digits are exact as doubles; with more digits, different texts may have the same value.
  const isExact = at - from <= 15;
  return isDecimal && isExact && value === expected && at < end ? at + 1 : -1;
}
