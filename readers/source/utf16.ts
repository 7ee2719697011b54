/** An order of the two bytes of a code unit. */
export type Utf16 = 'utf-16le' | 'utf-16be';

/** The encodings that a request may declare; null stands for UTF-8 or a detected encoding. */
export type DeclaredEncoding = 'utf-8' | 'latin-1' | 'utf-16' | 'utf-16le' | 'utf-16be' | null;

/** Number of bytes at the start of a text from which its encoding is detected. */
export const utf16Sample = 1024;

/** The encoding that a byte order mark of UTF-16 names; undefined without such a mark, and for UTF-32. */
export function markedUtf16(text: Uint8Array): Utf16 | undefined {
  if (text[0] === 0xfe && text[1] === 0xff) return 'utf-16be';
  const isLittle = text[0] === 0xff && text[1] === 0xfe;
  return isLittle && !(text[2] === 0 && text[3] === 0) ? 'utf-16le' : undefined;
}

/**
 * Whether a text that begins like this is UTF-16, and in which order. Choice: without a byte order mark, a text is UTF-16 if more than half of
 * its first code units have a zero in the same byte, as ASCII characters do, and hardly any in the other.
 */
export function detectedUtf16(start: Uint8Array): Utf16 | undefined {
  const markedOrder = markedUtf16(start);
  if (markedOrder !== undefined) return markedOrder;
  const units = Math.min(start.length, utf16Sample) >> 1;
  const zeros = [0, 0];
  for (let at = 0; at < 2 * units; at++) if (start[at] === 0) zeros[at & 1]!++;
  const [even, odd] = zeros as [number, number];
  if (
    units < 2 ||
    2 * Math.max(even, odd) <= units ||
    8 * Math.min(even, odd) > Math.max(even, odd)
  )
    return undefined;
  return odd > even ? 'utf-16le' : 'utf-16be';
}

/** Decodes UTF-16 to UTF-8, piece by piece. Invalid code units become U+FFFD, and `damaged` is called. */
export async function* fromUtf16(
  pieces: AsyncIterable<Uint8Array>,
  order: Utf16,
  damaged: () => void,
): AsyncGenerator<Uint8Array> {
  let restOfBytes = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = Buffer.concat([restOfBytes, piece]);
    let wholeLength = bytes.length & ~1;
    // Both halves of a surrogate pair are decoded together.
    const lead = order === 'utf-16le' ? bytes[wholeLength - 1]! : bytes[wholeLength - 2]!;
    if (wholeLength > 0 && lead >= 0xd8 && lead <= 0xdb) wholeLength -= 2;
    restOfBytes = Buffer.from(bytes.subarray(wholeLength));
    if (wholeLength > 0) yield decodeUtf16(bytes.subarray(0, wholeLength), order, damaged);
  }
  const wholeLength = restOfBytes.length & ~1;
  if (wholeLength > 0) yield decodeUtf16(restOfBytes.subarray(0, wholeLength), order, damaged);
  if (restOfBytes.length > wholeLength) {
    damaged();
    yield Buffer.from('\ufffd');
  }
}

/** Decodes whole code units; changes `bytes`, which must be a copy. */
function decodeUtf16(bytes: Buffer, order: Utf16, damaged: () => void): Uint8Array {
  const text = (order === 'utf-16be' ? bytes.swap16() : bytes).toString('utf16le');
  if (text.isWellFormed()) return Buffer.from(text);
  damaged();
  return Buffer.from(text.toWellFormed());
}
