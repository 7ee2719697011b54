import { expect, test } from '@jest/globals';
import { instantiate } from '../../../engine/core/wasm-assembler.js';

test('branches leave the block of a label, the innermost one of two with the same', () => {
  const { nested } = instantiate<{ nested(n: number): number }>(
    [
      {
        name: 'nested',
        params: ['n'],
        locals: ['steps'],
        body: `
          block $outer
            loop $again
              block $again
                local.get $n
                i32.eqz
                br_if $outer
                local.get $n
                i32.const 1
                i32.and
                br_if $again        ;; the block: an odd step is not counted
                local.get $steps
                i32.const 1
                i32.add
                local.set $steps
              end
              local.get $n
              i32.const 1
              i32.sub
              local.set $n
              br $again
            end
          end
          local.get $steps`,
      },
    ],
    1,
  );
  expect([0, 1, 2, 7, 10].map(nested)).toEqual([0, 0, 1, 3, 5]);
});

test('a label that no open block has is an error', () => {
  const body = `
    block $a
    end
    br $a
    i32.const 0`;
  expect(() => instantiate([{ name: 'f', params: [], body }], 1)).toThrow('no such label: br $a');
});

test('constants and operations of doubles are exact', () => {
  const body = `
    local.get $at
    f64.const 0.1
    f64.const 0.2
    f64.add
    f64.store
    i32.const 0`;
  const { add, memory } = instantiate<{ add(at: number): number }>([{ name: 'add', params: ['at'], body }], 1); // prettier-ignore
  add(8);
  expect(new Float64Array(memory.buffer)[1]).toBe(0.1 + 0.2);
});
