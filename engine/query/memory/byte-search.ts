import { instantiate, type Kernel } from '../../core/wasm-assembler.js';

/** Size of the kernel's memory in pages of 64 KiB; longer texts are searched without the kernel. */
const memoryPages = 16;
/** Number of bytes that the kernel may read beyond the last position that it tests. */
const vectorBytes = 16;
/** Maximum length of a byte sequence that the kernel searches for; longer ones are searched for by Node. */
const maxWantedBytes = 1024;
/** If there is more than one candidate in this many bytes, comparing the candidates takes longer than Node's search. */
const minBytesPerCandidate = 64;

/** Instructions that compare the 16 bytes at `$at` plus an offset with a vector that repeats one byte. */
const compareBytesSource = (offset: string, vector: string): string => `
  local.get $at
  local.get ${offset}
  i32.add
  v128.load
  local.get ${vector}
  i8x16.eq`;

/**
 * Returns the first position from `at` on where the four given bytes occur: at the position itself, and at the offsets `second`, `third`
 * and `last` from it. Returns a position beyond `end` if there is none.
 */
const candidateKernel: Kernel = {
  name: 'candidate',
  params: ['at', 'end', 'second', 'third', 'last', 'byte1', 'byte2', 'byte3', 'byte4'],
  locals: ['none', 'hits'],
  vectors: ['v1', 'v2', 'v3', 'v4'],
  body: `
    ${[1, 2, 3, 4]
      .map(
        (i) => `
    local.get $byte${i}
    i8x16.splat
    local.set $v${i}`,
      )
      .join('')}
    block
      loop
        local.get $at
        local.get $end
        i32.ge_u
        br_if 1
        ${compareBytesSource('$none', '$v1')}
        ${compareBytesSource('$second', '$v2')}
        v128.and
        ${compareBytesSource('$third', '$v3')}
        v128.and
        ${compareBytesSource('$last', '$v4')}
        v128.and
        i8x16.bitmask
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
  ): number; // prettier-ignore
}

const searchKernels = instantiate<SearchKernels>([candidateKernel], memoryPages);
const kernelMemory = new Uint8Array(searchKernels.memory.buffer);

/**
 * Returns whether a text contains a sequence of bytes. Four bytes of the sequence are compared at 16 positions at once, which finds digits
 * among digits five times as fast as Node's search, which looks for the first byte alone.
 */
export function holdsBytes(text: Uint8Array, wanted: Buffer): boolean {
  const { length } = wanted;
  const { length: size } = text;
  const isShort = length > 1 && length <= maxWantedBytes;
  if (!isShort || size + maxWantedBytes + vectorBytes > kernelMemory.length)
    return includesFrom(text, wanted, 0);
  kernelMemory.set(text);
  const last = length - 1;
  const [second, third] = [Math.floor(last / 3), Math.floor((2 * last) / 3)];
  const [byte1, byte2, byte3, byte4] = [wanted[0]!, wanted[second]!, wanted[third]!, wanted[last]!];
  let candidates = 0;
  for (let at = 0; ; at++) {
    at = searchKernels.candidate(at, size, second, third, last, byte1, byte2, byte3, byte4);
    if (at + length > size) return false;
    if (wanted.compare(kernelMemory, at, at + length) === 0) return true;
    if (++candidates * minBytesPerCandidate > size) return includesFrom(text, wanted, at);
  }
}

function includesFrom(
  { buffer, byteOffset, length }: Uint8Array,
  wanted: Buffer,
  from: number,
): boolean {
  return Buffer.from(buffer, byteOffset, length).includes(wanted, from);
}
