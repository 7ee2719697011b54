import type { StoredType } from '../../core/types.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import { writeDate, writeRaw, writeText } from './json-bytes.js';
import type { LeafValues } from './leaf-values.js';
import {
  areMany,
  writeAscii,
  writeDouble,
  writeFloat,
  writeLong,
  writeNumbers,
  writeWhole,
} from './number-bytes.js';

/** Writes one value. Returns false, and writes nothing, for NaN and the infinities, which have no text. */
export type WriteValue = (out: ByteSink, values: LeafValues, i: number) => boolean;

type Writers = Readonly<Record<Exclude<StoredType, 'object'>, WriteValue>>;

/** How a format writes a value. The result depends on the value alone, because equal values of a dictionary are written once. */
export interface CellForm {
  /** The writers of scalars, by type. */
  readonly write: Writers;
  /** Completes the text of a list or an object, which was written from `from` on. */
  end?(out: ByteSink, from: number): void;
  /** Whether the bytes of these strings can be written as they are, without escapes. */
  areTexts?(strings: LeafValues): boolean;
}

/** The writers of plain text, as in a cell of a table, by type. */
export const writePlain: Writers = {
  boolean: (out, { data }, i) => {
    writeAscii(out, data[i] === 1 ? 'true' : 'false');
    return true;
  },
  integer: (out, { int32s }, i) => {
    writeWhole(out, int32s[i]!);
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
  string: raw,
  text: raw,
  blob: raw,
  json: raw,
};

/** Writes many values as their `WriteValue` does: see `writeNumbers`. */
export type WriteValues = (
  out: ByteSink,
  values: LeafValues,
  begins: Int32Array,
  ends: Int32Array,
  length: number,
) => void;

const writesMany: ReadonlyMap<WriteValue, WriteValues> = new Map(
  (['double', 'long', 'integer'] as const).map((type): [WriteValue, WriteValues] => [
    writePlain[type],
    (out, ...many) => writeNumbers(out, type, ...many),
  ]),
);

/** A faster writer of `count` values than `write`; undefined if there is none. */
export function writerOfMany(write: WriteValue, count: number): WriteValues | undefined {
  return areMany(count) ? writesMany.get(write) : undefined;
}

/** How values of each type are written as JSON. */
export const writeJson: Writers = {
  ...writePlain,
  date: (out, values, i) => {
    out.byte(quote);
    writePlain.date(out, values, i);
    out.byte(quote);
    return true;
  },
  string: writeQuoted,
  text: writeQuoted,
  blob: writeQuoted,
};

const quote = 34;

function raw(out: ByteSink, { data, int32s, gap }: LeafValues, i: number): boolean {
  writeRaw(out, data, int32s[i]!, int32s[i + 1]! - gap);
  return true;
}

function writeQuoted(out: ByteSink, { data, int32s, gap }: LeafValues, i: number): boolean {
  writeText(out, data, int32s[i]!, int32s[i + 1]! - gap);
  return true;
}
