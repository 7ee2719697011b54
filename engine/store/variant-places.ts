import type { Data, RecordBatch } from 'apache-arrow';
import type { Column, Columns } from '../core/types.js';
import { reservedColumns } from './arrow.js';

/** The names of the fields whose values a variant is made of, and of the variant itself. */
export const variantFields = {
  variant: 'variant',
  coordinates: 'genomic_coordinates',
  build: 'build',
  chromosome: 'chromosome',
  start: 'start',
  stop: 'stop',
} as const;

/**
 * Whether every variant of these records begins with the record's own genomic coordinates, as in `GRCH38-7-117559593-117559593-A`
 * (contract 10.6), and no chromosome contains a dash, so that the text can be taken apart again. Records without a variant do not matter;
 * false if the columns cannot hold such variants.
 */
export function areVariantsPlaced(columns: Columns, batches: readonly RecordBatch[]): boolean {
  const found = columnsOf(columns);
  return found !== undefined && batches.every((batch) => isBatchPlaced(batch, found));
}

/** The positions of columns in a batch, and of members in the coordinates. */
interface VariantColumns {
  readonly variant: number;
  readonly coordinates: number;
  readonly build: number;
  readonly chromosome: number;
  readonly start: number;
  readonly stop: number;
}

function columnsOf(columns: Columns): VariantColumns | undefined {
  const { variant, coordinates, ...members } = variantFields;
  const all = [...reservedColumns, ...columns];
  const outer = indexOf(all, coordinates, ['object']);
  if (outer < 0) return undefined;
  const inner = all[outer]!.children ?? [];
  const located = {
    variant: indexOf(all, variant, ['string', 'text']),
    coordinates: outer,
    build: indexOf(inner, members.build, ['string']),
    chromosome: indexOf(inner, members.chromosome, ['string']),
    start: indexOf(inner, members.start, ['integer', 'long']),
    stop: indexOf(inner, members.stop, ['integer', 'long']),
  };
  return Object.values(located).includes(-1) ? undefined : located;
}

function indexOf(columns: Columns, name: string, types: readonly Column['type'][]): number {
  return columns.findIndex((one) => one.name === name && !one.isList && types.includes(one.type));
}

const dash = 45;
const zero = 48;

function isBatchPlaced(batch: RecordBatch, located: VariantColumns): boolean {
  const variant = batch.data.children[located.variant]!;
  const coordinates = batch.data.children[located.coordinates]!;
  const [build, chromosome, start, stop] = (['build', 'chromosome', 'start', 'stop'] as const).map(
    (name) => coordinates.children[located[name]]!,
  ) as [Data, Data, Data, Data];
  const starts = numbersOf(start);
  const stops = numbersOf(stop);
  // Local variables: reading the properties for each record would take longer than comparing.
  const bytes = variant.values as Uint8Array;
  const offsets = variant.valueOffsets as Int32Array;
  const [buildBytes, buildOffsets] = [build.values as Uint8Array, build.valueOffsets as Int32Array];
  const names = chromosome.values as Uint8Array;
  const nameOffsets = chromosome.valueOffsets as Int32Array;
  const parents = [coordinates, build, chromosome, start, stop];
  const areThere = variant.nullCount === 0;
  const isFull = parents.every((data) => data.nullCount === 0);
  for (let row = 0; row < batch.numRows; row++) {
    if (!areThere && isNull(variant, row)) continue;
    if (!isFull && parents.some((data) => isNull(data, row))) return false;
    const end = offsets[row + 1]!;
    let at = offsets[row]!;
    at = afterText(bytes, at, end, buildBytes, buildOffsets[row]!, buildOffsets[row + 1]!, false);
    if (at >= 0) at = afterText(bytes, at, end, names, nameOffsets[row]!, nameOffsets[row + 1]!, true); // prettier-ignore
    if (at >= 0) at = afterNumber(bytes, at, end, numberAt(starts, row));
    if (at >= 0) at = afterNumber(bytes, at, end, numberAt(stops, row));
    if (at < 0) return false;
  }
  return true;
}

function isNull(data: Data, row: number): boolean {
  if (data.nullCount === 0) return false;
  const bit = data.offset + row;
  return ((data.nullBitmap![bit >> 3]! >> (bit & 7)) & 1) === 0;
}

/** Whole numbers, each in one element or in two halves. */
interface CoordinateValues {
  readonly int32s: Int32Array;
  readonly areHalves: boolean;
}

function numbersOf({ values }: Data): CoordinateValues {
  const { buffer, byteOffset, byteLength } = values as Int32Array | BigInt64Array;
  const areHalves = (values as Int32Array | BigInt64Array).BYTES_PER_ELEMENT === 8;
  return { int32s: new Int32Array(buffer, byteOffset, byteLength / 4), areHalves };
}

function numberAt({ int32s, areHalves }: CoordinateValues, row: number): number {
  if (!areHalves) return int32s[row]!;
  return int32s[2 * row + 1]! * 2 ** 32 + (int32s[2 * row]! >>> 0);
}

/** The position after a text in upper case and the following dash; -1 if the bytes differ. */
function afterText(
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

/** The position after a whole number in decimal, without leading zeros, and the following dash; -1 if the bytes differ. */
function afterNumber(bytes: Uint8Array, from: number, end: number, expected: number): number {
  let value = 0;
  let at = from;
  while (at < end && bytes[at] !== dash) {
    const digit = bytes[at++]! - zero;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  const isDecimal = at > from && (bytes[from] !== zero || at === from + 1);
  // A double holds up to 15 digits exactly; with more, different texts may have the same value.
  const isExact = at - from <= 15;
  return isDecimal && isExact && value === expected && at < end ? at + 1 : -1;
}
