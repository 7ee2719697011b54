import { encodingId, plainEncoderMembers, type Encoder, type PageValues } from './encoding.js';
import { plainInt32s, plainStrings } from './plain.js';
import { noValues, type Range } from './statistics.js';
import type { Int32s, Int64s, Strings } from './values.js';

/** The encoder that stores values as they are: PLAIN (Encodings.md). */
export function plainEncoder(values: Strings | Int32s | Int64s, ranges: readonly Range[]): Encoder {
  return {
    ...plainEncoderMembers,
    encoding: encodingId.plain,
    ranges,
    write(sink, from, to) {
      if (values.kind === 'strings') plainStrings(sink, values, from, to);
      else if (values.kind === 'int32s') plainInt32s(sink, values.int32s, from, to);
      else plainInt32s(sink, values.halves, 2 * from, 2 * to);
    },
  };
}

/** The ranges of pages whose extremes nobody asks for. */
export function unknownRanges(pages: readonly PageValues[]): readonly Range[] {
  return pages.map(() => noValues);
}
