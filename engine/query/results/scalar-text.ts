import type { StoredType } from '../../core/types.js';
import type { ByteSink } from '../../parquet/byte-sink.js';
import { writeDate, writeRaw, writeText } from './json-bytes.js';
import type { LeafValues } from './leaf-values.js';
import { writeAscii, writeDouble, writeFloat, writeLong, writeWhole } from './number-bytes.js';

/** Writes one of the values; false, and nothing is written, for NaN and the infinities, which have no text. */
export type WriteValue = (out: ByteSink, values: LeafValues, i: number) => boolean;

type Writers = Readonly<Record<Exclude<StoredType, 'object'>, WriteValue>>;

/** How values of each type are written as plain text, as in a cell of a table. */
export const writePlain: Writers = {
  boolean: (out, { texts }, i) => {
    writeAscii(out, texts[i] === 1 ? 'true' : 'false');
    return true;
  },
  integer: (out, { words }, i) => {
    writeWhole(out, words[i]!);
    return true;
  },
  long: (out, { words }, i) => {
    writeLong(out, words[2 * i]!, words[2 * i + 1]!);
    return true;
  },
  date: (out, { words }, i) => {
    writeDate(out, words[2 * i]!, words[2 * i + 1]!);
    return true;
  },
  double: (out, { doubles }, i) => {
    const value = doubles[i]!;
    if (!Number.isFinite(value)) return false;
    writeDouble(out, value);
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

/** How values of each type are written as JSON. */
export const writeJson: Writers = {
  ...writePlain,
  date: (out, values, i) => {
    out.byte(quote);
    writePlain.date(out, values, i);
    out.byte(quote);
    return true;
  },
  string: quoted,
  text: quoted,
  blob: quoted,
};

const quote = 34;

function raw(out: ByteSink, { texts, words, gap }: LeafValues, i: number): boolean {
  writeRaw(out, texts, words[i]!, words[i + 1]! - gap);
  return true;
}

function quoted(out: ByteSink, { texts, words, gap }: LeafValues, i: number): boolean {
  writeText(out, texts, words[i]!, words[i + 1]! - gap);
  return true;
}
