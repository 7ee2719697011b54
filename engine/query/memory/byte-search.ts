import { instantiate, type Kernel } from '../../core/wasm-assembler.js';

/** Pages of 64 KiB of the kernel's memory; longer texts are searched without it. */
const memoryPages = 16;
/** The kernel reads so many bytes beyond the last probe. */
const stepBytes = 16;
/** Longer byte sequences are searched without the kernel. */
const maxWanted = 1024;
/** With more candidates than one in so many bytes, comparing them takes longer than Node's search. */
const bytesPerCandidate = 64;

/** Instructions that compare 16 bytes at `$at` and an offset with a vector of equal bytes. */
const probe = (offset: string, vector: string): string => `
  local.get $at
  local.get ${offset}
  i32.add
  v128.load
  local.get ${vector}
  i8x16.eq`;

/** Returns the first position from `at` on at which four bytes are as wanted: at the position and at three offsets from it; beyond `end` if there is none. */
const candidate: Kernel = {
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
        ${probe('$none', '$v1')}
        ${probe('$second', '$v2')}
        v128.and
        ${probe('$third', '$v3')}
        v128.and
        ${probe('$last', '$v4')}
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

interface Exports {
  candidate(
    at: number, end: number, second: number, third: number, last: number,
    byte1: number, byte2: number, byte3: number, byte4: number,
  ): number; // prettier-ignore
}

const kernel = instantiate<Exports>([candidate], memoryPages);
const memory = new Uint8Array(kernel.memory.buffer);

/**
 * Whether a text contains some bytes. Four of them are compared at 16 positions at once, which finds digits among digits five times as fast as Node's
 * search does, which looks for the first byte alone.
 */
export function holdsBytes(text: Uint8Array, wanted: Buffer): boolean {
  const { length } = wanted;
  const { length: size } = text;
  const isShort = length > 1 && length <= maxWanted;
  if (!isShort || size + maxWanted + stepBytes > memory.length) return includes(text, wanted, 0);
  memory.set(text);
  const last = length - 1;
  const [second, third] = [Math.floor(last / 3), Math.floor((2 * last) / 3)];
  const [byte1, byte2, byte3, byte4] = [wanted[0]!, wanted[second]!, wanted[third]!, wanted[last]!];
  let candidates = 0;
  for (let at = 0; ; at++) {
    at = kernel.candidate(at, size, second, third, last, byte1, byte2, byte3, byte4);
    if (at + length > size) return false;
    if (wanted.compare(memory, at, at + length) === 0) return true;
    if (++candidates * bytesPerCandidate > size) return includes(text, wanted, at);
  }
}

function includes(
  { buffer, byteOffset, length }: Uint8Array,
  wanted: Buffer,
  from: number,
): boolean {
  return Buffer.from(buffer, byteOffset, length).includes(wanted, from);
}
