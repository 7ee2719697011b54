import { instantiate } from '../core/wasm-assembler.js';
import { hashKernel, insertKernel, salts } from './bloom-kernel.js';
import { ByteSink } from './byte-sink.js';
import { ThriftWriter } from './thrift.js';
import type { Strings } from './encoder-values.js';

/*
 * Split-block Bloom filters (parquet-format, BloomFilter.md), which tell what strings are certainly not in a column chunk. A block has
 * eight words of 32 bits, and every string sets a bit in each word of one block.
 */

const blockBytes = 32;
/** Bits for each value: with 12, one of 200 lookups of a missing value reads a column chunk in vain. */
const bitsPerValue = 12;
/** Maximum size of a filter in blocks; column chunks with too many values for this size have more false positives. */
const maxBlocks = 1 << 14;

/** The limits of one call of a kernel: the total size of its strings in bytes, and the number of its strings. */
const batchBytes = 512 << 10;
const batchStrings = 32 << 10;
const filterAddress = 0;
const offsetsAddress = filterAddress + maxBlocks * blockBytes;
const stringsAddress = offsetsAddress + 4 * (batchStrings + 1);
const memoryPages = Math.ceil((stringsAddress + batchBytes) / 65_536);

interface BloomKernels {
  hash(strings: number, offsets: number, count: number, hashes: number): number;
  insert(strings: number, offsets: number, count: number, filter: number, blocks: number): number;
}

/** The kernels of this thread, which are compiled for its first filter or hash. */
let compiledKernels: ReturnType<typeof instantiate<BloomKernels>> | undefined;

function kernels(): ReturnType<typeof instantiate<BloomKernels>> {
  return (compiledKernels ??= instantiate<BloomKernels>([insertKernel, hashKernel], memoryPages));
}

/** Strings in UTF-8: `offsets` has the offset of each string, and the end of the last one. */
type StringBytes = Pick<Strings, 'bytes' | 'offsets'>;

/**
 * Copies strings from index `from` on into the memory of the kernels; returns the index after the last, `from` if that string is too long.
 */
function copyBatch({ bytes, offsets }: StringBytes, from: number): number {
  const { buffer } = kernels().memory;
  const starts = new Int32Array(buffer, offsetsAddress, batchStrings + 1);
  const first = offsets[from]!;
  const most = Math.min(offsets.length - 1, from + batchStrings);
  let to = from;
  while (to < most && offsets[to + 1]! - first <= batchBytes) to++;
  new Uint8Array(buffer, stringsAddress, batchBytes).set(bytes.subarray(first, offsets[to]));
  for (let i = from; i <= to; i++) starts[i - from] = offsets[i]! - first;
  return to;
}

/** Returns the blocks of a filter with these strings; undefined if there are none, or if one of them has more than `batchBytes`. */
export function bloomFilter({ count, bytes, offsets }: Strings): Uint8Array | undefined {
  if (count === 0) return undefined;
  const blocks = Math.min(maxBlocks, Math.ceil((count * bitsPerValue) / (8 * blockBytes)));
  const { memory, insert } = kernels();
  const filter = new Uint8Array(memory.buffer, filterAddress, blocks * blockBytes).fill(0);
  const strings = { bytes, offsets: offsets.subarray(0, count + 1) };
  for (let from = 0; from < count;) {
    const to = copyBatch(strings, from);
    if (to === from) return undefined;
    insert(stringsAddress, offsetsAddress, to - from, filterAddress, blocks);
    from = to;
  }
  return filter.slice();
}

/** The hashes of strings: the lower and the upper half of each, as unsigned numbers. */
export type FilterHashes = Uint32Array;

/** Returns the hashes of strings. A string that is too long for filters has some hash. */
export function filterHashes(strings: StringBytes): FilterHashes {
  const count = strings.offsets.length - 1;
  const hashes = new Uint32Array(2 * count);
  const { memory, hash } = kernels();
  for (let from = 0; from < count;) {
    const to = copyBatch(strings, from);
    hash(stringsAddress, offsetsAddress, to - from, filterAddress);
    hashes.set(new Uint32Array(memory.buffer, filterAddress, 2 * (to - from)), 2 * from);
    from = Math.max(to, from + 1);
  }
  return hashes;
}

/** Whether a filter may contain string `i`. `words` are the words of its blocks. */
export function mayContain(words: Uint32Array, hashes: FilterHashes, i: number): boolean {
  const low = hashes[2 * i]! | 0;
  // The product has at most 46 bits, which a double represents exactly.
  const block = Math.floor((hashes[2 * i + 1]! * (words.length >> 3)) / 2 ** 32) << 3;
  for (let word = 0; word < salts.length; word++)
    if (((words[block + word]! >>> (Math.imul(low, salts[word]!) >>> 27)) & 1) === 0) return false;
  return true;
}

/** Whether a filter may contain one of the strings. */
export function mayContainAny(words: Uint32Array, hashes: FilterHashes): boolean {
  for (let i = 0; 2 * i < hashes.length; i++) if (mayContain(words, hashes, i)) return true;
  return false;
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
