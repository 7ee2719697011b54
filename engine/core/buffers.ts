type TypedBuffer = Uint8Array | Int32Array | Float64Array | BigInt64Array;
type BufferType = new (length: number) => TypedBuffer;

const maxSpareBytes = 64 << 20;
const maxPooledBufferBytes = 16 << 20;

/*
 * A pool of typed arrays for each thread: the buffers of finished chunks are reused for the next chunks. New buffers would have to be
 * cleared, and their memory triggers the garbage collector: on a busy machine, a million VCF records took 4.9 to 5.2 s of processor time
 * without the pool, and 4.4 s with it.
 */

/** The spare buffers of one type whose lengths have the same binary logarithm, rounded down. */
interface SizeClass {
  readonly buffers: TypedBuffer[];
  /** The value of `useCount` at the last request for a buffer of this class, or at the last release of one. */
  lastUse: number;
}

/** Spare buffers by type, then by the binary logarithm of their length, rounded down. */
const sizeClassesByType = new Map<BufferType, SizeClass[]>();
let spareBytes = 0;
let useCount = 0;
let outstandingCount = 0;

/**
 * Returns a buffer of at least `length` elements: an unused one of the smallest size class that suffices, or a new one whose length is a
 * power of two. Its contents are undefined: the caller writes an element before reading it. Pass the buffer to `releaseBuffer` after use.
 */
export function acquireBuffer<T extends TypedBuffer>(
  type: new (length: number) => T,
  length: number,
): T {
  outstandingCount += 1;
  return acquireUncountedBuffer(type, length);
}

/**
 * Returns a buffer of at least `length` elements with undefined contents (`acquireBuffer`) that may be left to the garbage collector. Pass
 * the buffer to `releaseUncountedBuffer` if its use ends at a known point.
 */
export function acquireUncountedBuffer<T extends TypedBuffer>(
  type: new (length: number) => T,
  length: number,
): T {
  const smallest = length <= 1 ? 0 : Math.ceil(Math.log2(length));
  const classes = sizeClassesByType.get(type);
  if (classes?.[smallest]) classes[smallest].lastUse = ++useCount;
  for (let exponent = smallest; exponent < (classes?.length ?? 0); exponent++) {
    const buffer = classes![exponent]!.buffers.pop();
    if (buffer === undefined) continue;
    spareBytes -= buffer.byteLength;
    return buffer as T;
  }
  return new type(2 ** smallest);
}

/** Returns a buffer to the pool. Neither the buffer nor any view of its memory may be used afterwards. */
export function releaseBuffer(buffer: TypedBuffer): void {
  outstandingCount -= 1;
  releaseUncountedBuffer(buffer);
}

/**
 * Returns a buffer of `acquireUncountedBuffer` to the pool. Neither the buffer nor any view of its memory may be used afterwards. If the
 * pool is full, buffers of other types or size classes make room, those that have not been used for the longest time first; if there are
 * none, the buffer is dropped. A buffer of more than `maxPooledBufferBytes` is always dropped.
 */
export function releaseUncountedBuffer(buffer: TypedBuffer): void {
  const { byteLength } = buffer;
  if (byteLength === 0 || byteLength > maxPooledBufferBytes) return;
  const type = buffer.constructor as BufferType;
  let classes = sizeClassesByType.get(type);
  if (classes === undefined) sizeClassesByType.set(type, (classes = []));
  const exponent = Math.floor(Math.log2(buffer.length));
  while (classes.length <= exponent) classes.push({ buffers: [], lastUse: 0 });
  const ownClass = classes[exponent]!;
  ownClass.lastUse = ++useCount;
  while (spareBytes + byteLength > maxSpareBytes) {
    const oldest = leastRecentlyUsed(ownClass);
    if (oldest === undefined) return;
    spareBytes -= oldest.buffers.pop()!.byteLength;
  }
  ownClass.buffers.push(buffer);
  spareBytes += byteLength;
}

/** Returns the class other than `own` with spare buffers that has not been used for the longest time. */
function leastRecentlyUsed(own: SizeClass): SizeClass | undefined {
  let oldest: SizeClass | undefined;
  for (const classes of sizeClassesByType.values())
    for (const each of classes)
      if (each !== own && each.buffers.length > 0 && each.lastUse < (oldest?.lastUse ?? Infinity))
        oldest = each;
  return oldest;
}

/**
 * Frees memory at once, instead of leaving it to the garbage collector, which comes late: it counts only the small objects of the heap until
 * 64 MB of such memory have gathered in a thread. No view of the memory may be used afterwards. Memory that is shared with other threads stays;
 * so does an empty buffer, which may be a constant that several arrays share.
 */
export function freeMemory(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer && memory.byteLength > 0) memory.transfer(0);
}

/** Frees the memory of an array as `freeMemory` does, unless other arrays may share that memory. */
export function freeArray({ buffer, byteLength }: ArrayBufferView): void {
  if (buffer.byteLength === byteLength) freeMemory(buffer);
}

/** Returns a copy of a buffer with at least `length` elements and at least twice the size, and releases the original. */
export function growBuffer<T extends TypedBuffer>(buffer: T, length: number): T {
  const type = buffer.constructor as new (length: number) => T;
  const larger = acquireBuffer(type, Math.max(buffer.length * 2, length));
  (larger as Uint8Array).set(buffer as Uint8Array);
  releaseBuffer(buffer);
  return larger;
}

/** Returns a copy of a bitmap with at least twice the size, whose new bits are 0. Neither bitmap belongs to the pool. */
export function growBitmap(bits: Uint8Array, bytes: number): Uint8Array {
  const larger = new Uint8Array(Math.max(bits.length * 2, bytes));
  larger.set(bits);
  return larger;
}

/** Returns the elements of several arrays, one after the other. The result does not belong to the pool. */
export function concatenateArrays<T extends TypedBuffer>(
  type: new (length: number) => T,
  parts: readonly T[],
): T {
  const all = new type(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    (all as Uint8Array).set(part as Uint8Array, end);
    end += part.length;
  }
  return all;
}

/** Number of buffers of `acquireBuffer` that this thread has not released: 0 when no work is under way. For tests. */
export function outstandingBufferCount(): number {
  return outstandingCount;
}

/** Returns a view of the bytes of an array, for numbers that are not aligned. */
export function dataViewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
