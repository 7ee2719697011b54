import type { ByteSink } from '../../parquet/byte-sink.js';
import type { StoredType } from '../../core/types.js';
import { doubleText, floatText } from './facets/number-text.js';
import { writeAscii, writeDate, writeLong, writeRaw, writeText, writeWhole } from './json-bytes.js';
import type { RecordValues } from './record-page.js';

/** Writes one of the values as JSON; false, and nothing is written, if it has none: NaN and the infinities. */
export type WriteValue = (out: ByteSink, values: RecordValues, i: number) => boolean;

/** How values of each type are written. */
export const writeValues: Readonly<Record<Exclude<StoredType, 'object'>, WriteValue>> = {
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
  double: (out, { doubles }, i) => writeNumber(out, doubles[i]!, doubleText),
  float: (out, { floats }, i) => writeNumber(out, floats[i]!, floatText),
  string: text,
  text,
  blob: text,
  json: (out, { texts, words, gap }, i) => {
    writeRaw(out, texts, words[i]!, words[i + 1]! - gap);
    return true;
  },
};

function text(out: ByteSink, { texts, words, gap }: RecordValues, i: number): boolean {
  writeText(out, texts, words[i]!, words[i + 1]! - gap);
  return true;
}

function writeNumber(out: ByteSink, value: number, asText: (value: number) => string): boolean {
  if (!Number.isFinite(value)) return false;
  writeAscii(out, asText(value));
  return true;
}
