import { assemble } from './wasm-assembler.js';

/*
 * Text is searched and copied 16 bytes at a time in WebAssembly: of a CSV file of 30 columns, looking at each byte in
 * JavaScript took a third of the reader's time and copying cells one by one a sixth.
 */

/** Bytes of text that are looked at together: small enough for the processor's second cache. */
export const windowBytes = 256 << 10;
/** Cells whose places can be noted together. */
export const windowCells = 64 << 10;

const slack = 64; // whole vectors are read and written
const set = slack;
const text = set + 32 + slack;
const marks = text + windowBytes + slack;
const from = marks + 4 * (windowBytes + slack);
const to = from + 4 * windowCells;
const out = to + 4 * windowCells;
const ends = out + windowBytes + slack;
const pages = Math.ceil((ends + 4 * windowCells) / 65_536);

const kernels = [
  {
    // Notes where bytes of a set stand; returns where the notes end. Each byte of the set has a bit; a table by the lower half
    // of a byte and one by its upper half agree in a bit where the byte is of the set.
    name: 'search',
    params: ['text', 'end', 'notes', 'set'],
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
              local.get $notes       ;; the lowest hit, relative to the text
              local.get $at
              local.get $text
              i32.sub
              local.get $hits
              i32.ctz
              i32.add
              i32.store
              local.get $notes
              i32.const 4
              i32.add
              local.set $notes
              local.get $hits        ;; and away with it
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
      local.get $notes`,
  },
  {
    // Puts pieces of the text behind each other and notes where each ends; returns the end of all.
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

/** As much of the engine's own object as is used here; the language's library has no types for it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

/** Up to eight different bytes to search for. */
export class ByteSet {
  readonly tables: Uint8Array = new Uint8Array(32);

  constructor(bytes: readonly number[]) {
    for (const [i, byte] of bytes.entries()) {
      this.tables[byte & 15]! |= 1 << i;
      this.tables[16 + (byte >> 4)]! |= 1 << i;
    }
  }
}

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  search(...of: readonly number[]): number;
  gather(...of: readonly number[]): number;
}

/**
 * A window of a text in which bytes are found and from which pieces are gathered at the speed of memory. A thread has one, whose
 * content lasts until the next `open`.
 */
export class TextWindow {
  readonly #exports: Exports;
  /** The text, and bytes of no meaning behind it. */
  readonly bytes: Uint8Array;
  /** Where the bytes stand that were searched for, ascending. */
  readonly marks: Int32Array;
  /** Where pieces begin and end, for `gather`. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** The pieces, one behind the other, and where each ends. */
  readonly gathered: Uint8Array;
  readonly ends: Int32Array;
  length = 0;
  readonly #set: Uint8Array;

  constructor() {
    const module = new WebAssembly.Module(assemble(kernels, pages));
    this.#exports = new WebAssembly.Instance(module).exports as Exports;
    const { buffer } = this.#exports.memory;
    this.bytes = new Uint8Array(buffer, text, windowBytes + slack);
    this.#set = new Uint8Array(buffer, set, 32);
    this.marks = new Int32Array(buffer, marks, windowBytes + slack);
    this.from = new Int32Array(buffer, from, windowCells);
    this.to = new Int32Array(buffer, to, windowCells);
    this.gathered = new Uint8Array(buffer, out, windowBytes + slack);
    this.ends = new Int32Array(buffer, ends, windowCells);
  }

  /** Looks at `source` from `at` on, as far as the window reaches. */
  open(source: Uint8Array, at: number): void {
    this.length = Math.min(windowBytes, source.length - at);
    this.bytes.set(source.subarray(at, at + this.length));
  }

  /** Fills `marks` with the places of the set's bytes; returns how many there are. */
  search({ tables }: ByteSet): number {
    this.#set.set(tables);
    const end = this.#exports.search(text, text + this.length, marks, set);
    let count = (end - marks) / 4;
    while (count > 0 && this.marks[count - 1]! >= this.length) count--;
    return count;
  }

  /** Gathers the pieces noted from `first` on; returns their length together. */
  gather(first: number, count: number): number {
    return this.#exports.gather(text, from + 4 * first, to + 4 * first, count, out, ends);
  }
}

let window: TextWindow | undefined;

/** The thread's window. */
export function textWindow(): TextWindow {
  return (window ??= new TextWindow());
}
