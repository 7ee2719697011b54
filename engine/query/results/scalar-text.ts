import type { StoredType } from '../../core/types.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import { writeDate, writeRawBytes, writeJsonString } from './json-bytes.js';
import type { LeafValues } from './leaf-values.js';
import {
  isWorthKernel,
  writeAscii,
  writeDouble,
  writeFloat,
  writeLong,
  writeNumbers,
  writeInteger,
} from './number-bytes.js';

/** Writes one value. Returns false, and writes nothing, for NaN and the infinities, which have no text. */
export type WriteValue = (out: ByteSink, values: LeafValues, i: number) => boolean;

type ScalarWriters = Readonly<Record<Exclude<StoredType, 'object'>, WriteValue>>;

/** How a format writes a value. The text must depend on the value alone, because equal values of a dictionary are written once. */
export interface CellForm {
  /** The writers of scalars, by type. */
  readonly write: ScalarWriters;
  /** Completes the text of a list or an object, which begins at offset `from`. */
  end?(out: ByteSink, from: number): void;
  /** Returns whether the bytes of these strings can be written unchanged, without escapes. Without this function, strings are written one by one. */
  areTexts?(strings: LeafValues): boolean;
}

/** The writers of plain text, as in a cell of a table, by type. */
export const plainTextWriters: ScalarWriters = {
  boolean: (out, { byteValues }, i) => {
    writeAscii(out, byteValues[i] === 1 ? 'true' : 'false');
    return true;
  },
  integer: (out, { int32s }, i) => {
    writeInteger(out, int32s[i]!);
    return true;
  },
  long: (out, { int32s }, i) => {
    writeLong(out, int32s[2 * i]!, int32s[2 * i + 1]!);
    return true;
  },
  date: (out, { int32s }, i) => {
    writeDate(out, int32s[2 * i]!, int32s[2 * i + 1]!);
    return true;
  },
  double: (out, { doubles }, i) => {
    if (!Number.isFinite(doubles[i]!)) return false;
    writeDouble(out, doubles, i);
    return true;
  },
  float: (out, { floats }, i) => {
    const value = floats[i]!;
    if (!Number.isFinite(value)) return false;
    writeFloat(out, value);
    return true;
  },
  string: writeRawString,
  text: writeRawString,
  blob: writeRawString,
  json: writeRawString,
};

/** Writes many values, each as its `WriteValue` would (see `writeNumbers`). */
export type WriteValues = (
  out: ByteSink,
  values: LeafValues,
  begins: Int32Array,
  ends: Int32Array,
  length: number,
) => void;

const batchWriters: ReadonlyMap<WriteValue, WriteValues> = new Map(
  (['double', 'long', 'integer'] as const).map((type): [WriteValue, WriteValues] => [
    plainTextWriters[type],
    (out, ...args) => writeNumbers(out, type, ...args),
  ]),
);

/** Returns a function that writes `count` values faster than `write` does; undefined if there is none. */
export function batchWriterOf(write: WriteValue, count: number): WriteValues | undefined {
  return isWorthKernel(count) ? batchWriters.get(write) : undefined;
}

/** The writers of JSON, by type. */
export const jsonWriters: ScalarWriters = {
  ...plainTextWriters,
  date: (out, values, i) => {
    out.writeByte(quote);
    plainTextWriters.date(out, values, i);
    out.writeByte(quote);
    return true;
  },
  string: writeQuotedString,
  text: writeQuotedString,
  blob: writeQuotedString,
};

const quote = 34;

function writeRawString(
  out: ByteSink,
  { byteValues, int32s, gapBytes }: LeafValues,
  i: number,
): boolean {
  writeRawBytes(out, byteValues, int32s[i]!, int32s[i + 1]! - gapBytes);
  return true;
}

function writeQuotedString(
  out: ByteSink,
  { byteValues, int32s, gapBytes }: LeafValues,
  i: number,
): boolean {
  writeJsonString(out, byteValues, int32s[i]!, int32s[i + 1]! - gapBytes);
  return true;
}
