import type { Kernel } from '../../engine/core/wasm-assembler.js';

/** The kernels of `ScanBuffer`, which process 16 bytes at a time. */
export const scanKernels: readonly Kernel[] = [
  {
    // Writes the positions of the bytes of a set; returns the end of the positions. Each byte of the set has a bit. A table indexed by the
    // lower half of a byte and a table indexed by its upper half have a common bit if and only if the byte is in the set.
    name: 'search',
    params: ['text', 'end', 'positions', 'set'],
    locals: ['at', 'hits'],
    vectors: ['lower', 'upper', 'low', 'none', 'v'],
    body: `
      local.get $set
      v128.load
      local.set $lower
      local.get $set
      i32.const 16
      i32.add
      v128.load
      local.set $upper
      i32.const 15
      i8x16.splat
      local.set $low
      local.get $text
      local.set $at
      block
        loop
          local.get $at
          local.get $end
          i32.ge_u
          br_if 1
          local.get $lower
          local.get $at
          v128.load
          local.tee $v
          local.get $low
          v128.and
          i8x16.swizzle
          local.get $upper
          local.get $v
          i32.const 4
          i8x16.shr_u
          i8x16.swizzle
          v128.and
          local.get $none
          i8x16.ne
          i8x16.bitmask
          local.set $hits
          block
            loop
              local.get $hits
              i32.eqz
              br_if 1
              local.get $positions       ;; position of the lowest hit in the text
              local.get $at
              local.get $text
              i32.sub
              local.get $hits
              i32.ctz
              i32.add
              i32.store
              local.get $positions
              i32.const 4
              i32.add
              local.set $positions
              local.get $hits        ;; clear the lowest hit
              local.get $hits
              i32.const 1
              i32.sub
              i32.and
              local.set $hits
              br 0
            end
          end
          local.get $at
          i32.const 16
          i32.add
          local.set $at
          br 0
        end
      end
      local.get $positions`,
  },
  {
    // Copies ranges of the text one after the other, and writes the end of each; returns the total length.
    name: 'gather',
    params: ['text', 'from', 'to', 'count', 'out', 'ends'],
    locals: ['base', 'last', 'source', 'size', 'at'],
    body: `
      local.get $out
      local.set $base
      local.get $count
      local.get $count
      i32.add
      local.tee $last
      local.get $last
      i32.add
      local.get $from
      i32.add
      local.set $last
      block
        loop
          local.get $from
          local.get $last
          i32.ge_u
          br_if 1
          local.get $to
          i32.load
          local.get $from
          i32.load
          local.tee $source
          i32.sub
          local.set $size
          local.get $source
          local.get $text
          i32.add
          local.set $source
          i32.const 0
          local.set $at
          block
            loop
              local.get $at
              local.get $size
              i32.ge_u
              br_if 1
              local.get $out
              local.get $at
              i32.add
              local.get $source
              local.get $at
              i32.add
              v128.load
              v128.store
              local.get $at
              i32.const 16
              i32.add
              local.set $at
              br 0
            end
          end
          local.get $ends
          local.get $out
          local.get $size
          i32.add
          local.tee $out
          local.get $base
          i32.sub
          i32.store
          local.get $ends
          i32.const 4
          i32.add
          local.set $ends
          local.get $to
          i32.const 4
          i32.add
          local.set $to
          local.get $from
          i32.const 4
          i32.add
          local.set $from
          br 0
        end
      end
      local.get $out
      local.get $base
      i32.sub`,
  },
];
