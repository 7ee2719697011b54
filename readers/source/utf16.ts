/** The order of the two bytes of a UTF-16 code unit. */
export type Utf16ByteOrder = 'utf-16le' | 'utf-16be';

/** The encoding that a request declares; null if it declares none, so that the encoding is detected. */
export type DeclaredEncoding = 'utf-8' | 'latin-1' | 'utf-16' | 'utf-16le' | 'utf-16be' | null;

/** Number of bytes at the start of a text from which UTF-16 is detected. */
export const utf16SampleBytes = 1024;

/** Returns the encoding that a UTF-16 byte order mark indicates; undefined without such a mark, and for UTF-32. */
export function utf16OfByteOrderMark(text: Uint8Array): Utf16ByteOrder | undefined {
  if (text[0] === 0xfe && text[1] === 0xff) return 'utf-16be';
  const isLittleEndian = text[0] === 0xff && text[1] === 0xfe;
  return isLittleEndian && !(text[2] === 0 && text[3] === 0) ? 'utf-16le' : undefined;
}

/**
 * Returns the byte order of a text that begins like this if it is UTF-16; undefined otherwise. Choice: without a byte order mark, a text is
 * UTF-16 if in more than half of its first code units the same byte is zero, as in ASCII characters, and in hardly any the other byte.
 */
export function detectUtf16(start: Uint8Array): Utf16ByteOrder | undefined {
  const markedOrder = utf16OfByteOrderMark(start);
  if (markedOrder !== undefined) return markedOrder;
  const unitCount = Math.min(start.length, utf16SampleBytes) >> 1;
  const zeroCounts = [0, 0];
  for (let at = 0; at < 2 * unitCount; at++) if (start[at] === 0) zeroCounts[at & 1]!++;
  const [evenZeros, oddZeros] = zeroCounts as [number, number];
  if (
    unitCount < 2 ||
    2 * Math.max(evenZeros, oddZeros) <= unitCount ||
    8 * Math.min(evenZeros, oddZeros) > Math.max(evenZeros, oddZeros)
  )
    return undefined;
  return oddZeros > evenZeros ? 'utf-16le' : 'utf-16be';
}

/** Decodes UTF-16 to UTF-8, piece by piece. Invalid code units become U+FFFD, and `onDamage` is then called. */
export async function* utf16ToUtf8(
  pieces: AsyncIterable<Uint8Array>,
  order: Utf16ByteOrder,
  onDamage: () => void,
): AsyncGenerator<Uint8Array> {
  let restOfBytes = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = Buffer.concat([restOfBytes, piece]);
    let wholeLength = bytes.length & ~1;
    // Both halves of a surrogate pair must be decoded together, so a piece must not end between them.
    const lastHighByte = order === 'utf-16le' ? bytes[wholeLength - 1]! : bytes[wholeLength - 2]!;
    if (wholeLength > 0 && lastHighByte >= 0xd8 && lastHighByte <= 0xdb) wholeLength -= 2;
    restOfBytes = Buffer.from(bytes.subarray(wholeLength));
    if (wholeLength > 0) yield decodeUtf16(bytes.subarray(0, wholeLength), order, onDamage);
  }
  const wholeLength = restOfBytes.length & ~1;
  if (wholeLength > 0) yield decodeUtf16(restOfBytes.subarray(0, wholeLength), order, onDamage);
  if (restOfBytes.length > wholeLength) {
    onDamage();
    yield Buffer.from('\ufffd');
  }
}

/** Decodes whole code units; changes `bytes`, which must be a copy. */
function decodeUtf16(bytes: Buffer, order: Utf16ByteOrder, onDamage: () => void): Uint8Array {
  const text = (order === 'utf-16be' ? bytes.swap16() : bytes).toString('utf16le');
  if (text.isWellFormed()) return Buffer.from(text);
  onDamage();
  return Buffer.from(text.toWellFormed());
}
