import type { Kernel } from '../../core/wasm-assembler.js';

/** The offsets, in words, of the 32-bit words that describe a cell to the kernel; each word is an address or a size in bytes. */
export const cellWordOffsets = {
  begins: 0,
  ends: 1,
  texts: 2,
  before: 3,
  beforeBytes: 4,
  none: 5,
  noneBytes: 6,
} as const;

export const wordsPerCell = 7;

/**
 * The number of bytes that one copy moves. Even an empty text takes one copy, so up to `bytesPerCopy` bytes are read beyond the end of a
 * text and written beyond the end of the output.
 */
export const bytesPerCopy = 16;

const loadCellWordSource = (name: keyof typeof cellWordOffsets): string => `
  local.get $cell
  i32.const ${4 * cellWordOffsets[name]}
  i32.add
  i32.load`;

/** Instructions that replace the address of an array on the stack by the array's element for the current record. */
const loadRecordElementSource = `
  local.get $record
  i32.const 2
  i32.shl
  i32.add
  i32.load`;

/**
 * Returns instructions that copy `$size` bytes from `$from` to the output, or that branch to label `blocks` (the innermost enclosing block
 * or loop is 0) if there is no room.
 */
const copySource = (blocks: number): string => `
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
    i32.const ${bytesPerCopy}
    i32.add
    local.set $from
    local.get $target
    i32.const ${bytesPerCopy}
    i32.add
    local.tee $target
    local.get $to
    i32.lt_u
    br_if 0
  end`;

/**
 * Writes lines, beginning with that of `$record`. A line consists, for each cell (`$count` of them, at least one), of the text before the
 * cell and the cell's own text, or the text for a missing value; then of `$close`. The address of each line's end is stored in `$lineEnds`.
 * Returns the number of the first record whose line would end after `$limit`; `$records` if there is none.
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
          ${loadCellWordSource('before')}
          local.set $from
          ${loadCellWordSource('beforeBytes')}
          local.set $size
          ${copySource(2)}
          ${loadCellWordSource('texts')}
          ${loadCellWordSource('begins')}
          ${loadRecordElementSource}
          local.tee $begin
          i32.add
          ${loadCellWordSource('none')}
          local.get $begin        ;; negative without a value
          i32.const 0x7fffffff
          i32.le_u
          select
          local.set $from
          ${loadCellWordSource('ends')}
          ${loadRecordElementSource}
          local.get $begin
          i32.sub
          ${loadCellWordSource('noneBytes')}
          local.get $begin
          i32.const 0x7fffffff
          i32.le_u
          select
          local.set $size
          ${copySource(2)}
          local.get $cell
          i32.const ${4 * wordsPerCell}
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
        ${copySource(1)}
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
