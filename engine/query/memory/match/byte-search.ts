import { instantiate, type Kernel } from '../../../core/wasm-assembler.js';

/** Size of the kernel's memory in pages of 64 KiB; `holdsBytes` searches longer texts without the kernel. */
const memoryPages = 16;
/**
 * Number of positions that the kernel tests at a time. It may read up to this many bytes more than the text and the sequence have together.
 */
const vectorBytes = 16;
/** Maximum length of a byte sequence that the kernel searches for; `holdsBytes` leaves longer ones to Node's search. */
const maxWantedBytes = 1024;
/** If there is more than one candidate in this many bytes, comparing the candidates takes longer than Node's search. */
const minBytesPerCandidate = 64;
/**
 * Number of bytes that are copied into the kernel's memory at a time, so that they are still in the processor's cache when they are
 * compared.
 */
const blockBytes = 1 << 17;

/**
 * Instructions that compare the 16 bytes at `$at` plus an offset, after the bits of `$fold` are set, with a vector that repeats one byte.
 */
const compareBytesSource = (offset: string, i: number): string => `
  local.get $at
  local.get ${offset}
  i32.add
  v128.load
  local.get $f${i}
  v128.or
  local.get $v${i}
  i8x16.eq`;

/**
 * Returns the first position from `at` on where the four given bytes occur: at the position itself, and at the offsets `second`, `third`
 * and `last` from it. The bits of `fold` of a byte are set in the text before it is compared. If `high` is 0xffff, positions of bytes above
 * 127 are returned, too; it is 0 otherwise. Returns a position of at least `end` if there is none before it.
 */
const candidateKernel: Kernel = {
  name: 'candidate',
  params: [
    'at', 'end', 'second', 'third', 'last', 'byte1', 'byte2', 'byte3', 'byte4',
    'fold1', 'fold2', 'fold3', 'fold4', 'high',
  ], // prettier-ignore
  locals: ['none', 'hits'],
  vectors: ['v1', 'v2', 'v3', 'v4', 'f1', 'f2', 'f3', 'f4'],
  body: `
    ${[1, 2, 3, 4]
      .map(
        (i) => `
    local.get $byte${i}
    i8x16.splat
    local.set $v${i}
    local.get $fold${i}
    i8x16.splat
    local.set $f${i}`,
      )
      .join('')}
    block
      loop
        local.get $at
        local.get $end
        i32.ge_u
        br_if 1
        ${compareBytesSource('$none', 1)}
        ${compareBytesSource('$second', 2)}
        v128.and
        ${compareBytesSource('$third', 3)}
        v128.and
        ${compareBytesSource('$last', 4)}
        v128.and
        i8x16.bitmask
        local.get $at
        v128.load
        i8x16.bitmask
        local.get $high
        i32.and
        i32.or
        local.tee $hits
        br_if 1
        local.get $at
        i32.const 16
        i32.add
        local.set $at
        br 0
      end
    end
    local.get $at
    local.get $hits
    i32.ctz
    i32.add`,
};

interface SearchKernels {
  candidate(
    at: number, end: number, second: number, third: number, last: number,
    byte1: number, byte2: number, byte3: number, byte4: number,
    fold1: number, fold2: number, fold3: number, fold4: number, high: number,
  ): number; // prettier-ignore
}

const searchKernels = instantiate<SearchKernels>([candidateKernel], memoryPages);
const kernelMemory = new Uint8Array(searchKernels.memory.buffer);

/**
 * Returns whether a text contains a sequence of bytes. Four bytes of the sequence are compared at 16 positions at once, which finds digits
 * among digits five times as fast as Node's search, which looks for the first byte alone.
 */
export function holdsBytes(text: Uint8Array, wantedBytes: Buffer): boolean {
  const { length } = wantedBytes;
  const { length: size } = text;
  const isShort = length > 1 && length <= maxWantedBytes;
  if (!isShort || size + maxWantedBytes + vectorBytes > kernelMemory.length)
    return includesFrom(text, wantedBytes, 0);
  kernelMemory.set(text);
  const nextCandidate = candidateSearch(wantedBytes, false);
  let candidates = 0;
  for (let at = 0; ; at++) {
    at = nextCandidate(at, size);
    if (at + length > size) return false;
    if (wantedBytes.compare(kernelMemory, at, at + length) === 0) return true;
    if (++candidates * minBytesPerCandidate > size) return includesFrom(text, wantedBytes, at);
  }
}

/**
 * Calls `each` with the positions in `bytes[from..to)` where `wantedText`, ASCII in lower case, may occur in any letter case, and with
 * those of bytes outside ASCII. `each` returns the position at which the search goes on. `wantedText` must be a text that `maySearchFolded`
 * accepts.
 */
export function searchFolded(
  bytes: Uint8Array,
  from: number,
  to: number,
  wantedText: Buffer,
  each: (at: number) => number,
): void {
  const nextCandidate = candidateSearch(wantedText, true);
  for (let block = from; block < to;) {
    const size = Math.min(blockBytes, to - block);
    kernelMemory.set(bytes.subarray(block, Math.min(to, block + size + wantedText.length)));
    let at = 0;
    for (;;) {
      const candidate = nextCandidate(at, size);
      if (candidate >= size) break;
      at = each(block + candidate) - block;
      if (at >= size) break;
    }
    block += Math.max(size, at);
  }
}

/** Returns whether the kernel can search for this text. */
export function maySearchFolded({ length }: Uint8Array): boolean {
  return length > 0 && length <= maxWantedBytes;
}

/**
 * Returns a function that returns the first candidate in the kernel's memory from `at` on; a position of at least `end` if there is none.
 */
function candidateSearch(
  wantedBytes: Buffer,
  isFolded: boolean,
): (at: number, end: number) => number {
  const last = wantedBytes.length - 1;
  const [second, third] = [Math.floor(last / 3), Math.floor((2 * last) / 3)];
  const [byte1, byte2, byte3, byte4] = [
    wantedBytes[0]!,
    wantedBytes[second]!,
    wantedBytes[third]!,
    wantedBytes[last]!,
  ];
  const fold = (byte: number): number => (isFolded && byte >= 0x61 && byte <= 0x7a ? 0x20 : 0);
  const [fold1, fold2, fold3, fold4] = [fold(byte1), fold(byte2), fold(byte3), fold(byte4)];
  const high = isFolded ? 0xffff : 0;
  return (at, end) =>
    searchKernels.candidate(
      at, end, second, third, last, byte1, byte2, byte3, byte4, fold1, fold2, fold3, fold4, high,
    ); // prettier-ignore
}

function includesFrom(
  { buffer, byteOffset, length }: Uint8Array,
  wantedBytes: Buffer,
  from: number,
): boolean {
  return Buffer.from(buffer, byteOffset, length).includes(wantedBytes, from);
}
