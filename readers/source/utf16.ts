/** The order of the two bytes of a UTF-16 code unit. */
export type Utf16ByteOrder = 'utf-16le' | 'utf-16be';

/** The encodings that a request may declare; null stands for UTF-8 or a detected encoding. */
export type DeclaredEncoding = 'utf-8' | 'latin-1' | 'utf-16' | 'utf-16le' | 'utf-16be' | null;

/** Number of bytes at the start of a text from which UTF-16 is detected. */
export const utf16SampleBytes = 1024;

/** Returns the encoding that a UTF-16 byte order mark indicates; undefined without such a mark, and for UTF-32. */
export function utf16OfByteOrderMark(text: Uint8Array): Utf16ByteOrder | undefined {
  if (text[0] === 0xfe && text[1] === 0xff) return 'utf-16be';
  const isLittle = text[0] === 0xff && text[1] === 0xfe;
  return isLittle && !(text[2] === 0 && text[3] === 0) ? 'utf-16le' : undefined;
}

/**
 * Returns the byte order of a text that begins like this if it is UTF-16; undefined otherwise. Choice: without a byte order mark, a text is
 * UTF-16 if in more than half of its first code units the same byte is zero, as in ASCII characters, and in hardly any the other byte.
 */
export function detectUtf16(start: Uint8Array): Utf16ByteOrder | undefined {
  const markedOrder = utf16OfByteOrderMark(start);
  if (markedOrder !== undefined) return markedOrder;
  const units = Math.min(start.length, utf16SampleBytes) >> 1;
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

/** Decodes UTF-16 to UTF-8, piece by piece. Invalid code units become U+FFFD, and `damaged` is then called. */
export async function* utf16ToUtf8(
  pieces: AsyncIterable<Uint8Array>,
  order: Utf16ByteOrder,
  damaged: () => void,
): AsyncGenerator<Uint8Array> {
  let restOfBytes = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = Buffer.concat([restOfBytes, piece]);
    let wholeLength = bytes.length & ~1;
    // Both halves of a surrogate pair must be decoded together, so a piece must not end between them.
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
function decodeUtf16(bytes: Buffer, order: Utf16ByteOrder, damaged: () => void): Uint8Array {
  const text = (order === 'utf-16be' ? bytes.swap16() : bytes).toString('utf16le');
  if (text.isWellFormed()) return Buffer.from(text);
  damaged();
  return Buffer.from(text.toWellFormed());
}
