import type { Kernel } from '../core/wasm-assembler.js';

/** The prime numbers of XXH64 (xxHash, doc/xxhash_spec.md), the hash of Parquet's Bloom filters; the seed is 0. */
const [p1, p2, p3, p4, p5] = [
  0x9e3779b185ebca87n,
  0xc2b2ae3d27d4eb4fn,
  0x165667b19e3779f9n,
  0x85ebca77c2b2ae63n,
  0x27d4eb2f165667c5n,
] as const;

/** The constants that determine which bits of a block a string sets (parquet-format, BloomFilter.md). */
export const salts = [
  0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
] as const;

const lanes = ['$v1', '$v2', '$v3', '$v4'] as const;

/** Instructions that replace an accumulator of xxHash and an input on the stack by the new accumulator. */
const mixSource = `
  i64.const ${p2}
  i64.mul
  i64.add
  i64.const 31
  i64.rotl
  i64.const ${p1}
  i64.mul`;

/** Instructions that rotate the 64-bit number on the stack, multiply it by `factor`, add `more` and store the result in `$hash`. */
const rotateMultiplyAddSource = (by: number, factor: bigint, more: bigint): string => `
  i64.const ${by}
  i64.rotl
  i64.const ${factor}
  i64.mul
  i64.const ${more}
  i64.add
  local.set $hash`;

/** Instructions that leave the two innermost blocks (or loops) unless this many bytes remain. */
const breakUnlessBytesRemain = (bytes: number): string => `
  local.get $at
  i32.const ${bytes}
  i32.add
  local.get $end
  i32.gt_u
  br_if 1`;

const advanceAddress = (bytes: number): string => `
  local.get $at
  i32.const ${bytes}
  i32.add
  local.set $at`;

/** Instructions of xxHash that shift the hash by `by` bits, combine it with the result and multiply it by `factor`. */
const shiftMultiplySource = (by: number, factor: bigint): string => `
  local.get $hash
  local.get $hash
  i64.const ${by}
  i64.shr_u
  i64.xor
  i64.const ${factor}
  i64.mul
  local.set $hash`;

/** Hashes strings of 32 bytes and more, except for their last incomplete 32 bytes. */
const stripesSource = `
  i64.const ${p1 + p2}
  local.set $v1
  i64.const ${p2}
  local.set $v2
  i64.const 0
  local.set $v3
  i64.const ${-p1}
  local.set $v4
  loop
    ${lanes
      .map(
        (lane, i) => `
    local.get ${lane}
    local.get $at
    i32.const ${8 * i}
    i32.add
    i64.load
    ${mixSource}
    local.set ${lane}`,
      )
      .join('')}
    ${advanceAddress(32)}
    local.get $at
    i32.const 32
    i32.add
    local.get $end
    i32.le_u
    br_if 0
  end
  ${[1, 7, 12, 18]
    .map(
      (by, i) => `
  local.get ${lanes[i]!}
  i64.const ${by}
  i64.rotl
  ${i > 0 ? 'i64.add' : ''}`,
    )
    .join('')}
  local.set $hash
  ${lanes
    .map(
      (lane) => `
  local.get $hash
  i64.const 0
  local.get ${lane}
  ${mixSource}
  i64.xor
  ${rotateMultiplyAddSource(0, p1, p4)}`,
    )
    .join('')}`;

/**
 * Hashes strings one after the other, and carries out `use` with the hash of each in `$hash`; `$offsets` has one entry more than there are
 * strings.
 */
const eachHashSource = (use: string): string => `
    block
      loop
        local.get $count
        i32.eqz
        br_if 1
        local.get $offsets
        i32.load
        local.get $strings
        i32.add
        local.tee $at
        local.set $start
        local.get $offsets
        i32.const 4
        i32.add
        local.tee $offsets
        i32.load
        local.get $strings
        i32.add
        local.set $end
        i64.const ${p5}
        local.set $hash
        block
          local.get $end
          local.get $at
          i32.sub
          i32.const 32
          i32.lt_u
          br_if 0
          ${stripesSource}
        end
        local.get $hash
        local.get $end
        local.get $start
        i32.sub
        i64.extend_i32_u
        i64.add
        local.set $hash
        block
          loop
            ${breakUnlessBytesRemain(8)}
            local.get $hash
            i64.const 0
            local.get $at
            i64.load
            ${mixSource}
            i64.xor
            ${rotateMultiplyAddSource(27, p1, p4)}
            ${advanceAddress(8)}
            br 0
          end
        end
        block
          block
            ${breakUnlessBytesRemain(4)}
            local.get $hash
            local.get $at
            i64.load32_u
            i64.const ${p1}
            i64.mul
            i64.xor
            ${rotateMultiplyAddSource(23, p2, p3)}
            ${advanceAddress(4)}
          end
        end
        block
          loop
            ${breakUnlessBytesRemain(1)}
            local.get $hash
            local.get $at
            i64.load8_u
            i64.const ${p5}
            i64.mul
            i64.xor
            ${rotateMultiplyAddSource(11, p1, 0n)}
            ${advanceAddress(1)}
            br 0
          end
        end
        ${shiftMultiplySource(33, p2)}
        ${shiftMultiplySource(29, p3)}
        ${shiftMultiplySource(32, 1n)}
        ${use}
        local.get $count
        i32.const 1
        i32.sub
        local.set $count
        br 0
      end
    end
    i32.const 0`;

const hashLocals = {
  locals: ['start', 'at', 'end', 'place', 'low'],
  longs: ['hash', 'v1', 'v2', 'v3', 'v4'],
};

/** Writes the hashes of strings one after the other. */
export const hashKernel: Kernel = {
  name: 'hash',
  params: ['strings', 'offsets', 'count', 'hashes'],
  ...hashLocals,
  body: eachHashSource(`
        local.get $hashes
        local.get $hash
        i64.store
        local.get $hashes
        i32.const 8
        i32.add
        local.set $hashes`),
};

/** Adds strings to a split-block Bloom filter. */
export const insertKernel: Kernel = {
  name: 'insert',
  params: ['strings', 'offsets', 'count', 'filter', 'blocks'],
  ...hashLocals,
  body: eachHashSource(`
        local.get $hash           ;; the upper half chooses the block
        i64.const 32
        i64.shr_u
        local.get $blocks
        i64.extend_i32_u
        i64.mul
        i64.const 32
        i64.shr_u
        i32.wrap_i64
        i32.const 5
        i32.shl
        local.get $filter
        i32.add
        local.set $place
        local.get $hash           ;; the lower half chooses a bit of each of its words
        i32.wrap_i64
        local.set $low
        ${salts
          .map(
            (salt) => `
        local.get $place
        local.get $place
        i32.load
        i32.const 1
        local.get $low
        i32.const ${salt}
        i32.mul
        i32.const 27
        i32.shr_u
        i32.shl
        i32.or
        i32.store
        local.get $place
        i32.const 4
        i32.add
        local.set $place`,
          )
          .join('')}`),
};
