import type { ByteSource } from './byte-source.js';
import { readHybrid, unpackBits } from './decode-hybrid.js';
import { encodingId } from './encoding.js';
import { physicalType } from './schema.js';

/** Values without their nulls, one behind the other, as `Values` has them; flags take a byte each. */
export type Decoded =
  | { readonly kind: 'flags'; readonly flags: Uint8Array }
  | { readonly kind: 'words'; readonly words: Int32Array }
  | { readonly kind: 'pairs'; readonly words: Int32Array }
  | { readonly kind: 'texts'; readonly bytes: Uint8Array; readonly offsets: Int32Array };

/** Reads the values of a page that our encoder wrote: all encodings that it knows, and no others. */
export function readValues(
  source: ByteSource,
  physical: number,
  encoding: number,
  count: number,
  dictionary: Decoded | undefined,
): Decoded {
  switch (encoding) {
    case encodingId.plain:
      return plain(source, physical, count);
    case encodingId.rle: {
      source.length();
      const flags = new Uint8Array(count);
      readHybrid(source, 1, count, flags);
      return { kind: 'flags', flags };
    }
    case encodingId.deltaBinaryPacked:
      return physical === physicalType.int32
        ? { kind: 'words', words: deltaWords(source, count, false) }
        : { kind: 'pairs', words: deltaWords(source, count, true) };
    case encodingId.deltaByteArray:
      return deltaTexts(source, count);
    case encodingId.rleDictionary: {
      if (dictionary === undefined) throw new RangeError('a page needs a dictionary');
      const indices = new Int32Array(count);
      readHybrid(source, source.byte(), count, indices);
      return picked(dictionary, indices);
    }
    default:
      throw new RangeError(`encoding ${encoding} is not one of ours`);
  }
}

function plain(source: ByteSource, physical: number, count: number): Decoded {
  switch (physical) {
    case physicalType.int32:
    case physicalType.float:
      return { kind: 'words', words: wordsOf(source.take(4 * count)) };
    case physicalType.int64:
    case physicalType.double:
      return { kind: 'pairs', words: wordsOf(source.take(8 * count)) };
    case physicalType.byteArray:
      return plainTexts(source, count);
    default:
      throw new RangeError(`no plain values of type ${physical}`);
  }
}

function wordsOf(bytes: Uint8Array): Int32Array {
  return new Int32Array(new Uint8Array(bytes).buffer); // copied, for its place may be odd
}

function plainTexts(source: ByteSource, count: number): Decoded {
  const rest = source.bytes.length - source.at - 4 * count;
  if (rest < 0) throw new RangeError('texts go beyond their page');
  const bytes = new Uint8Array(rest);
  const offsets = new Int32Array(count + 1);
  let end = 0;
  for (let i = 0; i < count; i++) {
    const text = source.take(source.length());
    bytes.set(text, end);
    end += text.length;
    offsets[i + 1] = end;
  }
  return { kind: 'texts', bytes: bytes.subarray(0, end), offsets };
}

/** Whole numbers within 2^53, so that doubles are exact; 64-bit ones come as low and high half. */
function deltaWords(source: ByteSource, count: number, isPairs: boolean): Int32Array {
  const words = new Int32Array(isPairs ? 2 * count : count);
  const put = (i: number, value: number): void => {
    if (!isPairs) {
      words[i] = value;
      return;
    }
    words[2 * i] = value % 2 ** 32;
    words[2 * i + 1] = Math.floor(value / 2 ** 32);
  };
  const blockValues = source.varint();
  const miniblocks = source.varint();
  const total = source.varint();
  if (total !== count) throw new RangeError(`${total} differences for ${count} values`);
  let value = source.zigzag();
  if (count > 0) put(0, value);
  const size = blockValues / miniblocks;
  const packed = new Int32Array(size);
  for (let done = 1; done < count;) {
    const least = source.zigzag();
    const widths = source.take(miniblocks);
    for (let m = 0; m < miniblocks && done < count; m++) {
      const width = widths[m]!;
      unpackBits(source.take((size / 8) * width), width, size, packed, 0);
      for (let i = 0; i < size && done < count; i++) {
        value += least + (packed[i]! >>> 0);
        put(done++, value);
      }
    }
  }
  return words;
}

function deltaTexts(source: ByteSource, count: number): Decoded {
  const prefixes = deltaWords(source, count, false);
  const suffixes = deltaWords(source, count, false);
  const offsets = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) offsets[i + 1] = offsets[i]! + prefixes[i]! + suffixes[i]!;
  const bytes = new Uint8Array(offsets[count]!);
  for (let i = 0; i < count; i++) {
    const begin = offsets[i]!;
    const shared = prefixes[i]!;
    if (shared > 0) bytes.copyWithin(begin, offsets[i - 1]!, offsets[i - 1]! + shared);
    bytes.set(source.take(suffixes[i]!), begin + shared);
  }
  return { kind: 'texts', bytes, offsets };
}

function picked(dictionary: Decoded, indices: Int32Array): Decoded {
  const count = indices.length;
  switch (dictionary.kind) {
    case 'words': {
      const words = new Int32Array(count);
      for (let i = 0; i < count; i++) words[i] = dictionary.words[indices[i]!]!;
      return { kind: 'words', words };
    }
    case 'pairs': {
      const words = new Int32Array(2 * count);
      for (let i = 0; i < count; i++) {
        words[2 * i] = dictionary.words[2 * indices[i]!]!;
        words[2 * i + 1] = dictionary.words[2 * indices[i]! + 1]!;
      }
      return { kind: 'pairs', words };
    }
    case 'texts': {
      const { bytes: from, offsets: at } = dictionary;
      const offsets = new Int32Array(count + 1);
      for (let i = 0; i < count; i++) {
        offsets[i + 1] = offsets[i]! + at[indices[i]! + 1]! - at[indices[i]!]!;
      }
      const bytes = new Uint8Array(offsets[count]!);
      for (let i = 0; i < count; i++) {
        let to = offsets[i]!;
        const end = at[indices[i]! + 1]!;
        for (let k = at[indices[i]!]!; k < end; k++) bytes[to++] = from[k]!;
      }
      return { kind: 'texts', bytes, offsets };
    }
    default:
      throw new RangeError('flags have no dictionary');
  }
}
