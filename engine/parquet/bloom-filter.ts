import { instantiate } from '../core/wasm-assembler.js';
import { insertKernel, salts } from './bloom-kernel.js';
import { ByteSink } from './byte-sink.js';
import { ThriftWriter } from './thrift.js';
import type { Strings } from './values.js';
import { xxHash64 } from './xxhash64.js';

/*
 * Split-block bloom filters (parquet-format, BloomFilter.md): which strings are certainly not in a column chunk. A block has eight words of
 * 32 bits, and every string sets a bit in each word of one block.
 */

const blockBytes = 32;
/** Bits for each value: one lookup in 200 then reads a chunk in vain. */
const bitsPerValue = 12;
/** Filters are not larger: lists with more values have more false hits. */
const mostBlocks = 1 << 14;

/** Strings that are added at once. */
const batchBytes = 512 << 10;
const batchStrings = 32 << 10;
const filterAt = 0;
const offsetsAt = filterAt + mostBlocks * blockBytes;
const stringsAt = offsetsAt + 4 * (batchStrings + 1);
const pages = Math.ceil((stringsAt + batchBytes) / 65_536);

interface Kernels {
  insert(strings: number, offsets: number, count: number, filter: number, blocks: number): number;
}

/** The kernels of this thread, compiled for the first filter. */
let kernels: ReturnType<typeof instantiate<Kernels>> | undefined;

/** The blocks of a filter with these strings; undefined for none, or if one is too long to be looked up. */
export function bloomFilter({ count, bytes, offsets }: Strings): Uint8Array | undefined {
  if (count === 0) return undefined;
  kernels ??= instantiate<Kernels>([insertKernel], pages);
  const { buffer } = kernels.memory;
  const blocks = Math.min(mostBlocks, Math.ceil((count * bitsPerValue) / (8 * blockBytes)));
  const filter = new Uint8Array(buffer, filterAt, blocks * blockBytes).fill(0);
  const starts = new Int32Array(buffer, offsetsAt, batchStrings + 1);
  const strings = new Uint8Array(buffer, stringsAt, batchBytes);
  for (let from = 0; from < count;) {
    const first = offsets[from]!;
    let to = from;
    while (to < count && to - from < batchStrings && offsets[to + 1]! - first <= batchBytes) to++;
    if (to === from) return undefined;
    strings.set(bytes.subarray(first, offsets[to]));
    for (let i = from; i <= to; i++) starts[i - from] = offsets[i]! - first;
    kernels.insert(stringsAt, offsetsAt, to - from, filterAt, blocks);
    from = to;
  }
  return filter.slice();
}

/** The halves of a string's hash, unsigned. */
export interface FilterHash {
  readonly high: number;
  readonly low: number;
}

export function filterHash(text: string): FilterHash {
  const hash = xxHash64(Buffer.from(text));
  return { high: Number(hash >> 32n), low: Number(hash & 0xffffffffn) };
}

/** Whether a filter may contain the string with this hash. `words` are the words of its blocks. */
export function mayContain(words: Uint32Array, { high, low }: FilterHash): boolean {
  // The product has at most 46 bits, which a double holds.
  const block = Math.floor((high * (words.length >> 3)) / 2 ** 32) << 3;
  return salts.every((salt, i) => (words[block + i]! >>> (Math.imul(low, salt) >>> 27)) & 1);
}

/** Writes `BloomFilterHeader` (parquet.thrift), then the blocks. */
export function writeBloomFilter(sink: ByteSink, blocks: Uint8Array): void {
  writeHeader(sink, blocks.length);
  sink.append(blocks);
}

function writeHeader(sink: ByteSink, bytes: number): void {
  const thrift = new ThriftWriter(sink);
  thrift.start();
  thrift.i32(1, bytes);
  // Unions: split blocks, xxHash, not compressed.
  for (const id of [2, 3, 4]) {
    thrift.struct(id);
    thrift.struct(1);
    thrift.end();
    thrift.end();
  }
  thrift.end();
}

/** The words of a filter, from its header and blocks; undefined if it is of another kind. */
export function parseBloomFilter(bytes: Uint8Array): Uint32Array | undefined {
  // The header is shorter than a block.
  const headerBytes = bytes.length % blockBytes;
  const expected = new ByteSink(blockBytes);
  try {
    writeHeader(expected, bytes.length - headerBytes);
    const isOurs = Buffer.compare(bytes.subarray(0, headerBytes), expected.written()) === 0;
    return isOurs ? new Uint32Array(new Uint8Array(bytes.subarray(headerBytes)).buffer) : undefined;
  } finally {
    expected.release();
  }
}
