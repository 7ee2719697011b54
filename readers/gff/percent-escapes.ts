import { isUtf8 } from 'node:buffer';

/** The result of `unescapeBytes`, whose copy is `into[at..end)`. */
export interface UnescapeResult {
  end: number;
  /** Whether escapes stood for bytes that are not valid UTF-8 and were replaced by U+FFFD. */
  isDamaged: boolean;
}

/**
 * Copies `bytes[from..to)` and decodes its percent escapes (GFF3 specification, "Description of the Format"), which stand for bytes of
 * UTF-8. A `%` that is not followed by two hexadecimal digits stays as it is. The copy is never longer than the text, so it may take the
 * place of the text.
 */
export function unescapeBytes(
  bytes: Uint8Array,
  from: number,
  to: number,
  into: Uint8Array,
  at: number,
  result: UnescapeResult,
): void {
  const start = at;
  let isAscii = true;
  for (let i = from; i < to; i++) {
    let c = bytes[i]!;
    if (c === 37 && i + 2 < to) {
      const high = hexDigitValues[bytes[i + 1]!]!;
      const low = hexDigitValues[bytes[i + 2]!]!;
      if (high < 16 && low < 16) {
        c = high * 16 + low;
        if (c >= 128) isAscii = false;
        i += 2;
      }
    }
    into[at++] = c;
  }
  result.end = at;
  result.isDamaged = !isAscii && !isUtf8(into.subarray(start, at));
  if (result.isDamaged) {
    const { written } = encoder.encodeInto(
      decoder.decode(into.slice(start, at)),
      into.subarray(start),
    );
    result.end = start + written;
  }
}

/** The values of hexadecimal digits; 255 for other bytes. */
const hexDigitValues = new Uint8Array(256).fill(255);
for (let i = 0; i < 16; i++) {
  hexDigitValues[i.toString(16).charCodeAt(0)] = i;
  hexDigitValues[i.toString(16).toUpperCase().charCodeAt(0)] = i;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
