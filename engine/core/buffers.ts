/** What columns are built in. */
export type Buffer = Uint8Array | Int32Array | Float64Array | BigInt64Array;

/** The kinds of buffers. */
export type BufferType = new (length: number) => Buffer;

const most = 64 << 20;
const mostOfOne = 16 << 20;

/*
 * Buffers of finished chunks, for the next chunk of the same thread. Fresh ones of this size cost clearing, and their memory
 * drives the collector: on a busy machine a million VCF records took 4.9 to 5.2 s of processor time without reuse, 4.4 with it.
 */
const spare = new Map<BufferType, Buffer[][]>();
let spareBytes = 0;

/**
 * Returns a buffer of at least `length` elements: the smallest spare one that fits, or a new one whose length is a power of two.
 * Its contents are undefined: the caller writes an element before it reads it. Pass the buffer to `release` after use.
 */
export function acquire<T extends Buffer>(type: new (length: number) => T, length: number): T {
  const least = length <= 1 ? 0 : Math.ceil(Math.log2(length));
  const bySize = spare.get(type) ?? [];
  for (let power = least; power < bySize.length; power++) {
    const buffer = bySize[power]?.pop();
    if (buffer === undefined) continue;
    spareBytes -= buffer.byteLength;
    return buffer as T;
  }
  return new type(2 ** least);
}

/** Returns a buffer to the pool. Neither the buffer nor any view of its memory may be used afterwards. */
export function release(buffer: Buffer): void {
  const { byteLength } = buffer;
  if (byteLength === 0 || byteLength > mostOfOne || spareBytes + byteLength > most) return;
  const type = buffer.constructor as BufferType;
  let bySize = spare.get(type);
  if (bySize === undefined) spare.set(type, (bySize = []));
  // Hundreds of columns are as many buffers: none is looked at that does not fit.
  const power = Math.floor(Math.log2(buffer.length));
  while (bySize.length <= power) bySize.push([]);
  bySize[power]!.push(buffer);
  spareBytes += byteLength;
}

/** A copy with room for at least `length` elements, at least doubled; the smaller buffer is released. */
export function grown<T extends Buffer>(buffer: T, length: number): T {
  const type = buffer.constructor as new (length: number) => T;
  const bigger = acquire(type, Math.max(buffer.length * 2, length));
  (bigger as Uint8Array).set(buffer as Uint8Array);
  release(buffer);
  return bigger;
}

/** The same for a bitmap, whose new bits have to be clear; nothing is released. */
export function grownBits(bits: Uint8Array, bytes: number): Uint8Array {
  const bigger = new Uint8Array(Math.max(bits.length * 2, bytes));
  bigger.set(bits);
  return bigger;
}
