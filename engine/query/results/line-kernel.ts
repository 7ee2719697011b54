import type { Kernel } from '../../core/wasm-assembler.js';

/** The words of a cell that the kernel reads: consecutive 32-bit words, all of them addresses or sizes in bytes. */
export const cellWords = {
  begins: 0,
  ends: 1,
  texts: 2,
  before: 3,
  beforeBytes: 4,
  none: 5,
  noneBytes: 6,
} as const;

/** The number of words of a cell. */
export const wordsOfCell = 7;

/**
 * The number of bytes that one copy moves. Up to one byte less is read beyond the end of a text, and written beyond the end of the output.
 */
export const bytesAtOnce = 16;

const word = (name: keyof typeof cellWords): string => `
  local.get $cell
  i32.const ${4 * cellWords[name]}
  i32.add
  i32.load`;

/** Instructions that replace the address of an array on the stack by the element of the current record. */
const ofRecord = `
  local.get $record
  i32.const 2
  i32.shl
  i32.add
  i32.load`;

/** Instructions that copy `$size` bytes from `$from` to the output, or leave this number of blocks if there is no room. */
const copy = (blocks: number): string => `
  local.get $to
  local.tee $target
  local.get $size
  i32.add
  local.tee $to
  local.get $limit
  i32.gt_u
  br_if ${blocks}
  loop
    local.get $target
    local.get $from
    v128.load
    v128.store
    local.get $from
    i32.const ${bytesAtOnce}
    i32.add
    local.set $from
    local.get $target
    i32.const ${bytesAtOnce}
    i32.add
    local.tee $target
    local.get $to
    i32.lt_u
    br_if 0
  end`;

/**
 * Puts lines together, from that of `$record` on: of each cell (`$count` of them, at least one) the text before it and its own text, or
 * the one that stands for none; then `$close`. The address of each line's end goes to `$lineEnds`. Returns the number of the first record
 * whose line does not end before `$limit`; `$records` if all do.
 */
export const linesKernel: Kernel = {
  name: 'lines',
  params: ['cells', 'count', 'close', 'closeBytes', 'record', 'records', 'lineEnds', 'to', 'limit'],
  locals: ['cell', 'left', 'begin', 'from', 'size', 'target'],
  body: `
    block
      loop
        local.get $record
        local.get $records
        i32.ge_u
        br_if 1
        local.get $cells
        local.set $cell
        local.get $count
        local.set $left
        loop
          ${word('before')}
          local.set $from
          ${word('beforeBytes')}
          local.set $size
          ${copy(2)}
          ${word('texts')}
          ${word('begins')}
          ${ofRecord}
          local.tee $begin
          i32.add
          ${word('none')}
          local.get $begin        ;; negative without a value
          i32.const 0x7fffffff
          i32.le_u
          select
          local.set $from
          ${word('ends')}
          ${ofRecord}
          local.get $begin
          i32.sub
          ${word('noneBytes')}
          local.get $begin
          i32.const 0x7fffffff
          i32.le_u
          select
          local.set $size
          ${copy(2)}
          local.get $cell
          i32.const ${4 * wordsOfCell}
          i32.add
          local.set $cell
          local.get $left
          i32.const 1
          i32.sub
          local.tee $left
          br_if 0
        end
        local.get $close
        local.set $from
        local.get $closeBytes
        local.set $size
        ${copy(1)}
        local.get $lineEnds
        local.get $record
        i32.const 2
        i32.shl
        i32.add
        local.get $to
        i32.store
        local.get $record
        i32.const 1
        i32.add
        local.set $record
        br 0
      end
    end
    local.get $record`,
};
