import { makeData, type Data } from 'apache-arrow';

/** The values at these positions of a column, in their order. */
export function takeRows(data: Data, positions: Int32Array): Data {
  const { type } = data;
  const base = { type, length: positions.length, ...validity(data, positions) };
  const offsets = data.valueOffsets as Int32Array | undefined;
  if (offsets === undefined) {
    if (data.children.length > 0) {
      const children = data.children.map((child) => takeRows(child, positions));
      return makeData({ ...base, children } as never);
    }
    return makeData({ ...base, data: takeFixed(data, positions) } as never);
  }
  const valueOffsets = new Int32Array(positions.length + 1);
  for (let i = 0; i < positions.length; i++) {
    const at = positions[i]!;
    valueOffsets[i + 1] = valueOffsets[i]! + offsets[at + 1]! - offsets[at]!;
  }
  const end = valueOffsets[positions.length]!;
  if (data.children.length === 0) {
    const bytes = data.values as Uint8Array;
    const taken = new Uint8Array(end);
    for (let i = 0; i < positions.length; i++) {
      const at = positions[i]!;
      const [from, to] = [offsets[at]!, offsets[at + 1]!];
      // A view for each short text would take longer than copying it.
      if (to - from > 64) taken.set(bytes.subarray(from, to), valueOffsets[i]!);
      else for (let k = from, end = valueOffsets[i]!; k < to; k++) taken[end++] = bytes[k]!;
    }
    return makeData({ ...base, valueOffsets, data: taken } as never);
  }
  const elements = new Int32Array(end);
  for (let i = 0, next = 0; i < positions.length; i++) {
    const at = positions[i]!;
    for (let k = offsets[at]!; k < offsets[at + 1]!; k++) elements[next++] = k;
  }
  const child = takeRows(data.children[0]!, elements);
  return makeData({ ...base, valueOffsets, child } as never);
}

function validity(
  data: Data,
  positions: Int32Array,
): { readonly nullCount: number; readonly nullBitmap: Uint8Array | null } {
  if (data.nullCount === 0) return { nullCount: 0, nullBitmap: null };
  const nullBitmap = new Uint8Array(paddedBytes(positions.length));
  let nullCount = 0;
  for (let i = 0; i < positions.length; i++) {
    if (data.getValid(positions[i]!)) nullBitmap[i >> 3]! |= 1 << (i & 7);
    else nullCount++;
  }
  return { nullCount, nullBitmap };
}

/** The values of a column of booleans, which are bits, or of numbers. */
function takeFixed({ values, length, offset }: Data, positions: Int32Array): unknown {
  const source = values as Uint8Array | Int32Array | Float32Array | Float64Array | BigInt64Array;
  if (source instanceof Uint8Array) {
    const bits = new Uint8Array(paddedBytes(positions.length));
    for (let i = 0; i < positions.length; i++) {
      const bit = offset + positions[i]!;
      bits[i >> 3]! |= ((source[bit >> 3]! >> (bit & 7)) & 1) << (i & 7);
    }
    return bits;
  }
  // As 32-bit words: a bigint for every long would take ten times as long.
  const words = source.BYTES_PER_ELEMENT / 4;
  const from = new Int32Array(source.buffer, source.byteOffset, length * words);
  const taken = new Int32Array(positions.length * words);
  for (let i = 0; i < positions.length; i++) {
    const at = positions[i]! * words;
    taken[i * words] = from[at]!;
    if (words === 2) taken[2 * i + 1] = from[at + 1]!;
  }
  const own = source.constructor as new (buffer: ArrayBuffer) => typeof source;
  return new own(taken.buffer);
}

function paddedBytes(bits: number): number {
  return Math.ceil(bits / 64) * 8;
}
