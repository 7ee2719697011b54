import { acquireBuffer, dataViewOf, releaseBuffer } from '../../core/buffers.js';
import { AppError } from '../../core/errors.js';
import { hashBytes, mixWord, finalMix } from '../../parquet/hash.js';
import type { MemoryColumn, StringHashes, Utf8Strings } from './match/column.js';
import { lowerCase } from '../../text/fold.js';

/**
 * Builds a hash table that finds the values of a column of strings by their lower case. The values of a bucket are contiguous, so a lookup
 * takes one step, no matter whether a million rows have the string or none.
 */
export function stringHashes({ values, present }: MemoryColumn): StringHashes {
  if (values.kind !== 'strings') throw new AppError('internal', `no hashes of ${values.kind}`);
  const count = values.offsets.length - 1;
  const hashes = acquireBuffer(Int32Array, count);
  hashStrings(values, hashes);
  // The number of buckets is chosen so that each has at most two values on average.
  const bits = Math.max(0, 31 - Math.clz32(count));
  const mask = (1 << bits) - 1;
  const ends = new Uint32Array((1 << bits) + 1);
  let size = 0;
  for (let i = 0; i < count; i++) {
    if (present !== undefined && present[i] === 0) continue;
    ends[hashes[i]! & mask]!++;
    size++;
  }
  for (let bucket = 1; bucket < ends.length; bucket++) ends[bucket]! += ends[bucket - 1]!;
  // The table is filled from the end, so that the values of a bucket ascend and the end of a bucket becomes its start.
  const order = new Uint32Array(size);
  for (let i = count - 1; i >= 0; i--) {
    if (present !== undefined && present[i] === 0) continue;
    order[--ends[hashes[i]! & mask]!] = i;
  }
  releaseBuffer(hashes);
  return {
    bytes: ends.byteLength + order.byteLength,
    find(text) {
      const bucket = stringHash(text) & mask;
      return Array.from(order.subarray(ends[bucket]!, ends[bucket + 1]!));
    },
    findAll(wanted, add) {
      for (let i = 0; i < wanted.length; i++) {
        const bucket = wanted[i]! & mask;
        const end = ends[bucket + 1]!;
        for (let at = ends[bucket]!; at < end; at++) add(i, order[at]!);
      }
    },
  };
}

/** Returns the hash of a string that is in lower case. */
function stringHash(lowerCase: string): number {
  const bytes = Buffer.from(lowerCase);
  const view = dataViewOf(bytes);
  return hashBytes(view, bytes, 0, bytes.length);
}

/** Writes the hash of each string's lower case into `hashes`; the result equals that of `hashBytes`. */
function hashStrings({ bytes, offsets }: Utf8Strings, hashes: Int32Array): void {
  const view = dataViewOf(bytes);
  let from = offsets[0]!;
  for (let i = 0; i + 1 < offsets.length; i++) {
    const to = offsets[i + 1]!;
    let hash = to - from;
    let any = 0; // all bytes or-ed together: its high bits tell whether one is not ASCII
    if (hash < 4) {
      for (let at = from; at < to; at++) {
        const byte = bytes[at]!;
        any |= byte;
        hash = (hash << 8) | (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);
      }
    } else {
      for (let at = from; at + 4 < to; at += 4) {
        const word = view.getInt32(at, true);
        any |= word;
        hash = mixWord(hash, lowerCaseWord(word));
      }
      const word = view.getInt32(to - 4, true);
      any |= word;
      hash = mixWord(hash, lowerCaseWord(word));
    }
    hashes[i] =
      (any & asciiHighBits) === 0
        ? finalMix(hash)
        : hashLowerCased(bytes.toString('utf8', from, to));
    from = to;
  }
}

const asciiHighBits = 0x80808080;

/** Returns the lower case of four ASCII characters: sets bit 5 of the characters from A to Z. */
function lowerCaseWord(word: number): number {
  const atLeastA = (word + 0x3f3f3f3f) | 0;
  const aboveZ = (word + 0x25252525) | 0;
  return word | ((atLeastA & ~aboveZ & asciiHighBits) >>> 2);
}

function hashLowerCased(text: string): number {
  return stringHash(lowerCase(text));
}
