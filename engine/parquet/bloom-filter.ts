import { instantiate } from '../core/wasm-assembler.js';
import { insertKernel, salts } from './bloom-kernel.js';
import { ByteSink } from './byte-sink.js';
import { ThriftWriter } from './thrift.js';
import type { Strings } from './encoder-values.js';
import { xxHash64 } from './xxhash64.js';

/*
 * Split-block bloom filters (parquet-format, BloomFilter.md), which tell what strings are certainly not in a column chunk. A block has
 * eight words of 32 bits, and every string sets a bit in each word of one block.
 */

const blockBytes = 32;
/** Bits for each value: with 12, one of 200 lookups of a missing value reads a column chunk in vain. */
const bitsPerValue = 12;
/** Maximum size of a filter; column chunks with more values have more false positives. */
const maxBlocks = 1 << 14;

/** Bytes of strings that are added to a filter in one call of the kernel. */
const batchBytes = 512 << 10;
const batchStrings = 32 << 10;
const filterAddress = 0;
const offsetsAddress = filterAddress + maxBlocks * blockBytes;
const stringsAddress = offsetsAddress + 4 * (batchStrings + 1);
const memoryPages = Math.ceil((stringsAddress + batchBytes) / 65_536);

interface BloomKernels {
  insert(strings: number, offsets: number, count: number, filter: number, blocks: number): number;
}

/** The kernels of this thread, which are compiled for its first filter. */
let compiledKernels: ReturnType<typeof instantiate<BloomKernels>> | undefined;

/** Returns the blocks of a filter with these strings; undefined if there are none, or if one of them is too long for lookups. */
export function bloomFilter({ count, bytes, offsets }: Strings): Uint8Array | undefined {
  if (count === 0) return undefined;
  compiledKernels ??= instantiate<BloomKernels>([insertKernel], memoryPages);
  const { buffer } = compiledKernels.memory;
  const blocks = Math.min(maxBlocks, Math.ceil((count * bitsPerValue) / (8 * blockBytes)));
  const filter = new Uint8Array(buffer, filterAddress, blocks * blockBytes).fill(0);
  const starts = new Int32Array(buffer, offsetsAddress, batchStrings + 1);
  const strings = new Uint8Array(buffer, stringsAddress, batchBytes);
  for (let from = 0; from < count;) {
    const first = offsets[from]!;
    let to = from;
    while (to < count && to - from < batchStrings && offsets[to + 1]! - first <= batchBytes) to++;
    if (to === from) return undefined;
    strings.set(bytes.subarray(first, offsets[to]));
    for (let i = from; i <= to; i++) starts[i - from] = offsets[i]! - first;
    compiledKernels.insert(stringsAddress, offsetsAddress, to - from, filterAddress, blocks);
    from = to;
  }
  return filter.slice();
}

/** The two halves of a string's hash, as unsigned numbers. */
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
  // The product has at most 46 bits, which a double represents exactly.
  const block = Math.floor((high * (words.length >> 3)) / 2 ** 32) << 3;
  return salts.every((salt, i) => (words[block + i]! >>> (Math.imul(low, salt) >>> 27)) & 1);
}

/** Writes a `BloomFilterHeader` (parquet.thrift), followed by the blocks. */
export function writeBloomFilter(sink: ByteSink, blocks: Uint8Array): void {
  writeHeader(sink, blocks.length);
  sink.append(blocks);
}

function writeHeader(sink: ByteSink, bytes: number): void {
  const thrift = new ThriftWriter(sink);
  thrift.start();
  thrift.i32(1, bytes);
  // The three fields are unions with one member each: split blocks, xxHash, not compressed.
  for (const id of [2, 3, 4]) {
    thrift.startStruct(id);
    thrift.startStruct(1);
    thrift.endStruct();
    thrift.endStruct();
  }
  thrift.endStruct();
}

/** Returns the words of a filter from its header and blocks; undefined if the filter is of another kind. */
export function parseBloomFilter(bytes: Uint8Array): Uint32Array | undefined {
  // The header is shorter than a block, so it is what remains after the whole blocks.
  const headerBytes = bytes.length % blockBytes;
  const expected = new ByteSink(blockBytes);
  try {
    writeHeader(expected, bytes.length - headerBytes);
    const isOurs = Buffer.compare(bytes.subarray(0, headerBytes), expected.writtenBytes()) === 0;
    return isOurs ? new Uint32Array(new Uint8Array(bytes.subarray(headerBytes)).buffer) : undefined;
  } finally {
    expected.release();
  }
}
